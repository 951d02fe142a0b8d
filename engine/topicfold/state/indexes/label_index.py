"""The label index of a namespace: key → value → postings, and each topic's labels as numbers of pairs.

A pair (key, value) is stored once, and numbered as long as some topic has it; a topic's labels are the concatenated
numbers of its pairs. Postings, unions per key and pair numbers change in one call, from (old, new).

Source: PIP-451; Prometheus `tsdb/index` (postings algebra).
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from json.encoder import encode_basestring

from pyroaring import BitMap

from topicfold.state.indexes.integer_values import IntegerValues
from topicfold.state.indexes.postings import Postings
from topicfold.state.pieces import ByteColumn

NO_LABELS = b""
PAIR_BYTES = 4
"""The size of a pair's number in a topic's labels."""

Labels = tuple[tuple[str, str], ...]
"""A topic's labels as pairs (key, value), in the order they were given."""

Filing = tuple[str, str | None]
"""What topics are filed under: a key with a value, or, if that is None, with any value."""

_NONE: Mapping[str, int] = {}
_NOBODYS = ("", "")
"""Marks the place of a pair that no topic has any more. Compare by identity: a topic's own pair may be equal."""
_LOOKED_AT = 512
"""How many members of postings, or pairs, are checked in a step."""
_MAX_WRITTEN = 16_384
"""How many pairs are cached as JSON; when there are more, the cache is emptied."""


