"""History of a topic, a namespace or a tenant, and rollback to a version of the former two, under `/api/v1`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import orjson
from starlette.requests import Request
from starlette.responses import Response

from topicfold.errors import (
    InvalidLabels,
    InvalidRequest,
    LogUnavailable,
    NamespaceNotFound,
    Overloaded,
    TenantNotFound,
    TopicNotFound,
    VersionNotFound,
)
from topicfold.model.names import TopicName
from topicfold.model.permissions import (
    ADMINISTER_NAMESPACE,
    ADMINISTER_TENANT,
    ADMINISTER_TOPIC,
    READ_NAMESPACE,
    READ_TOPIC,
    UPDATE_TOPIC,
    Right,
)
from topicfold.runtime.asking import Consistency
from topicfold.runtime.past.history import read_history
from topicfold.runtime.past.rollback import restoring, roll_back, version_to_restore
from topicfold.runtime.writing.dry_run import would_change
from topicfold.server.answers import dry_answer, joined, read_answer, written_answer
from topicfold.server.asking import asked_to_read, asked_to_write
from topicfold.server.bodies import json_body
from topicfold.server.listing import counted_if_long
from topicfold.server.native_namespaces import NATIVE_NAMESPACE, native_namespace_in
from topicfold.server.native_topics import DOMAIN_QUERY, DRY_QUERY, NATIVE_TOPIC, is_dry, native_topic_in
from topicfold.server.node import Node
from topicfold.server.parameters import Count, Declared
from topicfold.server.paths import refuse_partition, tenant_in
from topicfold.server.queries import one, query_of
from topicfold.server.records import checked
from topicfold.server.routes import (
    NAMESPACE_POLICIES_REFUSED,
    POLICIES_REFUSED,
    READ_ERRORS,
    UNREADABLE,
    WRITE_ERRORS,
    Operation,
)
from topicfold.server.versions import readable_since
from topicfold.wire.history import History, Rollback, history_entry

DEFAULT_LIMIT = 50
MAX_LIMIT = 1_000
_PAGE = ("limit", "before")
LIMIT = Count("limit", f"Maximum number of changes; {DEFAULT_LIMIT} if left out.", MAX_LIMIT)


@dataclass(frozen=True, slots=True)
class Histories:
    """The handlers."""

    node: Node

    async def of_topic(self, request: Request) -> Response:
        """Answer a page of a topic's history, of one that ended too, as far back as who asks may read."""
        return await self._page(request, refuse_partition(native_topic_in(request, *_PAGE)), ADMINISTER_TOPIC)

    async def of_namespace(self, request: Request) -> Response:
        """Answer the same of a namespace."""
        return await self._page(request, native_namespace_in(request, *_PAGE), ADMINISTER_NAMESPACE)

    async def of_tenant(self, request: Request) -> Response:
        """Answer the same of a tenant."""
        query_of(request, _PAGE)
        return await self._page(request, tenant_in(request), ADMINISTER_TENANT)

    async def roll_topic_back(self, request: Request) -> Response:
        """Give a topic back the labels, properties and policies of one of its versions."""
        return await self._roll_back(request, refuse_partition(native_topic_in(request, "dryRun")))

    async def roll_namespace_back(self, request: Request) -> Response:
        """Give a namespace back the properties and policies of one of its versions."""
        return await self._roll_back(request, native_namespace_in(request, "dryRun"))

    async def _page(self, request: Request, place: str | TopicName, administer: Right) -> Response:
        """Answer a page; grants are shown to who may `administer`.

        Without a position to wait for it waits for a barrier: nobody asks so often that it would matter.
        """
        query = query_of(request)
        limit = LIMIT.of(query) or DEFAULT_LIMIT
        before = one(query, "before")
        if before == "":
            raise InvalidRequest("before is empty", hint="Send it as it was received, or begin without it.")
        node = self.node
        target = node.engine.target_of(place)
        asked = asked_to_read(request, node)
        if asked.consistency is Consistency.LOCAL and asked.minimum is None:
            asked = asked._replace(consistency=Consistency.BARRIER)
        cut = await node.reading.settle([target.partition], asked)
        since = await readable_since(node, request, place, asked.deadline)
        page = await read_history(node.engine, target, limit, before or "", asked.deadline, since)
        shows_grants = node.has(request, administer, place)
        items = (orjson.dumps(history_entry(entry, shows_grants=shows_grants)) for entry in page.entries)
        answer = {
            "name": target.name,
            "items": orjson.Fragment(await joined(items, b"[]")),
            "before": page.before or None,
            "gap": page.gap and {"offset": page.gap.offset, "reason": page.gap.reason},
            "position": str(cut.revision),
        }
        return counted_if_long(read_answer(answer, cut), request, node.in_flight, "ask for fewer changes")

    async def _roll_back(self, request: Request, place: str | TopicName) -> Response:
        to = checked(Rollback, await json_body(request, self.node)).to
        node = self.node
        target = node.engine.target_of(place)
        asked = asked_to_write(request, node, "rollback", to)
        fresh = asked_to_read(request, node)._replace(consistency=Consistency.BARRIER)
        await node.reading.settle([target.partition], fresh)
        if not is_dry(request) and (written := node.writing.answered(place, asked)) is not None:
            return written_answer(written)
        since = await readable_since(node, request, place, asked.deadline)
        version = await version_to_restore(node.engine, place, to, asked, since)
        may_change_global = node.has(request, ADMINISTER_NAMESPACE, target.namespace)
        if is_dry(request):
            updater = restoring(node.engine, place, version, may_change_global=may_change_global)
            return dry_answer(await would_change(node.engine, place, updater, asked))
        written = await roll_back(node.engine, node.writing, place, version, asked, may_change_global=may_change_global)
        return written_answer(written)


