"""Tenants under `/admin/v2`, as Pulsar has them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from topicfold.errors import AlreadyExists, InvalidRequest, NotEmpty, PolicyUnmet, TenantNotFound
from topicfold.model.permissions import ADMINISTER_TENANT, Access
from topicfold.server.answers import UNCHANGED, read_answer, record_answer, written_answer
from topicfold.server.asking import asked_to_write, settled
from topicfold.server.bodies import json_body
from topicfold.server.node import Node
from topicfold.server.parameters import Flag
from topicfold.server.paths import tenant_in
from topicfold.server.queries import query_of
from topicfold.server.records import tenant_in_body
from topicfold.server.routes import CLUSTER_ERRORS, READ_ERRORS, TEXTS, UNREADABLE, WRITE_ERRORS, Operation
from topicfold.wire.resources import TenantInfo

_FORCE = Flag("force", "`true`: delete its namespaces, too.")


@dataclass(frozen=True, slots=True)
class Tenants:
    """The handlers. A tenant and its namespaces lie in several partitions: listings look at all of them."""

    node: Node

    async def list(self, request: Request) -> Response:
        """Answer the names of all tenants."""
        cut = await settled(request, self.node)
        return read_answer(await self.node.tenants(request), cut)

    async def get(self, request: Request) -> Response:
        """Answer one tenant's record."""
        name = tenant_in(request)
        cut = await settled(request, self.node)
        record, etag = self.node.reading.tenant(name)
        return record_answer({"adminRoles": record.admin_roles, "allowedClusters": record.allowed_clusters}, cut, etag)

    async def create(self, request: Request) -> Response:
        """Make a tenant."""
        name = tenant_in(request)
        record = tenant_in_body(await json_body(request, self.node))
        asked = asked_to_write(request, self.node, "create", record.admin_roles, record.allowed_clusters)
        return written_answer(await self.node.writing.create_tenant(name, record, asked))

    async def update(self, request: Request) -> Response:
        """Replace a tenant's record.

        Raises:
            InvalidRequest: there is none in the request: that is no wish to have all roles gone.
        """
        name = tenant_in(request)
        body = await json_body(request, self.node)
        if body is None:
            raise InvalidRequest("the body must be the tenant's whole record", hint="An empty one is {}.")
        record = tenant_in_body(body)
        asked = asked_to_write(request, self.node, "update", record.admin_roles, record.allowed_clusters)
        return written_answer(await self.node.writing.update_tenant(name, record, asked))

    async def delete(self, request: Request) -> Response:
        """End a tenant; with `force` its namespaces first.

        Raises:
            InvalidRequest: `force` comes with an If-Match or an If-None-Match.
        """
        name = tenant_in(request)
        force = _FORCE.of(query_of(request))
        asked = asked_to_write(request, self.node, "delete", force)
        if force and (asked.if_match or asked.if_none_match):
            raise InvalidRequest("If-Match cannot be combined with force: the namespaces would be deleted first")
        return written_answer(await self.node.writing.delete_tenant(name, asked, force=force))


def operations(node: Node) -> Sequence[Operation]:
    """Return what can be done with tenants."""
    tenants = Tenants(node)
    one = "/admin/v2/tenants/{tenant}"
    missing = (*WRITE_ERRORS, TenantNotFound)
    return (
        Operation("listTenants", "GET", "/admin/v2/tenants", tenants.list, "List tenants", answer=TEXTS,
                  needs=Access.ANYONE,
                  errors=READ_ERRORS),
        Operation("getTenant", "GET", one, tenants.get, "Read a tenant", answer=TenantInfo,
                  empty=UNCHANGED,
                  needs=ADMINISTER_TENANT,
                  errors=(*READ_ERRORS, TenantNotFound, *UNREADABLE)),
        Operation("createTenant", "PUT", one, tenants.create, "Create a tenant", 204, body=TenantInfo,
                  without_body="its record is empty", needs=Access.SUPERUSER,
                  errors=(*WRITE_ERRORS, AlreadyExists, PolicyUnmet)),
        Operation("updateTenant", "POST", one, tenants.update, "Replace a tenant's record", 204, body=TenantInfo,
                  needs=Access.SUPERUSER, errors=(*missing, PolicyUnmet)),
        Operation("deleteTenant", "DELETE", one, tenants.delete, "Delete a tenant", 204,
                  needs=Access.SUPERUSER,
                  query=_FORCE.declared, errors=(*missing, *CLUSTER_ERRORS, NotEmpty)),
    )  # fmt: skip
