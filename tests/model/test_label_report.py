"""The sums of a report: who owns how much, how many bear each label, what was probably misspelt."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from tests.model.finding.naive_selector import label_sets
from topicfold.model.label_report import LabelReport, Owned, Typo, count_labels, label_report

topics = st.lists(st.tuples(st.sampled_from(["acme/pay", "acme/web"]), label_sets), max_size=20)
Labels = dict[str, str]


def report(*given: tuple[int, Labels], by: str | None = None) -> LabelReport:
    """Return the report over so many topics with these labels each, in one namespace."""
    return label_report(count_labels([("acme/pay", labels) for number, labels in given for _ in range(number)]), by)


def slips(*given: tuple[int, Labels]) -> list[tuple[str, str | None, str]]:
    return [(each.key, each.value, each.meant) for each in report(*given).typos]


@given(topics, st.sampled_from(["a", "in", "nobody"]))
def test_the_sums_are_what_counting_by_hand_gives(given: list[tuple[str, Labels]], by: str) -> None:
    found = label_report(count_labels(given), by)
    assert found.topics == len(given)
    assert found.namespaces == Counter(namespace for namespace, _ in given)
    assert {each.key: (each.topics, each.values) for each in found.keys} == {
        key: (sum(key in labels for _, labels in given), len({labels[key] for _, labels in given if key in labels}))
        for _, borne in given
        for key in borne
    }
    assert {each.value: each.namespaces for each in found.owners} == {
        value: Counter(namespace for namespace, labels in given if labels.get(by) == value)
        for value in {labels.get(by) for _, labels in given}
    }
    assert sum(each.topics for each in found.owners) == len(given)


def test_the_most_come_first_and_those_without_an_owner_last() -> None:
    found = report((1, {"team": "b"}), (1, {"team": "a"}), (2, {"team": "c"}), (5, {}))
    assert found.owners[0] == Owned("c", 2, {"acme/pay": 2})
    assert [each.value for each in found.owners] == ["c", "a", "b", None]


def test_the_owner_is_the_team_or_the_owner_whichever_more_have_else_the_commonest_label() -> None:
    assert report((3, {"tier": "gold"}), (2, {"owner": "ann"}), (1, {"team": "pay"})).by == "owner"
    assert report((3, {"tier": "gold"}), (2, {"env": "prod"})).by == "tier"
    assert report((3, {"tier": "gold"}), (1, {"team": "pay"}), by="tier").by == "tier"
    assert report((3, {})).by == ""
    assert report().owners == ()


def test_a_rare_value_that_looks_like_a_common_one_is_a_slip() -> None:
    found = report((400, {"team": "payments"}), (1, {"team": "paymnts"}), (40, {"team": "payment"}))
    assert found.typos == (
        Typo("team", "paymnts", 1, "payments", 400),
        Typo("team", "payment", 40, "payments", 400),
    )


def test_slips_are_found_in_keys_in_capitals_and_in_letters_changed_round() -> None:
    assert slips((30, {"team": "pay"}), (1, {"taem": "pay"})) == [("taem", None, "team")]
    assert slips((30, {"team": "pay"}), (1, {"team": "Pay"})) == [("team", "Pay", "pay")]
    assert slips((30, {"tier": "gold"}), (1, {"tier": "glod"})) == [("tier", "glod", "gold")]


def test_words_of_their_own_are_no_slips() -> None:
    numbered = [(30, {"zone": "eu-1"}), (1, {"zone": "eu-2"}), (30, {"v": "10"}), (1, {"v": "100"})]
    assert slips(*numbered, (30, {"wind": "west"}), (1, {"wind": "east"})) == []
    assert slips((9, {"team": "payments"}), (1, {"team": "paymnts"})) == []
