"""The tenant `acme` with some topics, who may do what there, and what they see."""

from __future__ import annotations

from typing import Any

from tests.server.auth.conftest import bearer
from tests.server.rest import RestNode

ADMIN = "/admin/v2"
FIND = "/api/v1/topics?namespace=acme/pay"


async def make_acme(node: RestNode) -> None:
    """Make three labelled topics in `acme/pay`, one of them partitioned, and one in `acme/hr`."""
    await done(node, "PUT", f"{ADMIN}/tenants/acme", {"adminRoles": ["boss"], "allowedClusters": ["standalone"]})
    for namespace in ("acme/pay", "acme/hr"):
        await done(node, "PUT", f"{ADMIN}/namespaces/{namespace}")
    for path, partitions, team in (("acme/pay/orders", 0, "pay"), ("acme/pay/bills", 2, "pay"),
                                   ("acme/pay/taxes", 0, "tax"), ("acme/hr/people", 0, "hr")):  # fmt: skip
        body = {"partitions": partitions, "labels": {"team": team}, "policies": {"local": {"maxConsumerPerTopic": 5}}}
        await done(node, "PUT", f"/api/v1/topics/{path}", body)


async def done(node: RestNode, method: str, path: str, body: Any = None, role: str = "root") -> None:
    """Make a change that must succeed."""
    await node.done(method, path, body, authorization=bearer(role))


async def grant(node: RestNode, path: str, role: str, *actions: str) -> None:
    """Let `role` do `actions` on the tenant, namespace or topic at `path`."""
    await done(node, "POST", f"{ADMIN}/{path}/permissions/{role}", list(actions))


async def seen(node: RestNode, path: str, role: str) -> Any:
    """Return what `role` reads, or the status of the refusal."""
    answer = await node.send("GET", path, authorization=bearer(role))
    return answer.json() if answer.status_code == 200 else answer.status_code
