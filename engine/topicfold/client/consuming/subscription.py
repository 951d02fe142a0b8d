"""What a consumer is to be subscribed to, as topics come, go and are made anew. No I/O."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from confluent_kafka import Message

LEAVE_SECONDS = 1.0
"""So long at most, a topic that went is still read, for the records of it that had arrived."""

Partition = tuple[str, int]


def partition_of(message: Message) -> Partition:
    """Return the partition that a record is of."""
    return message.topic() or "", message.partition() or 0


class Subscription:
    """The topics that a consumer is subscribed to, and from when on others.

        subscription = Subscription(distrust_seconds=330.0)
        subscription.next({"orders": "id-1"}, assigned=set(), in_flight=set(), now=0.0)    # {"orders"}
        subscription.next({}, assigned={"orders"}, in_flight={"orders"}, now=1.0)          # None: as it is
        subscription.next({}, assigned={"orders"}, in_flight=set(), now=1.1)               # set()

    A topic with another id than before is another topic, whose offsets mean nothing in this one: it is left, and
    subscribed to again once nothing of it is assigned any more. `starts_over` says what is to be read from the start.

    The group may have an offset of the former topic: a member that has not noticed yet may commit one, until it leaves
    that topic, or is put out of the group because it does not poll. Whoever reads a partition from its start overwrites
    it; the members that had the partition before have left by then. So the group's offsets are trusted again once the
    topic was subscribed to for `distrust_seconds`, in which every member must have noticed or be gone.
    """

    def __init__(self, distrust_seconds: float) -> None:
        self._distrust_seconds = distrust_seconds
        self._current: frozenset[str] = frozenset()
        self._ids: dict[str, str] = {}
        self._leave_by: dict[str, float] = {}
        self._made_anew: dict[str, float] = {}
        """Topics whose offsets are not trusted; since when they are subscribed to."""
        self._starting: frozenset[str] = frozenset()
        self._restarted: set[Partition] = set()

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
        self._trust_again(now)
        wanted = {name for name, id_ in there.items() if self._may_subscribe(name, id_, assigned, now)}
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

    def made_anew(self, there: Mapping[str, str]) -> frozenset[str]:
        """Return which of the topics that are `there` have another id than when they were last there."""
        return frozenset(name for name, id_ in there.items() if self._ids.get(name, id_) != id_)

    def keeps(self, held: Collection[Partition], there: Mapping[str, str]) -> bool:
        """Return whether these partitions stay: their topics are there as they were, and none is to start over.

        None does where any topic was made anew: another consumer reads all of them then.
        """
        return not (held and self.made_anew(there)) and all(
            there.get(name) == self._ids.get(name)
            and (name not in self._made_anew or (name, partition) in self._restarted)
            for name, partition in held
        )

    def forget(self) -> None:
        """Take it that the consumer is another one, which is subscribed to nothing."""
        self._current = frozenset()
        self._leave_by.clear()

    def starts_over(self, assigned: Iterable[Partition]) -> list[Partition]:
        """Return the assigned partitions to read from their start now, those of topics that were made anew.

        Each of them until it was `restarted` here, even if another member did so: what that one committed since looks
        like what was committed for the topic of before. None while the former topic is still being left.
        """
        anew = self._made_anew.keys() & self._current
        concerned = {each for each in assigned if each[0] in anew} - self._restarted
        self._starting = frozenset(name for name, _ in concerned)
        return sorted(concerned)

    def restarted(self, partition: Partition) -> None:
        """Take it that this partition is read from its start, and that the group's offset is there too."""
        self._restarted.add(partition)

    def _may_subscribe(self, name: str, id_: str, assigned: Collection[str], now: float) -> bool:
        """Return whether to be subscribed to a topic that is there."""
        if self._ids.setdefault(name, id_) != id_:
            self._ids[name] = id_
            self._made_anew[name] = now
            self._restarted = {each for each in self._restarted if each[0] != name}
            return name not in assigned
        return name in self._current or name not in self._made_anew or name not in assigned

    def _trust_again(self, now: float) -> None:
        """Forget of topics that were subscribed to for long that they were made anew."""
        for name, since in list(self._made_anew.items()):
            if name not in self._current:
                self._made_anew[name] = now
            elif now >= since + self._distrust_seconds and name not in self._starting:
                del self._made_anew[name]
