"""Topics under `/admin/v2`, as Pulsar has them: plain ones, partitioned ones, and listings by label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from topicfold.errors import AlreadyExists, FewerPartitions, NamespaceNotFound, TopicNotFound, WrongKind
from topicfold.model.names import TopicName, partition_base
from topicfold.model.records import TopicRecord
from topicfold.server.answers import read_answer, written_answer
from topicfold.server.asking import asked_to_read, asked_to_write
from topicfold.server.bodies import json_body
from topicfold.server.node import Node
from topicfold.server.paths import domain_in, namespace_in, refuse_partition, topic_in, whole_topic_in
from topicfold.server.queries import flag, label_filter, query_of
from topicfold.server.records import partitions_in, properties_in
from topicfold.server.routes import READ_ERRORS, WRITE_ERRORS, Operation
from topicfold.wire.resources import PartitionMetadata

_NAMES = {"type": "array", "items": {"type": "string"}}
_COUNT = {"oneOf": [{"type": "integer", "minimum": 1}, {"$ref": "#/components/schemas/PartitionMetadata"}]}
_PROPERTIES = {"type": "object", "additionalProperties": {"type": "string"}}


@dataclass(frozen=True, slots=True)
class Topics:
    """The handlers."""

    node: Node

    async def list(self, request: Request) -> Response:
        """Answer full names, a partitioned topic's as those of its partitions."""
        return await self._names(request, only_partitioned=False)

    async def list_partitioned(self, request: Request) -> Response:
        """Answer the full names of partitioned topics."""
        return await self._names(request, only_partitioned=True)

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
        name = whole_topic_in(request)
        body = await json_body(request, self.node)
        count, properties = partitions_in(body)
        record = TopicRecord(count, properties=properties)
        asked = asked_to_write(request, self.node, *creation(record))
        return written_answer(await self.node.writing.create_topic(name, record, asked))

    async def grow(self, request: Request) -> Response:
        """Give a partitioned topic more partitions."""
        name = whole_topic_in(request)
        count, _ = partitions_in(await json_body(request, self.node))
        asked = asked_to_write(request, self.node, "grow", count)
        return written_answer(await self.node.writing.grow_partitions(name, count, asked))

    async def partitions(self, request: Request) -> Response:
        """Answer how many partitions a topic has, 0 for a plain one."""
        name = topic_in(request)
        partition = self.node.engine.partition(name.namespace)
        cut = await self.node.reading.settle([partition], asked_to_read(request, self.node))
        view = self.node.reading.topic(name)
        record = view.record or TopicRecord()
        answer: dict[str, object] = {"partitions": record.partitions, "deleted": False}
        if record.properties:
            answer["properties"] = dict(record.properties)
        return read_answer(answer, cut, view.etag)

    async def delete(self, request: Request) -> Response:
        """End a topic without partitions."""
        return await self._delete(request, is_partitioned=False)

    async def delete_partitioned(self, request: Request) -> Response:
        """End a partitioned topic."""
        return await self._delete(request, is_partitioned=True)

    async def _names(self, request: Request, *, only_partitioned: bool) -> Response:
        namespace = namespace_in(request)
        labels = label_filter(query_of(request))
        partition = self.node.engine.partition(namespace)
        cut = await self.node.reading.settle([partition], asked_to_read(request, self.node))
        domain = domain_in(request)
        return read_answer(
            self.node.reading.topic_names(namespace, labels, domain, only_partitioned=only_partitioned), cut
        )

    async def _delete(self, request: Request, *, is_partitioned: bool) -> Response:
        name = whole_topic_in(request)
        flag(query_of(request), "force")
        asked = asked_to_write(request, self.node, "delete", is_partitioned)
        return written_answer(await self.node.writing.delete_topic(name, asked, is_partitioned=is_partitioned))

    async def _refuse_partition(self, name: TopicName, request: Request) -> None:
        """Refuse the name of a partition, whether there is one or could be."""
        whole = name._replace(local=partition_base(name.local) or "")
        partition = self.node.engine.partition(name.namespace)
        await self.node.reading.settle([partition], asked_to_read(request, self.node))
        try:
            record = self.node.reading.topic(whole).record
        except TopicNotFound:
            record = None
        if record and name.local in (f"{whole.local}-partition-{number}" for number in range(record.partitions)):
            raise AlreadyExists(f"{name} exists already, as a partition of {whole}", name=str(name))
        refuse_partition(name)


def creation(record: TopicRecord) -> tuple[object, ...]:
    """Return what making `record` means, for telling one request from another."""
    return ("create", record.partitions, record.kafka_name, dict(record.properties), dict(record.labels))


def operations(node: Node) -> Sequence[Operation]:
    """Return what can be done with topics, their labels aside."""
    topics = Topics(node)
    all_of = "/admin/v2/{domain:domain}/{tenant}/{namespace}"
    one = f"{all_of}/{{topic}}"
    labels = {"custom-labels": "`k1:v1,k2:v2`: only topics that bear all of them. Repeated: one pair each, literally."}
    force = {"force": "Taken and of no effect: nothing is connected to a topic here."}
    listing = (*READ_ERRORS, NamespaceNotFound)
    creating = (*WRITE_ERRORS, NamespaceNotFound, AlreadyExists)
    ending = (*WRITE_ERRORS, NamespaceNotFound, TopicNotFound, WrongKind)
    return (
        Operation("getPartitions", "GET", f"{one}/partitions", topics.partitions, "Read the number of partitions",
                  answer=PartitionMetadata, errors=(*READ_ERRORS, NamespaceNotFound, TopicNotFound)),
        Operation("createPartitionedTopic", "PUT", f"{one}/partitions", topics.create_partitioned,
                  "Make a partitioned topic", 204, body=_COUNT, errors=creating),
        Operation("growPartitions", "POST", f"{one}/partitions", topics.grow, "Raise the number of partitions", 204,
                  body=_COUNT, errors=(*WRITE_ERRORS, NamespaceNotFound, WrongKind, FewerPartitions)),
        Operation("deletePartitionedTopic", "DELETE", f"{one}/partitions", topics.delete_partitioned,
                  "End a partitioned topic", 204, query=force, errors=ending),
        Operation("listPartitionedTopics", "GET", f"{all_of}/partitioned", topics.list_partitioned,
                  "List partitioned topics", answer=_NAMES, query=labels, errors=listing),
        Operation("createTopic", "PUT", one, topics.create, "Make a topic", 204, body=_PROPERTIES, errors=creating),
        Operation("deleteTopic", "DELETE", one, topics.delete, "End a topic", 204, query=force, errors=ending),
        Operation("listTopics", "GET", all_of, topics.list, "List topics", answer=_NAMES, query=labels,
                  errors=listing),
    )  # fmt: skip
