"""Finding, explaining and watching in namespaces that patterns mean, all of them at once too, over HTTP."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from tests.server.rest import RestNode
from tests.server.watching import LINES, opened
from topicfold.wire.headers import QUERY

ALL = "namespace=*"
LATER = "/admin/v2/namespaces/public/later"


async def make(rest: RestNode, *paths: str) -> None:
    """Make topics of team pay, at `tenant/namespace/topic`."""
    for path in paths:
        await rest.done("PUT", f"/api/v1/topics/{path}", {"labels": {"team": "pay"}})


async def test_topics_of_all_namespaces_are_found_in_one_answer_sorted_by_full_name(orders: RestNode) -> None:
    await orders.done("PUT", LATER)
    await make(orders, "public/later/b", "public/default/z")
    answer = await orders.get(f"/api/v1/topics?{ALL}&labelSelector=team=pay")
    assert [item["name"].partition("://")[2] for item in answer["items"]] == [
        "public/default/orders",
        "public/default/z",
        "public/later/b",
    ]
    assert answer["counts"] == {"matched": 3, "namespaces": {"public/default": 2, "public/later": 1}}


async def test_pages_go_on_into_a_namespace_that_was_made_meanwhile(orders: RestNode) -> None:
    first = await orders.get(f"/api/v1/topics?{ALL}&limit=1")
    assert "continue" not in first
    await make(orders, "public/default/z")
    first = await orders.get(f"/api/v1/topics?{ALL}&limit=1")
    await orders.done("PUT", LATER)
    await make(orders, "public/later/b")
    second = await orders.get(f"/api/v1/topics?{ALL}&limit=5&continue={first['continue']}")
    assert [item["name"].rpartition("/")[2] for item in second["items"]] == ["z", "b"]


async def test_the_answer_confirms_that_all_were_meant(orders: RestNode) -> None:
    answer = await orders.send("GET", f"/api/v1/topics?{ALL}")
    assert '"namespace":["*"]' in answer.headers[QUERY]


async def test_a_selector_is_explained_over_all_namespaces(orders: RestNode) -> None:
    await orders.done("PUT", LATER)
    await make(orders, "public/later/b")
    answer = await orders.get(f"/api/v1/explain?{ALL}&labelSelector=team=pai")
    assert (answer["topics"], answer["matched"]) == (2, 0)
    assert answer["requirements"][0]["misses"][0]["near"] == ["pay"]


@pytest.mark.parametrize(
    ("query", "said"),
    [
        (f"{ALL}&at=1h", "at is for namespaces by name, not for *"),
        ("namespace=public/*&at=1h", "at is for namespaces by name, not for public/*"),
        (f"{ALL}&topics_pattern=.*", "topics_pattern is for one namespace, not for *"),
        ("namespace=public/d*&topics_pattern=.*", "topics_pattern is for one namespace, not for public/d*"),
        ("&".join(f"namespace=public/n{number}" for number in range(101)), "101 namespaces, at most 100 are allowed"),
    ],
)
async def test_what_cannot_be_asked_of_all_is_refused(orders: RestNode, query: str, said: str) -> None:
    answer = await orders.send("GET", f"/api/v1/topics?{query}")
    problem = answer.json()
    assert (answer.status_code, problem["code"], problem["detail"]) == (400, "invalid_request", said)
    assert problem["hint"]


async def test_a_watch_hears_of_a_namespace_that_is_made_after_it_began(orders: RestNode, port: int) -> None:
    async with opened(port, f"{ALL}&labelSelector=team%3Dpay") as stream:
        assert [frame.kind for frame in await stream.frames(2)] == ["ADDED", "BOOKMARK"]
        await orders.done("PUT", LATER)
        await make(orders, "public/later/b")
        added = await stream.frame()
    assert (added.kind, added.name) == ("ADDED", "persistent://public/later/b")
    async with opened(port, f"{ALL}&labelSelector=team%3Dpay&since={quote(added.cursor)}", **LINES) as stream:
        await make(orders, "public/later/c")
        assert (await stream.frame()).name == "persistent://public/later/c"


async def test_a_cursor_of_all_goes_on_for_one_namespace_and_not_the_other_way_round(
    orders: RestNode, port: int
) -> None:
    async with opened(port, ALL) as stream:
        of_all = (await stream.frames(2))[1].cursor
    async with opened(port) as stream:
        of_one = (await stream.frames(2))[1].cursor
    await make(orders, "public/default/z")
    async with opened(port, f"since={quote(of_all)}", **LINES) as stream:
        assert (await stream.frame()).name == "persistent://public/default/z"
    async with opened(port, f"{ALL}&since={quote(of_one)}", **LINES) as refused:
        problem = await refused.problem()
    assert (refused.status, problem["code"]) == (400, "invalid_request")
    assert problem["detail"] == "since: it is of other namespaces, and does not cover *"


async def test_the_position_of_a_finding_in_all_namespaces_is_one_to_watch_from(orders: RestNode, port: int) -> None:
    position = (await orders.get(f"/api/v1/topics?{ALL}"))["position"]
    await make(orders, "public/default/z")
    async with opened(port, f"{ALL}&since={position}") as stream:
        assert (await stream.frame()).name == "persistent://public/default/z"
    one = (await orders.get("/api/v1/topics?namespace=public/default"))["position"]
    async with opened(port, f"{ALL}&since={one}", **LINES) as refused:
        problem = await refused.problem()
    assert problem["detail"] == "since: it is of other namespaces, and does not cover *"


async def test_topics_of_the_namespaces_that_match_a_pattern_are_found(orders: RestNode) -> None:
    await orders.done("PUT", "/admin/v2/tenants/acme", {"allowedClusters": ["standalone"]})
    for namespace in ("public/later", "acme/pay"):
        await orders.done("PUT", f"/admin/v2/namespaces/{namespace}")
    await make(orders, "public/default/z", "public/later/b", "acme/pay/a")

    async def found(query: str) -> list[str]:
        answer = await orders.get(f"/api/v1/topics?{query}&labelSelector=team=pay")
        return [item["name"].partition("://")[2] for item in answer["items"]]

    assert await found("namespace=public/l*") == ["public/later/b"]
    assert await found("namespace=*/*a*&match=z") == ["public/default/z"]
    assert await found("namespace=acme/*&namespace=public/later") == ["acme/pay/a", "public/later/b"]
    assert await found("namespace=acme/no*") == []


@pytest.mark.parametrize("path", ["topics?", "explain?labelSelector=team&", "watch?"])
@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("namespace=nobody/*", "tenant_not_found"),
        ("namespace=*&namespace=public/none", "namespace_not_found"),
        ("namespace=public/**", "invalid_name"),
        ("namespace=pub*", "invalid_name"),
    ],
)
async def test_what_a_pattern_names_must_be_there(orders: RestNode, path: str, query: str, code: str) -> None:
    answer = await orders.send("GET", f"/api/v1/{path}{query}")
    assert answer.json()["code"] == code
    assert answer.json()["hint"]


async def test_a_cursor_of_a_tenants_pattern_goes_on_for_one_of_its_namespaces(orders: RestNode, port: int) -> None:
    async with opened(port, "namespace=public/*&namespace=public/default&labelSelector=team%3Dpay") as stream:
        assert [frame.kind for frame in await stream.frames(2)] == ["ADDED", "BOOKMARK"]
        await orders.done("PUT", LATER)
        await make(orders, "public/later/b")
        cursor = (await stream.frame()).cursor
    await make(orders, "public/later/c")
    narrower = f"namespace=public/later&labelSelector=team%3Dpay&since={quote(cursor)}"
    async with opened(port, narrower, **LINES) as stream:
        assert (await stream.frame()).name == "persistent://public/later/c"
