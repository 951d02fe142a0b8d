"""Policies of whole namespaces under `/admin/v2`, at Pulsar's paths; the routes follow from the table of policies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from topicfold.errors import (
    InvalidPolicy,
    NamespaceNotFound,
    NotFound,
    PeerCluster,
    PolicyUnmet,
    UnknownCluster,
)
from topicfold.model.permissions import ADMINISTER_NAMESPACE, READ_NAMESPACE
from topicfold.model.policy.changes import (
    QUOTAS,
    RETENTION,
    Change,
    change_namespace,
    holding,
    remove_value,
    set_entry,
    set_value,
)
from topicfold.model.policy.description import Empty, NamespaceRoute, Policy, Source
from topicfold.model.policy.resolve import broker_level, broker_value
from topicfold.model.policy.shapes import QUOTA_TYPES
from topicfold.model.policy.values import ListOf, MapOf, plain_value
from topicfold.server.absence import said_of_absent_namespace
from topicfold.server.answers import written_answer
from topicfold.server.asking import asked_to_write, settled_namespace
from topicfold.server.bodies import json_body
from topicfold.server.node import Node
from topicfold.server.parameters import Declared, Flag
from topicfold.server.paths import namespace_in
from topicfold.server.policies.answers import done_without_body, empty_where_unset, policy_answer
from topicfold.server.policies.requests import QUOTA_TYPE
from topicfold.server.queries import query_of
from topicfold.server.routes import NAMESPACE_PATH, READ_ERRORS, UNREADABLE, WRITE_ERRORS, Operation
from topicfold.wire.namespace_document import checked_value, policies_of_namespaces, unset_answer
from topicfold.wire.policy_schema import schema_of

_APPLIED = Flag("applied", "`true`: if the namespace does not set it, the node's value.")


@dataclass(frozen=True, slots=True)
class NamespacePolicy:
    """The handlers of one policy."""

    node: Node
    policy: Policy
    route: NamespaceRoute

    async def get(self, request: Request) -> Response:
        """Answer what the namespace says; with `applied`, where Pulsar takes it, what the node says in its place."""
        name = namespace_in(request)
        is_applied = self.route.has_applied and _APPLIED.of(query_of(request))
        record, etag, cut = await settled_namespace(request, self.node, name)
        value = record.policies.get(self.policy.name)
        if is_applied and not value:
            value = broker_value(self.policy, self.node.limits)
        unset = unset_answer(self.route, self.node.limits.local_cluster)
        return policy_answer(self.policy.kind, value, unset, cut, etag, is_stored=not is_applied)

    async def set(self, request: Request) -> Response:
        """Give the namespace a value; no value removes it where Pulsar lets it.

        Raises:
            InvalidPolicy: there must be one.
        """
        name = namespace_in(request)
        entry = self._entry_in(request)
        limits = self.node.limits
        given = True if self.route.source is Source.TRUE else await json_body(request, self.node)
        if given is None and self.route.empty is Empty.UNMET:
            given = [] if isinstance(self.policy.kind, ListOf) else {}
        if given is None and self.route.empty is Empty.REFUSED:
            raise InvalidPolicy(self.route.path, [{"path": "", "reason": "must be given in the body"}])
        if given is None or given == self.policy.topic.unsets:
            return await self._change(name, remove_value(self.policy.name, entry), request, "set", entry, given)
        value = checked_value(self.policy, self.route, {entry: given} if entry else given, limits)
        change = set_entry(self.policy.name, entry, value[entry]) if entry else set_value(self.policy.name, value)
        if self.policy.name in (RETENTION, QUOTAS):
            types = (entry,) if entry else QUOTA_TYPES
            change = holding(change, self.policy.name, lambda: broker_level(limits), types)
        return await self._change(name, change, request, "set", entry, plain_value(value))

    async def remove(self, request: Request) -> Response:
        """Leave the policy to what lies below; it is no error if the namespace says nothing."""
        entry = self._entry_in(request)
        return await self._change(
            namespace_in(request), remove_value(self.policy.name, entry), request, "remove", entry
        )

    async def _change(self, name: str, change: Change, request: Request, *meaning: Any) -> Response:
        asked = asked_to_write(request, self.node, self.policy.name, *meaning)
        with said_of_absent_namespace(name, self.route.missing):
            updater = change_namespace(name, change)
            written = await self.node.writing.change_namespace(name, updater, asked, stated=self.policy.name)
            return written_answer(written)

    def _entry_in(self, request: Request) -> str:
        """Return which entry of a policy that is a map the request is about, "" where the policy is none.

        Raises:
            NotFound: there is no such entry; the status is Pulsar's.
        """
        return QUOTA_TYPE.of(query_of(request)) if self.policy.name == QUOTAS else ""


def operations(node: Node) -> Sequence[Operation]:
    """Return what can be done with the policies of a namespace."""
    return [
        operation
        for policy, route in policies_of_namespaces()
        for operation in _operations_of(NamespacePolicy(node, policy, route))
    ]


def _operations_of(handlers: NamespacePolicy) -> Iterator[Operation]:
    policy, route = handlers.policy, handlers.route
    entry = policy.kind.value if isinstance(policy.kind, MapOf) else None
    noun = f"Namespace{route.path[0].upper()}{route.path[1:]}"
    title = f"a namespace's {policy.title}"
    changing = (*WRITE_ERRORS, NamespaceNotFound, *UNREADABLE)
    query: Declared = QUOTA_TYPE.declared if entry else {}
    applied: Declared = _APPLIED.declared if route.has_applied else {}
    yield Operation(
        f"get{noun}", "GET", f"{NAMESPACE_PATH}/{route.read_path or route.path}", handlers.get, f"Read {title}",
        answer=schema_of(policy.kind), query=applied, empty=empty_where_unset(route.unset),
        errors=(*READ_ERRORS, NamespaceNotFound, *UNREADABLE),
        needs=READ_NAMESPACE, policy=policy.topic.permission,
    )  # fmt: skip
    yield Operation(
        f"set{noun}", route.method, f"{NAMESPACE_PATH}/{route.path}", handlers.set, f"Set {title}", 204,
        body=None if route.source is Source.TRUE else schema_of(entry or policy.kind), query=query,
        without_body=done_without_body(route.empty),
        errors=(*changing, NotFound, InvalidPolicy, PolicyUnmet, PeerCluster, UnknownCluster),
        needs=ADMINISTER_NAMESPACE, policy=policy.topic.permission,
    )  # fmt: skip
    if route.has_delete:
        yield Operation(
            f"remove{noun}", "DELETE", f"{NAMESPACE_PATH}/{route.remove_path or route.path}", handlers.remove,
            f"Remove {title}", 204, query=query, errors=(*changing, NotFound), needs=ADMINISTER_NAMESPACE,
            policy=policy.topic.permission,
        )  # fmt: skip
