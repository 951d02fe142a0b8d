"""A Kafka cluster by its admin protocol. librdkafka's threads do the waiting; their answers come to the loop.

Only what asks for metadata blocks, and is done in a thread of its own, which nobody who is interrupted waits for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from concurrent.futures import Future
from typing import Any

from confluent_kafka import KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource, ConfigSource
from confluent_kafka.cimpl import NewPartitions, NewTopic

from topicfold.cluster.kafka_errors import translated
from topicfold.cluster.port import Configuration, TopicSetting
from topicfold.errors import ClusterUnavailable, TopicfoldError, TopicNotFound
from topicfold.kafka_client import error_in, open_kafka_client, release_id
from topicfold.kafka_connections import KafkaConnections
from topicfold.model.kafka.adoption import KafkaTopic
from topicfold.process.own_thread import call_in_own_thread

ANSWER_SECONDS = 5.0

_PINNED: Mapping[str, Any] = {
    "client.id": "topicfold",
    "allow.auto.create.topics": False,
    "reconnect.backoff.max.ms": 1_000,
    # By itself librdkafka 2.16 asks every five minutes only who the controller is, and puts all to the one it knows.
    "topic.metadata.refresh.interval.ms": 2_000,
    "enable.metrics.push": False,
    "log_level": 0,
}
"""librdkafka prints failed connections on stderr; here every failure is an exception."""
_ANY_TOPIC = "any"
"""Whether there is one does not matter."""
_NAMES_A_QUESTION = 500
_PAUSE_SECONDS = 0.02


class KafkaCluster:
    """A cluster on Kafka; keeps the promises of `topicfold.cluster.port.Cluster`."""

    def __init__(
        self, bootstrap: str, settings: Mapping[str, str] | None = None, answer_seconds: float = ANSWER_SECONDS
    ) -> None:
        """Make a client; nothing is sent. `settings` go to librdkafka: security and the like.

        Raises:
            BadSetting: librdkafka does not take them.
        """
        self._bootstrap = bootstrap
        self._answer_seconds = answer_seconds
        all_settings = {**_PINNED, **(settings or {}), "bootstrap.servers": bootstrap}
        self._connections = KafkaConnections(all_settings)
        # A broker that was halted keeps its connections: only so is a request to it given up within a minute.
        own = {"socket.timeout.ms": int(1000 * answer_seconds), "error_cb": self._connections.note}
        self._admin: AdminClient | None = open_kafka_client(AdminClient, {**own, **all_settings})

    @property
    def bootstrap(self) -> str:
        """Where the cluster is."""
        return self._bootstrap

    async def reach(self) -> str:
        """Return the cluster's id if a broker answers; from then on the controller that it names is asked."""
        return str((await self._metadata(_ANY_TOPIC)).cluster_id or "")

    async def topics(self) -> Mapping[str, KafkaTopic]:
        """Return all topics by name, internal ones too, without their ids."""
        metadata = await self._metadata(None)
        return {name: _listed(name, topic) for name, topic in sorted(metadata.topics.items())}

    async def topic(self, name: str) -> KafkaTopic | None:
        """Return one topic with its id, None where Kafka says that there is none.

        Raises:
            ClusterUnavailable: no answer in time, or it may not be described.
        """
        described = await self._described(name)
        return KafkaTopic(name, len(described.partitions), id=str(described.topic_id)) if described else None

    async def check_creation(self, name: str, partitions: int) -> None:
        """Return if Kafka would make this topic, by its own word.

        Raises:
            AlreadyExists: there is one.
            ClusterRefused: a name, a number or a policy of Kafka's is against it.
        """
        futures = self._open().create_topics(
            [NewTopic(name, partitions)], validate_only=True, request_timeout=self._answer_seconds
        )
        await self._done(name, futures[name], "Create")

    async def create(self, name: str, partitions: int, settings: Mapping[str, str] | None = None) -> None:
        """Make a topic; return once every partition of it has a leader.

        Raises:
            AlreadyExists: there is one.
            ClusterRefused: a name, a number, a setting or a policy of Kafka's is against it.
        """
        wanted = NewTopic(name, partitions, config=dict(settings or {}))
        futures = self._open().create_topics([wanted], request_timeout=self._answer_seconds)
        await self._done(name, futures[name], "Create")
        await self._until(f"topic {name} was made", lambda: self._has_leaders(name, partitions))

    async def check_growth(self, name: str, partitions: int) -> None:
        """Return if Kafka would give this topic `partitions`, by its own word.

        Raises:
            TopicNotFound: there is none.
            ClusterRefused: it has as many, or a policy of Kafka's is against it.
        """
        futures = self._open().create_partitions(
            [NewPartitions(name, partitions)], validate_only=True, request_timeout=self._answer_seconds
        )
        await self._done(name, futures[name], "Alter")

    async def grow(self, name: str, partitions: int) -> None:
        """Give a topic `partitions` in all; return once every one of them has a leader.

        Raises:
            TopicNotFound: there is none.
            ClusterRefused: it has as many, or a policy of Kafka's is against it.
        """
        wanted = NewPartitions(name, partitions)
        futures = self._open().create_partitions([wanted], request_timeout=self._answer_seconds)
        await self._done(name, futures[name], "Alter")
        await self._until(f"topic {name} has grown", lambda: self._has_leaders(name, partitions))

    async def delete(self, name: str) -> None:
        """Delete a topic; return once Kafka shows none, or another one.

        Raises:
            TopicNotFound: there is none.
        """
        before = await self.topic(name)
        futures = self._open().delete_topics([name], request_timeout=self._answer_seconds)
        await self._done(name, futures[name], "Delete")

        async def is_gone() -> bool:
            found = await self.topic(name)
            return found is None or before is None or found.id != before.id

        await self._until(f"topic {name} was deleted", is_gone)

    async def configurations(self, names: Collection[str]) -> Mapping[str, Configuration | TopicfoldError]:
        """Return the settings of the topics there are; unreadable ones say why."""
        wanted = list(names)
        found: dict[str, Configuration | TopicfoldError] = {}
        for start in range(0, len(wanted), _NAMES_A_QUESTION):
            resources = [ConfigResource(ConfigResource.Type.TOPIC, each) for each in wanted[start:][:_NAMES_A_QUESTION]]
            futures = self._open().describe_configs(resources, request_timeout=self._answer_seconds)
            for resource, future in futures.items():
                try:
                    entries = await self._done(resource.name, future, "DescribeConfigs")
                except TopicNotFound:
                    continue
                except ClusterUnavailable as error:
                    if not error.is_of_one_topic:
                        raise
                    found[resource.name] = error
                else:
                    found[resource.name] = {key: _setting(entry) for key, entry in entries.items()}
        return found

    async def alter(self, name: str, settings: Mapping[str, str | None]) -> None:
        """Give a topic these settings; None takes the topic's own value away.

        Raises:
            TopicNotFound: there is none.
            ClusterRefused: a setting is unknown, or a value cannot be.
        """
        entries = [
            ConfigEntry(key, value, incremental_operation=_SET if value is not None else _UNSET)
            for key, value in settings.items()
        ]
        resource = ConfigResource(ConfigResource.Type.TOPIC, name, incremental_configs=entries)
        futures = self._open().incremental_alter_configs([resource], request_timeout=self._answer_seconds)
        await self._done(name, futures[resource], "AlterConfigs")

        async def is_shown() -> bool:
            shown = (await self.configurations([name])).get(name)
            if shown is None or isinstance(shown, TopicfoldError):
                return True
            return all(_holds(shown[key], value) for key, value in settings.items() if key in shown)

        await self._until(f"settings of topic {name} were changed", is_shown)

    async def close(self) -> None:
        """Let the connections go."""
        self._admin = None

    async def _metadata(self, topic: str | None) -> Any:
        """Return what a broker says of the cluster and of one topic, or of all for None."""
        admin = self._open()
        try:
            found = await call_in_own_thread("topicfold-kafka-list", admin.list_topics, topic, self._answer_seconds)
        except KafkaException as error:
            raise self._translated(error, "", "Describe") from error
        admin.poll(0)
        self._connections.forget()
        return found

    async def _described(self, name: str) -> Any:
        futures = self._open().describe_topics(TopicCollection([name]), request_timeout=self._answer_seconds)
        try:
            return release_id(await self._done(name, futures[name], "Describe"))
        except TopicNotFound:
            return None

    async def _has_leaders(self, name: str, partitions: int) -> bool:
        described = await self._described(name)
        return (
            described is not None
            and len(described.partitions) >= partitions
            and all(partition.leader for partition in described.partitions)
        )

    async def _done(self, name: str, future: Future[Any], right: str) -> Any:
        """Return what Kafka answers about the topic called `name`, for which it wants `right`."""
        try:
            return await asyncio.wrap_future(future)
        except KafkaException as error:
            raise self._translated(error, name, right) from error

    def _translated(self, exception: KafkaException, topic: str, right: str) -> TopicfoldError:
        if self._admin is not None:
            self._admin.poll(0)
        return translated(self._connections.cause_of(error_in(exception)), self._bootstrap, topic, right)

    async def _until(self, what: str, is_so: Callable[[], Awaitable[bool]]) -> None:
        """Return once the brokers show what the controller has said.

        Raises:
            ClusterUnavailable: they do not in time.
        """
        deadline = asyncio.get_running_loop().time() + self._answer_seconds
        while not await is_so():
            if asyncio.get_running_loop().time() > deadline:
                raise ClusterUnavailable(
                    f"{what}, but the brokers do not show it yet", bootstrap=self._bootstrap, is_late=True
                )
            await asyncio.sleep(_PAUSE_SECONDS)

    def _open(self) -> AdminClient:
        if self._admin is None:
            raise ClusterUnavailable("the connection to Kafka is closed", bootstrap=self._bootstrap)
        self._admin.poll(0)  # for tokens that have to be renewed
        return self._admin


_SET = AlterConfigOpType.SET
_UNSET = AlterConfigOpType.DELETE


def _listed(name: str, topic: Any) -> KafkaTopic:
    return KafkaTopic(name, len(topic.partitions), str(topic.error.str()) if topic.error else "")


def _holds(setting: TopicSetting, value: str | None) -> bool:
    """Return whether a topic's own value is `value`, None for none."""
    return setting.is_own and setting.value == value if value is not None else not setting.is_own


def _setting(entry: Any) -> TopicSetting:
    return TopicSetting(str(entry.value), entry.source == ConfigSource.DYNAMIC_TOPIC_CONFIG.value)
