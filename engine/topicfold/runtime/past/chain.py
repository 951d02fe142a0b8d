"""The chain of an aggregate's accepted events, walked backwards through the log from its current version.

Each event names its base and the base's offset. A rejected event is never a base, so the walk never meets one. The walk
trusts an offset only if the event there has the expected id. Events that the log no longer holds are read from the
snapshot's table of history; if neither has an event, the walk ends with a `Gap`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from topicfold.errors import (
    LogUnavailable,
    NamespaceNotFound,
    OperatorNeeded,
    TenantNotFound,
    TopicfoldError,
    TopicNotFound,
)
from topicfold.log.codec import decode_audit, decode_event
from topicfold.log.payload import decode_record
from topicfold.log.port import Entry
from topicfold.model.events import GENESIS, REQUIRE_EMPTY, AggregateKind, Audit, AuditTrail, Event, Kind, Verdict
from topicfold.model.records import UnreadableRecord
from topicfold.model.updates import Stored
from topicfold.runtime.engine import Engine
from topicfold.runtime.slices import Slice
from topicfold.runtime.writing.update import Target
from topicfold.state.aggregate import Aggregate, Etag

_BLOCK = 100
"""Records read at once: versions of an aggregate that is changed often lie close together."""
_ARCHIVED_BLOCK = 1_000
"""Events of an aggregate that are read at once where the log no longer holds them."""
_ANOTHER, _GONE = "another record lies there", "the log no longer holds the record"


@dataclass(frozen=True, slots=True)
class Place:
    """The offset of an accepted event, and its id."""

    offset: int
    event_id: bytes


@dataclass(frozen=True, slots=True)
class Gap:
    """Why a walk ended before the beginning: what is wrong with the event at `offset`."""

    offset: int
    reason: str

    def __str__(self) -> str:
        return f"at offset {self.offset}, {self.reason}"


@dataclass(frozen=True, slots=True)
class Link:
    """One accepted event. `trail` is None if who and why cannot be read. `is_refused`: it deleted nothing."""

    offset: int
    event: Event
    trail: AuditTrail | None
    is_refused: bool = False

    @property
    def changes(self) -> bool:
        """Whether an operation in it changed the record."""
        return any(each.verdict == Verdict.CHANGED for each in self.event.operations)

    @property
    def etag(self) -> str:
        """The ETag that it left, if it changed anything."""
        places = (place for place, each in enumerate(self.event.operations, 1) if each.verdict == Verdict.CHANGED)
        return str(Etag(self.event.event_id, max(places, default=0)))

    @property
    def made_by(self) -> tuple[Audit, ...]:
        """Who asked for the operations that changed the record, in their order."""
        pairs = zip(self.event.operations, self.trail.operations if self.trail else (), strict=False)
        return tuple(audit for operation, audit in pairs if operation.verdict == Verdict.CHANGED)

    @property
    def record(self) -> Stored:
        """The record that it left; None if it deleted the record."""
        event = self.event
        if event.kind == Kind.DELETE:
            return None
        kind = AggregateKind(event.aggregate_kind)
        return decode_record(kind, event.payload_schema, event.payload) or UnreadableRecord(event.payload_schema)


class Chain:
    """A walk. `next` is the place of the event before the last one; it is None at the end, and `gap` may say why.

    Who has time for a long one puts off its `deadline` from step to step. Others have their turn between steps: records
    may be large, and nobody waits for what was read in the same block.

    Deletes of a namespace that were refused because topics lived in it are passed over: its record stayed. Those of
    former lives can only be told from true ones within the ring of operations.
    """

    def __init__(self, engine: Engine, target: Target, deadline: float, start: Place | None = None) -> None:
        """Begin at `start`, None for the current version; `deadline` is a time of the loop's clock.

        Raises:
            TopicNotFound, NamespaceNotFound, TenantNotFound: there never was such a thing.
        """
        current = _current(engine, target)
        self.next: Place | None = start or Place(current.offset, current.version)
        self.gap: Gap | None = None
        self._log = engine.log
        self._operations = engine.states[target.partition].operations
        self._target = target
        self.deadline = deadline
        self._block: Mapping[int, Entry] = {}
        self._snapshots = engine.snapshots
        self._archive = engine.snapshots.archive
        self._archived: Mapping[int, Link] = {}
        self._turn = Slice()
        # All that follows the event which began a namespace's present life left it alive.
        self._life = current.incarnation

    async def step(self) -> Link | None:
        """Return the next event back, None at the end.

        Raises:
            LogUnavailable: the log did not answer by the deadline; a further step tries again.

        Cost: a read of the log for each `_BLOCK` offsets that the chain goes back; of the snapshot's table of history,
        in a thread, for each `_ARCHIVED_BLOCK` events behind the log's first.
        """
        while (link := await self._step()) is not None:
            await self._turn.rest()
            is_refused = link.is_refused or self._is_refused(link.event)
            if link.event.event_id == self._life:
                self._life = GENESIS
            if not is_refused:
                return link
        return None

    async def _step(self) -> Link | None:
        place = self.next
        if place is None:
            return None
        link, why = await self._link_at(place.offset)
        self.next = None
        if link is None or (link.event.event_id, link.event.name) != (place.event_id, self._target.name):
            self.gap = Gap(place.offset, why)
            return None
        event = link.event
        if event.base != GENESIS:
            before = link.trail.previous_offset if link.trail else -1
            if 0 <= before < place.offset:
                self.next = Place(before, event.base)
            else:
                self.gap = Gap(place.offset, "the record does not say where the version before it lies")
        return link

    def _is_refused(self, event: Event) -> bool:
        if event.kind != Kind.DELETE or not event.flags & REQUIRE_EMPTY:
            return False
        settled = [self._operations.get(operation.id) for operation in event.operations]
        return self._life != GENESIS or any(each is not None and each.verdict == Verdict.NOT_EMPTY for each in settled)

    async def _link_at(self, offset: int) -> tuple[Link | None, str]:
        """Return the event there, and why it may not be the one that belongs there.

        The log is not asked again for what was read from the table.
        """
        if (archived := self._archived.get(offset)) is not None:
            return archived, _GONE
        entry = await self._entry(offset)
        if (event := decode_event(entry.value) if entry else None) is not None:
            return Link(offset, event, decode_audit(event.audit)), _ANOTHER
        why = _ANOTHER if entry else _GONE
        try:
            return await self._archived_at(offset), why
        except OperatorNeeded as error:
            return None, f"{why}, and {error.reason}"

    async def _entry(self, offset: int) -> Entry | None:
        if offset not in self._block:
            first = max(0, offset - _BLOCK + 1)
            self._block = await self._read(first, offset - first + 1)
            if offset not in self._block:
                self._block = await self._read(offset, 1)
        return self._block.get(offset)

    async def _archived_at(self, offset: int) -> Link | None:
        """Return the event at `offset` as the snapshot's table of history has it; None where it has not.

        Raises:
            SnapshotDamaged, SnapshotUnreadable: the table cannot be read.
            WrongSnapshot, LevelUnsupported: it is of another log, or of a newer version.
            LogUnavailable: it was not read by the deadline. Overloaded: too many ask.
        """
        if self._archive is not None:
            kind, name, partition = AggregateKind(self._target.kind), self._target.name, self._target.partition
            try:
                async with asyncio.timeout_at(self.deadline):
                    found = await self._snapshots.ask(
                        self._archive.events_of, kind, name, partition, offset, _ARCHIVED_BLOCK
                    )
            except TimeoutError:
                raise LogUnavailable("the snapshot's history could not be read in time") from None
            self._archived = {each.offset: Link(each.offset, each.event, each.trail, each.is_refused) for each in found}
        return self._archived.get(offset)

    async def _read(self, first: int, limit: int) -> Mapping[int, Entry]:
        try:
            async with asyncio.timeout_at(self.deadline):
                return {entry.offset: entry for entry in await self._log.read(self._target.partition, first, limit)}
        except TimeoutError:
            raise LogUnavailable("the log could not be read back in time") from None


def missing(target: Target, when: str = "", hint: str = "") -> TopicfoldError:
    """Return the error that the thing does not exist, or did not at the time that `when` says."""
    match target.kind:
        case AggregateKind.TENANT:
            return TenantNotFound(f"tenant {target.name} not found{when}", hint=hint or None, name=target.name)
        case AggregateKind.NAMESPACE:
            return NamespaceNotFound(f"namespace {target.name} not found{when}", hint=hint or None, name=target.name)
        case _:
            return TopicNotFound(f"topic {target.name} not found{when}", hint=hint or None, name=target.name)


def _current(engine: Engine, target: Target) -> Aggregate:
    """Return the aggregate as it is now, deleted or not.

    Raises:
        TopicNotFound, NamespaceNotFound, TenantNotFound: there never was one.
    """
    state = engine.states[target.partition]
    if target.kind == AggregateKind.TOPIC and target.namespace not in state.topics:
        raise missing(target._replace(kind=AggregateKind.NAMESPACE, name=target.namespace))
    current = state.current(target.kind, target.name)
    if current.offset < 0:
        raise missing(target)
    return current
