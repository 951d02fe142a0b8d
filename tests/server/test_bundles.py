"""Bundles of namespaces: one each, that cannot be ended by itself."""

from __future__ import annotations

import pytest

from tests.server.rest import RestNode

DEFAULT = "/admin/v2/namespaces/public/default"


async def test_a_namespace_is_one_bundle(rest: RestNode) -> None:
    assert await rest.get(f"{DEFAULT}/bundles") == {"boundaries": ["0x00000000", "0xffffffff"], "numBundles": 1}
    assert await rest.problem("GET", "/admin/v2/namespaces/public/nowhere/bundles") == (404, "namespace_not_found")


@pytest.mark.parametrize("part", ["nothing", "0x00000000_0xffffffff", "a%20b"])
async def test_a_part_of_a_namespace_cannot_be_ended(rest: RestNode, part: str) -> None:
    answer = await rest.send("DELETE", f"{DEFAULT}/{part}")
    assert answer.status_code == 412
    assert answer.json()["reason"] == f"Invalid bundle range: {part.replace('%20', ' ')}"


@pytest.mark.parametrize(
    ("part", "allow"),
    [("topics", "GET, HEAD"), ("schemaCompatibilityStrategy", "GET, HEAD, PUT"), ("topic-custom-labels", "GET, HEAD")],
)
async def test_what_is_no_bundle_and_cannot_be_deleted_is_405(rest: RestNode, part: str, allow: str) -> None:
    answer = await rest.send("DELETE", f"{DEFAULT}/{part}")
    assert (answer.status_code, answer.headers["allow"]) == (405, allow)


@pytest.mark.parametrize(
    ("method", "part"),
    [("PUT", "unload"), ("POST", "resourcegroup/gold"), ("GET", "antiAffinityGroup"), ("PUT", "0x0_0xf")],
)
async def test_of_what_is_not_served_of_a_namespace_it_is_not_said_that_it_may_be_deleted(
    rest: RestNode, method: str, part: str
) -> None:
    assert await rest.problem(method, f"{DEFAULT}/{part}") == (404, "no_route")


async def test_a_wrong_method_is_told_of_those_alone_that_do_something(rest: RestNode) -> None:
    answer = await rest.send("POST", f"{DEFAULT}/topics")
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD")
