"""The hash of a list of topics is what Pulsar's `TopicList.calculateHash` of 4.0.8 says, to the letter."""

from __future__ import annotations

import pytest

from topicfold.model.topic_hash import topic_list_hash

PATTERN_TOPICS = [f"persistent://my-property/my-ns/pattern-topic-{number}" for number in (1, 2, 3)]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ([], "00000000"),
        (PATTERN_TOPICS, "90d4a04a"),
        (PATTERN_TOPICS[::-1], "90d4a04a"),
        (PATTERN_TOPICS[:1], "0d0602ed"),
        (["persistent://tenant/ns/topic1"], "fd59a01d"),
        (["persistent://public/default/b", "persistent://public/default/a"], "c7559e98"),
    ],
)
def test_it_is_pulsars(names: list[str], expected: str) -> None:
    assert topic_list_hash(names) == expected


def test_names_are_sorted_as_java_sorts_them() -> None:
    assert topic_list_hash(["\uffee", "\U0001f600"]) == topic_list_hash(["\U0001f600", "\uffee"])
    assert topic_list_hash(["\uffee", "\U0001f600"]) != topic_list_hash(["\uffee,\U0001f600"])
