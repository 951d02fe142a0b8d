"""The name index answers as a scan over all names would, after any history."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.model.finding.naive_pattern import (
    CASES,
    EXAMPLES,
    SMALL_NAMES,
    SMALL_PATTERNS,
    naive_matches,
    names,
    patterns,
)
from topicfold.model.finding.pattern import parse_pattern
from topicfold.model.names import local_of_key
from topicfold.state.indexes import name_index
from topicfold.state.indexes.name_index import NameIndex

keys = names.filter(bool) | names.filter(bool).map("non-persistent://{}".format)
histories = st.lists(st.tuples(keys, st.booleans()), max_size=30)


class Names:
    """An index, and beside it who is live."""

    def __init__(self, history: list[tuple[str, bool]], separator: str = "__") -> None:
        self.numbers: dict[str, int] = {}
        self.keys: list[str] = []
        self.index = NameIndex(self.numbers, self.keys, separator)
        self.separator = separator
        self.live: set[int] = set()
        for key, is_live in history:
            self.put(key, is_live)

    def put(self, key: str, is_live: bool) -> None:
        """Make the topic called `key`, or end it."""
        number = self.numbers.setdefault(key, len(self.keys))
        self.keys += [key] if number == len(self.keys) else []
        if is_live != (number in self.live):
            (self.index.add if is_live else self.index.discard)(number)
            (self.live.add if is_live else self.live.discard)(number)

    def found(self, pattern: str) -> list[str]:
        """Return the keys that the index finds."""
        return [self.keys[number] for number in self.index.matching(parse_pattern(pattern, self.separator))]

    def scanned(self, pattern: str) -> list[str]:
        """Return the keys that a scan finds."""
        return [self.keys[number] for number in sorted(self.live)
                if naive_matches(pattern, local_of_key(self.keys[number]), self.separator)]  # fmt: skip

    def is_as_made_anew(self) -> bool:
        """Return whether the index files the same topics as one that is made anew, of who is live."""
        index = NameIndex(self.numbers, self.keys, self.separator)
        for number in sorted(self.live):
            index.add(number)
        return filed(self.index) == filed(index)


def filed(index: NameIndex) -> tuple[object, ...]:
    """Return who is filed under what, whichever way."""
    places = [(name_index._fingerprint(place), number) for place, them in index._frequent.items() for number in them]
    return index._everyone, index._lengths, sorted([*index._rare, *places])


@pytest.fixture(params=["as shipped", "postings from the third on", "two fingerprints"])
def _way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a few names meet what else only many would: frequent segments, fingerprints that several share."""
    if request.param != "as shipped":
        monkeypatch.setattr(name_index, "_RARE_MEMBERS", 2)
    if request.param == "two fingerprints":
        monkeypatch.setattr(name_index, "_fingerprint", lambda place: hash(place) % 2)


