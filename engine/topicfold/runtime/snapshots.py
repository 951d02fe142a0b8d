"""Snapshots: states from which a node continues instead of the log's beginning, at its start and later.

pyarrow is only imported when a snapshot is loaded. Files are read in threads of their own, few at once: where their
file system does not answer, neither what else needs threads nor the node's end waits for it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import structlog

from topicfold.errors import (
    LevelUnsupported,
    LogGap,
    Overloaded,
    SnapshotDamaged,
    SnapshotUnreadable,
    UnsafeLog,
    WrongSnapshot,
)
from topicfold.log.port import Log, LogIdentity
from topicfold.log.same_records import require_same_records
from topicfold.process.own_thread import call_in_own_thread
from topicfold.runtime.fair_semaphore import ASKER, FairSemaphore
from topicfold.snapshot.commits import NO_COMMIT_HINT, sequences
from topicfold.snapshot.trim_note import read_note
from topicfold.state.fold import NewState, PartitionState

if TYPE_CHECKING:
    from topicfold.snapshot.archive import Archive
    from topicfold.snapshot.loading import Loaded

_log = structlog.get_logger(__name__)

MAX_ASKED = 2
"""Questions to the files at the same time: each takes a processor, and this interpreter from all others."""
MAX_WAITING = 32
"""Those of one asker that wait for their turn."""

T = TypeVar("T")

Tell = Callable[[int, int], None]
"""Takes how much of a load is done, of how much; called by another thread."""


class Snapshots:
    """The snapshot at `root` of the log that `identity` states; None for a node that is told of no snapshot."""

    def __init__(self, root: Path | None, identity: LogIdentity, new_state: NewState) -> None:
        self._root = root
        self._identity = identity
        self._new_state = new_state
        self._turns = FairSemaphore(MAX_ASKED)
        self._unconfirmed: dict[int, tuple[int, bytes]] = {}

    @cached_property
    def archive(self) -> Archive | None:
        """What the snapshot knows of the past; None for a node that is told of no snapshot."""
        if self._root is None:
            return None
        from topicfold.snapshot.archive import Archive

        return Archive(self._root, self._identity.incarnation, self._identity.partitions)

    async def ask(self, question: Callable[..., T], *arguments: Any) -> T:
        """Return what a question to the files answers, in turn: at most `MAX_ASKED` are being asked.

        Raises:
            Overloaded: `MAX_WAITING` of whoever asks wait already.
            OperatorNeeded: the question does.
        """
        if self._turns.waiting(ASKER.get()) >= MAX_WAITING:
            raise Overloaded(
                f"{MAX_WAITING} other queries of the past are already waiting", hint="Ask again in a few seconds."
            )
        return await self._in_turn(question, *arguments)

    async def _in_turn(self, question: Callable[..., T], *arguments: Any) -> T:
        await self._turns.acquire(ASKER.get())
        answering = asyncio.ensure_future(call_in_own_thread("topicfold-snapshot", question, *arguments))
        # Whoever asked may be gone before; the thread goes on.
        answering.add_done_callback(self._on_answered)
        answer: T = await asyncio.shield(answering)
        return answer

    def _on_answered(self, answering: asyncio.Future[Any]) -> None:
        self._turns.release()
        if not answering.cancelled():
            answering.exception()

    async def states(self, log: Log, tell: Tell) -> dict[int, PartitionState]:
        """Return the states to fold on from: the newest commit's that is whole, else those before the first record.

        Of partitions that cannot be reached while others can, `confirm` looks later whether the log goes on there.

        Raises:
            UnsafeLog, SnapshotDamaged: the log no longer has its beginning, and there is no snapshot in its place.
            SnapshotUnreadable: the snapshot is no directory, or may not be read.
            LogGap: the log does not go on where the snapshot ends, or holds other records than it was made of.
            WrongSnapshot, LevelUnsupported: the snapshot is of another log, or of a newer version.
            LogUnavailable: the log did not answer in time.
        """
        starts = await log.known_start_offsets()
        damaged: SnapshotDamaged | None = None
        try:
            found = await self._load(tell)
        except SnapshotDamaged as error:
            found, damaged = None, error
            _log.error("no_commit_is_whole", reason=error.reason)
        if found is not None:
            ends = await log.known_end_offsets()
            reached = starts.keys() & ends.keys()
            _require_joined({each: found.states[each] for each in reached}, starts, ends, found.damaged)
            await require_same_records(log, {each: last for each, last in found.newest.items() if each in reached})
            self._unconfirmed = {each: last for each, last in found.newest.items() if each not in reached}
            return dict(found.states)
        self._require_beginning(starts, damaged)
        return {partition: self._new_state(partition) for partition in range(self._identity.partitions)}

    async def confirm(self, log: Log, partition: int) -> None:
        """Return if the log holds what the state has that `states` returned of a partition which it could not ask then.

        Raises:
            LogGap: it holds another record than the snapshot was made of.
            LogUnavailable: it did not answer in time.
        """
        if partition in self._unconfirmed:
            await require_same_records(log, {partition: self._unconfirmed[partition]})
            del self._unconfirmed[partition]

    async def base(self, partition: int, position: int) -> PartitionState | None:
        """Return the state of one partition as the newest whole commit up to `position` has it; None where none has.

        It is fresh and nobody else's.
        """
        return (await self.bases({partition: position})).get(partition)

    async def verified(self, partition: int, position: int) -> PartitionState | None:
        """Return the state of one partition as the newest verified commit up to `position` has it; None where none has.

        It is fresh and nobody else's. A commit is verified once a trim has come to it: then the engine itself has
        folded all that led to it. Until then the log has its beginning.
        """
        if self._root is None:
            return None
        note = await self._in_turn(read_note, self._root, self._identity.incarnation.hex(), self._identity.partitions)
        return (await self.bases({partition: position}, among=note.verified)).get(partition)

    async def bases(
        self, positions: Mapping[int, int], among: Collection[str] | None = None
    ) -> Mapping[int, PartitionState]:
        """Return the states of these partitions as the newest whole commit has them that exceeds none of `positions`.

        They are fresh and nobody else's; none of them where there is no such commit, or none that can be used. With
        `among` only commits with one of these SHA-256 are looked at.
        """
        if self._root is None:
            return {}
        try:
            found = await self._in_turn(
                self._loading(self._root, only=tuple(positions), not_above=positions, among=among)
            )
        except (SnapshotDamaged, SnapshotUnreadable, WrongSnapshot, LevelUnsupported) as error:
            _log.error("snapshot_unusable", reason=error.reason)
            return {}
        return {} if found is None else found.states

    async def _load(self, tell: Tell) -> Loaded | None:
        if self._root is None:
            return None
        since = time.monotonic()
        found = await self._in_turn(self._loading(self._root, tell=tell))
        if found is None:
            _log.warning("no_snapshot_yet", path=str(self._root))
            return None
        for each in found.damaged:
            _log.error("commit_given_up", sequence=each.values["sequence"], reason=each.reason)
        _log.info(
            "snapshot_loaded", sequence=found.commit.sequence, topics=found.commit.counts["topics"],
            positions=dict(enumerate(found.commit.to)), seconds=round(time.monotonic() - since, 3),
        )  # fmt: skip
        return found

    def _loading(self, root: Path, **how: Any) -> Callable[[], Loaded | None]:
        """Return what loads a commit under `root`, as `how` says."""
        from topicfold.snapshot.loading import load

        return partial(load, root, self._identity.incarnation, self._identity.partitions, self._new_state, **how)

    def _require_beginning(self, starts: Mapping[int, int], damaged: SnapshotDamaged | None) -> None:
        """Return if the log still has its beginning."""
        for partition, start in starts.items():
            if not start:
                continue
            if damaged is not None:
                raise SnapshotDamaged(
                    f"{damaged.reason}; and the log begins at offset {start} of partition {partition}, not at 0",
                    hint="Restore the snapshot's directory, or start another node from a copy of it.",
                    **damaged.values,
                )
            where = f"{self._root} holds no commit"
            hint = NO_COMMIT_HINT
            if self._root is None:
                where = "no snapshot is named"
                hint = "Start from a snapshot: --snapshot DIR, where `topicfold compact` writes it."
            raise UnsafeLog(
                f"partition {partition} of the log begins at offset {start}, not at 0, and {where}", hint=hint
            )


async def require_none(root: Path) -> None:
    """Return if there is no commit at `root`, so that an empty log may be begun: its header could not be taken back.

    Raises:
        WrongSnapshot: there is one, of another log.
        SnapshotUnreadable: it cannot be seen whether there is.
    """
    if await call_in_own_thread("topicfold-snapshot", sequences, root):
        raise without_log(f"the log is empty, and the snapshot {root} is of one that is not")


def without_log(reason: str) -> WrongSnapshot:
    """Return the error that there is a snapshot and not the log that it is of, which nobody may begin anew."""
    return WrongSnapshot(
        reason,
        hint="Restore the log, or name the one that the snapshot is of. Nodes that still run know what they have "
        "folded: see docs/recovery.md before you stop one. A node that is started without the snapshot begins a new "
        "log, which knows nothing of what the snapshot holds.",
    )


def _require_joined(
    states: Mapping[int, PartitionState],
    starts: Mapping[int, int],
    ends: Mapping[int, int],
    damaged: Sequence[SnapshotDamaged],
) -> None:
    """Return if the log goes on where `states` end; `damaged` are the newer commits, which were passed over."""
    for partition, state in states.items():
        if starts[partition] > state.position:
            passed_over = f": {damaged[0].reason}" if damaged else ""
            raise LogGap(
                f"partition {partition} of the log begins at offset {starts[partition]}, "
                f"and the snapshot ends before offset {state.position}{passed_over}",
                hint="Restore the newest commits of the snapshot from a backup, or what is missing of the log from a "
                "copy; see docs/recovery.md.",
                partition=partition,
                expected=state.position,
                found=starts[partition],
            )
        if ends[partition] < state.position:
            raise LogGap(
                f"partition {partition} of the log ends at offset {ends[partition]}, "
                f"and the snapshot holds records up to {state.position}",
                hint="The log has lost records. Restore it; a node that went on would not agree with the others.",
                partition=partition,
                expected=state.position,
                found=ends[partition],
            )
