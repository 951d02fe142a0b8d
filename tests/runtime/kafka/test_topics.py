"""Steps in Kafka that meet somebody else's: what was wanted is so in the end, whoever did it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from tests.runtime.kafka_nodes import WilfulCluster
from topicfold.errors import AlreadyExists, ClusterRefused, ClusterUnavailable
from topicfold.model.events import Verdict
from topicfold.model.kafka.adoption import KafkaTopic
from topicfold.model.updates import Refuse
from topicfold.runtime.kafka.topics import KafkaTopics


@pytest.fixture
def cluster() -> WilfulCluster:
    return WilfulCluster()


def after_a_look(cluster: WilfulCluster, meanwhile: Callable[[], Awaitable[None]]) -> None:
    """Let `meanwhile` happen between the next look at a topic and whatever follows it."""
    look = cluster.topic

    async def looked(name: str) -> KafkaTopic | None:
        found = await look(name)
        cluster.topic = look
        await meanwhile()
        return found

    cluster.topic = looked


async def test_a_topic_that_somebody_makes_meanwhile_is_taken_and_not_said_to_be_new(cluster: WilfulCluster) -> None:
    after_a_look(cluster, lambda: cluster.create("orders", 3))
    assert await KafkaTopics(cluster).make("orders", 3) is None
    assert cluster.partitions() == {"orders": 3}


async def test_a_smaller_topic_that_somebody_makes_meanwhile_grows(cluster: WilfulCluster) -> None:
    after_a_look(cluster, lambda: cluster.create("orders", 1))
    await KafkaTopics(cluster).make("orders", 3)
    assert cluster.partitions() == {"orders": 3}


@pytest.mark.parametrize("grown_to", [3, 5])
async def test_a_topic_that_somebody_grows_enough_meanwhile_stays_as_it_is(
    cluster: WilfulCluster, grown_to: int
) -> None:
    await cluster.create("orders", 1)
    after_a_look(cluster, lambda: cluster.grow("orders", grown_to))
    await KafkaTopics(cluster).make("orders", 3)
    assert cluster.partitions() == {"orders": grown_to}


async def test_a_topic_that_comes_and_goes_meanwhile_is_made_all_the_same(cluster: WilfulCluster) -> None:
    create = cluster.create

    async def come_and_go(name: str, partitions: int) -> None:
        cluster.create = create
        raise AlreadyExists(f"Kafka has a topic {name} already", name=name)

    cluster.create = come_and_go
    assert await KafkaTopics(cluster).make("orders", 3) is not None
    assert cluster.partitions() == {"orders": 3}


async def test_a_topic_that_kafka_does_not_let_grow_is_not_said_to_have_grown(cluster: WilfulCluster) -> None:
    async def refuse(name: str, partitions: int) -> None:
        raise ClusterRefused("its policy forbids it", kafka_topic=name)

    await cluster.create("orders", 1)
    cluster.grow = refuse
    with pytest.raises(ClusterRefused):
        await KafkaTopics(cluster).make("orders", 3)


async def test_a_topic_that_somebody_deletes_meanwhile_is_gone(cluster: WilfulCluster) -> None:
    await cluster.create("orders", 1)
    found = await cluster.topic("orders")
    assert found is not None
    after_a_look(cluster, lambda: cluster.delete("orders"))
    await KafkaTopics(cluster).end("orders", found.id)
    assert cluster.partitions() == {}


async def test_what_others_keep_changing_is_of_one_topic_and_no_outage(cluster: WilfulCluster) -> None:
    async def come_and_go(name: str, partitions: int) -> None:
        raise AlreadyExists(f"Kafka has a topic {name} already", name=name)

    cluster.create = come_and_go
    with pytest.raises(ClusterUnavailable, match="being changed by others") as raised:
        await KafkaTopics(cluster).make("orders", 3)
    assert raised.value.is_of_one_topic
    assert raised.value.values["bootstrap"] == cluster.bootstrap


async def test_as_many_partitions_as_a_kafka_topic_has_are_not_asked_for(cluster: WilfulCluster) -> None:
    await cluster.create("orders", 3)
    found = await cluster.topic("orders")
    cluster.is_reachable = False
    assert await KafkaTopics(cluster).refusal_of_growth("orders", found, 3) is None


@pytest.mark.parametrize("is_there", [True, False])
async def test_what_kafka_would_refuse_is_known_before_anything_is_written(
    cluster: WilfulCluster, is_there: bool
) -> None:
    async def refuse(name: str, partitions: int) -> None:
        raise ClusterRefused("its policy forbids it", kafka_topic=name)

    await cluster.create("orders", 1)
    found = await cluster.topic("orders") if is_there else None
    cluster.check_growth, cluster.check_creation = (refuse, None) if is_there else (None, refuse)
    refusal = await KafkaTopics(cluster).refusal_of_growth("orders", found, 3)
    assert refusal == Refuse(Verdict.CLUSTER_REFUSED, "its policy forbids it")


async def test_a_kafka_topic_that_goes_before_it_is_asked_whether_it_can_grow_is_changed_by_others(
    cluster: WilfulCluster,
) -> None:
    await cluster.create("orders", 1)
    found = await cluster.topic("orders")
    await cluster.delete("orders")
    with pytest.raises(ClusterUnavailable, match="being changed by others"):
        await KafkaTopics(cluster).refusal_of_growth("orders", found, 3)
