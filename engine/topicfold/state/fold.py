"""The fold of one partition: its state, and the step for each record.

Only the reader folds, in the order of offsets. Everything else only reads. `apply` changes a record, its labels, all
indexes, the rings and the digest together, so whoever reads between two steps sees one cut of the log. For a batch of
records there is `fold` for each and then `store`, so that a topic is hashed and indexed once, however often it changed.

    >>> state = PartitionState(0, 1, decode=lambda schema, payload: None)
    >>> state.apply(0, None).outcome
    <Outcome.GARBAGE: 'garbage'>
    >>> state.position
    1
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping

from topicfold.errors import LevelUnsupported
from topicfold.model.events import (
    GENESIS,
    REQUIRE_EMPTY,
    SUPPORTED_LEVEL,
    AggregateKind,
    Event,
    Kind,
    Verdict,
    partition_of,
)
from topicfold.model.finding.pattern import SEPARATOR
from topicfold.model.made import made
from topicfold.model.names import is_namespace_shape, split_topic
from topicfold.state.aggregate import ABSENT, Aggregate, Etag, add_hashes, hash_of
from topicfold.state.change import GARBAGE, Change, NamespaceTurn, Outcome, TopicChange
from topicfold.state.columns import Columns
from topicfold.state.digest import DigestMark, DigestRecord
from topicfold.state.indexed import DecodeIndexed
from topicfold.state.operations import Operations, Settled
from topicfold.state.topic_table import TopicTable
from topicfold.state.verdict import event_is_accepted, topic_event_is_accepted

_ACTS = int(Kind.PUT), int(Kind.DELETE)
_TOPIC = int(AggregateKind.TOPIC)
_LEVEL = int(Kind.LEVEL)
_DELETE = int(Kind.DELETE)
_CHANGED = int(Verdict.CHANGED)
"""Plain numbers, because these are compared for every event."""

KEPT_DIGEST_RECORDS = 16
"""More than arrive between two checks of them, unless dozens of nodes each log one at the same time."""


class PartitionState:
    """The state that a prefix of one partition leads to.

    - `position`: the next offset to fold.
    - `tenants`, `namespaces`: live and deleted ones; `names_of`: the names of namespaces by the tenant in them.
    - `topics`: a table for each live namespace.
    - `separator`: separates the segments of names for wildcards.
    - `accepted_to`: the position after the last accepted event.
    - `digest_records`: the last digest records, oldest first; with marks of the state there, as long as `keeps_marks`.

    No verdict and no digest depends on `separator`, `accepted_to`, `digest_records` or `keeps_marks`.
    """

    def __init__(
        self,
        partition: int,
        partitions: int,
        *,
        decode: DecodeIndexed,
        operations: Operations | None = None,
        separator: str = SEPARATOR,
    ) -> None:
        self.partition = partition
        self.partitions = partitions
        self.position = 0
        self.level = 1
        self.tenants: dict[str, Aggregate] = {}
        self.namespaces: dict[str, Aggregate] = {}
        self.names_of: dict[str, dict[str, None]] = {}
        self.topics: dict[str, TopicTable] = {}
        self.operations = operations or Operations()
        self._decode = decode
        self.separator = separator
        self.accepted_to = 0
        self.digest_records: deque[DigestRecord] = deque(maxlen=KEPT_DIGEST_RECORDS)
        self.keeps_marks = False
        self._digest_sum = 0
        self._changed: dict[TopicTable, None] = {}

    def apply(self, offset: int, event: Event | None) -> Change:
        """Fold the record at `offset`; `event` is None for garbage.

        Never raises for anything that a record can hold, except for a level that this version does not know: then
        nothing has changed, and the fold must not go beyond that record.

        Raises:
            LevelUnsupported: the record raises the level beyond `SUPPORTED_LEVEL`.

        Cost: O(payload + labels that differ); O(topics) for the end of a namespace.
        """
        change = self.fold(offset, event)
        self.store()
        return change

    def fold(self, offset: int, event: Event | None) -> Change:
        """Do as `apply`, but leave topics that changed to be stored by `store`; nobody may read before that.

        Raises:
            LevelUnsupported: as in `apply`.

        Cost: as small as the event; O(topics) for the end of a namespace.
        """
        change = GARBAGE if event is None else self._step(offset, event)
        self.position = offset + 1
        return change

    def store(self) -> None:
        """Store each topic that was changed by `fold` since the last time, once; if that fails, it is not tried again.

        Cost: that of `TopicTable.store` for each namespace.
        """
        changed, self._changed = self._changed, {}
        for table in changed:
            table.store()

    def restore(
        self,
        position: int,
        level: int,
        tenants: Mapping[str, Aggregate],
        namespaces: Mapping[str, Aggregate],
        topics: Mapping[str, Columns],
    ) -> None:
        """Take the state at `position`, without its rings, into a partition that has folded nothing.

        `topics` are those of namespaces that have any. To verify the state, restore the rings with
        `operations.restore`, then compare `digest`. Cost: as `TopicTable.restore`.
        """
        self.position = self.accepted_to = position
        self.level = level
        self.tenants = dict(tenants)
        self.namespaces = dict(namespaces)
        for name in namespaces:
            self._file(name)
        for kind, owners in ((AggregateKind.TENANT, tenants), (AggregateKind.NAMESPACE, namespaces)):
            for name, owner in owners.items():
                self._digest_sum = add_hashes(self._digest_sum, hash_of(kind, name, owner))
        for name, namespace in namespaces.items():
            if namespace.is_live:
                self._turn_over(name, is_live=True)
        for name, columns in topics.items():
            self.topics[name].restore(columns)

    def current(self, kind: int, name: str) -> Aggregate:
        """Return the aggregate with the full name `name`: absent, deleted or live."""
        if kind == AggregateKind.TOPIC:
            place = split_topic(name)
            table = self.topics.get(place[0]) if place else None
            return table.get(place[1]) if place and table is not None else ABSENT
        return (self.tenants if kind == AggregateKind.TENANT else self.namespaces).get(name, ABSENT)

    def digest(self) -> bytes:
        """Return 16 bytes that are equal on all nodes at equal positions.

        Covers the header state and raw bytes of every aggregate, the level and the rings, but not the position, so
        garbage does not change it. Different states have different digests, unless they collide. Cost: O(namespaces +
        rings).
        """
        return self.mark().digest()

    def mark(self) -> DigestMark:
        """Return the data for the digest now, to be hashed later.

        Cost: O(namespaces), and 0.4 µs for each operation since the last mark.
        """
        self.store()
        total = self._digest_sum
        for table in self.topics.values():
            total = add_hashes(total, table.digest_sum)
        rings = (self.operations.by_client.rows(), self.operations.by_server.rows())
        return DigestMark(self.accepted_to, self.position, total, self.level, rings)

    @property
    def own_digest_sum(self) -> int:
        """The digest sum of tenants and namespaces, without topics."""
        return self._digest_sum

    def _step(self, offset: int, event: Event) -> Change:
        if event.level != self.level:
            return Change(Outcome.NO_OP, event)
        if event.kind == _LEVEL:
            if self.level + 1 > SUPPORTED_LEVEL:
                raise LevelUnsupported(
                    f"partition {self.partition} moves to level {self.level + 1} at offset {offset}; "
                    f"this version knows level {SUPPORTED_LEVEL}",
                    partition=self.partition,
                    offset=offset,
                )
            self.level += 1
            self.accepted_to = offset + 1
            return Change(Outcome.ACCEPTED, event)
        if event.kind not in _ACTS or event.event_id == GENESIS:
            if event.kind == Kind.DIGEST:
                self.digest_records.append(DigestRecord(offset, event, self.mark() if self.keeps_marks else None))
            return Change(Outcome.NO_OP, event)
        if event.aggregate_kind == _TOPIC:
            return self._topic_event(offset, event)
        if event.aggregate_kind == AggregateKind.NAMESPACE and is_namespace_shape(event.name):
            return self._owner_event(offset, event, self.namespaces)
        if event.aggregate_kind == AggregateKind.TENANT and event.name and "/" not in event.name:
            return self._owner_event(offset, event, self.tenants)
        return Change(Outcome.NO_OP, event)

    def _topic_event(self, offset: int, event: Event) -> Change:
        place = split_topic(event.name)
        if place is None:
            return Change(Outcome.NO_OP, event)
        namespace_name, key = place
        namespace = self.namespaces.get(namespace_name)
        if namespace is None:
            mine = self._belongs(namespace_name)
            return Change(Outcome.REJECTED if mine else Outcome.NO_OP, event)
        table = self.topics.get(namespace_name)
        if table is None:
            return Change(Outcome.REJECTED, event)
        old = table.get(key)
        if not topic_event_is_accepted(event, namespace, old):
            return Change(Outcome.REJECTED, event)
        settled, etag = self._settle(event, old.etag)
        new = _after(event, offset, etag)
        number = table.change(event.name, key, new)
        self._changed[table] = None
        is_rewritten = (old.is_live, old.payload_schema, old.payload) != (new.is_live, new.payload_schema, new.payload)
        self.accepted_to = offset + 1
        change = made(TopicChange, (namespace_name, key, number, old, new, offset, self._decode))
        if etag is old.etag and not (is_rewritten and _shows_other_labels(change)):
            return Change(Outcome.ACCEPTED, event, settled)
        return made(Change, (Outcome.ACCEPTED, event, settled, change))

    def _owner_event(self, offset: int, event: Event, owners: dict[str, Aggregate]) -> Change:
        """Fold an event of a namespace or tenant."""
        self.store()
        old = owners.get(event.name)
        if old is None:
            if not self._belongs(event.name):
                return Change(Outcome.NO_OP, event)
            old = ABSENT
        if not event_is_accepted(event, old):
            return Change(Outcome.REJECTED, event)
        is_namespace = event.aggregate_kind == AggregateKind.NAMESPACE
        if is_namespace and event.kind == _DELETE and event.flags & REQUIRE_EMPTY and self._has_topics(event.name):
            settled, _ = self._settle(event, old.etag, verdict=Verdict.NOT_EMPTY)
            new = old._replace(version=event.event_id, offset=offset)
        else:
            settled, etag = self._settle(event, old.etag)
            new = _after(event, offset, etag)
            if is_namespace and new.is_live:
                new = new._replace(incarnation=old.incarnation if old.is_live else event.event_id)
        owners[event.name] = new
        if is_namespace and old is ABSENT:
            self._file(event.name)
        self.accepted_to = offset + 1
        kind = event.aggregate_kind
        old_hash = 0 if old is ABSENT else hash_of(kind, event.name, old)
        self._digest_sum = add_hashes(self._digest_sum, hash_of(kind, event.name, new), old_hash)
        if not is_namespace or new.incarnation == old.incarnation:
            return Change(Outcome.ACCEPTED, event, settled)
        had_topics = self._turn_over(event.name, new.is_live)
        return Change(Outcome.ACCEPTED, event, settled, NamespaceTurn(event.name, new.is_live, offset, had_topics))

    def _file(self, namespace: str) -> None:
        self.names_of.setdefault(namespace.partition("/")[0], {})[namespace] = None

    def _turn_over(self, namespace: str, is_live: bool) -> bool:
        """Begin or end a namespace's life; with its end, its topics and their tombstones are dropped.

        Return whether there were live topics.
        """
        ended = self.topics.pop(namespace, ())
        if is_live:
            self.topics[namespace] = TopicTable(self._decode, self.separator)
        return len(ended) > 0

    def _settle(
        self, event: Event, etag: Etag, verdict: int | None = None
    ) -> tuple[tuple[tuple[bytes, Settled], ...], Etag]:
        """Remember the event's operations; return their outcomes and the record's ETag after all of them."""
        settled = []
        for place, operation in enumerate(event.operations, 1):
            found = operation.verdict if verdict is None else verdict
            if found == _CHANGED:
                etag = made(Etag, (event.event_id, place))
            settled.append((operation.id, self.operations.add(operation, found, etag)))
        return tuple(settled), etag

    def _has_topics(self, namespace: str) -> bool:
        table = self.topics.get(namespace)
        return table is not None and len(table) > 0

    def _belongs(self, name: str) -> bool:
        return partition_of(name, self.partitions) == self.partition


NewState = Callable[[int], PartitionState]
"""Takes a partition; returns its state before the first record."""


def _shows_other_labels(change: TopicChange) -> bool:
    """Return whether the labels shown have changed, although no operation of the event claims a change."""
    _, _, was, shows, _ = change.delta()
    return (was and was.labels) != (shows and shows.labels)


def _after(event: Event, offset: int, etag: Etag) -> Aggregate:
    """Return the aggregate after an accepted event, without a namespace's incarnation."""
    if event.kind == _DELETE:
        return Aggregate(event.event_id, False, etag, 0, b"", offset, GENESIS)
    return made(Aggregate, (event.event_id, True, etag, event.payload_schema, event.payload, offset, GENESIS))
