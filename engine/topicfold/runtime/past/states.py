"""The past: the topics of namespaces as they were at a position, built separately while the node keeps serving.

They are built from the newest commit at or below the position, or from the log's beginning, and the events after it. If
these are too many, or no longer in the log, the snapshot's table of history is read instead. This happens in slices and
in threads, for a few questions at once, each over a bounded number of events. A result is kept for a while, because
pages follow one another.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

from topicfold.errors import NotReady, OperatorNeeded, Overloaded, Resync, SnapshotUnreadable
from topicfold.log.payload import decode_indexed
from topicfold.log.port import Log, LogIdentity
from topicfold.model.events import GENESIS, AggregateKind, partition_of
from topicfold.model.names import split_topic
from topicfold.process.own_thread import is_cancelled
from topicfold.runtime.fair_semaphore import ASKER, FairSemaphore
from topicfold.runtime.past.times import BLOCK, first_time_ms, position_at, surplus
from topicfold.runtime.refold import refold
from topicfold.runtime.slices import Slice
from topicfold.runtime.snapshots import Snapshots
from topicfold.runtime.task_end import end_tasks
from topicfold.state.fold import NewState, PartitionState
from topicfold.state.topic_table import TopicTable
from topicfold.text.rfc3339 import brief_time_text

MAX_AT_ONCE = 2
"""Questions for which something is built at the same time."""
MAX_KEPT = 128
"""Namespaces at a position that are kept: more than one question may be about."""
MAX_KEPT_TOPICS = 1_000_000
"""Topics in all of them, dead ones too; those of one question are kept whatever their number."""
KEPT_SECONDS = 60.0
"""For how long after they were last asked for."""
ARCHIVE_SECONDS = 10.0
"""How long the snapshot may take to tell what a time means, turn and all: its file system may not answer."""

_SNAPSHOT_HINT = (
    "A snapshot, which `topicfold compact` writes, keeps the past since its first commit began: "
    "start the node with --snapshot DIR."
)
_OWN_SNAPSHOT_HINT = "This node's snapshot does not have it: `topicfold doctor` says whether the snapshot can be read."
_EVENTS_HINT = "TOPICFOLD_PAST_MAX_EVENTS limits how many events are folded for one query."

T = TypeVar("T")


class PastNamespace(NamedTuple):
    """A namespace at a position: what its life then is called, and its topics; None where it was not live."""

    incarnation: bytes
    table: TopicTable | None


Place = tuple[str, int]
"""A namespace, and a position of its partition."""


class Past:
    """The past of one node's log. Close it with the engine."""

    def __init__(
        self,
        log: Log,
        identity: LogIdentity,
        snapshots: Snapshots,
        new_state: NewState,
        *,
        separator: str,
        max_events: int,
    ) -> None:
        self._log = log
        self._identity = identity
        self._snapshots = snapshots
        self._new_state = new_state
        self._separator = separator
        self._max_events = max_events
        self._kept: OrderedDict[Place, PastNamespace] = OrderedDict()
        self._forgetting: dict[Place, asyncio.TimerHandle] = {}
        self._building: dict[frozenset[Place], asyncio.Task[Mapping[Place, PastNamespace]]] = {}
        self._turns = FairSemaphore(MAX_AT_ONCE)

    async def position_at(self, partition: int, time_ms: int) -> int:
        """Return the position in a partition that a time means: after the newest event that was written up to then.

        0 before all that there ever was.

        Raises:
            Resync: nothing that goes so far back is known; says since when the past is.
            Overloaded: too many ask for what only the table of history knows.
            LogUnavailable: the log did not answer in time.
        """
        start = (await self._log.start_offsets())[partition]
        end = (await self._log.end_offsets())[partition]
        position = await position_at(self._log, partition, time_ms, start, end)
        archive = self._snapshots.archive
        if not start:
            return position
        why = ""
        if position <= start + BLOCK:
            # So few events may all be by a clock that is far off, and only those before them tell.
            try:
                if archive is not None and len(await self._told_soon(archive.ends)):
                    behind = await surplus(self._log, partition, time_ms, start, position)
                    earlier = await self._told_soon(archive.position_at, partition, time_ms, start, behind)
                    return earlier if earlier < start else position
            except OperatorNeeded as error:
                why = f"; {error.reason}"
        if position > start:
            return position
        since = await first_time_ms(self._log, partition, start, end)
        raise Resync(
            f"the state at {brief_time_text(time_ms)} is not known: the log begins at {_when(since)}{why}",
            hint=self._snapshot_hint,
        )

    async def known_since(self, partition: int) -> str:
        """Return when the first event of a partition that is still known was written, as text; "" for none.

        Raises:
            Overloaded: too many ask.
            LogUnavailable: the log did not answer in time.
        """
        start = (await self._log.start_offsets())[partition]
        since = await first_time_ms(self._log, partition, start, (await self._log.end_offsets())[partition])
        archive = self._snapshots.archive
        if start and archive is not None:
            with suppress(OperatorNeeded):
                since = await self._told_soon(archive.first_time_ms, partition) or since
        return brief_time_text(since) if since else ""

    async def _told_soon(self, question: Callable[..., T], *arguments: Any) -> T:
        """Return what the archive answers, to whoever would wait for it with nothing else to end that.

        Raises:
            SnapshotUnreadable: it did not in time, or cannot be read. Others that are `OperatorNeeded`: see there.
            Overloaded: too many ask.
        """
        try:
            async with asyncio.timeout(ARCHIVE_SECONDS):
                return await self._snapshots.ask(question, *arguments)
        except TimeoutError:
            raise SnapshotUnreadable(
                f"the snapshot's history did not answer within {ARCHIVE_SECONDS:.0f} s", hint=_OWN_SNAPSHOT_HINT
            ) from None

    async def namespaces(self, places: Collection[Place], deadline: float) -> Mapping[Place, PastNamespace]:
        """Return namespaces as they were when their partitions were folded up to these positions, one a partition.

        Raises:
            Resync: it can no longer be told, or not with as many events as may be folded for one question; the reason
                is why, and leaves it to the caller to say what was asked for.
            Overloaded: it is not made by the deadline, and is gone on with; or others had all turns until then.
            NotReady: closed meanwhile.
            LogUnavailable: the log did not answer in time.
        """
        found = {place: self._kept[place] for place in places if place in self._kept}
        missing = frozenset(place for place in places if place not in found)
        if missing:
            found |= await self._made(missing, deadline)
        self._keep(found)
        return found

    async def close(self) -> None:
        """Give up what is being made, and forget everything."""
        await end_tasks(self._building.values())
        for place in [*self._kept]:
            self._forget(place)

    async def _made(self, places: frozenset[Place], deadline: float) -> Mapping[Place, PastNamespace]:
        try:
            async with asyncio.timeout_at(deadline):
                if places not in self._building:
                    await self._turns.acquire(ASKER.get())
                    # Others may have asked for the same, and waited less.
                    if places in self._building or places <= self._kept.keys():
                        self._turns.release()
                    else:
                        self._begin(places)
                task = self._building.get(places)
                return {place: self._kept[place] for place in places} if task is None else await asyncio.shield(task)
        except TimeoutError:
            if places not in self._building:
                raise Overloaded(
                    "the past is being built for other queries", hint="Ask again in a few seconds."
                ) from None
            raise Overloaded(
                "the state at that time is still being built",
                hint="Ask again in a few seconds: the work continues meanwhile.",
            ) from None
        except asyncio.CancelledError:
            if is_cancelled():
                raise
            raise NotReady("this node is stopping", hint="Ask another node.") from None

    def _begin(self, places: frozenset[Place]) -> None:
        task = self._building[places] = asyncio.create_task(self._build(places))
        task.add_done_callback(lambda done: self._on_built(places, done))

    def _on_built(self, places: frozenset[Place], task: asyncio.Task[Mapping[Place, PastNamespace]]) -> None:
        del self._building[places]
        if task.cancelled():
            # All are, once this is closed: whoever waits shall begin none.
            return
        if task.exception() is None:
            self._keep(task.result())
        self._turns.release()

    def _keep(self, found: Mapping[Place, PastNamespace]) -> None:
        """Keep what one question is about for a while from now on, and of the rest as much as there is room for."""
        for place, namespace in found.items():
            self._kept[place] = namespace
            self._kept.move_to_end(place)
            if place in self._forgetting:
                self._forgetting[place].cancel()
            self._forgetting[place] = asyncio.get_running_loop().call_later(KEPT_SECONDS, self._forget, place)
        topics = sum(map(_size, self._kept.values()))
        for place in [*self._kept][: -len(found)]:
            if len(self._kept) <= MAX_KEPT and topics <= MAX_KEPT_TOPICS:
                break
            topics -= _size(self._kept[place])
            self._forget(place)

    def _forget(self, place: Place) -> None:
        self._kept.pop(place, None)
        if timer := self._forgetting.pop(place, None):
            timer.cancel()

    async def _build(self, places: frozenset[Place]) -> Mapping[Place, PastNamespace]:
        wanted: dict[int, list[Place]] = {}
        for namespace, position in places:
            wanted.setdefault(partition_of(namespace, self._identity.partitions), []).append((namespace, position))
        found: dict[Place, PastNamespace] = {}
        try:
            bases = await self._snapshots.bases({partition: some[0][1] for partition, some in wanted.items()})
            for partition, some in wanted.items():
                found |= await self._at(partition, some, bases.get(partition), is_shared=len(wanted) > 1)
        except OperatorNeeded as error:
            raise Resync(error.reason, hint=error.hint) from error
        return found

    async def _at(
        self, partition: int, wanted: list[Place], base: PartitionState | None, *, is_shared: bool
    ) -> Mapping[Place, PastNamespace]:
        """Return namespaces of one partition, all at one position, folded on from `base` if that can be.

        A base that other partitions share may be older than the newest that this one alone could begin with.
        Cost: where it falls short, another load of the snapshot for this partition.
        """
        position = wanted[0][1]
        start = base.position if base else 0
        state = await self._folded(partition, position, base)
        if state is None and is_shared:
            own = await self._snapshots.base(partition, position)
            if own is not None and own.position > start:
                start = own.position
                state = await self._folded(partition, position, own)
        if state is not None:
            return {place: _namespace_in(state, place[0]) for place in wanted}
        if not await self._is_archived(partition, position):
            raise await self._untold(partition, position, start)
        return {place: await self._archived(partition, *place) for place in wanted}

    async def _folded(self, partition: int, position: int, base: PartitionState | None) -> PartitionState | None:
        """Return the state at `position`, folded on from `base`; None where that is too much or the log lacks it."""
        if position - (base.position if base else 0) > self._max_events:
            return None
        return await refold(self._log, base or self._new_state(partition), position)

    async def _untold(self, partition: int, position: int, start: int) -> Resync:
        """Return why what was at `position` cannot be folded on from `start`."""
        begin = (await self._log.start_offsets())[partition]
        if begin <= start and position - start > self._max_events:
            events = f"{position - start} events would have to be folded"
            return Resync(f"{events}, and {self._max_events} may be", hint=f"{self._snapshot_hint} {_EVENTS_HINT}")
        commit = f", and the newest commit up to there ends at {start}" if start else ""
        begins = f"partition {partition} of the log begins at offset {begin} now{commit}"
        return Resync(begins, hint=self._snapshot_hint)

    @property
    def _snapshot_hint(self) -> str:
        return _SNAPSHOT_HINT if self._snapshots.archive is None else _OWN_SNAPSHOT_HINT

    async def _is_archived(self, partition: int, position: int) -> bool:
        archive = self._snapshots.archive
        ends = () if archive is None else await self._snapshots.ask(archive.ends)
        return bool(ends) and position <= ends[partition]

    async def _archived(self, partition: int, namespace: str, position: int) -> PastNamespace:
        """Return a namespace at a position as the snapshot's table of history has it."""
        archive = self._snapshots.archive
        assert archive is not None  # noqa: S101 -- who asks has looked
        found = await self._snapshots.ask(archive.namespace_at, namespace, partition, position)
        if found is None:
            return PastNamespace(GENESIS, None)
        table = TopicTable(decode_indexed, self._separator)
        turn = Slice()
        for name, topic in found.topics():
            place = split_topic(name)
            if place is not None:
                table.put(name, place[1], topic)
            await turn.rest()
        return PastNamespace(found.incarnation, table)


def _size(namespace: PastNamespace) -> int:
    return 0 if namespace.table is None else len(namespace.table.keys)


def _namespace_in(state: PartitionState, name: str) -> PastNamespace:
    return PastNamespace(state.current(AggregateKind.NAMESPACE, name).incarnation, state.topics.get(name))


def _when(time_ms: int | None) -> str:
    return "an unknown time" if time_ms is None else brief_time_text(time_ms)
