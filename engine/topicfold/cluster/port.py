"""The port of a Kafka cluster: its topics and their settings, not what is in them.

Nothing is made by asking: no adapter lets the cluster create a topic on its own. What changes a topic returns once
the cluster shows the change, so that whoever asks next sees it.
All methods are called on one asyncio loop.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

from topicfold.errors import TopicfoldError
from topicfold.model.kafka.adoption import KafkaTopic


@dataclass(frozen=True, slots=True)
class TopicSetting:
    """One setting of a topic: the value that holds, and whether the topic itself overrides the broker's."""

    value: str
    is_own: bool


Configuration = Mapping[str, TopicSetting]
"""All settings of a topic, by Kafka's names."""


class Cluster(Protocol):
    """A Kafka cluster.

    Every method raises `ClusterUnavailable` where the cluster does not answer in time, or does not let us: then a
    change may have been made all the same.
    """

    @property
    def bootstrap(self) -> str:
        """Where the cluster is."""
        ...

    async def reach(self) -> str:
        """Return the id that the cluster has given itself, if it answers, "" for none; it is the same everywhere."""
        ...

    async def topics(self) -> Mapping[str, KafkaTopic]:
        """Return all topics by name, internal ones too, without their ids."""
        ...

    async def topic(self, name: str) -> KafkaTopic | None:
        """Return one topic with its id, None where there is none."""
        ...

    async def check_creation(self, name: str, partitions: int) -> None:
        """Return if the cluster would make this topic; nothing is made.

        Raises:
            AlreadyExists: there is one.
            ClusterRefused: it would not take it.
        """
        ...

    async def create(self, name: str, partitions: int, settings: Mapping[str, str] | None = None) -> None:
        """Make a topic with as many replicas as the brokers' default says.

        Raises:
            AlreadyExists: there is one.
            ClusterRefused: the cluster does not take it.
        """
        ...

    async def check_growth(self, name: str, partitions: int) -> None:
        """Return if the cluster would give this topic `partitions`, more than it has; nothing is changed.

        Raises:
            TopicNotFound: there is none.
            ClusterRefused: it would not take it.
        """
        ...

    async def grow(self, name: str, partitions: int) -> None:
        """Give a topic `partitions` in all, more than it has.

        Raises:
            TopicNotFound: there is none.
            ClusterRefused: it has as many already, or the cluster does not take it.
        """
        ...

    async def delete(self, name: str) -> None:
        """Delete a topic with all that is in it, whichever bears the name when the cluster gets to it.

        Raises:
            TopicNotFound: there is none.
        """
        ...

    async def configurations(self, names: Collection[str]) -> Mapping[str, Configuration | TopicfoldError]:
        """Return the settings of topics; topics that are not there are left out, unreadable ones say why."""
        ...

    async def alter(self, name: str, settings: Mapping[str, str | None]) -> None:
        """Give a topic these settings and leave its others alone; None takes the topic's own value away.

        Raises:
            TopicNotFound: there is none.
            ClusterRefused: a setting is unknown, or a value cannot be.
        """
        ...

    async def close(self) -> None:
        """Let the connections go. May be called twice."""
        ...
