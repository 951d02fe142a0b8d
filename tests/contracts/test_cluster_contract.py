"""What every cluster promises, whatever it is made of."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import pytest

from tests.memory_cluster import MemoryCluster
from tests.ports import free_ports
from topicfold.cluster.kafka import KafkaCluster
from topicfold.cluster.port import Cluster, Configuration
from topicfold.errors import AlreadyExists, ClusterRefused, ClusterUnavailable, TopicfoldError, TopicNotFound

UNSAFE_NAMES = ["a b", "ä", "a/b", "x" * 250, "."]


@pytest.fixture(params=["memory", pytest.param("kafka", marks=pytest.mark.kafka)])
async def cluster(request: pytest.FixtureRequest) -> AsyncIterator[Cluster]:
    if request.param == "memory":
        made: Cluster = MemoryCluster()
    else:
        made = KafkaCluster(request.getfixturevalue("kafka_bootstrap"))
    yield made
    await made.close()


@pytest.fixture(params=["memory", "kafka"])
def unreachable(request: pytest.FixtureRequest) -> Cluster:
    """A cluster that does not answer."""
    if request.param == "memory":
        made = MemoryCluster()
        made.is_reachable = False
        return made
    return KafkaCluster(f"127.0.0.1:{free_ports(1)[0]}", answer_seconds=0.2)


@pytest.fixture
async def topic(cluster: Cluster, fresh_topic: Callable[[], str]) -> str:
    """The name of a topic of two partitions."""
    name = fresh_topic()
    await cluster.create(name, 2)
    return name


async def configuration(cluster: Cluster, topic: str) -> Configuration:
    found = (await cluster.configurations([topic]))[topic]
    assert not isinstance(found, TopicfoldError)
    return found


async def own(cluster: Cluster, topic: str) -> dict[str, str]:
    """Return the settings that the topic itself overrides."""
    found = await configuration(cluster, topic)
    return {key: setting.value for key, setting in found.items() if setting.is_own}


async def test_a_topic_is_there_with_its_partitions_once_it_is_made(cluster: Cluster, topic: str) -> None:
    found = await cluster.topic(topic)
    assert found is not None
    assert (found.name, found.partitions, found.problem) == (topic, 2, "")
    assert found.id


async def test_a_cluster_that_does_not_answer_is_unavailable_whatever_is_asked(unreachable: Cluster) -> None:
    for ask in (
        unreachable.reach(),
        unreachable.topics(),
        unreachable.topic("a"),
        unreachable.check_creation("a", 1),
        unreachable.create("a", 1),
        unreachable.check_growth("a", 2),
        unreachable.grow("a", 2),
        unreachable.delete("a"),
        unreachable.configurations(["a"]),
        unreachable.alter("a", {"retention.ms": "1"}),
    ):
        with pytest.raises(ClusterUnavailable) as unavailable:
            await ask
        assert unavailable.value.values["bootstrap"] == unreachable.bootstrap


async def test_a_cluster_that_answers_names_itself_and_may_be_closed_twice(cluster: Cluster) -> None:
    assert await cluster.reach() == await cluster.reach() != ""
    await cluster.close()
    await cluster.close()


async def test_all_topics_are_listed_by_name(cluster: Cluster, topic: str) -> None:
    topics = await cluster.topics()
    assert (topics[topic].partitions, topics[topic].id) == (2, "")
    assert list(topics) == sorted(topics)


async def test_a_topic_that_is_not_there_is_none_and_is_not_made_by_asking(
    cluster: Cluster, fresh_topic: Callable[[], str]
) -> None:
    name = fresh_topic()
    assert await cluster.topic(name) is None
    assert await cluster.configurations([name]) == {}
    assert name not in await cluster.topics()


async def test_a_second_topic_of_one_name_is_refused(cluster: Cluster, topic: str) -> None:
    for make in (cluster.create, cluster.check_creation):
        with pytest.raises(AlreadyExists):
            await make(topic, 2)


async def test_checking_makes_nothing(cluster: Cluster, topic: str, fresh_topic: Callable[[], str]) -> None:
    name = fresh_topic()
    await cluster.check_creation(name, 3)
    await cluster.check_growth(topic, 5)
    # What was made may not be shown yet, but is in the way of what is asked for next.
    await cluster.create(name, 1)
    await cluster.grow(topic, 3)


@pytest.mark.parametrize("name", UNSAFE_NAMES)
async def test_a_name_that_kafka_does_not_allow_is_refused(cluster: Cluster, name: str) -> None:
    for make in (cluster.check_creation, cluster.create):
        with pytest.raises(ClusterRefused):
            await make(name, 1)


async def test_a_topic_without_partitions_is_refused(cluster: Cluster, fresh_topic: Callable[[], str]) -> None:
    name = fresh_topic()
    for make in (cluster.check_creation, cluster.create):
        with pytest.raises(ClusterRefused):
            await make(name, 0)
    assert await cluster.topic(name) is None


@pytest.mark.parametrize("name", UNSAFE_NAMES)
async def test_of_a_name_that_kafka_does_not_allow_there_is_no_topic(cluster: Cluster, topic: str, name: str) -> None:
    assert await cluster.topic(name) is None
    assert [*await cluster.configurations([name, topic])] == [topic]
    for change in (cluster.delete(name), cluster.alter(name, {"retention.ms": "1"}), cluster.grow(name, 2)):
        with pytest.raises(TopicNotFound):
            await change


async def test_a_topic_grows_and_never_shrinks(cluster: Cluster, topic: str) -> None:
    await cluster.grow(topic, 5)
    found = await cluster.topic(topic)
    assert found is not None
    assert found.partitions == 5
    for fewer in (4, 5):
        for grow in (cluster.check_growth, cluster.grow):
            with pytest.raises(ClusterRefused):
                await grow(topic, fewer)


async def test_a_deleted_topic_is_gone_and_one_of_its_name_is_another(cluster: Cluster, topic: str) -> None:
    before = await cluster.topic(topic)
    await cluster.delete(topic)
    assert await cluster.topic(topic) is None
    await cluster.create(topic, 1)
    after = await cluster.topic(topic)
    assert before is not None
    assert after is not None
    assert before.id != after.id


async def test_what_is_asked_of_a_topic_that_is_not_there_is_not_found(
    cluster: Cluster, fresh_topic: Callable[[], str]
) -> None:
    name = fresh_topic()
    for ask in (
        cluster.delete(name),
        cluster.grow(name, 3),
        cluster.check_growth(name, 3),
        cluster.alter(name, {"retention.ms": "1000"}),
    ):
        with pytest.raises(TopicNotFound):
            await ask


async def test_a_fresh_topic_overrides_nothing(cluster: Cluster, topic: str) -> None:
    found = await configuration(cluster, topic)
    assert {
        found[key].is_own for key in ("cleanup.policy", "max.message.bytes", "retention.bytes", "retention.ms")
    } == {False}
    assert found["cleanup.policy"].value == "delete"


async def test_settings_given_at_creation_are_the_topics_own(cluster: Cluster, fresh_topic: Callable[[], str]) -> None:
    name = fresh_topic()
    await cluster.create(name, 1, {"cleanup.policy": "compact"})
    assert await own(cluster, name) == {"cleanup.policy": "compact"}


async def test_altering_touches_the_settings_named_and_no_other(cluster: Cluster, topic: str) -> None:
    await cluster.alter(topic, {"retention.ms": "60000", "max.message.bytes": "2000"})
    await cluster.alter(topic, {"retention.ms": "-1", "retention.bytes": "1048576"})
    assert await own(cluster, topic) == {
        "retention.ms": "-1",
        "max.message.bytes": "2000",
        "retention.bytes": "1048576",
    }


async def test_a_setting_taken_away_uncovers_the_brokers(cluster: Cluster, topic: str) -> None:
    before = await configuration(cluster, topic)
    await cluster.alter(topic, {"retention.ms": "60000", "cleanup.policy": "compact"})
    await cluster.alter(topic, {"retention.ms": None, "retention.bytes": None})
    after = await configuration(cluster, topic)
    assert after["retention.ms"] == before["retention.ms"]
    assert after["cleanup.policy"].value == "compact"


@pytest.mark.parametrize("settings", [{"no.such.setting": "1"}, {"retention.ms": "soon"}])
async def test_settings_that_cannot_be_are_refused_and_change_nothing(
    cluster: Cluster, topic: str, settings: dict[str, str], fresh_topic: Callable[[], str]
) -> None:
    with pytest.raises(ClusterRefused):
        await cluster.alter(topic, {"retention.bytes": "5000", **settings})
    assert await own(cluster, topic) == {}
    with pytest.raises(ClusterRefused):
        await cluster.create(name := fresh_topic(), 1, settings)
    assert await cluster.topic(name) is None


async def test_settings_of_many_topics_come_in_one_answer(cluster: Cluster, fresh_topic: Callable[[], str]) -> None:
    names = [fresh_topic() for _ in range(3)]
    for name in names:
        await cluster.create(name, 1)
    assert set(await cluster.configurations([*names, fresh_topic()])) == set(names)
