"""The Kafka topic that each topic stands for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.model.names import persistent_names
from topicfold.errors import InvalidName
from topicfold.model.kafka.names import MAX_KAFKA_NAME_LENGTH, is_kafka_name, kafka_name, topic_of_kafka_name
from topicfold.model.names import TopicName, parse_topic


@given(persistent_names)
def test_the_topic_of_a_kafka_name_is_the_one_it_was_made_from(name: TopicName) -> None:
    try:
        text = kafka_name(name)
    except InvalidName:
        return
    assert topic_of_kafka_name(text) == name


@given(persistent_names, persistent_names)
def test_two_persistent_topics_never_share_a_kafka_name(one: TopicName, other: TopicName) -> None:
    try:
        names = {kafka_name(one), kafka_name(other)}
    except InvalidName:
        return
    assert len(names) == len({one, other})


@given(st.text("ab.", max_size=12))
def test_whatever_a_kafka_topic_is_called_its_topic_has_that_kafka_name(text: str) -> None:
    name = topic_of_kafka_name(text)
    assert name is None or not is_kafka_name(text) or kafka_name(name) == text


@pytest.mark.parametrize(
    ("name", "text"),
    [("orders", "orders"), ("acme/pay/orders", "acme..pay..orders"), ("public/pay/a.b", "public..pay..a.b")],
)
def test_kafka_names_are_the_topic_alone_only_in_the_default_namespace(name: str, text: str) -> None:
    assert kafka_name(parse_topic(name)) == text


@pytest.mark.parametrize(
    "name", ["a..b", "a..b..c", "acme/pay/a..b", "acme./pay/orders", "acme/pay./orders", "a..b/c/d"]
)
def test_a_name_whose_kafka_name_would_be_ambiguous_has_none(name: str) -> None:
    with pytest.raises(InvalidName, match="no Kafka name"):
        kafka_name(parse_topic(name))


def test_a_kafka_name_has_at_most_249_bytes() -> None:
    assert len(kafka_name(parse_topic("x" * 249))) == MAX_KAFKA_NAME_LENGTH
    for too_long in ("x" * 250, "é" * 125, "acme/pay/" + "x" * 239):
        with pytest.raises(InvalidName, match="bytes"):
            kafka_name(parse_topic(too_long))


@pytest.mark.parametrize(
    ("text", "is_one"),
    [("a", True), ("a..b", True), ("A_9-.", True), ("x" * 249, True), ("x" * 250, False), (".", False), ("..", False),
     ("", False), ("a b", False), ("é", False), ("a\n", False)],
)  # fmt: skip
def test_what_kafka_takes_as_a_name_is_known(text: str, is_one: bool) -> None:
    assert is_kafka_name(text) is is_one
