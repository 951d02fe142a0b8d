"""Route × role: every spelling of every route, for every role, is open if what is declared says so, and else closed.

The cells come from the application's own table of routes, its handlers replaced by one that only says it was reached.
What a role may do is worked out anew in `roles`, from the declaration and from nothing else.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from starlette.requests import Request
from starlette.responses import Response

from tests.memory_log import MemoryStore
from tests.server.auth.cells import answer_to, cells
from tests.server.auth.conftest import bearer
from tests.server.auth.roles import ROLES, Role, settle_in
from tests.server.rest import rest_node
from topicfold.model.names import DOMAINS
from topicfold.model.permissions import Access, Need
from topicfold.server.app import Application
from topicfold.server.routes import TOPICS_DOMAIN

ROUTES = Path(__file__).with_name("routes.txt")
REACHED = 299


async def reached(request: Request) -> Response:
    """Say that a handler was reached."""
    return Response(None, REACHED)


@pytest.fixture
async def app(store: MemoryStore, key_file: Path) -> AsyncIterator[Application]:
    """The application over what the roles are about, with no handler of its own left."""
    async with rest_node(store, auth_jwt_key_file=key_file, superusers=("superuser",)) as node:
        await settle_in(node)
        for route in node.app.table.routes:
            object.__setattr__(route.operation, "handle", reached)
        yield node.app


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
async def test_every_route_is_open_to_just_those_that_are_declared(app: Application, role: Role) -> None:
    token = "" if role.name == "nobody" else bearer(role.name)
    closed = 403 if token else 401
    wrong = []
    for cell in cells(app):
        expected = REACHED if role.may(cell.operation.needs, cell.domain, cell.is_about_all_clusters) else closed
        status, _ = await answer_to(app, cell, token)
        if status != expected:
            wrong.append((cell.operation.method, cell.path, cell.query, status, expected))
    assert wrong == []


async def test_the_matrix_has_every_route_in_every_spelling(app: Application) -> None:
    seen = {(cell.operation.id, cell.domain) for cell in cells(app)}
    for route in app.table.routes:
        assert (route.operation.id, "persistent") in seen
        if "{domain}" in route.path_format:
            assert {(route.operation.id, domain) for domain in (*DOMAINS, TOPICS_DOMAIN)} <= seen


async def test_only_what_says_nothing_of_topics_is_public(app: Application) -> None:
    public = {route.operation.id for route in app.table.routes if route.operation.needs is Access.PUBLIC}
    assert public == {"root", "livez", "readyz", "version", "metrics", "openapi"}


async def test_no_change_is_open_to_anyone(app: Application) -> None:
    changes = [route.operation for route in app.table.routes if route.operation.method != "GET"]
    assert [each.id for each in changes if each.needs in (Access.PUBLIC, Access.ANYONE)] == []


async def test_the_routes_and_what_they_need_are_those_that_were_reviewed(app: Application) -> None:
    assert ROUTES.read_text() == table_of(app), "review the difference, then: python -m tests.server.auth.test_matrix"


def table_of(app: Application) -> str:
    """Return a line for each route: its method, its path, and what it needs."""
    lines = [
        f"{route.operation.method:6} {route.path_format}  {_said(route.operation.needs)}" for route in app.table.routes
    ]
    return "\n".join(sorted(lines, key=lambda line: line.split()[1::-1])) + "\n"


def _said(needs: Need) -> str:
    return needs.value if isinstance(needs, Access) else str(needs)


async def _write() -> None:
    async with rest_node(MemoryStore(1)) as node:
        ROUTES.write_text(table_of(node.app))


if __name__ == "__main__":
    asyncio.run(_write())
