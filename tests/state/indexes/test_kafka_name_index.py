"""Topics by the Kafka topics that their records name."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from topicfold.state.indexes.kafka_name_index import KafkaNameIndex


def filled(names: Mapping[int, str]) -> KafkaNameIndex:
    index = KafkaNameIndex()
    for number, name in names.items():
        index.replace(number, None, name)
    return index


@given(st.lists(st.tuples(st.integers(0, 4), st.sampled_from([None, "", "a", "b"]))))
def test_topics_are_found_by_the_name_that_they_have_last(changes: list[tuple[int, str | None]]) -> None:
    index, names = KafkaNameIndex(), dict[int, str]()
    for number, name in changes:
        index.replace(number, names.pop(number, None), name)
        if name is not None:
            names[number] = name
    for name in ("", "a", "b"):
        assert sorted(index.of(name)) == sorted(number for number, each in names.items() if each == name)
    assert all(index.lists(number, names.get(number)) for number in range(5))
    assert not any(index.misfiled(names))
    assert index._numbers.keys() == {*names.values()}


def test_who_is_listed_under_a_name_that_is_not_theirs_is_found() -> None:
    index = filled({1: "a", 2: "a", 3: "b"})
    names = {1: "a", 2: "b", 3: "b"}
    assert [*index.misfiled(names)] == ["a", None]
    assert index.strangers("a", names) == [2]
    assert not index.lists(2, "b")
