"""All namespaces at once are for superusers: whoever else asks is told to name those that they may see."""

from __future__ import annotations

import pytest

from tests.server.auth.conftest import bearer
from tests.server.auth.test_authorizer import make_acme, seen
from tests.server.rest import RestNode, listening
from tests.server.watching import opened


@pytest.fixture
async def acme(closed: RestNode) -> RestNode:
    """A node with topics in two namespaces of the tenant that `boss` administers."""
    await make_acme(closed)
    return closed


@pytest.mark.parametrize("path", ["topics?", "topics?limit=1&", "explain?labelSelector=team&"])
@pytest.mark.parametrize("role", ["boss", "app"])
async def test_who_is_no_superuser_is_refused_whatever_else_they_may(acme: RestNode, path: str, role: str) -> None:
    # The second time it is remembered who that is.
    for _ in range(2):
        answer = await acme.send("GET", f"/api/v1/{path}namespace=*", authorization=bearer(role))
        problem = answer.json()
        assert answer.status_code == 403
    assert problem["code"] == "forbidden"
    assert problem["detail"] == f"{role} is not a superuser, and only superusers may search all namespaces at once"
    assert problem["hint"] == "Name the namespaces that you may see."


async def test_a_superuser_finds_and_watches_everything(acme: RestNode) -> None:
    found = await seen(acme, "/api/v1/topics?namespace=*", "root")
    assert found["counts"]["namespaces"] == {"acme/hr": 1, "acme/pay": 3}
    async with listening(acme) as port:
        async with opened(port, "namespace=*", authorization=bearer("root")) as stream:
            assert [frame.kind for frame in await stream.frames(5)] == [*["ADDED"] * 4, "BOOKMARK"]
        async with opened(port, "namespace=*", authorization=bearer("boss")) as refused:
            assert (refused.status, (await refused.problem())["code"]) == (403, "forbidden")
