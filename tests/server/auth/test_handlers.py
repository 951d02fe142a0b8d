"""Route × role with the handlers that the product has: rights that only a body or a query decides are in it too.

Changes carry an `If-Match` that never holds, so whoever is let in is refused after all rights were looked at, and
nothing changes: the log is as long in the end as it was.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.memory_log import MemoryStore
from tests.server.auth.cells import Cell, answer_to, cells
from tests.server.auth.conftest import bearer
from tests.server.auth.roles import ROLES, Role, settle_in
from tests.server.policy_samples import IN_BODY, SAMPLES, path_of
from tests.server.rest import RestNode, rest_node
from topicfold.model.permissions import Access, Need, Permission, Right, Scope
from topicfold.server.app import Application
from topicfold.server.routes import TOPICS_DOMAIN

NATIVE = "/api/v1/topics/acme/pay/orders"
ON_ALL_CLUSTERS = {"policies": {"global": {"maxConsumerPerTopic": 1}}}
ON_THIS_CLUSTER = {"policies": {"local": {"maxConsumerPerTopic": 1}}}
NEVER = f'"{"0" * 32}.0"'

MANAGING = Right(Permission.MANAGE_TOPICS, Scope.TOPIC)
UPDATING = Right(Permission.UPDATE_POLICIES, Scope.TOPIC)
READING = Right(Permission.READ_POLICIES, Scope.TOPIC)
LISTING = Right(Permission.LIST_TOPICS, Scope.TOPIC)
ADMINISTERING = Right(Permission.ADMIN, Scope.NAMESPACE)

DECIDED_INSIDE: list[tuple[str, str, str, Any, tuple[Need, ...]]] = [
    ("createTopicRecord", NATIVE, "", {}, (MANAGING,)),
    ("createTopicRecord", NATIVE, "", {"properties": {"a": "b"}, "partitions": 3}, (MANAGING,)),
    ("createTopicRecord", NATIVE, "", {"labels": {"a": "b"}}, (MANAGING, UPDATING)),
    ("createTopicRecord", NATIVE, "", ON_THIS_CLUSTER, (MANAGING, UPDATING)),
    ("createTopicRecord", NATIVE, "", ON_ALL_CLUSTERS, (MANAGING, ADMINISTERING)),
    ("createTopicRecord", NATIVE, "", {"kafkaName": "another"}, (Access.SUPERUSER,)),
    ("createTopicRecord", NATIVE, "adopt=true", {}, (Access.SUPERUSER,)),
    ("createTopicRecord", NATIVE, "adopt=false", {}, (MANAGING,)),
    ("changeTopicRecord", NATIVE, "", {"labels": {}, "properties": {}}, (UPDATING,)),
    ("changeTopicRecord", NATIVE, "", ON_THIS_CLUSTER, (UPDATING,)),
    ("changeTopicRecord", NATIVE, "", ON_ALL_CLUSTERS, (UPDATING, ADMINISTERING)),
    ("changeTopicRecord", NATIVE, "", {"policies": {"global": {}}}, (UPDATING, ADMINISTERING)),
    ("changeTopicRecord", NATIVE, "", {"policies": {"global": None}}, (UPDATING, ADMINISTERING)),
    ("changeTopicRecord", NATIVE, "",
     {"labels": {}, "policies": {"local": {}, "global": {}}}, (UPDATING, ADMINISTERING)),
    ("createTopicRecord", NATIVE, "dryRun=All", ON_ALL_CLUSTERS, (MANAGING, ADMINISTERING)),
    ("changeTopicRecord", NATIVE, "dryRun=All", ON_ALL_CLUSTERS, (UPDATING, ADMINISTERING)),
    ("findTopics", "/api/v1/topics", "namespace=acme/pay&fields=record",
     None, (Right(Permission.LIST_TOPICS, Scope.NAMESPACE),)),
    ("findTopics", "/api/v1/topics", "namespace=acme/pay&namespace=acme/other",
     None, (Right(Permission.LIST_TOPICS, Scope.TENANT),)),
    ("findTopics", "/api/v1/topics", "namespace=acme/pay&namespace=other/pay", None, (Access.SUPERUSER,)),
    ("findTopics", "/api/v1/topics", "namespace=acme/pay&namespace=no/where", None, (Access.SUPERUSER,)),
    ("findTopics", "/api/v1/topics", "label=l=marker-label", None, (Access.SUPERUSER,)),
]  # fmt: skip
"""Operation, path, query, body, and all that is needed for it; `public/default`, where nobody was granted anything."""

ENDED = {"watchTopics": "timeoutSeconds=never"}
"""What makes a stream end before it begins, all rights having been looked at."""


@dataclass(frozen=True)
class Asked:
    """One request, and who may make it: those who have all of `needs`."""

    cell: Cell
    body: Any
    needs: tuple[Need, ...]

    def is_for(self, role: Role) -> bool:
        """Return whether `role` may make it, by the written rules."""
        if self.cell.operation.id == "listNamespaces":
            return role.knows_the_tenant()
        return all(role.may(need, self.cell.domain, self.cell.is_about_all_clusters) for need in self.needs)


def requests(app: Application) -> Iterator[Asked]:
    """Yield a request for every operation, with each query that means another right, and those that a body decides."""
    by_path = {f"/{path_of(policy)}": SAMPLES[policy.name].stated for policy in IN_BODY}
    by_path["/replication"] = ["standalone"]
    found = {}
    for cell in cells(app):
        operation = found[cell.operation.id] = cell.operation
        if f"/{TOPICS_DOMAIN}/acme" not in cell.path:
            cell = replace(cell, query="&".join(filter(None, (cell.query, ENDED.get(operation.id)))))
            body = next((body for path, body in by_path.items() if cell.path.endswith(path)), None)
            yield Asked(cell, body, (operation.needs,))
    for name, path, query, body, needs in DECIDED_INSIDE:
        yield Asked(Cell(found[name], path, query, "persistent"), body, needs)


async def answered(app: Application, asked: Asked, token: str) -> tuple[int, bytes]:
    """Return status and body of the answer to whoever brings `token`, "" for nobody."""
    body = b"" if asked.body is None else orjson.dumps(asked.body)
    more = [(b"content-length", str(len(body)).encode())]
    more += [(b"if-match", NEVER.encode())] if asked.cell.operation.method != "GET" else []
    return await answer_to(app, asked.cell, token, more, body)


@pytest.fixture
async def settled(store: MemoryStore, key_file: Path) -> AsyncIterator[RestNode]:
    """A node with what the roles are about; `orders` says things that not everybody may see."""
    async with rest_node(store, auth_jwt_key_file=key_file, superusers=("superuser",)) as node:
        await settle_in(node)
        body = {
            "labels": {"l": "marker-label"},
            "properties": {"p": "marker-property"},
            "policies": {"local": {"entryFilters": {"entryFilterNames": "marker-policy"}}},
        }
        await node.done("PATCH", NATIVE, body, authorization=bearer("superuser"))
        yield node


def positions(node: RestNode) -> dict[int, int]:
    """Return how far the log goes."""
    return {partition: state.position for partition, state in node.node.engine.states.items()}


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
async def test_every_request_is_answered_to_just_those_who_may_make_it(settled: RestNode, role: Role) -> None:
    token = "" if role.name == "nobody" else bearer(role.name)
    closed, before, wrong = 403 if token else 401, positions(settled), []
    hidden = [b"marker-property", b"marker-policy"] if not role.may(READING, "persistent") else []
    if hidden and not role.may(LISTING, "persistent"):
        hidden.append(b"marker-label")
    for asked in requests(settled.app):
        status, body = await answered(settled.app, asked, token)
        is_right = status not in (401, 403) and status < 500 if asked.is_for(role) else status == closed
        if not is_right or any(word in body for word in hidden):
            wrong.append((asked.cell.operation.method, asked.cell.path, asked.cell.query, asked.body, status, body))
    assert wrong == []
    assert positions(settled) == before


async def test_most_changes_come_as_far_as_the_log(settled: RestNode) -> None:
    changes = [each for each in requests(settled.app) if each.cell.operation.method != "GET"]
    statuses = [
        (await answered(settled.app, each, bearer("superuser")))[0]
        for each in changes
        if each.cell.query != "isGlobal=maybe"
    ]
    assert statuses.count(412) >= len(statuses) * 0.8, "refused too early to show anything"


@pytest.mark.parametrize("role", [role for role in ROLES if role.name != "nobody"], ids=lambda role: role.name)
async def test_going_back_needs_the_right_to_change_all_that_differs(settled: RestNode, role: Role) -> None:
    async def changed(body: Any) -> str:
        answer = await settled.done("PATCH", NATIVE, body, authorization=bearer("superuser"))
        return answer.headers["etag"].strip('"')

    versions = [
        await changed(ON_ALL_CLUSTERS),
        await changed({"policies": {"global": None}}),
        await changed({"labels": {}}),
    ]
    for to, needs in ((versions[1], (UPDATING,)), (versions[0], (UPDATING, ADMINISTERING))):
        answer = await settled.send("POST", f"{NATIVE}/rollback", {"to": to}, authorization=bearer(role.name))
        expected = 204 if all(role.may(need, "persistent") for need in needs) else 403
        assert answer.status_code == expected, answer.text
