"""Import from Kafka: the records that an adoption plans (`model.kafka.adoption`), made through the server.

Kafka itself is never changed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from topicfold.client.bulk import all_namespaces, each_at_once, matches_in
from topicfold.client.client import Client
from topicfold.client.find_answers import Match
from topicfold.errors import AlreadyExists, FixRequest, Reread, TopicNotFound
from topicfold.model.kafka.adoption import Failed, New


@dataclass(frozen=True, slots=True)
class Target:
    """What there is to import into: all namespaces, and the topics in them, of which an import needs no records."""

    namespaces: frozenset[str]
    topics: tuple[Match, ...]


def read_target(client: Client) -> Target:
    """Return all namespaces and topics of the server."""
    namespaces = all_namespaces(client)
    return Target(frozenset(namespaces), tuple(matches_in(client, namespaces, None, None, with_system_topics=True)))


def make_namespaces(client: Client, namespaces: Iterable[str]) -> None:
    """Create `namespaces` and their tenants where they are missing."""
    tenants = set(client.list_tenants())
    for namespace in namespaces:
        tenant = namespace.split("/")[0]
        if tenant not in tenants:
            with contextlib.suppress(AlreadyExists):
                client.create_tenant(tenant, reason="import from Kafka")
            tenants.add(tenant)
        with contextlib.suppress(AlreadyExists):
            client.create_namespace(namespace, reason="import from Kafka")


def make_records(client: Client, new: Collection[New]) -> Iterator[New | Failed]:
    """Make the records `new`, several at once; yield each as it is made, or is there just so, or as it is refused.

    What is not about one topic ends it: then some are made and some are not, and to import again goes on from there.

    Raises:
        Wait, AnswerLost: the server cannot be reached, or not write.
    """
    return each_at_once("import", lambda topic: _make(client, topic), new)


def _make(client: Client, topic: New) -> New | Failed:
    try:
        client.adopt_topic(
            topic.name,
            partitions=topic.recorded_partitions,
            kafka_name=topic.explicit_kafka_name,
            reason="import from Kafka",
        )
    except AlreadyExists as error:
        # What was listed before may have been behind a log that could not be reached then.
        return topic if _is_recorded(client, topic) else Failed(topic.kafka_name, error.reason)
    except (FixRequest, Reread) as error:
        return Failed(topic.kafka_name, error.reason)
    return topic


def _is_recorded(client: Client, topic: New) -> bool:
    try:
        found = client.get_topic(topic.name)
    except TopicNotFound:
        return False
    return (found.partitions, found.kafka_name) == (topic.recorded_partitions, topic.explicit_kafka_name)
