"""Namespaces under `/admin/v2`, as Pulsar has them, and what is listed by namespace."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import orjson
from starlette.requests import Request
from starlette.responses import Response

from topicfold.errors import (
    AlreadyExists,
    InvalidPolicy,
    NamespaceNotFound,
    NotEmpty,
    NotFound,
    Overloaded,
    PeerCluster,
    PolicyUnmet,
    TenantNotFound,
    UnknownCluster,
)
from topicfold.model.names import topic_of_key
from topicfold.model.permissions import ADMINISTER_NAMESPACE, ADMINISTER_TENANT, LIST_NAMESPACE, READ_NAMESPACE, Access
from topicfold.model.policy.values import plain_value
from topicfold.model.records import NO_GRANTS, Grants
from topicfold.runtime.finding.topic_listing import ListingMode
from topicfold.runtime.slices import CHUNK
from topicfold.server.absence import said_of_absent_namespace
from topicfold.server.answers import JSON_TYPE, joined, read_answer, read_headers, written_answer
from topicfold.server.asking import asked_to_write, settled, settled_namespace
from topicfold.server.bodies import json_body
from topicfold.server.listing import LISTED, LISTING_ERRORS, CountedAnswer, answer_listing
from topicfold.server.node import Node
from topicfold.server.parameters import Choice, Flag
from topicfold.server.paths import namespace_in, tenant_in
from topicfold.server.queries import query_of
from topicfold.server.records import namespace_in_body
from topicfold.server.routes import (
    CLUSTER_ERRORS,
    NAMESPACE_PATH,
    READ_ERRORS,
    TEXTS,
    TEXTS_BY_NAME,
    UNREADABLE,
    WRITE_ERRORS,
    Operation,
)
from topicfold.wire.namespace_document import document_schema, policies_document, shown_grants

_DOCUMENT = document_schema()
_FORCE = Flag("force", "`true`: delete its topics, too.")
_MODE = Choice("mode", "Domain of the topics.", tuple(ListingMode), ListingMode.PERSISTENT, refused=NotFound)
"""A mode that there is not is a missing resource, as Pulsar has it of values that it does not know."""


@dataclass(frozen=True, slots=True)
class Namespaces:
    """The handlers."""

    node: Node

    async def list(self, request: Request) -> Response:
        """Answer the namespaces of a tenant."""
        tenant = tenant_in(request)
        cut = await settled(request, self.node)
        return read_answer(await self.node.namespaces(request, tenant), cut)

    async def get(self, request: Request) -> Response:
        """Answer one namespace's document: its policies, its properties, and to who may change them its grants."""
        name = namespace_in(request)
        record, etag, cut = await settled_namespace(request, self.node, name)
        topic_grants = orjson.Fragment(b"{}")
        if self.node.has(request, ADMINISTER_NAMESPACE, name):
            topic_grants = await _written(name, self.node.reading.topic_grants(name))
        else:
            record = replace(record, grants=NO_GRANTS)
        local_cluster = self.node.limits.local_cluster
        return read_answer(policies_document(record, topic_grants, local_cluster), cut, etag)

    async def create(self, request: Request) -> Response:
        """Make a namespace of a tenant that exists."""
        name = namespace_in(request)
        record = namespace_in_body(await json_body(request, self.node), self.node.limits)
        meaning = (dict(record.properties), plain_value(record.policies), dict(record.grants))
        asked = asked_to_write(request, self.node, "create", *meaning)
        return written_answer(await self.node.writing.create_namespace(name, record, asked))

    async def delete(self, request: Request) -> Response:
        """End a namespace; with `force` its topics end with it."""
        name = namespace_in(request)
        force = _FORCE.of(query_of(request))
        asked = asked_to_write(request, self.node, "delete", force)
        with said_of_absent_namespace(name):
            return written_answer(await self.node.writing.delete_namespace(name, asked, force=force))

    async def topics(self, request: Request) -> Response:
        """Answer the topics of a namespace, by domain.

        Raises:
            NotFound: the mode is none.
        """
        return await answer_listing(self.node, request, ListingMode(_MODE.of(query_of(request))), {})

    async def labels(self, request: Request) -> Response:
        """Answer every label key in use with its values."""
        name = namespace_in(request)
        cut = await settled(request, self.node, name)
        labels = await self.node.reading.all_labels(name, self.node.listable(request, name))
        body = await joined(_values_by_key(labels), b"{}")
        return CountedAnswer(Response(body, 200, read_headers(cut), JSON_TYPE), request, self.node.in_flight)


def _values_by_key(labels: Mapping[str, Sequence[str]]) -> Iterator[bytes]:
    """Yield keys with their values as parts that `joined` makes an object of, some values in each."""
    for key, values in labels.items():
        before = b"%b:[" % orjson.dumps(key)
        for start in range(0, len(values), CHUNK):
            end = start + CHUNK
            yield before + orjson.dumps(values[start:end])[1:-1] + (b"]" if end >= len(values) else b"")
            before = b""


async def _written(namespace: str, topic_grants: Iterable[tuple[str, Grants]]) -> orjson.Fragment:
    """Return topics' grants as an object, by the topics' full names."""
    members = (orjson.dumps({topic_of_key(namespace, key): shown_grants(each)})[1:-1] for key, each in topic_grants)
    return orjson.Fragment(await joined(members, b"{}"))


def operations(node: Node) -> Sequence[Operation]:
    """Return what can be done with namespaces."""
    namespaces = Namespaces(node)
    missing = (*READ_ERRORS, NamespaceNotFound)
    return (
        Operation("listNamespaces", "GET", "/admin/v2/namespaces/{tenant}", namespaces.list,
                  "List a tenant's namespaces", answer=TEXTS, needs=Access.ANYONE,
                  errors=(*READ_ERRORS, TenantNotFound)),
        Operation("getNamespace", "GET", NAMESPACE_PATH, namespaces.get, "Read a namespace", answer=_DOCUMENT,
                  needs=READ_NAMESPACE,
                  errors=(*missing, *UNREADABLE)),
        Operation("createNamespace", "PUT", NAMESPACE_PATH, namespaces.create, "Create a namespace", 204,
                  body=_DOCUMENT, without_body="it has no policies of its own", needs=ADMINISTER_TENANT,
                  errors=(*WRITE_ERRORS, TenantNotFound, AlreadyExists, InvalidPolicy, PolicyUnmet, PeerCluster,
                          UnknownCluster)),
        Operation("deleteNamespace", "DELETE", NAMESPACE_PATH, namespaces.delete, "Delete a namespace", 204,
                  needs=ADMINISTER_TENANT,
                  query=_FORCE.declared,
                  errors=(*WRITE_ERRORS, *CLUSTER_ERRORS, NamespaceNotFound, NotEmpty)),
        Operation("listTopicsOfNamespace", "GET", f"{NAMESPACE_PATH}/topics", namespaces.topics,
                  "List a namespace's topics by domain", answer=TEXTS, needs=LIST_NAMESPACE,
                  query=_MODE.declared | LISTED,
                  errors=(*LISTING_ERRORS, NotFound)),
        Operation("listTopicCustomLabels", "GET", f"{NAMESPACE_PATH}/topicCustomLabels", namespaces.labels,
                  "List all labels of a namespace's topics", answer=TEXTS_BY_NAME, needs=LIST_NAMESPACE,
                  errors=(*missing, Overloaded),
                  aliases=[f"{NAMESPACE_PATH}/{spelling}" for spelling in
                           ("topicCustomeLabels", "topic-custom-labels", "topic-custome-labels")]),
    )  # fmt: skip
