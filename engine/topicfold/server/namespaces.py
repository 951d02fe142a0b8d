"""Namespaces under `/admin/v2`, as Pulsar has them, and what is listed by namespace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from topicfold.errors import AlreadyExists, NamespaceNotFound, NotEmpty, NotFound, TenantNotFound
from topicfold.model.names import NON_PERSISTENT, PERSISTENT
from topicfold.server.answers import read_answer, written_answer
from topicfold.server.asking import asked_to_read, asked_to_write
from topicfold.server.bodies import json_body
from topicfold.server.node import Node
from topicfold.server.paths import namespace_in, tenant_in
from topicfold.server.queries import flag, label_filter, one, query_of
from topicfold.server.records import namespace_in_body
from topicfold.server.routes import READ_ERRORS, WRITE_ERRORS, Operation
from topicfold.wire.resources import NamespaceInfo

_NAMES = {"type": "array", "items": {"type": "string"}}
_VALUES_BY_KEY = {"type": "object", "additionalProperties": _NAMES}
_DOMAIN_OF_MODE = {"PERSISTENT": PERSISTENT, "NON_PERSISTENT": NON_PERSISTENT, "ALL": None}


@dataclass(frozen=True, slots=True)
class Namespaces:
    """The handlers."""

    node: Node

    async def list(self, request: Request) -> Response:
        """Answer the namespaces of a tenant."""
        tenant = tenant_in(request)
        cut = await self.node.reading.settle(self.node.engine.states, asked_to_read(request, self.node))
        return read_answer(self.node.reading.namespaces(tenant), cut)

    async def get(self, request: Request) -> Response:
        """Answer one namespace's record."""
        name = namespace_in(request)
        cut = await self.node.reading.settle([self.node.engine.partition(name)], asked_to_read(request, self.node))
        record, etag = self.node.reading.namespace(name)
        return read_answer({"properties": dict(record.properties)}, cut, etag)

    async def create(self, request: Request) -> Response:
        """Make a namespace of a tenant that exists."""
        name = namespace_in(request)
        record = namespace_in_body(await json_body(request, self.node))
        asked = asked_to_write(request, self.node, "create", dict(record.properties))
        return written_answer(await self.node.writing.create_namespace(name, record, asked))

    async def delete(self, request: Request) -> Response:
        """End a namespace; with `force` its topics end with it."""
        name = namespace_in(request)
        force = flag(query_of(request), "force")
        asked = asked_to_write(request, self.node, "delete", force)
        return written_answer(await self.node.writing.delete_namespace(name, asked, force=force))

    async def topics(self, request: Request) -> Response:
        """Answer the topics of a namespace, by domain.

        Raises:
            NotFound: the mode is none.
        """
        name = namespace_in(request)
        query = query_of(request)
        mode = one(query, "mode") or "PERSISTENT"
        if mode not in _DOMAIN_OF_MODE:
            # As Pulsar, which takes a value it does not know for a resource it does not have.
            raise NotFound(f"mode {mode[:80]!r} is none of {', '.join(_DOMAIN_OF_MODE)}")
        labels = label_filter(query)
        cut = await self.node.reading.settle([self.node.engine.partition(name)], asked_to_read(request, self.node))
        return read_answer(self.node.reading.topic_names(name, labels, _DOMAIN_OF_MODE[mode]), cut)

    async def labels(self, request: Request) -> Response:
        """Answer every label key in use with its values."""
        name = namespace_in(request)
        cut = await self.node.reading.settle([self.node.engine.partition(name)], asked_to_read(request, self.node))
        return read_answer(self.node.reading.all_labels(name), cut)


def operations(node: Node) -> Sequence[Operation]:
    """Return what can be done with namespaces."""
    namespaces = Namespaces(node)
    one_path = "/admin/v2/namespaces/{tenant}/{namespace}"
    missing = (*READ_ERRORS, NamespaceNotFound)
    return (
        Operation("listNamespaces", "GET", "/admin/v2/namespaces/{tenant}", namespaces.list,
                  "List a tenant's namespaces", answer=_NAMES, errors=(*READ_ERRORS, TenantNotFound)),
        Operation("getNamespace", "GET", one_path, namespaces.get, "Read a namespace", answer=NamespaceInfo,
                  errors=missing),
        Operation("createNamespace", "PUT", one_path, namespaces.create, "Make a namespace", 204, body=NamespaceInfo,
                  errors=(*WRITE_ERRORS, TenantNotFound, AlreadyExists)),
        Operation("deleteNamespace", "DELETE", one_path, namespaces.delete, "End a namespace", 204,
                  query={"force": "`true` ends its topics with it."},
                  errors=(*WRITE_ERRORS, NamespaceNotFound, NotEmpty)),
        Operation("listTopicsOfNamespace", "GET", f"{one_path}/topics", namespaces.topics,
                  "List a namespace's topics by domain", answer=_NAMES,
                  query={"mode": "PERSISTENT (as without it), NON_PERSISTENT or ALL.",
                         "custom-labels": "`k1:v1,k2:v2`: only topics that bear all of them."},
                  errors=missing),
        Operation("listTopicCustomLabels", "GET", f"{one_path}/topicCustomLabels", namespaces.labels,
                  "List all labels of a namespace's topics", answer=_VALUES_BY_KEY, errors=missing,
                  aliases=[f"{one_path}/{spelling}" for spelling in
                           ("topicCustomeLabels", "topic-custom-labels", "topic-custome-labels")]),
    )  # fmt: skip
