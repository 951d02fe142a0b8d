"""The result of folding one record, for those who wait for it."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from topicfold.model.events import Event, Kind, Verdict
from topicfold.model.records import Grants, Step
from topicfold.state.aggregate import Aggregate, Etag
from topicfold.state.indexed import NOTHING, DecodeIndexed
from topicfold.state.indexes.label_index import Labels
from topicfold.state.operations import Settled


class Outcome(Enum):
    """The outcome of one record."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    NO_OP = "no_op"
    GARBAGE = "garbage"

    __hash__ = object.__hash__
    """Each member is a single object, so any hash will do; the one of `Enum` is a slow Python function."""


class TopicRow(NamedTuple):
    """What finding and watching show of a live topic, and the grants that decide who may see it.

    `kafka_name` is None if it follows from the topic's own name; `offset` is that of the topic's last accepted event.
    """

    labels: Labels
    partitions: int
    kafka_name: str | None
    etag: Etag
    offset: int
    grants: Grants


def row_of(topic: Aggregate, decode: DecodeIndexed) -> TopicRow | None:
    """Return what is shown of a stored topic; None if it is not live, or its end is decided. Cost: O(payload)."""
    if not topic.is_live:
        return None
    indexed = decode(topic.payload_schema, topic.payload) or NOTHING
    if indexed.pending is Step.END:
        return None
    labels = tuple(indexed.labels.items())
    return TopicRow(labels, indexed.partitions, indexed.kafka_name, topic.etag, topic.offset, indexed.grants)


class TopicDelta(NamedTuple):
    """What is shown of one topic before and after an accepted event; None if it was or is not live.

    `key` is its key in the namespace.
    """

    namespace: str
    key: str
    before: TopicRow | None
    after: TopicRow | None
    offset: int


class TopicChange(NamedTuple):
    """One topic as stored before and after an accepted event that changed its record.

    Payloads are only decoded if somebody asks what is shown, which mostly nobody does.
    """

    namespace: str
    key: str
    number: int
    before: Aggregate
    after: Aggregate
    offset: int
    decode: DecodeIndexed

    def delta(self) -> TopicDelta:
        """Return what is shown before and after. Cost: twice that of `row_of`."""
        before, after = row_of(self.before, self.decode), row_of(self.after, self.decode)
        return TopicDelta(self.namespace, self.key, before, after, self.offset)


class NamespaceTurn(NamedTuple):
    """A namespace's life began, or it ended together with all of its topics; `had_topics`: there were some."""

    namespace: str
    is_live: bool
    offset: int
    had_topics: bool = False


Effect = TopicChange | NamespaceTurn


class Change(NamedTuple):
    """One folded record.

    `event` is None for garbage. `settled` has an entry for each operation of an accepted event, in order; it is empty
    for everything else. `effect` is what watchers of topics would see of it, None for nothing.
    """

    outcome: Outcome
    event: Event | None
    settled: tuple[tuple[bytes, Settled], ...] = ()
    effect: Effect | None = None

    @property
    def is_end(self) -> bool:
        """Whether it deleted the event's aggregate. (An accepted delete may still be refused, as not empty.)"""
        is_delete = self.event is not None and self.event.kind == Kind.DELETE
        return is_delete and any(each.verdict == Verdict.CHANGED for _, each in self.settled)


GARBAGE = Change(Outcome.GARBAGE, None)
