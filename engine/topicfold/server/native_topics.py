"""Topics under `/api/v1`: whole records, partitioned or not alike, found by label over several namespaces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from topicfold.errors import AlreadyExists, InvalidLabels, InvalidRequest, NamespaceNotFound, TopicNotFound
from topicfold.model.names import DEFAULT_NAMESPACE, DOMAINS, PERSISTENT, TopicName, parse_namespace
from topicfold.runtime.reading import TopicView
from topicfold.server.answers import read_answer, written_answer
from topicfold.server.asking import asked_to_read, asked_to_write
from topicfold.server.bodies import json_body
from topicfold.server.node import Node
from topicfold.server.paths import refuse_partition, topic_in
from topicfold.server.queries import label_equalities, one, query_of
from topicfold.server.records import new_topic_in
from topicfold.server.routes import READ_ERRORS, WRITE_ERRORS, Operation
from topicfold.server.topics import creation
from topicfold.wire.resources import NewTopic, TopicItem, TopicList, topic_item

MAX_NAMESPACES = 100


@dataclass(frozen=True, slots=True)
class NativeTopics:
    """The handlers."""

    node: Node

    async def find(self, request: Request) -> Response:
        """Answer the topics of some namespaces that bear all labels given, from one cut of the log.

        Raises:
            InvalidRequest: more than `MAX_NAMESPACES`, or a malformed query.
        """
        query = query_of(request, ("namespace", "label"))
        namespaces = dict.fromkeys(map(parse_namespace, query.get("namespace", (DEFAULT_NAMESPACE,))))
        if len(namespaces) > MAX_NAMESPACES:
            raise InvalidRequest(f"{len(namespaces)} namespaces, at most {MAX_NAMESPACES} are allowed")
        labels = label_equalities(query, "label")
        node = self.node
        partitions = {node.engine.partition(namespace) for namespace in namespaces}
        cut = await node.reading.settle(partitions, asked_to_read(request, node))
        items = [topic_item(view) for namespace in namespaces for view in node.reading.topics(namespace, labels)]
        return read_answer({"items": items, "position": str(cut.revision)}, cut)

    async def get(self, request: Request) -> Response:
        """Answer one topic's record."""
        name = _topic_in(request)
        node = self.node
        cut = await node.reading.settle([node.engine.partition(name.namespace)], asked_to_read(request, node))
        view = node.reading.topic(name)
        return read_answer(topic_item(view), cut, view.etag)

    async def create(self, request: Request) -> Response:
        """Make a topic, with its labels."""
        name = refuse_partition(_topic_in(request))
        node = self.node
        record = new_topic_in(await json_body(request, node))
        asked = asked_to_write(request, node, *creation(record))
        written = await node.writing.create_topic(name, record, asked)
        return written_answer(written, topic_item(TopicView(str(name), written.etag, record)), 201)

    async def delete(self, request: Request) -> Response:
        """End a topic, partitioned or not."""
        name = _topic_in(request)
        asked = asked_to_write(request, self.node, "delete", None)
        return written_answer(await self.node.writing.delete_topic(name, asked))


def _topic_in(request: Request) -> TopicName:
    domain = one(query_of(request, ("domain",)), "domain") or PERSISTENT
    if domain not in DOMAINS:
        raise InvalidRequest(f"domain must be one of {', '.join(DOMAINS)}, not {domain[:80]!r}")
    return topic_in(request, domain)


def operations(node: Node) -> Sequence[Operation]:
    """Return what can be done with topics under `/api/v1`."""
    topics = NativeTopics(node)
    path = "/api/v1/topics/{tenant}/{namespace}/{topic}"
    domain = {"domain": "`persistent`, as without it, or `non-persistent`."}
    return (
        Operation("getTopicRecord", "GET", path, topics.get, "Read a topic", answer=TopicItem, query=domain,
                  errors=(*READ_ERRORS, NamespaceNotFound, TopicNotFound)),
        Operation("createTopicRecord", "PUT", path, topics.create, "Make a topic", 201, answer=TopicItem,
                  body=NewTopic, query=domain,
                  errors=(*WRITE_ERRORS, NamespaceNotFound, AlreadyExists, InvalidLabels)),
        Operation("deleteTopicRecord", "DELETE", path, topics.delete, "End a topic", 204, query=domain,
                  errors=(*WRITE_ERRORS, NamespaceNotFound, TopicNotFound)),
        Operation("findTopics", "GET", "/api/v1/topics", topics.find, "Find topics by label", answer=TopicList,
                  query={"namespace*": "A namespace to look in; `public/default` without any.",
                         "label*": "`key=value`; all of them must hold."},
                  errors=(*READ_ERRORS, NamespaceNotFound)),
    )  # fmt: skip
