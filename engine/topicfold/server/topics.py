"""Topics under `/admin/v2`, as Pulsar has them: plain ones, partitioned ones, and listings by label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from topicfold.errors import (
    AlreadyExists,
    FewerPartitions,
    InvalidName,
    NamespaceNotFound,
    TopicNotFound,
    WrongKind,
)
from topicfold.model.names import PERSISTENT, TopicName, holds_partition_mark, partition_base
from topicfold.model.namespaces import Namespaces
from topicfold.model.permissions import LIST_NAMESPACE, LIST_TOPIC, MANAGE_TOPIC, READ_TOPIC
from topicfold.model.policy.values import plain_value
from topicfold.model.records import TopicRecord
from topicfold.runtime.finding.listed_names import listed_names, listing_query
from topicfold.runtime.finding.topic_listing import ListingMode
from topicfold.runtime.policies import readable
from topicfold.server.absence import said_of_absent_namespace
from topicfold.server.answers import read_answer, written_answer
from topicfold.server.asking import asked_to_write, settled
from topicfold.server.bodies import METADATA_TYPE, json_body
from topicfold.server.listing import LISTED, LISTING_ERRORS, PROPERTIES, answer_listing, listing_properties
from topicfold.server.node import Node
from topicfold.server.parameters import SYSTEM_TOPICS, Flag
from topicfold.server.paths import domain_in, namespace_in, refuse_partition, topic_in, whole_topic_in
from topicfold.server.queries import label_filter, query_of
from topicfold.server.records import partitions_in, properties_in
from topicfold.server.routes import (
    CLUSTER_ERRORS,
    READ_ERRORS,
    TEXT_BY_NAME,
    TEXTS,
    TOPIC_PATH,
    TOPICS_PATH,
    UNREADABLE,
    WRITE_ERRORS,
    Operation,
)
from topicfold.wire import headers
from topicfold.wire.resources import PartitionMetadata

_FORCE = Flag("force", "Accepted, but has no effect: no clients are connected to topics here.")
_MAY_BE_MISSING = Flag(
    "checkAllowAutoCreation", "`true`: a topic that does not exist counts as one without partitions."
)
_COUNT = {"type": "integer", "format": "int32", "minimum": 1}
_OR_METADATA = {METADATA_TYPE: PartitionMetadata}


@dataclass(frozen=True, slots=True)
class Topics:
    """The handlers."""

    node: Node

    async def list(self, request: Request) -> Response:
        """Answer full names, a partitioned topic's as those of its partitions."""
        domain = domain_in(request)
        mode = ListingMode.PERSISTENT if domain == PERSISTENT else ListingMode.NON_PERSISTENT
        properties = listing_properties(query_of(request)) if domain == PERSISTENT else {}
        return await answer_listing(self.node, request, mode, properties)

    async def list_partitioned(self, request: Request) -> Response:
        """Answer the full names of partitioned topics."""
        namespace = namespace_in(request)
        query = query_of(request)
        labels = label_filter(query)
        with_system_topics = SYSTEM_TOPICS.of(query)
        cut = await settled(request, self.node, namespace)
        everything = listing_query(labels, with_system_topics=with_system_topics)
        found = await self.node.finding.find(Namespaces((namespace,)), everything, partial(self.node.listable, request))
        with said_of_absent_namespace(namespace):
            self.node.reading.require_namespace(namespace)
        return read_answer(await listed_names(found, domain_in(request), only_partitioned=True), cut)

    async def create(self, request: Request) -> Response:
        """Make a topic without partitions."""
        name = topic_in(request)
        body = await json_body(request, self.node)
        record = TopicRecord(properties=properties_in(body))
        asked = asked_to_write(request, self.node, *creation(record))
        if partition_base(name.local) is not None:
            await self._refuse_partition(name, request)
        return written_answer(await self.node.writing.create_topic(name, record, asked))

    async def create_partitioned(self, request: Request) -> Response:
        """Make a partitioned topic."""
        name = _partitionable_topic_in(request)
        body = await json_body(request, self.node)
        count, properties = partitions_in(body)
        record = TopicRecord(count, properties=properties)
        asked = asked_to_write(request, self.node, *creation(record))
        return written_answer(await self.node.writing.create_topic(name, record, asked))

    async def grow(self, request: Request) -> Response:
        """Give a partitioned topic more partitions."""
        name = _partitionable_topic_in(request)
        count, _ = partitions_in(await json_body(request, self.node))
        asked = asked_to_write(request, self.node, "grow", count)
        return written_answer(await self.node.writing.grow_partitions(name, count, asked))

    async def partitions(self, request: Request) -> Response:
        """Answer how many partitions a topic has, 0 for a plain one and for a partition.

        Its properties are for those who may read policies.

        With `checkAllowAutoCreation` a topic that is not there counts as a plain one, as it does to a Pulsar client
        that is about to use it; nothing is made.
        """
        name = topic_in(request)
        may_be_missing = _MAY_BE_MISSING.of(query_of(request))
        cut = await settled(request, self.node, name.namespace)
        answer: dict[str, object] = {"partitions": 0, "deleted": False}
        if self.node.reading.is_partition(name):
            return read_answer(answer, cut)
        try:
            view = self.node.reading.topic(name)
        except TopicNotFound:
            if not may_be_missing:
                raise
            return read_answer(answer, cut)
        record = readable(view)
        answer["partitions"] = record.partitions
        if record.properties and self.node.has(request, READ_TOPIC, name):
            answer["properties"] = dict(record.properties)
        return read_answer(answer, cut, view.etag)

    async def delete(self, request: Request) -> Response:
        """End a topic without partitions."""
        return await self._delete(whole_topic_in(request), request, is_partitioned=False)

    async def delete_partitioned(self, request: Request) -> Response:
        """End a partitioned topic."""
        return await self._delete(_partitionable_topic_in(request), request, is_partitioned=True)

    async def _delete(self, name: TopicName, request: Request, *, is_partitioned: bool) -> Response:
        _FORCE.of(query_of(request))
        asked = asked_to_write(request, self.node, "delete", is_partitioned)
        return written_answer(await self.node.writing.delete_topic(name, asked, is_partitioned=is_partitioned))

    async def _refuse_partition(self, name: TopicName, request: Request) -> None:
        """Refuse the name of a partition, whether there is one or could be."""
        await settled(request, self.node, name.namespace)
        if self.node.reading.is_partition(name):
            raise AlreadyExists(f"{name} exists already, as a partition of a topic", name=str(name))
        refuse_partition(name)


