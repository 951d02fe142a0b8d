"""Namespaces under `/api/v1`: their records, with policies named as in those of topics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from topicfold.errors import LogUnavailable, NamespaceNotFound
from topicfold.model.permissions import ADMINISTER_NAMESPACE, READ_NAMESPACE
from topicfold.model.records import NamespaceRecord
from topicfold.runtime.writing.dry_run import would_change
from topicfold.server.answers import UNCHANGED, dry_answer, record_answer, written_answer
from topicfold.server.asking import asked_to_read, asked_to_write, settled
from topicfold.server.bodies import json_body
from topicfold.server.desired import meaning_of, merging_namespace, namespace_patch_in
from topicfold.server.native_topics import DRY_QUERY, is_dry
from topicfold.server.node import Node
from topicfold.server.paths import namespace_in
from topicfold.server.queries import one, query_of
from topicfold.server.routes import NAMESPACE_POLICIES_REFUSED, READ_ERRORS, UNREADABLE, WRITE_ERRORS, Operation
from topicfold.server.versions import AT_QUERY, namespace_at, readable_since
from topicfold.wire.resources import NamespaceItem, NamespacePatch, namespace_item

NATIVE_NAMESPACE = "/api/v1/namespaces/{tenant}/{namespace}"


@dataclass(frozen=True, slots=True)
class NativeNamespaces:
    """The handlers."""

    node: Node

    async def get(self, request: Request) -> Response:
        """Answer a namespace's record, with `at` as it once was."""
        name = native_namespace_in(request, "at")
        at = one(query_of(request), "at")
        node = self.node
        if at is None:
            cut = await settled(request, node, name)
            record, etag = node.reading.namespace(name)
        else:
            asked = asked_to_read(request, node)
            cut = await node.reading.settle([node.engine.partition(name)], asked)
            since = await readable_since(node, request, name, asked.deadline)
            record, etag = await namespace_at(node, name, at, asked.deadline, since)
        return record_answer(namespace_item(name, record, etag), cut, etag)

    async def change(self, request: Request) -> Response:
        """Merge a patch into a namespace's record, all in one update.

        Source: RFC 7396 (JSON Merge Patch).
        """
        name = native_namespace_in(request, "dryRun")
        node = self.node
        patch = namespace_patch_in(await json_body(request, node), partial(self._seen, name), node.limits)
        asked = asked_to_write(request, node, "change", meaning_of(patch))
        update = merging_namespace(name, patch, node.limits)
        if is_dry(request):
            return dry_answer(await would_change(node.engine, name, update, asked))
        return written_answer(await node.writing.change_namespace(name, update, asked))

    def _seen(self, name: str) -> NamespaceRecord:
        """Return a namespace's record as it is folded here, an empty one where there is none."""
        try:
            return self.node.reading.namespace(name)[0]
        except (NamespaceNotFound, *UNREADABLE):
            return NamespaceRecord()


def native_namespace_in(request: Request, *parameters: str) -> str:
    """Return the namespace that a path under `/api/v1` names; only these `parameters` may be given.

    Raises:
        InvalidName: it breaks the rules.
        InvalidRequest: another parameter is given.
    """
    query_of(request, parameters)
    return namespace_in(request)


def operations(node: Node) -> Sequence[Operation]:
    """Return what can be done with namespaces under `/api/v1`."""
    namespaces = NativeNamespaces(node)
    return (
        Operation("getNamespaceRecord", "GET", NATIVE_NAMESPACE, namespaces.get, "Read a namespace",
                  answer=NamespaceItem, query=AT_QUERY, empty=UNCHANGED, needs=READ_NAMESPACE,
                  errors=(*READ_ERRORS, NamespaceNotFound, LogUnavailable, *UNREADABLE)),
        Operation("changeNamespaceRecord", "PATCH", NATIVE_NAMESPACE, namespaces.change,
                  "Merge a patch into a namespace", 204, body=NamespacePatch, without_body="nothing is changed",
                  query=DRY_QUERY, needs=ADMINISTER_NAMESPACE,
                  errors=(*WRITE_ERRORS, NamespaceNotFound, *NAMESPACE_POLICIES_REFUSED, *UNREADABLE)),
    )  # fmt: skip
