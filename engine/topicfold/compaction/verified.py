"""Which commits of a snapshot are verified: the engine loaded the one before, folded on, and came to the same digests.

The one before is verified itself, or else the log's beginning is where the engine folds from. So two folds agree on all
that led to such a commit, that of Spark and the engine's own: from a commit that is wrong both would come to the same
wrong ones behind it. Needs no Spark.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from topicfold.compaction.prior import newest_events
from topicfold.errors import SnapshotDamaged, TrimRefused
from topicfold.log.gaps import ends_before
from topicfold.log.port import Log
from topicfold.log.same_records import require_same_records
from topicfold.runtime.refold import refold
from topicfold.snapshot.commits import Commit, not_given_up, readable_commits
from topicfold.snapshot.intact import require_intact
from topicfold.snapshot.loading import require_own, restore
from topicfold.snapshot.tables import STATE_TABLES
from topicfold.state.fold import NewState, PartitionState

WANTED = 2
"""Of so many verified commits a node can start from any, with the log that is left."""

Tell = Callable[[str], None]
"""Takes what is being done, for people."""


class Verifier:
    """Looks at the commits under `root`, of the log that they are of. `damaged` are those that were passed over.

    `compact` is the command that makes one.
    """

    def __init__(self, log: Log, root: Path, incarnation: bytes, new_state: NewState, tell: Tell, compact: str) -> None:
        self.damaged: list[SnapshotDamaged] = []
        self._log = log
        self._root = root
        self._incarnation = incarnation
        self._new_state = new_state
        self._tell = tell
        self._compact = compact

    async def newest(self, known: Collection[str]) -> tuple[Commit, ...]:
        """Return the newest `WANTED` whole commits, the newest first; `known` were verified before, by their SHA-256.

        Raises:
            TrimRefused: there are fewer, or one comes to other digests than the engine.
            WrongSnapshot, LevelUnsupported: they are of another log, or of a newer version.
            LogGap: the log ends before the newest one does, or holds other records than they are made of.
            LogUnavailable: the log did not answer in time.
            SnapshotUnreadable: the commits cannot be listed or read, or memory, open files or rights do not suffice.

        Cost: the fold of what the log got since the newest that is known; without one, of all that it holds.
        """
        commits = self._commits()
        found = len(commits)
        if commits:
            await self._require_end(commits[0])
        while True:
            try:
                verified = await self._verified(commits, known)
                break
            except SnapshotDamaged as error:
                self.damaged.append(error)
                commits = [each for each in commits if each.sequence != error.values["sequence"]]
        if len(verified) < WANTED:
            raise self._too_few(found, len(verified))
        return verified

    def _too_few(self, found: int, verified: int) -> TrimRefused:
        hint = f"{self._compact} makes one; run it once more when the log has grown"
        if self.damaged:
            hint = f"{self.damaged[0].reason}. {self.damaged[0].hint}"
        elif verified < min(found, WANTED):
            hint = (
                "The log does not hold what lies before the others: something else than trimming deleted it. "
                f"{self._compact} makes new commits"
            )
        holds = f"{verified}, of {found} in all" if found else "none at all"
        return TrimRefused(f"two verified commits are needed, and {self._root} holds {holds}", hint=hint)

    def _commits(self) -> list[Commit]:
        """Return the commits that can be read, the newest first; none that was given up."""
        found = []
        for commit in readable_commits(self._root, self.damaged.append):
            require_own(commit, self._incarnation, self._log.partitions)
            found.append(commit)
        return [*not_given_up(found)]

    async def _require_end(self, commit: Commit) -> None:
        ends = await self._log.end_offsets()
        for partition, to in enumerate(commit.to):
            if ends[partition] < to:
                raise ends_before(partition, ends[partition], to)

    async def _verified(self, commits: Sequence[Commit], known: Collection[str]) -> tuple[Commit, ...]:
        """Return those of the newest `WANTED` of these that are verified, the newest first.

        Raises:
            SnapshotDamaged: one of them is not whole.
            LogGap: one is made of other records than the log holds: it was verified against what that held then.
            TrimRefused: one comes to other digests than the engine.
        """
        newest = commits[:WANTED]
        for commit in newest:
            await asyncio.to_thread(require_intact, self._root, commit, STATE_TABLES)
            events = await asyncio.to_thread(newest_events, self._root, commit.files)
            await require_same_records(self._log, events)
        verified: list[Commit] = []
        before: dict[int, PartitionState] | None = None
        for place, commit in reversed([*enumerate(newest, 1)]):
            if commit.sha256 in known:
                self._tell(f"commit {commit.sequence} was verified before")
                before = None
            elif await self._is_reached(commit, before or await self._base(commits[place:], known)):
                before = await self._restored(commit)
            else:
                continue
            verified.insert(0, commit)
        return tuple(verified)

    async def _base(self, older: Sequence[Commit], known: Collection[str]) -> dict[int, PartitionState]:
        """Return the state to fold on from: that of the newest of these commits that is known; of none, nothing.

        Nothing means the log's beginning. Where that was trimmed and no known commit is left, it is that of the oldest
        which the log goes on from: for what lay below it one was verified then.
        """
        starts = await self._log.start_offsets()
        reached = [each for each in older if all(to >= starts[partition] for partition, to in enumerate(each.to))]
        oldest_first = reached[::-1] if any(starts.values()) else []
        for commit in (*(each for each in reached if each.sha256 in known), *oldest_first):
            try:
                return await self._restored(commit)
            except SnapshotDamaged as error:
                self.damaged.append(error)
        return {}

    async def _restored(self, commit: Commit) -> dict[int, PartitionState]:
        self._tell(f"loading commit {commit.sequence}")
        return await asyncio.to_thread(restore, self._root, commit, self._new_state)

    async def _is_reached(self, commit: Commit, before: Mapping[int, PartitionState]) -> bool:
        """Return whether folding on from `before`, or from the log's beginning, comes to what `commit` says.

        False where the log does not hold all that lies between.

        Raises:
            TrimRefused: it comes to something else.
        """
        for partition in range(commit.partitions):
            if not await self._reaches(commit, partition, before.get(partition)):
                return False
        return True

    async def _reaches(self, commit: Commit, partition: int, before: PartitionState | None) -> bool:
        """Return whether one partition comes to what `commit` says, as `_is_reached` does of all."""
        to = commit.to[partition]
        start = before.position if before else 0
        if start < to:
            self._tell(f"folding partition {partition} from {start} to {to}, for commit {commit.sequence}")
        state = await refold(self._log, before or self._new_state(partition), to)
        if state is None:
            return False
        if state.position != to or state.digest().hex() != commit.digests[partition]:
            raise TrimRefused(
                f"commit {commit.sequence} is not what the engine comes to: partition {partition}, folded from {start} "
                f"to {to}, has another digest",
                hint="Keep the log, and start no node from that commit: compact into a new directory, or upgrade "
                "whichever of job and nodes is older.",
                sequence=commit.sequence,
                partition=partition,
            )
        return True
