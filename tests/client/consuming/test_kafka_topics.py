"""Which of the wanted Kafka topics there are: looked for again and again, and told once when they stay missing."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import pytest

from tests.client.waiting import eventually
from topicfold.client.consuming.kafka_topics import KafkaTopics, MissingTopics


class Cluster:
    """Answers looks by what a test says that there is; of a topic with the id "?" nothing can be learnt."""

    def __init__(self) -> None:
        self.ids: dict[str, str] = {}
        self.looks: list[frozenset[str]] = []

    def __call__(self, names: Collection[str]) -> dict[str, str | None]:
        self.looks.append(frozenset(names))
        return {name: self.ids.get(name) for name in names if self.ids.get(name) != "?"}


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


@pytest.fixture
def topics(cluster: Cluster) -> Iterator[KafkaTopics]:
    topics = KafkaTopics(cluster)
    yield topics
    topics.close()


def test_what_is_wanted_is_looked_for_at_once(topics: KafkaTopics, cluster: Cluster) -> None:
    cluster.ids = {"a": "1"}
    topics.want(["a", "b"])
    eventually(lambda: topics.there == {"a": "1"} and topics.missing == {"b"})


def test_what_is_missing_is_found_when_it_comes_and_nothing_else_looked_for(
    topics: KafkaTopics, cluster: Cluster
) -> None:
    cluster.ids = {"a": "1"}
    topics.want(["a", "b"])
    eventually(lambda: topics.missing == {"b"})
    del cluster.looks[:]
    cluster.ids["b"] = "2"
    eventually(lambda: topics.there == {"a": "1", "b": "2"})
    assert set(cluster.looks) == {frozenset("b")}


def test_a_topic_that_is_heard_to_be_gone_is_looked_for_again(topics: KafkaTopics, cluster: Cluster) -> None:
    cluster.ids = {"a": "1"}
    topics.want(["a"])
    eventually(lambda: bool(topics.there))
    cluster.ids = {"a": "2"}
    topics.look_again()
    eventually(lambda: topics.there == {"a": "2"})


def test_silence_says_nothing_of_what_is_there(topics: KafkaTopics, cluster: Cluster) -> None:
    cluster.ids = {"a": "1"}
    topics.want(["a"])
    eventually(lambda: bool(topics.there))
    cluster.ids = {"a": "?", "b": "?"}
    topics.want(["a", "b"])
    topics.look_again()
    eventually(lambda: frozenset("ab") in cluster.looks)
    assert (topics.there, topics.missing) == ({"a": "1"}, frozenset())


def test_what_is_wanted_no_more_is_neither_there_nor_missing(topics: KafkaTopics, cluster: Cluster) -> None:
    cluster.ids = {"a": "1"}
    topics.want(["a", "b"])
    eventually(lambda: bool(topics.there))
    topics.want([])
    assert (topics.there, topics.missing) == ({}, frozenset())


def test_a_topic_that_stays_missing_is_told_once() -> None:
    missing = MissingTopics()
    told = [missing.overdue({"a"}, now) for now in (0.0, 1.9, 2.0, 9.0)]
    assert told == [[], [], ["a"], []]


def test_a_topic_that_was_missing_for_a_moment_is_not_told() -> None:
    missing = MissingTopics()
    assert [missing.overdue(names, now) for names, now in (({"a"}, 0.0), ((), 1.0), ({"a"}, 2.5))] == [[], [], []]


@pytest.mark.parametrize("meanwhile", [set[str](), {"b"}])
def test_a_topic_that_is_missing_again_is_told_again(meanwhile: set[str]) -> None:
    missing = MissingTopics()
    asked = (({"a"}, 0.0), ({"a"}, 2.0), (meanwhile, 3.0), ({"a"}, 4.0), ({"a"}, 6.0))
    assert [missing.overdue(names, now) for names, now in asked] == [[], ["a"], [], [], ["a"]]
