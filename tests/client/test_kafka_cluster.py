"""Topics of a cluster as Kafka's own protocol tells them: librdkafka's mock broker, spoken to over a socket."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer

from topicfold.client import ExtraMissing
from topicfold.client.kafka_cluster import list_kafka_topics
from topicfold.errors import BadSetting, ClusterUnavailable
from topicfold.model.kafka.adoption import KafkaTopic


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    producer = Producer({"test.mock.num.brokers": 1, "log_level": 0})
    for name in ("orders", "acme..pay..orders"):
        producer.produce(name, b"x")
    producer.flush(10)
    broker = next(iter(producer.list_topics(timeout=10).brokers.values()))
    yield f"{broker.host}:{broker.port}"
    producer.flush(1)


def test_all_topics_are_listed_by_name_with_their_partitions(bootstrap: str) -> None:
    topics = list_kafka_topics(bootstrap, {}, 10)
    assert [topic.name for topic in topics] == ["acme..pay..orders", "orders"]
    assert all(topic == KafkaTopic(topic.name, topic.partitions) and topic.partitions > 0 for topic in topics)


def test_a_cluster_that_does_not_answer_is_unreachable_within_the_time(capfd: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        closed = f"127.0.0.1:{server.getsockname()[1]}"
    with pytest.raises(ClusterUnavailable) as unreachable:
        list_kafka_topics(closed, {}, 0.2)
    assert unreachable.value.values["bootstrap"] == closed
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("settings", [{"no.such.setting": "1"}, {"socket.timeout.ms": "soon"}])
def test_a_setting_that_librdkafka_does_not_take_is_a_bad_setting(settings: dict[str, str]) -> None:
    with pytest.raises(BadSetting, match=next(iter(settings))):
        list_kafka_topics("127.0.0.1:1", settings, 0.1)


def test_without_the_library_the_command_that_installs_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "topicfold.cluster.kafka", raising=False)
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    with pytest.raises(ExtraMissing) as missing:
        list_kafka_topics("127.0.0.1:1", {}, 0.1)
    assert missing.value.hint == "pip install 'topicfold[kafka]', or in a checkout: pip install -e '.[kafka]'"
