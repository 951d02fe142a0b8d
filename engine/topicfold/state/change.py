"""What the fold made of one record, for those who wait for it."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from topicfold.model.events import Event, Kind, Verdict
from topicfold.model.records import Grants, Step
from topicfold.state.aggregate import Aggregate, Etag
from topicfold.state.indexed import NOTHING, DecodeIndexed
from topicfold.state.label_index import Labels
from topicfold.state.operations import Settled


class Outcome(Enum):
    """What became of one record."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    NO_OP = "no_op"
    GARBAGE = "garbage"

    __hash__ = object.__hash__
    """One object for each, so any will do: the enumeration's own is a function in Python."""


class TopicRow(NamedTuple):
    """What finding and watching show of a live topic, and the grants that say to whom.

    `kafka_name` None follows from the topic's own; `offset` is where the last accepted event about it lies.
    """

    labels: Labels
    partitions: int
    kafka_name: str | None
    etag: Etag
    offset: int
    grants: Grants


def row_of(topic: Aggregate, decode: DecodeIndexed) -> TopicRow | None:
    """Return what is shown of a topic as it is stored, None where it is not live. Cost: O(payload)."""
    if not topic.is_live:
        return None
    indexed = decode(topic.payload_schema, topic.payload) or NOTHING
    if indexed.pending is Step.END:
        return None
    labels = tuple(indexed.labels.items())
    return TopicRow(labels, indexed.partitions, indexed.kafka_name, topic.etag, topic.offset, indexed.grants)


class TopicDelta(NamedTuple):
    """What is shown of one topic before and after an accepted event; None where it is not live.

    `key` is its key in the namespace, `number` its number there.
    """

    namespace: str
    key: str
    number: int
    before: TopicRow | None
    after: TopicRow | None
    offset: int


class TopicChange(NamedTuple):
    """One topic as it was stored before an accepted event that changed its record, and as it is stored after it.

    What it shows is read in its payloads by whoever asks: mostly nobody does.
    """

    namespace: str
    key: str
    number: int
    before: Aggregate
    after: Aggregate
    offset: int
    decode: DecodeIndexed

    def delta(self) -> TopicDelta:
        """Return what that shows. Cost: as `row_of`, twice."""
        before, after = row_of(self.before, self.decode), row_of(self.after, self.decode)
        return TopicDelta(self.namespace, self.key, self.number, before, after, self.offset)


class NamespaceTurn(NamedTuple):
    """A namespace's life began, or ended and all of its topics with it: `had_topics` says whether there were any."""

    namespace: str
    is_live: bool
    offset: int
    had_topics: bool = False


Effect = TopicChange | NamespaceTurn


class Change(NamedTuple):
    """One folded record.

    `event` is None for garbage. `settled` has an entry for each operation of an accepted event, in its order; it is
    empty for everything else. `effect` is what whoever watches topics would see of it, None for nothing.
    """

    outcome: Outcome
    event: Event | None
    settled: tuple[tuple[bytes, Settled], ...] = ()
    effect: Effect | None = None

    @property
    def is_end(self) -> bool:
        """Whether it ended what its event is about: a delete that was accepted may be refused."""
        is_delete = self.event is not None and self.event.kind == Kind.DELETE
        return is_delete and any(each.verdict == Verdict.CHANGED for _, each in self.settled)


GARBAGE = Change(Outcome.GARBAGE, None)
