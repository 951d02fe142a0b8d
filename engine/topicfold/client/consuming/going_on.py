"""Where to read on in each partition: behind what the caller was returned, or where he sought. No I/O."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from topicfold.client.consuming.subscription import Partition

GO_ON_SECONDS = 60.0
"""For so long, what comes back of a consumer that was left is read on; later, others may have read on there."""


class GoingOn:
    """The offsets that come next in the partitions of a consumer, and in those of the consumers that were left.

        going_on = GoingOn()
        going_on.at({("orders", 0): 8})                         # the record with offset 7 was returned
        going_on.leave(now=0.0)
        going_on.take_left([("orders", 0)], now=1.0)            # {("orders", 0): 8}

    Kafka's client has a position, too: that is behind what it handed out, whoever got it, and is unknown once a
    partition was sought or was assigned anew.
    """

    def __init__(self) -> None:
        self._next: dict[Partition, int] = {}
        self._left: dict[Partition, int] = {}
        self._left_until = 0.0

    def at(self, offsets: Mapping[Partition, int]) -> None:
        """Take it that these come next; a negative one says that it is not known."""
        self._next |= offsets

    def revoked(self, partitions: Iterable[Partition]) -> None:
        """Take it that these begin where the group says, also those of a consumer that was left."""
        for each in partitions:
            self._next.pop(each, None)
            self._left.pop(each, None)

    def leave(self, now: float) -> None:
        """Take it that the consumer is another one, which is assigned nothing yet."""
        self._left |= {partition: offset for partition, offset in self._next.items() if offset >= 0}
        self._left_until = now + GO_ON_SECONDS
        self._next.clear()

    def forget(self, topics: Collection[str]) -> None:
        """Take it that these topics are others than those that were left."""
        self._left = {each: offset for each, offset in self._left.items() if each[0] not in topics}

    def take_left(self, partitions: Iterable[Partition], now: float) -> dict[Partition, int]:
        """Return what came next of these when they were left, unless that is long ago; it is told once."""
        if now > self._left_until:
            self._left.clear()
        return {each: self._left.pop(each) for each in partitions if each in self._left}

    def thrown_away(self, positions: Mapping[Partition, int]) -> dict[Partition, int]:
        """Return what comes next of the partitions of which more was handed out than returned; negative if unknown."""
        found = {each: self._next.get(each, -1) for each, position in positions.items() if position >= 0}
        return {each: offset for each, offset in found.items() if offset < positions[each]}
