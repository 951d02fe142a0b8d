"""The name index of a namespace: which live topics match a pattern.

As the label index finds topics by key and value, this finds them by position and segment, and by number of segments. A
name of one segment needs no postings, because a literal segment is then the whole name. A segment that few names have
at its position is filed by fingerprint, and topics found by it are compared with the pattern.

Source: topic sets per (position, segment) after search engines' postings; NATS's rule for empty segments.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from pyroaring import BitMap

from topicfold.model.finding.pattern import MAX_SEGMENTS, Pattern, Shape
from topicfold.model.names import NON_PERSISTENT, local_of_key
from topicfold.state.indexes.postings import Postings
from topicfold.state.indexes.rare_postings import FINGERPRINT_BITS, RarePostings

Filing = tuple[int, str] | int
"""What topics are filed under: position and segment, or, if few have it, the fingerprint of these."""

_LOOKED_AT = 256
"""How many members of postings are checked in a step."""
_NOBODY = Postings()
_EMPTY = BitMap()
_RARE_MEMBERS = 16
"""How many may share a fingerprint: checking one takes 0.3 µs, so finding among more would take over 10 µs."""


class NameIndex:
    """Which topics match a pattern. Reads names from the table's own `numbers` and `keys`, and keeps none.

    Names with an empty segment are left out, because no pattern matches them; so are positions beyond those of any
    pattern. Memory: less than a byte a topic for names of one segment; otherwise at most 25 bytes a segment, or one
    byte for a segment that many names have.

    >>> from topicfold.model.finding.pattern import parse_pattern
    >>> keys = ["pay__refund", "pay", "__change_events"]
    >>> index = NameIndex({key: number for number, key in enumerate(keys)}, keys, "__")
    >>> for number in range(3): index.add(number)
    >>> [list(index.matching(parse_pattern(text))) for text in ("pay__*", "*", "**")]
    [[0], [1], [0, 1]]
    """

    __slots__ = ("_everyone", "_frequent", "_keys", "_lengths", "_numbers", "_rare", "separator")

    def __init__(self, numbers: Mapping[str, int], keys: Sequence[str], separator: str) -> None:
        self.separator = separator
        self._numbers = numbers
        self._keys = keys
        self._everyone = BitMap()
        self._lengths: dict[int, BitMap] = {}
        self._frequent: dict[tuple[int, str], Postings] = {}
        self._rare = RarePostings()

    def restore(
        self, by_length: Mapping[int, array[int]], places: Iterable[tuple[tuple[int, str], array[int]]]
    ) -> None:
        """Fill an empty index with topics by number of segments, and by (position, segment).

        Names with an empty segment must be left out. `places` has only names of two segments or more, and only
        positions below `MAX_SEGMENTS`. Numbers rise. Cost: O(numbers), and a microsecond for each place.
        """
        self._lengths = {length: BitMap(numbers) for length, numbers in by_length.items()}
        self._everyone = BitMap.union(*self._lengths.values()) if by_length else BitMap()
        rare = array("Q")
        for place, numbers in places:
            if len(numbers) > _RARE_MEMBERS:
                self._frequent[place] = Postings.of(numbers)
            else:
                first = _fingerprint(place) << FINGERPRINT_BITS
                rare.extend([first | number for number in numbers])
        self._rare = RarePostings.of(array("Q", sorted(rare)))

    def add(self, number: int) -> None:
        """Add the topic with that number, which must not be there yet. Cost: O(segments)."""
        segments = self._segments(number)
        if not segments:
            return
        self._everyone.add(number)
        length = len(segments)
        if length not in self._lengths:
            self._lengths[length] = BitMap()
        self._lengths[length].add(number)
        if length == 1:
            return
        for place in enumerate(segments[:MAX_SEGMENTS]):
            postings = self._frequent.get(place)
            if postings is not None:
                postings.add(number)
            elif self._rare.add(_fingerprint(place), number) > _RARE_MEMBERS:
                self._promote(place)

    def discard(self, number: int) -> None:
        """Remove the topic with that number completely, if it is there. Cost: O(segments)."""
        if number not in self._everyone:
            return
        self._everyone.discard(number)
        segments = self._segments(number)
        length = len(segments)
        self._lengths[length].discard(number)
        if not self._lengths[length]:
            del self._lengths[length]
        if length == 1:
            return
        for place in enumerate(segments[:MAX_SEGMENTS]):
            postings = self._frequent.get(place)
            if postings is None:
                self._rare.discard(_fingerprint(place), number)
            else:
                postings.discard(number)
                if len(postings) < _RARE_MEMBERS // 2:
                    self._demote(place)

    def matching(self, pattern: Pattern) -> BitMap:
        """Return the topics that match `pattern`, which was parsed with this index's separator. Not to be changed.

        Cost: one AND for each literal that many names have, the smallest first; and, if these do not determine the
        number of segments, one AND with the names of that number, or a subtraction of the others if they are fewer.
        If a literal is rare, at most `_RARE_MEMBERS` names are compared instead. Among a million names an AND takes
        5 µs, and 1 ns more for each name that two large sets share; a subtraction 8 µs, and 1 ns more for each name
        subtracted if fewer than one in sixteen have that number of segments.
        """
        if pattern.is_literal:
            return BitMap(self._called(str(pattern)))
        shape = pattern.shape
        found = []
        for position in shape.positions:
            place = (position, pattern.segments[position])
            postings = self._frequent.get(place)
            if postings is None:
                return BitMap([number for number in self._rare.numbers(_fingerprint(place))
                               if pattern.matches(local_of_key(self._keys[number]))])  # fmt: skip
            found.append(postings.bitmap())
        wrong = self._wrong_lengths(shape)
        if wrong and not shape.is_open:
            right = self._lengths.get(shape.count, _EMPTY)
            if not len(found) == len(wrong) == 1 or len(wrong[0]) > len(right):
                found.append(right)
                wrong = []
        result = self._intersection(found)
        for each in wrong:
            result = result - each
        return result

    def expand(self, patterns: Collection[Pattern]) -> BitMap:
        """Return the topics that match any of `patterns`; empty without patterns. Not to be changed.

        Cost: as `matching` for each, and their union.
        """
        found = [self.matching(pattern) for pattern in patterns]
        return found[0] if len(found) == 1 else BitMap.union(*found) if found else BitMap()

    @property
    def everyone(self) -> BitMap:
        """All topics that are listed here, as such or by number of segments; not those listed by a segment only."""
        return BitMap.union(self._everyone, *self._lengths.values())

    def fits(self, number: int, is_live: bool) -> bool:
        """Return whether that topic is filed wherever its name requires, or, if it is deleted, is not here.

        Cost: as `add`, and 50 ns for each number of segments that names have.
        """
        segments = self._segments(number) if is_live else []
        length = len(segments)
        if (number in self._everyone) is not (length > 0) or (length and length not in self._lengths):
            return False
        for each, numbers in self._lengths.items():
            if (number in numbers) is not (each == length):
                return False
        return length < 2 or all(number in self._filed(place) for place in enumerate(segments[:MAX_SEGMENTS]))

    def misfiled(self) -> Iterator[Filing | None]:
        """Check all filings step by step; yield those under which a topic is filed whose name does not fit.

        Yields None after every other step. The index may change between steps. Cost: 0.5 ms a step; in all, 1 µs a
        segment.
        """
        for place in list(self._frequent):
            start = 0
            while numbers := self._frequent.get(place, _NOBODY).part(start, _LOOKED_AT):
                start = max(start, *numbers) + 1
                if not all(self._belongs(number, place) for number in numbers):
                    yield place
                    break
                yield None
        fingerprint = 0
        while entries := self._rare.part(fingerprint):
            fingerprint = max(fingerprint, *(each for each, _ in entries)) + 1
            yield from {each for each, number in entries if not self._belongs(number, each)}
            yield None

    def strangers(self, filing: Filing) -> list[int]:
        """Return the topics that are filed there although their names do not fit. Cost: O(members)."""
        filed = self._rare.numbers(filing) if isinstance(filing, int) else self._frequent.get(filing, _NOBODY)
        return [number for number in filed if not self._belongs(number, filing)]

    def _filed(self, place: tuple[int, str]) -> Postings | list[int]:
        postings = self._frequent.get(place)
        return self._rare.numbers(_fingerprint(place)) if postings is None else postings

    def _belongs(self, number: int, filing: Filing) -> bool:
        """Return whether a topic is here and its name fits that filing, which may be a fingerprint."""
        if number not in self._everyone or number >= len(self._keys):
            return False
        segments = self._segments(number)
        places = enumerate(segments[:MAX_SEGMENTS] if len(segments) > 1 else ())
        return filing in (map(_fingerprint, places) if isinstance(filing, int) else places)

    def _segments(self, number: int) -> list[str]:
        """Return the segments of the topic's local name; an empty list if one is empty, so that no pattern matches."""
        segments = local_of_key(self._keys[number]).split(self.separator)
        return [] if "" in segments else segments

    def _called(self, local: str) -> Iterator[int]:
        """Yield the topics with that local name, at most one of each domain."""
        for key in (local, f"{NON_PERSISTENT}://{local}"):
            number = self._numbers.get(key)
            if number is not None and number in self._everyone:
                yield number

    def _intersection(self, sets: list[BitMap]) -> BitMap:
        """Return the intersection of `sets`, smallest first, skipping those with everyone; everyone without sets."""
        if len(sets) < 2:
            return sets[0] if sets else self._everyone
        sets.sort(key=len)
        everyone = len(self._everyone)
        if len(sets[1]) == everyone:
            return sets[0]
        result = sets[0] & sets[1]
        for each in sets[2:]:
            if len(each) == everyone:
                break
            result &= each
        return result

    def _wrong_lengths(self, shape: Shape) -> list[BitMap]:
        """Return the topics by those numbers of segments that reach the last literal of `shape` but do not fit it.

        A name that is found by a literal has two segments or more. To have the names of at least each number of
        segments ready would save open patterns up to 50 µs where few names are too short, but cost `add` 6 to 10 %.
        """
        reached = max(shape.positions[-1] + 1, 2) if shape.positions else 1
        lengths = self._lengths.items()
        return [numbers for length, numbers in lengths if length >= reached and not shape.admits(length)]

    def _promote(self, place: tuple[int, str]) -> None:
        """Give a segment postings of its own if the segment itself is frequent, not only its fingerprint."""
        fingerprint = _fingerprint(place)
        members = {number for number in self._rare.numbers(fingerprint) if self._stands_at(place, number)}
        if len(members) > _RARE_MEMBERS:
            postings = self._frequent[place] = Postings()
            for number in members:
                postings.add(number)
                self._rare.discard(fingerprint, number)

    def _demote(self, place: tuple[int, str]) -> None:
        for number in self._frequent.pop(place):
            self._rare.add(_fingerprint(place), number)

    def _stands_at(self, place: tuple[int, str], number: int) -> bool:
        position, segment = place
        segments = self._segments(number)
        return position < len(segments) and segments[position] == segment


def _fingerprint(place: tuple[int, str]) -> int:
    """Return a hash of 32 bits. It differs between processes, so nobody can choose names that collide."""
    return hash(place) & ((1 << FINGERPRINT_BITS) - 1)
