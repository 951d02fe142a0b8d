"""What the fold made of one record, for those who wait for it."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from topicfold.model.events import Event, Kind, Verdict
from topicfold.model.records import Grants
from topicfold.state.aggregate import Etag
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


class TopicDelta(NamedTuple):
    """One topic before and after an accepted event that changed its record; None where it is not live.

    `key` is its key in the namespace, `number` its number there.
    """

    namespace: str
    key: str
    number: int
    before: TopicRow | None
    after: TopicRow | None
    offset: int


class NamespaceTurn(NamedTuple):
    """A namespace's life began, or ended and all of its topics with it."""

    namespace: str
    is_live: bool
    offset: int


Effect = TopicDelta | NamespaceTurn


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
