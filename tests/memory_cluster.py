"""A cluster in memory: keeps the promises of `topicfold.cluster.port`, and fails when told to."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from topicfold.cluster.port import Configuration, TopicSetting
from topicfold.errors import AlreadyExists, ClusterRefused, ClusterUnavailable, TopicfoldError, TopicNotFound
from topicfold.model.kafka.adoption import KafkaTopic
from topicfold.model.kafka.names import is_kafka_name

DEFAULTS: Mapping[str, str] = {
    "cleanup.policy": "delete",
    "max.message.bytes": "1048588",
    "retention.bytes": "-1",
    "retention.ms": "604800000",
}
_WORDS = frozenset({"delete", "compact", "compact,delete", "delete,compact"})


@dataclass(slots=True)
class _Topic:
    partitions: int
    id: str
    settings: dict[str, str] = field(default_factory=dict)


class MemoryCluster:
    """A cluster that lives as long as this object; while `is_reachable` is false it answers nothing."""

    def __init__(self) -> None:
        self.is_reachable = True
        self.refuses_deletion = False
        self._id = uuid.uuid4().hex
        self._topics: dict[str, _Topic] = {}

    @property
    def bootstrap(self) -> str:
        """Say that it is in memory."""
        return "memory"

    async def reach(self) -> str:
        """Return its id if it is to answer."""
        self._require_reachable()
        return self._id

    async def topics(self) -> Mapping[str, KafkaTopic]:
        """Return all topics by name."""
        self._require_reachable()
        return {name: KafkaTopic(name, topic.partitions) for name, topic in sorted(self._topics.items())}

    async def topic(self, name: str) -> KafkaTopic | None:
        """Return one topic with its id."""
        self._require_reachable()
        found = self._topics.get(name)
        return KafkaTopic(name, found.partitions, id=found.id) if found else None

    async def check_creation(self, name: str, partitions: int) -> None:
        """Return if `create` would make this topic."""
        self._require_reachable()
        if not is_kafka_name(name):
            raise ClusterRefused(f"Kafka does not allow a topic named {name!r}", kafka_topic=name)
        if name in self._topics:
            raise AlreadyExists(f"Kafka has a topic {name} already", name=name)
        if partitions < 1:
            raise ClusterRefused(f"{partitions} is not a number of partitions", kafka_topic=name)

    async def create(self, name: str, partitions: int, settings: Mapping[str, str] | None = None) -> None:
        """Make a topic."""
        await self.check_creation(name, partitions)
        _check_settings(name, settings or {})
        self._topics[name] = _Topic(partitions, uuid.uuid4().hex, dict(settings or {}))

    async def check_growth(self, name: str, partitions: int) -> None:
        """Return if `grow` would do it."""
        if partitions <= self._existing(name).partitions:
            raise ClusterRefused(f"Kafka's topic {name} has as many partitions already", kafka_topic=name)

    async def grow(self, name: str, partitions: int) -> None:
        """Give a topic more partitions."""
        await self.check_growth(name, partitions)
        self._topics[name].partitions = partitions

    async def delete(self, name: str) -> None:
        """Delete a topic."""
        self._existing(name)
        if self.refuses_deletion:
            raise ClusterUnavailable(
                "deleting topics is not allowed", hint="let us", bootstrap=self.bootstrap, is_denied=True
            )
        del self._topics[name]

    async def configurations(self, names: Collection[str]) -> Mapping[str, Configuration | TopicfoldError]:
        """Return the settings of the topics there are."""
        self._require_reachable()
        return {
            name: {
                key: TopicSetting(found.settings.get(key, default), key in found.settings)
                for key, default in DEFAULTS.items()
            }
            for name in names
            if (found := self._topics.get(name))
        }

    async def alter(self, name: str, settings: Mapping[str, str | None]) -> None:
        """Change a topic's own settings."""
        topic = self._existing(name)
        _check_settings(name, settings)
        for key, value in settings.items():
            if value is None:
                topic.settings.pop(key, None)
            else:
                topic.settings[key] = value

    async def close(self) -> None:
        """Do nothing: there are no connections."""

    def _existing(self, name: str) -> _Topic:
        self._require_reachable()
        if name not in self._topics:
            raise TopicNotFound(f"Kafka has no topic {name}", name=name)
        return self._topics[name]

    def _require_reachable(self) -> None:
        if not self.is_reachable:
            raise ClusterUnavailable("the cluster in memory was told not to answer", bootstrap=self.bootstrap)


def _check_settings(name: str, settings: Mapping[str, str | None]) -> None:
    for key, value in settings.items():
        if key not in DEFAULTS:
            raise ClusterRefused(f"Kafka knows no setting {key} of topics", kafka_topic=name)
        if value is not None and value not in _WORDS and not value.lstrip("-").isdecimal():
            raise ClusterRefused(f"{value!r} is no value of {key}", kafka_topic=name)
