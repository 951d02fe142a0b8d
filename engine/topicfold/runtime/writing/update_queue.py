"""The queue of one aggregate: updates that wait, and events of this node that are not decided yet.

It holds the rule and the bookkeeping of "at most one outstanding event per aggregate"; `updates` decides what to append
and whom to answer.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from topicfold.runtime.writing.update import Base, Target, Update

YIELD_SECONDS = 0.012
WINS_BEFORE_YIELD = 4


@dataclass(slots=True, eq=False)
class UpdateQueue:
    """The waiting updates of `target`, and the undecided events on its current version.

    `latest` is the event not given up yet, `carried` the updates in it, `event_ids` all events on `base`. A queue
    that won `WINS_BEFORE_YIELD` times in a row while it saw rivals' events rejected rests once, so that they get in.
    """

    target: Target
    waiting: deque[Update] = field(default_factory=deque)
    base: Base | None = None
    event_ids: set[bytes] = field(default_factory=set)
    latest: bytes | None = None
    sent_at: float = 0.0
    carried: Sequence[Update] = ()
    wins: int = 0
    saw_rivals: bool = False
    rests_until: float = 0.0
    timer: asyncio.TimerHandle | None = None
    refreshing: asyncio.Task[None] | None = None

    def sent(self, event_id: bytes, base: Base, carried: Sequence[Update], now: float) -> None:
        """Note that an event with `carried`, taken from those who wait, is on its way."""
        self.base = base
        self.event_ids.add(event_id)
        self.latest = event_id
        self.sent_at = now
        self.carried = carried
        taken = set(map(id, carried))
        self.waiting = deque(update for update in self.waiting if id(update) not in taken)
        for update in carried:
            update.in_attempt = True

    def give_up(self) -> None:
        """Stop waiting for the latest event, undecided as it is; its updates go into the next on the same base."""
        self.latest = None
        self.waiting.extendleft(update for update in reversed(self.carried) if not update.settled.done())
        self.carried = ()

    def withdraw(self, event_id: bytes) -> None:
        """Note that this event is not in the log and never will be; where it was the last, its base is free again."""
        if self.latest == event_id:
            self.give_up()
        self.event_ids.discard(event_id)
        if not self.event_ids:
            self._free()

    def decide(self, successor: bytes | None, now: float) -> None:
        """Note that `successor` took the base's place (None: the namespace ended, or the level rose).

        Updates that are not settled by it are back at the front, in their order, and in no event.
        """
        if successor not in self.event_ids:
            self.wins, self.rests_until = 0, 0.0
        elif self.saw_rivals:
            self.wins += 1
            if self.wins >= WINS_BEFORE_YIELD:
                self.wins, self.saw_rivals, self.rests_until = 0, False, now + YIELD_SECONDS
        self.event_ids.clear()
        self.give_up()
        self._free()

    def _free(self) -> None:
        self.base = None
        for update in self.waiting:
            update.in_attempt = False

    def moved_from(self, incarnation: bytes) -> bool:
        """Whether undecided events were written for another life of their namespace than this."""
        return self.base is not None and self.base.incarnation != incarnation

    def keep(self, wanted: Callable[[Update], bool]) -> None:
        """Drop those who wait and are not wanted any more."""
        if not all(map(wanted, self.waiting)):
            self.waiting = deque(filter(wanted, self.waiting))