every_way = pytest.mark.usefixtures("_way")
# The fixture stays as it is for all examples of a test.
random = settings(max_examples=EXAMPLES // 10, suppress_health_check=[HealthCheck.function_scoped_fixture])


@every_way
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_every_public_case_holds_beside_all_the_others(case: dict[str, object]) -> None:
    topics = Names([(str(each["topic"]), True) for each in CASES if each["topic"]])
    if case["expect"] != "invalid_pattern":
        assert (case["topic"] in topics.found(str(case["pattern"]))) is case["expect"]
        assert topics.found(str(case["pattern"])) == topics.scanned(str(case["pattern"]))


@every_way
@given(histories, st.lists(patterns, min_size=1, max_size=5))
@random
def test_a_pattern_finds_what_a_scan_finds(history: list[tuple[str, bool]], texts: list[str]) -> None:
    topics = Names(history)
    for text in texts:
        assert topics.found(text) == topics.scanned(text)


@every_way
def test_every_small_pattern_finds_what_a_scan_finds_while_names_come_and_go() -> None:
    topics = Names([])
    for key in Random(7).choices([name for name in SMALL_NAMES if name], k=120):
        topics.put(key, topics.numbers.get(key) not in topics.live)
        for text in SMALL_PATTERNS:
            assert topics.found(text) == topics.scanned(text)


@every_way
@given(histories)
@random
def test_an_index_changed_step_by_step_is_one_made_anew(history: list[tuple[str, bool]]) -> None:
    topics = Names(history)
    assert topics.is_as_made_anew()


@every_way
@given(histories)
@random
def test_an_index_that_everybody_left_holds_nothing(history: list[tuple[str, bool]]) -> None:
    topics = Names(history)
    for key in topics.keys:
        topics.put(key, False)
    index = topics.index
    assert (len(index._everyone), index._lengths, index._frequent, list(index._rare)) == (0, {}, {}, [])


@given(histories, st.lists(patterns, max_size=4))
def test_several_patterns_find_each_topic_once(history: list[tuple[str, bool]], texts: list[str]) -> None:
    topics = Names(history)
    found = topics.index.expand([parse_pattern(text) for text in texts])
    assert {topics.keys[number] for number in found} == {key for text in texts for key in topics.scanned(text)}


def test_frequent_and_rare_segments_are_found_among_thousands_of_names() -> None:
    topics = Names([(f"t{n % 7}__r{n % 300}__u{n}" + "__x" * (n % 3), n % 11 > 0) for n in range(6_000)])
    for text in ("t3__*__*", "t3__**", "*__r7__**", "*__*__u4321__*", "*__*__u4321__**", "t0__r7__*__x", "t1__*__*__x",
                 "*__*__*__x", "*__*__*__*__x", "*__*__no", "*__*__*__*__**", "**", "*", "t1__r1__u1__x"):  # fmt: skip
        assert topics.found(text) == topics.scanned(text)
    assert topics.is_as_made_anew()


@pytest.mark.parametrize("first", ["all", "one"])
def test_a_literal_that_all_names_or_all_but_one_have_takes_the_right_ones_away(first: str) -> None:
    topics = Names([(f"h{n % 2}__{'all' if n else first}__k{n % 3}__u{n}", True) for n in range(200)])
    for text in ("h0__all__k0__*", "*__all__k0__*", "h0__all__**", "*__all__*__*", "h0__all__k0__u0"):
        assert topics.found(text) == topics.scanned(text)


def test_a_segment_that_becomes_rare_again_is_filed_as_one() -> None:
    topics = Names([(f"a__{number}", True) for number in range(17)])
    assert list(topics.index._frequent) == [(0, "a")]
    for number in range(10):
        topics.put(f"a__{number}", False)
    assert topics.index._frequent == {}
    assert topics.found("a__*") == [f"a__{number}" for number in range(10, 17)]


def test_a_name_of_more_segments_than_a_pattern_can_have_is_found_by_its_beginning() -> None:
    topics = Names([(".".join("abc"[: n % 3 + 1] * 20), True) for n in range(3)], separator=".")
    for text in ("a.**", "a.b.**", "**", ".".join("*" * 31) + ".**", ".".join("*" * 20), ".".join("*" * 32)):
        assert topics.found(text) == topics.scanned(text)


def test_a_topic_is_found_in_both_domains_and_while_it_lives() -> None:
    topics = Names([("a__b", True), ("non-persistent://a__b", True), ("a__c", True)])
    assert topics.found("a__b") == ["a__b", "non-persistent://a__b"]
    topics.put("a__b", False)
    assert topics.found("a__b") == ["non-persistent://a__b"]
    assert topics.found("a__*") == ["non-persistent://a__b", "a__c"]


def test_indexes_of_different_topics_differ() -> None:
    one = Names([("a__b", True), ("c", True)])
    for other in ([("a__b", True)], [("a__b", True), ("c", True), ("c", False)], [("a__c", True), ("c", True)]):
        assert one.index != Names(other).index
    assert one.index != "a__b"
