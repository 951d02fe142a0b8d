"""What a consumer is to be subscribed to, as topics come, go and are made anew. No I/O."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

LEAVE_SECONDS = 1.0
"""So long at most, a topic that went is still read, for the records of it that had arrived."""

Partition = tuple[str, int]


class Subscription:
    """The topics that a consumer is subscribed to, and from when on others.

        subscription = Subscription()
        subscription.next({"orders": "id-1"}, assigned=set(), in_flight=set(), now=0.0)    # {"orders"}
        subscription.next({}, assigned={"orders"}, in_flight={"orders"}, now=1.0)          # None: as it is
        subscription.next({}, assigned={"orders"}, in_flight=set(), now=1.1)               # set()

    A topic with another id than before is another topic, whose offsets mean nothing in this one: it is left, and
    subscribed to again once nothing of it is assigned any more. `starts_over` says what is to be read from the start.
    """

    def __init__(self) -> None:
        self._current: frozenset[str] = frozenset()
        self._ids: dict[str, str] = {}
        self._leave_by: dict[str, float] = {}
        self._made_anew: set[str] = set()
        self._restarted: set[Partition] = set()
        self._begun: set[Partition] = set()

    @property
    def current(self) -> Collection[str]:
        """The topics that the consumer is subscribed to."""
        return self._current

    @property
    def leaving(self) -> Collection[str]:
        """The topics that are only subscribed to for what had arrived of them."""
        return self._leave_by.keys()

    def next(
        self, there: Mapping[str, str], assigned: Collection[str], in_flight: Collection[str], now: float
    ) -> frozenset[str] | None:
        """Return the topics to subscribe to from now on, empty for none; None as long as they are the same.

        `there` are the ids of the topics that match and are there, `assigned` the topics that the consumer has
        partitions of, `in_flight` those of `leaving` of which records that had arrived were not delivered yet.
        """
        wanted = {name for name, id_ in there.items() if self._may_subscribe(name, id_, assigned)}
        for name in self._current - there.keys():
            self._leave_by.setdefault(name, now + LEAVE_SECONDS)
        self._leave_by = {
            name: by
            for name, by in self._leave_by.items()
            if name not in there and now < by and (name in in_flight or by == now + LEAVE_SECONDS)
        }
        target = frozenset(wanted | self._leave_by.keys())
        if target == self._current:
            return None
        self._current = target
        return target

    def forget(self) -> None:
        """Take it that the consumer is another one, which is subscribed to nothing."""
        self._current = frozenset()
        self._leave_by.clear()
        self._restarted.clear()

    def starts_over(self, assigned: Iterable[Partition]) -> list[Partition]:
        """Return the assigned partitions to read from their start now.

        Those of a topic that was made anew start over each time they are assigned, until one of their records was
        delivered: the group may have an offset that was committed for the topic of before.
        """
        concerned = {each for each in assigned if each[0] in self._made_anew}
        self._restarted &= concerned
        return sorted(concerned - self._restarted - self._begun)

    def restarted(self, partition: Partition) -> None:
        """Take it that the consumer reads this partition from its start."""
        self._restarted.add(partition)

    def delivered(self, partition: Partition) -> None:
        """Take it that a record of this partition was delivered."""
        if partition in self._restarted:
            self._begun.add(partition)

    def _may_subscribe(self, name: str, id_: str, assigned: Collection[str]) -> bool:
        """Return whether to be subscribed to a topic that is there."""
        if self._ids.setdefault(name, id_) != id_:
            self._ids[name] = id_
            self._made_anew.add(name)
            self._begun = {each for each in self._begun if each[0] != name}
            self._restarted = {each for each in self._restarted if each[0] != name}
            return name not in assigned
        return name in self._current or name not in self._made_anew or name not in assigned