class LabelIndex:
    """Which topics have which labels.

    >>> index = LabelIndex()
    >>> ids = index.replace(4, NO_LABELS, {"team": "pay"})
    >>> list(index.having("team", "pay")), index.labels(ids)
    ([4], {'team': 'pay'})
    """

    __slots__ = ("_free", "_integers", "_keys", "_pairs", "_postings", "_values", "_written")

    def __init__(self) -> None:
        self._values: dict[str, dict[str, int]] = {}
        self._keys: dict[str, Postings] = {}
        self._pairs: list[tuple[str, str]] = []
        self._postings: list[Postings] = []
        self._free: list[int] = []
        self._integers: dict[str, IntegerValues] = {}
        self._written = _Written(self._pairs)

    @classmethod
    def of(
        cls, pairs: Sequence[tuple[str, str]], having: Sequence[Postings], keys: Mapping[str, Postings]
    ) -> LabelIndex:
        """Return an index with these `pairs`, numbered by their places; `having` has the topics of each pair.

        `keys` are the unions by key. Cost: O(pairs).
        """
        index = cls()
        index._pairs += pairs
        index._postings = list(having)
        index._keys = dict(keys)
        index._values = {key: {} for key in keys}
        for pair, (key, value) in enumerate(pairs):
            index._values[key][value] = pair
        return index

    def replace(self, number: int, old: bytes, labels: Mapping[str, str]) -> bytes:
        """Replace the labels `old` of topic `number` by these; return them as pair numbers.

        Cost: O(labels that differ); unchanged pairs are not touched.
        """
        new = array("I")
        for key, value in labels.items():
            try:
                new.append(self._values[key][value])
            except KeyError:
                new.append(self._intern(key, value))
        before = array("I", old)
        if new == before:
            return old
        gone = set(before)
        if self._integers:
            self._move_integer(number, gone.difference(new), set(new).difference(gone))
        for pair in new:
            if pair not in gone:
                self._postings[pair].add(number)
                self._keys[self._pairs[pair][0]].add(number)
        for pair in gone.difference(new):
            self._remove(pair, number, labels)
        return new.tobytes() if new else NO_LABELS

    def labels(self, ids: bytes) -> dict[str, str]:
        """Return the labels with a topic's pair numbers, in the order in which they were given."""
        return dict(self.pairs(ids))

    def pairs(self, ids: bytes) -> Labels:
        """Return the pairs with a topic's pair numbers; they are the index's own, not copies."""
        pairs = self._pairs
        return tuple([pairs[pair] for pair in memoryview(ids).cast("I")])

    def members(self, labels: Sequence[bytes]) -> list[bytes]:
        """Return the labels of many topics as members of JSON objects, `"team":"pay","tier":"gold"`, in UTF-8.

        Cost: a third of serialising each topic's; a pair is serialised once, and cached.
        """
        written = list(map(self._written.__getitem__, array("I", b"".join(labels))))
        found = []
        start = 0
        for ids in labels:
            end = start + len(ids) // PAIR_BYTES
            found.append(b",".join(written[start:end]))
            start = end
        return found

    def having(self, key: str, value: str) -> Postings | None:
        """Return the topics with the label `key`=`value`, None for none. Not to be changed. Cost: O(1)."""
        pair = self._values.get(key, _NONE).get(value)
        return None if pair is None else self._postings[pair]

    def having_key(self, key: str) -> Postings | None:
        """Return the topics with a label `key`, None for none. Not to be changed. Cost: O(1)."""
        return self._keys.get(key)

    def having_above(self, key: str, bound: int) -> BitMap:
        """Return the topics with an integer above `bound` as the value of `key`.

        Cost: set operations; O(pairs) the first time, for a key that was not made comparable before.
        """
        return self._comparable(key).above(bound) if key in self._values else BitMap()

    def having_below(self, key: str, bound: int) -> BitMap:
        """Return the topics with an integer below `bound` as the value of `key`. Cost: as `having_above`."""
        return self._comparable(key).below(bound) if key in self._values else BitMap()

    def make_comparable(self, key: str, most: int) -> bool:
        """Look for integer values of `key` in up to `most` more pairs; return whether all pairs were looked at.

        Labels may change between calls. A key stays comparable only as long as some topic has it.
        """
        if key not in self._values:
            return True
        if key not in self._integers:
            self._integers[key] = IntegerValues(key, until=len(self._pairs))
        return self._integers[key].walk(self._pairs, self._postings, most)

    def _comparable(self, key: str) -> IntegerValues:
        """Return the integers of `key`, complete; some topic must have this key."""
        while not self.make_comparable(key, _LOOKED_AT):
            pass
        return self._integers[key]

    @property
    def keys(self) -> Collection[str]:
        """The keys that some topic has. Not to be kept beyond a change."""
        return self._keys.keys()

    def values(self, key: str) -> Collection[str]:
        """Return the values that topics have for `key`. Not to be kept beyond a change. Cost: O(1)."""
        return self._values.get(key, _NONE).keys()

    def borne(self) -> list[tuple[str, str]]:
        """Return every pair that some topic has, in no order. Cost: 15 ns a pair."""
        return [pair for pair in self._pairs if pair is not _NOBODYS]

    def lists(self, number: int, ids: bytes) -> bool:
        """Return whether topic `number` is listed under each of its labels (pair numbers `ids`), none of them twice."""
        bearing = array("I", ids)
        for pair in bearing:
            key, value = self._pairs[pair]
            if key not in self._keys or self._values.get(key, _NONE).get(value) != pair:
                return False
            if number not in self._postings[pair] or number not in self._keys[key]:
                return False
        return len(set(bearing)) == len(bearing)

    def misfiled(self, column: ByteColumn) -> Iterator[Filing | None]:
        """Check all lists step by step; yield those that are empty or list a topic without this label.

        `column` has each topic's pair numbers, as `replace` returned them. Yields None after every other step. The
        index may change between steps. Cost: at most 0.2 ms a step; in all, 0.2 µs a pair and 0.5 µs a key of a topic.
        """
        for pair in range(len(self._pairs)):
            key, value = self._pairs[pair]
            if self._values.get(key, _NONE).get(value) == pair:
                yield from self._looking_at((key, value), column)
            else:
                yield None
        for key in list(self._keys):
            yield from self._looking_at((key, None), column)

    def strangers(self, filing: Filing, column: ByteColumn) -> list[int] | None:
        """Return the topics that are listed there without having this label; None if no list. Cost: O(members)."""
        postings = self._filed(filing)
        return None if postings is None else self._foreign(filing, list(postings), column)

    def unborne(self) -> tuple[int, int]:
        """Return by how many the known labels exceed the numbered ones, and the keys those with a union.

        It is (0, 0) in a sound index. Cost: O(keys).
        """
        values = sum(map(len, self._values.values()))
        return values + len(self._free) - len(self._pairs), len(self._values) - len(self._keys)

    def _filed(self, filing: Filing) -> Postings | None:
        key, value = filing
        return self.having_key(key) if value is None else self.having(key, value)

    def _looking_at(self, filing: Filing, column: ByteColumn) -> Iterator[Filing | None]:
        start = 0
        while postings := self._filed(filing):
            numbers = postings.part(start, _LOOKED_AT)
            if not numbers:
                return
            start = max(start, *numbers) + 1
            if self._foreign(filing, numbers, column):
                yield filing
                return
            yield None
        if postings is not None:
            yield filing

    def _foreign(self, filing: Filing, numbers: Sequence[int], column: ByteColumn) -> list[int]:
        """Return those of `numbers`, which must rise, that lack this label. Counting all at once is the fast path."""
        key, value = filing
        known = numbers[: bisect_left(numbers, len(column))]
        borne = array("I", b"".join(column.of_each(known)))
        if value is not None:
            count = borne.count(self._values[key][value])
        else:
            count = [self._pairs[pair][0] for pair in borne].count(key)
        if count == len(numbers):
            return []
        return [number for number in numbers if number >= len(column) or not self._bears(column.of(number), filing)]

    def _bears(self, ids: bytes, filing: Filing) -> bool:
        key, value = filing
        return any(each == key and value in (None, found) for each, found in self.pairs(ids))

    def _intern(self, key: str, value: str) -> int:
        values = self._values.get(key)
        if values is None:
            values = self._values[key] = {}
            self._keys[key] = Postings()
        pair = values.get(value)
        if pair is None:
            if self._free:
                pair = self._free.pop()
                self._pairs[pair], self._postings[pair] = (key, value), Postings()
            else:
                pair = len(self._pairs)
                self._pairs.append((key, value))
                self._postings.append(Postings())
            values[value] = pair
        return pair

    def _move_integer(self, number: int, gone: Iterable[int], new: Iterable[int]) -> None:
        """Update the comparable integers for a topic that loses the pairs `gone` and gets the pairs `new`."""
        for pair in gone:
            key, value = self._pairs[pair]
            if key in self._integers and self._integers[key].covers(pair):
                self._integers[key].discard(value, number)
        for pair in new:
            key, value = self._pairs[pair]
            if key in self._integers and self._integers[key].covers(pair):
                self._integers[key].add(value, number)

    def _remove(self, pair: int, number: int, labels: Mapping[str, str]) -> None:
        """Remove `number` from a pair that it no longer has; drop the pair and the key if they are empty now."""
        key, value = self._pairs[pair]
        postings = self._postings[pair]
        postings.discard(number)
        if key not in labels:
            self._keys[key].discard(number)
        if not len(postings):
            del self._values[key][value]
            self._free.append(pair)
            self._pairs[pair] = _NOBODYS
            self._written.pop(pair, None)
            if not self._values[key]:
                del self._values[key], self._keys[key]
                self._integers.pop(key, None)


class _Written(dict[int, bytes]):
    """Pairs by number as members of a JSON object, each serialised when it is first asked for."""

    def __init__(self, pairs: Sequence[tuple[str, str]]) -> None:
        self._pairs = pairs

    def __missing__(self, pair: int) -> bytes:
        if len(self) >= _MAX_WRITTEN:
            self.clear()
        key, value = self._pairs[pair]
        written = self[pair] = f"{encode_basestring(key)}:{encode_basestring(value)}".encode()
        return written
