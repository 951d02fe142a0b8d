"""Grants under `/admin/v2`: what roles may do on a tenant, a namespace or a topic, at Pulsar's paths.

Tenants have none in Pulsar; theirs are ours. Each grant is a change of the record it is on, with its version and its
place in the history.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from topicfold.errors import InvalidRequest, NamespaceNotFound, TenantNotFound, TopicNotFound
from topicfold.model.grants import actions_in, check_role, grant, revoke
from topicfold.model.permissions import ADMINISTER_NAMESPACE, ADMINISTER_TENANT, ADMINISTER_TOPIC
from topicfold.model.records import Grants
from topicfold.model.updates import Refuse, Updater, namespace_missing, tenant_missing, topic_missing
from topicfold.runtime.asking import Asked, Written
from topicfold.runtime.policies import readable
from topicfold.server.absence import said_of_absent_namespace
from topicfold.server.answers import UNCHANGED, read_answer, record_answer, written_answer
from topicfold.server.asking import asked_to_write, settled, settled_namespace
from topicfold.server.bodies import json_body
from topicfold.server.node import Node
from topicfold.server.paths import decoded, namespace_in, tenant_in, whole_topic_in
from topicfold.server.routes import (
    NAMESPACE_PATH,
    READ_ERRORS,
    TEXTS,
    TEXTS_BY_NAME,
    TOPIC_PATH,
    UNREADABLE,
    WRITE_ERRORS,
    Operation,
)

Write = Callable[[Updater, Asked], Awaitable[Written]]


@dataclass(frozen=True, slots=True)
class Permissions:
    """The handlers."""

    node: Node

    async def of_tenant(self, request: Request) -> Response:
        """Answer what roles may do in a tenant."""
        name = tenant_in(request)
        cut = await settled(request, self.node)
        record, etag = self.node.reading.tenant(name)
        return record_answer(dict(record.grants), cut, etag)

    async def of_namespace(self, request: Request) -> Response:
        """Answer what roles may do in a namespace."""
        name = namespace_in(request)
        record, etag, cut = await settled_namespace(request, self.node, name)
        return record_answer(dict(record.grants), cut, etag)

    async def of_topic(self, request: Request) -> Response:
        """Answer what roles may do with a topic, by its own grants or, to who may change those, its namespace's."""
        name = whole_topic_in(request)
        cut = await settled(request, self.node, name.namespace)
        view = self.node.reading.topic(name)
        own = readable(view).grants
        if not self.node.has(request, ADMINISTER_NAMESPACE, name.namespace):
            return read_answer(dict(own), cut, view.etag)
        around, _ = self.node.reading.namespace(name.namespace)
        return read_answer(_joined(around.grants, own), cut, view.etag)

    async def grant(self, request: Request) -> Response:
        """Let a role do things with what the path names."""
        write, missing = self._aimed(request)
        role = _role_in(request)
        actions = actions_in(await json_body(request, self.node))
        asked = asked_to_write(request, self.node, "grant", role, actions)
        return written_answer(await write(grant(role, actions, missing), asked))

    async def revoke(self, request: Request) -> Response:
        """Take away what a role was granted on what the path names."""
        write, missing = self._aimed(request)
        role = _role_in(request)
        asked = asked_to_write(request, self.node, "revoke", role)
        return written_answer(await write(revoke(role, missing), asked))

    def _aimed(self, request: Request) -> tuple[Write, Refuse]:
        """Return how the tenant, namespace or topic that the path names is changed, and what is said if it is missing.

        Raises:
            InvalidName: it breaks the rules.
        """
        writing = self.node.writing
        if "topic" in request.path_params:
            topic = whole_topic_in(request)
            return partial(writing.change_topic, topic), topic_missing(str(topic))
        if "namespace" in request.path_params:
            namespace = namespace_in(request)
            return partial(self._change_namespace, namespace), namespace_missing(namespace)
        tenant = tenant_in(request)
        return partial(writing.change_tenant, tenant), tenant_missing(tenant)

    async def _change_namespace(self, name: str, updater: Updater, asked: Asked) -> Written:
        with said_of_absent_namespace(name):
            return await self.node.writing.change_namespace(name, updater, asked)


def operations(node: Node) -> Sequence[Operation]:
    """Return what can be done with grants."""
    permissions = Permissions(node)
    of_tenant = "/admin/v2/tenants/{tenant}/permissions"
    of_namespace = f"{NAMESPACE_PATH}/permissions"
    of_topic = f"{TOPIC_PATH}/permissions"
    no_tenant, no_namespace, no_topic = (TenantNotFound,), (NamespaceNotFound,), (NamespaceNotFound, TopicNotFound)
    changing = (*WRITE_ERRORS, InvalidRequest, *UNREADABLE)
    return (
        Operation("getTenantPermissions", "GET", of_tenant, permissions.of_tenant,
                  "Read a tenant's grants", answer=TEXTS_BY_NAME, empty=UNCHANGED,
                  errors=(*READ_ERRORS, *no_tenant, *UNREADABLE),
                  needs=ADMINISTER_TENANT),
        Operation("grantOnTenant", "POST", f"{of_tenant}/{{role}}", permissions.grant,
                  "Grant a role actions on a tenant", 204, body=TEXTS, errors=(*changing, *no_tenant),
                  needs=ADMINISTER_TENANT),
        Operation("revokeOnTenant", "DELETE", f"{of_tenant}/{{role}}", permissions.revoke,
                  "Revoke a role's grants on a tenant", 204, errors=(*changing, *no_tenant), needs=ADMINISTER_TENANT),
        Operation("getNamespacePermissions", "GET", of_namespace, permissions.of_namespace,
                  "Read a namespace's grants", answer=TEXTS_BY_NAME, empty=UNCHANGED,
                  errors=(*READ_ERRORS, *no_namespace, *UNREADABLE), needs=ADMINISTER_NAMESPACE),
        Operation("grantOnNamespace", "POST", f"{of_namespace}/{{role}}", permissions.grant,
                  "Grant a role actions on a namespace", 204, body=TEXTS, errors=(*changing, *no_namespace),
                  needs=ADMINISTER_NAMESPACE),
        Operation("revokeOnNamespace", "DELETE", f"{of_namespace}/{{role}}", permissions.revoke,
                  "Revoke a role's grants on a namespace", 204, errors=(*changing, *no_namespace),
                  needs=ADMINISTER_NAMESPACE),
        Operation("getTopicPermissions", "GET", of_topic, permissions.of_topic,
                  "Read a topic's grants", answer=TEXTS_BY_NAME,
                  errors=(*READ_ERRORS, *no_topic, *UNREADABLE), needs=ADMINISTER_TOPIC),
        Operation("grantOnTopic", "POST", f"{of_topic}/{{role}}", permissions.grant,
                  "Grant a role actions on a topic", 204, body=TEXTS, errors=(*changing, *no_topic),
                  needs=ADMINISTER_TOPIC),
        Operation("revokeOnTopic", "DELETE", f"{of_topic}/{{role}}", permissions.revoke,
                  "Revoke a role's grants on a topic", 204, errors=(*changing, *no_topic), needs=ADMINISTER_TOPIC),
    )  # fmt: skip


def _role_in(request: Request) -> str:
    return check_role(decoded(request.path_params["role"]))


def _joined(*levels: Grants) -> dict[str, list[str]]:
    joined: dict[str, set[str]] = {}
    for grants in levels:
        for role, actions in grants.items():
            joined.setdefault(role, set()).update(actions)
    return {role: sorted(actions) for role, actions in sorted(joined.items())}
