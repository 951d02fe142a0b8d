"""The cluster on Kafka where Kafka is away, or says no."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError

from tests.brokers.process import KafkaProcess
from tests.ports import free_ports
from topicfold.cluster.kafka import KafkaCluster
from topicfold.cluster.kafka_errors import translated
from topicfold.errors import BadSetting, ClusterUnavailable, TopicfoldError
from topicfold.model.kafka.adoption import KafkaTopic

ALLOW = "kafka-acls.sh --bootstrap-server kafka:9092 --add --allow-principal User:NAME"


@pytest.fixture
def nowhere() -> KafkaCluster:
    """A cluster where nothing listens."""
    return KafkaCluster(f"127.0.0.1:{free_ports(1)[0]}", answer_seconds=0.2)


def test_nobody_waits_for_a_list_that_was_given_up(nowhere: KafkaCluster) -> None:
    nowhere = KafkaCluster(nowhere.bootstrap, answer_seconds=8)
    begun = time.monotonic()
    with pytest.raises(TimeoutError):
        asyncio.run(asyncio.wait_for(nowhere.topics(), 0.1))
    assert time.monotonic() < begun + 7


async def test_a_closed_cluster_is_unavailable(nowhere: KafkaCluster) -> None:
    await nowhere.close()
    await nowhere.close()
    with pytest.raises(ClusterUnavailable, match="closed"):
        await nowhere.topic("a")


def test_a_setting_that_librdkafka_does_not_take_is_a_bad_setting() -> None:
    with pytest.raises(BadSetting, match=r"no\.such\.setting"):
        KafkaCluster("127.0.0.1:1", {"no.such.setting": "1"})


@pytest.mark.parametrize(
    ("code", "topic", "reason", "hint"),
    [
        (
            KafkaError.TOPIC_AUTHORIZATION_FAILED, "orders",
            "denies us AlterConfigs on topic orders", f"{ALLOW} --operation AlterConfigs --topic orders",
        ),
        (
            KafkaError.CLUSTER_AUTHORIZATION_FAILED, "",
            "denies us AlterConfigs on the cluster", f"{ALLOW} --operation AlterConfigs --cluster",
        ),
        (
            KafkaError.TOPIC_DELETION_DISABLED, "orders",
            "has topic deletion disabled, so orders cannot be deleted", "Set delete.topic.enable=true on its brokers.",
        ),
        (
            KafkaError.INVALID_REPLICATION_FACTOR, "orders",
            "has too few brokers in service for topic orders",
            "Start the brokers that are down, or lower default.replication.factor to as many as there are.",
        ),
    ],
)  # fmt: skip
def test_what_kafka_does_not_allow_names_the_right_the_topic_and_what_to_do(
    code: int, topic: str, reason: str, hint: str
) -> None:
    error = translated(KafkaError(code), "kafka:9092", topic, "AlterConfigs")
    assert isinstance(error, ClusterUnavailable)
    assert error.reason.startswith(f"Kafka at kafka:9092 {reason}")
    assert error.is_of_one_topic
    assert error.hint == hint


def test_who_is_not_let_in_is_not_denied_topic_by_topic() -> None:
    error = translated(KafkaError(KafkaError.SASL_AUTHENTICATION_FAILED), "kafka:9092", "a", "Describe")
    assert isinstance(error, ClusterUnavailable)
    assert "denies access: " in error.reason
    assert "is_denied" not in error.values


async def test_a_token_is_renewed_before_kafka_is_asked_however_long_nobody_asked(
    nowhere: KafkaCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []

    def answer(*_: object) -> SimpleNamespace:
        done.append("asked")
        return SimpleNamespace(cluster_id="c")

    # Kafka's client renews tokens for OAUTHBEARER while it is polled, and then only.
    admin = SimpleNamespace(poll=lambda _: done.append("polled"), list_topics=answer)
    monkeypatch.setattr(nowhere, "_admin", admin)
    assert await nowhere.reach() == "c"
    assert done[:2] == ["polled", "asked"]


async def test_brokers_that_do_not_show_a_change_in_time_say_nothing_of_other_topics(nowhere: KafkaCluster) -> None:
    async def never() -> bool:
        return False

    with pytest.raises(ClusterUnavailable, match="orders was made, but the brokers do not show it yet") as late:
        await nowhere._until("topic orders was made", never)
    assert late.value.is_of_one_topic


@pytest.mark.kafka
async def test_a_change_is_made_once_the_brokers_show_it(
    kafka_bootstrap: str, fresh_topic: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster, name = KafkaCluster(kafka_bootstrap), fresh_topic()
    described, configurations = cluster._described, cluster.configurations
    shown: list[Any] = []

    async def described_late(name: str) -> Any:
        return shown.pop() if shown else await described(name)

    async def configured_late(names: Collection[str]) -> Any:
        return shown.pop() if shown else await configurations(names)

    monkeypatch.setattr(cluster, "_described", described_late)
    monkeypatch.setattr(cluster, "configurations", configured_late)
    leaderless = [SimpleNamespace(partitions=[SimpleNamespace(leader=None)] * 2)]
    for change, asked, first in (
        (cluster.create(name, 1), described(name), leaderless),
        (cluster.grow(name, 2), described(name), leaderless),
        (cluster.alter(name, {"retention.ms": "1000"}), configurations([name]), []),
        (cluster.delete(name), described(name), []),
    ):
        shown += [await asked] * 3 + first
        await change
        assert not shown


@pytest.mark.kafka
@pytest.mark.parametrize("seen", [[], [ClusterUnavailable("access is denied", is_denied=True)]], ids=["gone", "denied"])
async def test_settings_whose_change_nobody_can_see_are_changed_when_kafka_says_so(
    kafka_bootstrap: str, fresh_topic: Callable[[], str], monkeypatch: pytest.MonkeyPatch, seen: list[TopicfoldError]
) -> None:
    cluster, name = KafkaCluster(kafka_bootstrap), fresh_topic()
    await cluster.create(name, 1)
    asked: list[str] = []

    async def configurations(names: Collection[str]) -> dict[str, TopicfoldError]:
        asked.extend(names)
        return dict(zip(names, seen, strict=False))

    monkeypatch.setattr(cluster, "configurations", configurations)
    await cluster.alter(name, {"retention.ms": "1000"})
    assert asked == [name]


@pytest.mark.kafka
async def test_a_deleted_topic_is_gone_though_another_one_has_taken_its_name(
    kafka_bootstrap: str, fresh_topic: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster, name = KafkaCluster(kafka_bootstrap), fresh_topic()
    await cluster.create(name, 1)
    shown = [KafkaTopic(name, 1, id="another"), await cluster.topic(name)]

    async def topic(name: str) -> KafkaTopic | None:
        return shown.pop()

    monkeypatch.setattr(cluster, "topic", topic)
    await cluster.delete(name)
    assert shown == []


@pytest.mark.kafka
async def test_topics_beyond_one_question_have_their_settings_told_too(
    kafka_bootstrap: str, fresh_topic: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("topicfold.cluster.kafka._NAMES_A_QUESTION", 2)
    cluster, names = KafkaCluster(kafka_bootstrap), [fresh_topic() for _ in range(5)]
    for name in names:
        await cluster.create(name, 1)
    assert set(await cluster.configurations(names)) == set(names)


def test_no_answer_is_a_matter_of_the_whole_cluster() -> None:
    for code in (KafkaError._TIMED_OUT, KafkaError.SASL_AUTHENTICATION_FAILED):
        error = translated(KafkaError(code), "kafka:9092", "orders", "AlterConfigs")
        assert isinstance(error, ClusterUnavailable)
        assert not error.is_of_one_topic


async def test_who_finds_nobody_there_is_told_so(nowhere: KafkaCluster) -> None:
    for question in (nowhere.reach(), nowhere.topic("orders")):
        with pytest.raises(ClusterUnavailable, match=r"Connection refused$"):
            await question


async def test_a_cluster_without_an_id_has_an_empty_one(nowhere: KafkaCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    async def metadata(*_: Any) -> Any:
        return SimpleNamespace(cluster_id=None)

    monkeypatch.setattr(nowhere, "_metadata", metadata)
    assert await nowhere.reach() == ""


@pytest.mark.kafka
async def test_a_broker_that_comes_back_is_asked_again(
    own_broker: KafkaProcess, fresh_topic: Callable[[], str]
) -> None:
    cluster, name = KafkaCluster(own_broker.bootstrap), fresh_topic()
    await cluster.create(name, 3)
    own_broker.kill()
    impatient = KafkaCluster(own_broker.bootstrap, answer_seconds=0.3)
    with pytest.raises(ClusterUnavailable):
        await impatient.topic(name)
    own_broker.restart()
    found = await cluster.topic(name)
    assert found is not None
    assert found.partitions == 3
