"""A topic's labels under `/admin/v2`: PIP-451's routes, in every spelling its text has."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from topicfold.errors import (
    InvalidLabels,
    InvalidRequest,
    NamespaceNotFound,
    TopicfoldError,
    TopicNotFound,
)
from topicfold.model.labels import too_many_together
from topicfold.model.names import TopicName
from topicfold.model.permissions import READ_TOPIC, UPDATE_TOPIC
from topicfold.runtime.policies import readable
from topicfold.server.answers import UNCHANGED, record_answer, written_answer
from topicfold.server.asking import asked_to_write, settled
from topicfold.server.bodies import json_body
from topicfold.server.node import Node
from topicfold.server.parameters import Flag
from topicfold.server.paths import whole_topic_in
from topicfold.server.queries import query_of
from topicfold.server.records import labels_in
from topicfold.server.routes import READ_ERRORS, TEXT_BY_NAME, TOPIC_PATH, UNREADABLE, WRITE_ERRORS, Operation
from topicfold.wire.resources import CustomLabels

_ALL = Flag("all", "`true`: remove all labels.")


@dataclass(frozen=True, slots=True)
class TopicLabels:
    """The handlers."""

    node: Node

    async def get(self, request: Request) -> Response:
        """Answer a topic's labels, `{}` where it has none.

        Raises:
            Undecodable, NewerSchema: its record cannot be read.
        """
        name = whole_topic_in(request)
        node = self.node
        cut = await settled(request, node, name.namespace)
        labels, etag = node.reading.labels(name)
        if not labels:
            readable(node.reading.topic(name))
        return record_answer(labels, cut, etag)

    async def set(self, request: Request) -> Response:
        """Set or change some labels and keep the others.

        Raises:
            InvalidLabels: carries all violations; too many with those the topic has are one, if that can be seen now.
        """
        name = whole_topic_in(request)
        node = self.node
        body = await json_body(request, node)
        try:
            labels = labels_in(body, node.engine.options.label_rules)
            asked = asked_to_write(request, node, "set", labels)
            return written_answer(await node.writing.set_labels(name, labels, asked))
        except InvalidLabels as error:
            violations = error.values["violations"]
            if any(each["path"] == "labels" for each in violations):
                raise
            raise InvalidLabels([*violations, *await self._too_many(request, name, body["labels"])]) from None

    async def _too_many(self, request: Request, name: TopicName, labels: Iterable[str]) -> Sequence[Mapping[str, str]]:
        node, refused = self.node, ""
        with contextlib.suppress(TopicfoldError):
            await settled(request, node, name.namespace)
            old, _ = node.reading.labels(name)
            refused = too_many_together(str(name), old, labels, node.engine.options.label_rules)
        return [{"path": "labels", "reason": refused}] if refused else []

    async def remove(self, request: Request) -> Response:
        """Take labels off a topic: those of the keys given, or all.

        Raises:
            InvalidRequest: neither, or both.
        """
        name = whole_topic_in(request)
        query = query_of(request)
        keys = frozenset(key for text in query.get("keys", ()) for key in text.split(",") if key)
        takes_all = _ALL.of(query)
        if takes_all == bool(keys):
            raise InvalidRequest(
                "both keys and all are given" if takes_all else "no label is named",
                hint="Send ?keys=KEY for each label, or ?all=true.",
            )
        asked = asked_to_write(request, self.node, "remove", None if takes_all else sorted(keys))
        return written_answer(await self.node.writing.remove_labels(name, None if takes_all else keys, asked))


def operations(node: Node) -> Sequence[Operation]:
    """Return what can be done with a topic's labels."""
    labels = TopicLabels(node)
    path, aliases = f"{TOPIC_PATH}/custom-labels", (f"{TOPIC_PATH}/custome-labels", f"{TOPIC_PATH}/customLabels")
    missing = (NamespaceNotFound, TopicNotFound)
    return (
        Operation("getCustomLabels", "GET", path, labels.get, "Read a topic's labels", answer=TEXT_BY_NAME,
                  empty=UNCHANGED,
                  needs=READ_TOPIC,
                  errors=(*READ_ERRORS, *missing, *UNREADABLE), aliases=aliases),
        Operation("setCustomLabels", "POST", path, labels.set, "Set labels, and keep the others", 204,
                  needs=UPDATE_TOPIC,
                  body=CustomLabels, errors=(*WRITE_ERRORS, *missing, InvalidLabels, *UNREADABLE), aliases=aliases),
        Operation("removeCustomLabels", "DELETE", path, labels.remove, "Remove labels", 204, needs=UPDATE_TOPIC,
                  query=_ALL.declared | {"keys*": "Comma-separated label keys."},
                  errors=(*WRITE_ERRORS, *missing, *UNREADABLE), aliases=aliases),
    )  # fmt: skip