def _partitionable_topic_in(request: Request) -> TopicName:
    """Return the topic that the path names, which may be a partitioned one.

    Raises:
        InvalidName: it may not, or breaks the rules.
    """
    name = whole_topic_in(request)
    if holds_partition_mark(name.local):
        raise InvalidName(f"Partitioned Topic Name should not contain '-partition-': {name}", name=str(name))
    return name


def creation(record: TopicRecord) -> tuple[object, ...]:
    """Return what making `record` means, for telling one request from another."""
    scopes = (plain_value(record.local), plain_value(record.global_))
    return ("create", record.partitions, record.kafka_name, dict(record.properties), dict(record.labels), *scopes)


def operations(node: Node) -> Sequence[Operation]:
    """Return what can be done with topics, their labels aside."""
    topics = Topics(node)
    creating = (*WRITE_ERRORS, *CLUSTER_ERRORS, NamespaceNotFound, AlreadyExists)
    ending = (*WRITE_ERRORS, *CLUSTER_ERRORS, NamespaceNotFound, TopicNotFound, WrongKind)
    return (
        Operation("getPartitions", "GET", f"{TOPIC_PATH}/partitions", topics.partitions,
                  "Read the number of partitions", query=_MAY_BE_MISSING.declared, needs=LIST_TOPIC,
                  answer=PartitionMetadata, errors=(*READ_ERRORS, NamespaceNotFound, TopicNotFound, *UNREADABLE)),
        Operation("createPartitionedTopic", "PUT", f"{TOPIC_PATH}/partitions", topics.create_partitioned,
                  "Create a partitioned topic", 204, needs=MANAGE_TOPIC, body=_COUNT, other_bodies=_OR_METADATA,
                  headers=(headers.TAKEN_KAFKA_TOPIC,), errors=creating),
        Operation("growPartitions", "POST", f"{TOPIC_PATH}/partitions", topics.grow,
                  "Increase the number of partitions", 204, needs=MANAGE_TOPIC, body=_COUNT, other_bodies=_OR_METADATA,
                  errors=(*WRITE_ERRORS, *CLUSTER_ERRORS, NamespaceNotFound, TopicNotFound, WrongKind,
                          FewerPartitions)),
        Operation("deletePartitionedTopic", "DELETE", f"{TOPIC_PATH}/partitions", topics.delete_partitioned,
                  "Delete a partitioned topic", 204, needs=MANAGE_TOPIC, query=_FORCE.declared,
                  headers=(headers.DELETED_KAFKA_TOPIC,), errors=ending),
        Operation("listPartitionedTopics", "GET", f"{TOPICS_PATH}/partitioned", topics.list_partitioned,
                  "List partitioned topics", answer=TEXTS, needs=LIST_NAMESPACE, query=LISTED,
                  errors=(*READ_ERRORS, NamespaceNotFound)),
        Operation("createTopic", "PUT", TOPIC_PATH, topics.create, "Create a topic", 204, needs=MANAGE_TOPIC,
                  body=TEXT_BY_NAME, without_body="it has no properties", headers=(headers.TAKEN_KAFKA_TOPIC,),
                  errors=creating),
        Operation("deleteTopic", "DELETE", TOPIC_PATH, topics.delete, "Delete a topic", 204, needs=MANAGE_TOPIC,
                  query=_FORCE.declared, headers=(headers.DELETED_KAFKA_TOPIC,), errors=ending),
        Operation("listTopics", "GET", TOPICS_PATH, topics.list, "List topics", answer=TEXTS, needs=LIST_NAMESPACE,
                  query=LISTED | PROPERTIES, headers=(headers.PROPERTIES,), errors=LISTING_ERRORS),
    )  # fmt: skip
