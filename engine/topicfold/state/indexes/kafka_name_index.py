"""The index of a namespace's names in Kafka: which topics' records name a Kafka topic. Several may name the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence


class KafkaNameIndex:
    """Which topics name which Kafka topic; those whose name in Kafka follows from their own are not in it.

    >>> index = KafkaNameIndex()
    >>> index.replace(4, None, "legacy")
    >>> index.of("legacy"), index.of("orders")
    ((4,), ())
    """

    __slots__ = ("_numbers",)

    def __init__(self) -> None:
        self._numbers: dict[str, tuple[int, ...]] = {}

    def replace(self, number: int, old: str | None, new: str | None) -> None:
        """Replace the `old` name in the record of topic `number` by a `new` one; None is for no name.

        Cost: O(topics that name the same).
        """
        if old == new:
            return
        if old is not None and (left := tuple([each for each in self.of(old) if each != number])):
            self._numbers[old] = left
        elif old is not None:
            self._numbers.pop(old, None)
        if new is not None:
            self._numbers[new] = (*self.of(new), number)

    def of(self, name: str) -> Sequence[int]:
        """Return the topics whose records name that Kafka topic."""
        return self._numbers.get(name, ())

    def lists(self, number: int, name: str | None) -> bool:
        """Return whether topic `number` is listed under the `name` in its record."""
        return name is None or number in self.of(name)

    def misfiled(self, names: Mapping[int, str]) -> Iterator[str | None]:
        """Check all lists step by step; yield the names under which a topic is listed that does not name it.

        `names` are those in the topics' records. Yields None after every other step. The index may change between
        steps.
        """
        for name in list(self._numbers):
            yield name if self.strangers(name, names) else None

    def strangers(self, name: str, names: Mapping[int, str]) -> list[int]:
        """Return the topics that are listed under a name which is not in their record."""
        return [number for number in self.of(name) if names.get(number) != name]