def operations(node: Node) -> Sequence[Operation]:
    """Return what can be done with histories."""
    histories = Histories(node)
    pages: Declared = LIMIT.declared | {"before": "The `before` of the previous page."}
    return (
        Operation("getTopicHistory", "GET", f"{NATIVE_TOPIC}/history", histories.of_topic,
                  "Read a topic's history: who changed what, when and why", answer=History,
                  query=DOMAIN_QUERY | pages,
                  errors=(*READ_ERRORS, NamespaceNotFound, TopicNotFound, LogUnavailable, Overloaded),
                  needs=READ_TOPIC),
        Operation("getNamespaceHistory", "GET", f"{NATIVE_NAMESPACE}/history", histories.of_namespace,
                  "Read a namespace's history: who changed what, when and why", answer=History, query=pages,
                  errors=(*READ_ERRORS, NamespaceNotFound, LogUnavailable, Overloaded), needs=READ_NAMESPACE),
        Operation("getTenantHistory", "GET", "/api/v1/tenants/{tenant}/history", histories.of_tenant,
                  "Read a tenant's history: who changed what, when and why", answer=History, query=pages,
                  errors=(*READ_ERRORS, TenantNotFound, LogUnavailable, Overloaded), needs=ADMINISTER_TENANT),
        Operation("rollbackNamespace", "POST", f"{NATIVE_NAMESPACE}/rollback", histories.roll_namespace_back,
                  "Roll a namespace back to an earlier version", 204, body=Rollback, query=DRY_QUERY,
                  errors=(*WRITE_ERRORS, *NAMESPACE_POLICIES_REFUSED, NamespaceNotFound, VersionNotFound, *UNREADABLE),
                  needs=ADMINISTER_NAMESPACE),
        Operation("rollbackTopic", "POST", f"{NATIVE_TOPIC}/rollback", histories.roll_topic_back,
                  "Roll a topic back to an earlier version", 204, body=Rollback,
                  query=DOMAIN_QUERY | DRY_QUERY,
                  errors=(*WRITE_ERRORS, *POLICIES_REFUSED, NamespaceNotFound, TopicNotFound, VersionNotFound,
                          InvalidLabels, *UNREADABLE),
                  needs=UPDATE_TOPIC),
    )  # fmt: skip
