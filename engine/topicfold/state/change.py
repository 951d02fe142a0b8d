"""What the fold made of one record, for those who wait for it."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from topicfold.model.events import Event
from topicfold.state.operations import Settled


class Outcome(Enum):
    """What became of one record."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    NO_OP = "no_op"
    GARBAGE = "garbage"


class Change(NamedTuple):
    """One folded record.

    `event` is None for garbage. `settled` has an entry for each operation of an accepted event, in its order; it is
    empty for everything else.
    """

    outcome: Outcome
    event: Event | None
    settled: tuple[tuple[bytes, Settled], ...] = ()


GARBAGE = Change(Outcome.GARBAGE, None)
