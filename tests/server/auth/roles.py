"""Roles for the matrix: who was granted what, where, and by that alone what each may do.

Everything is about the topic `orders` of `acme/pay`; `other` topics, namespaces and tenants are beside it.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.server.auth.conftest import bearer
from tests.server.rest import RestNode
from topicfold.model.permissions import PULSAR_ACTIONS, Access, Need, Permission, Scope

TENANT, NAMESPACE, TOPIC = "acme", "acme/pay", "acme/pay/orders"
PATHS = {
    Scope.TENANT: "/admin/v2/tenants/acme",
    Scope.NAMESPACE: "/admin/v2/namespaces/acme/pay",
    Scope.TOPIC: "/admin/v2/persistent/acme/pay/orders",
}
ELSEWHERE = (
    "/admin/v2/tenants/other",
    "/admin/v2/namespaces/acme/other",
    "/admin/v2/namespaces/other/pay",
)
BESIDE = "/admin/v2/persistent/acme/pay/other"
TWIN = "/admin/v2/non-persistent/acme/pay/orders"
ALL_ACTIONS = sorted(PULSAR_ACTIONS | {permission.value for permission in Permission})


@dataclass(frozen=True)
class Role:
    """A role with one action at one scope, or none; `superuser`, `admin` and the others have names that say it."""

    name: str
    action: str = ""
    scope: Scope | None = None

    def may(self, needs: Need, domain: str, is_about_all_clusters: bool = False) -> bool:
        """Return whether the role may do what needs `needs` on `orders` of that domain, by the written rules."""
        if needs is Access.PUBLIC or self.name == "superuser":
            return True
        if self.name == "nobody":
            return False
        if isinstance(needs, Access):
            return needs is Access.ANYONE
        permission, scope = needs.permission, needs.scope
        if is_about_all_clusters:
            permission, scope = Permission.ADMIN, Scope.NAMESPACE
        if self.name == "boss":
            return True
        if self.name in ("beside", "twin"):
            lists = permission is Permission.LIST_TOPICS and scope is Scope.NAMESPACE
            return lists or (self.name == "twin" and scope is Scope.TOPIC and domain == "non-persistent")
        if self.scope is None or not self._covers(permission):
            return False
        if self.scope is Scope.TOPIC and permission is Permission.LIST_TOPICS and scope is Scope.NAMESPACE:
            return True
        if self.scope is Scope.TOPIC and domain == "non-persistent":
            return False
        return self.scope <= scope

    def knows_the_tenant(self) -> bool:
        """Return whether the role has any right in the tenant."""
        return self.name not in ("nobody", "stranger", "admin-of-another-tenant")

    def _covers(self, permission: Permission) -> bool:
        if self.action in ("admin", permission.value):
            return True
        return permission is Permission.LIST_TOPICS and self.action in ("produce", "consume")


ROLES = (
    Role("nobody"),
    Role("stranger"),
    Role("superuser"),
    Role("boss"),
    Role("admin-of-another-tenant"),
    Role("elsewhere"),
    Role("beside"),
    Role("twin"),
    *(
        Role(f"{scope.name.lower()}-{action}", action, scope)
        for scope in Scope
        for action in ("admin", "consume", "functions", "list-topics", "manage-topics", "produce", "read-policies",
                       "update-policies", "watch")
    ),
)  # fmt: skip


async def settle_in(node: RestNode) -> None:
    """Make what the roles are about, and grant each what it has."""
    root = bearer("superuser")
    for tenant, admin in (("acme", "boss"), ("other", "admin-of-another-tenant")):
        body = {"adminRoles": [admin], "allowedClusters": ["standalone"]}
        await node.done("PUT", f"/admin/v2/tenants/{tenant}", body, authorization=root)
        for namespace in ("pay", "other"):
            await node.done("PUT", f"/admin/v2/namespaces/{tenant}/{namespace}", authorization=root)
            for domain in ("persistent", "non-persistent"):
                for topic in ("orders", "other"):
                    path = f"/admin/v2/{domain}/{tenant}/{namespace}/{topic}"
                    await node.done("PUT", path, authorization=root)
    for role in ROLES:
        if role.scope is not None:
            await node.done("POST", f"{PATHS[role.scope]}/permissions/{role.name}", [role.action], authorization=root)
    for path in ELSEWHERE:
        await node.done("POST", f"{path}/permissions/elsewhere", ALL_ACTIONS, authorization=root)
    await node.done("POST", f"{BESIDE}/permissions/beside", ALL_ACTIONS, authorization=root)
    await node.done("POST", f"{TWIN}/permissions/twin", ALL_ACTIONS, authorization=root)
