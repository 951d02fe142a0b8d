"""A topic's properties under `/admin/v2`, as Pulsar has them: free text by name, neither labels nor policies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from topicfold.errors import InvalidRequest, NamespaceNotFound, TopicNotFound
from topicfold.model.names import PERSISTENT, TopicName
from topicfold.model.permissions import READ_TOPIC, UPDATE_TOPIC
from topicfold.model.updates import remove_property, set_properties
from topicfold.runtime.policies import readable
from topicfold.server.answers import UNCHANGED, record_answer, written_answer
from topicfold.server.asking import asked_to_write, settled
from topicfold.server.bodies import json_body
from topicfold.server.node import Node
from topicfold.server.paths import refuse_partition, topic_in
from topicfold.server.queries import one, query_of
from topicfold.server.records import properties_in
from topicfold.server.routes import READ_ERRORS, TEXT_BY_NAME, TOPIC_PATH, UNREADABLE, WRITE_ERRORS, Operation


@dataclass(frozen=True, slots=True)
class Properties:
    """The handlers."""

    node: Node

    async def get(self, request: Request) -> Response:
        """Answer a topic's properties, `{}` where it has none; those of the whole topic for one of its partitions."""
        name = _persistent_topic_in(request)
        node = self.node
        cut = await settled(request, node, name.namespace)
        if node.reading.is_partition(name):
            name = name.whole
        view = node.reading.topic(name)
        return record_answer(dict(readable(view).properties), cut, view.etag)

    async def set(self, request: Request) -> Response:
        """Set or change some properties and keep the others; none given changes none."""
        name = refuse_partition(_persistent_topic_in(request))
        properties = properties_in(await json_body(request, self.node))
        asked = asked_to_write(request, self.node, "set properties", dict(properties))
        updater = set_properties(str(name), properties)
        return written_answer(await self.node.writing.change_topic(name, updater, asked))

    async def remove(self, request: Request) -> Response:
        """Remove one property; it is no error if there is none of that name.

        Raises:
            InvalidRequest: none is named.
        """
        name = refuse_partition(_persistent_topic_in(request))
        key = one(query_of(request), "key")
        if not key:
            raise InvalidRequest("no property is named", hint="Send ?key=NAME.")
        asked = asked_to_write(request, self.node, "remove property", key)
        return written_answer(await self.node.writing.change_topic(name, remove_property(str(name), key), asked))


def operations(node: Node) -> Sequence[Operation]:
    """Return what can be done with a topic's properties."""
    properties = Properties(node)
    path = f"{TOPIC_PATH}/properties"
    missing = (NamespaceNotFound, TopicNotFound, *UNREADABLE)
    return (
        Operation("getTopicProperties", "GET", path, properties.get, "Read a topic's properties", answer=TEXT_BY_NAME,
                  empty=UNCHANGED,
                  errors=(*READ_ERRORS, *missing), needs=READ_TOPIC),
        Operation("setTopicProperties", "PUT", path, properties.set, "Set properties, and keep the others", 204,
                  body=TEXT_BY_NAME, without_body="nothing is set", errors=(*WRITE_ERRORS, *missing),
                  needs=UPDATE_TOPIC),
        Operation("removeTopicProperty", "DELETE", path, properties.remove, "Remove a property", 204,
                  query={"key": "Its name."}, errors=(*WRITE_ERRORS, *missing), needs=UPDATE_TOPIC),
    )  # fmt: skip


def _persistent_topic_in(request: Request) -> TopicName:
    """Return the topic of the path.

    Raises:
        HTTPException: 406, it is not persistent; the status is Pulsar's.
    """
    name = topic_in(request)
    if name.domain != PERSISTENT:
        raise HTTPException(406, f"Properties of a non-persistent topic are not allowed: {name}")
    return name
