"""Finding, explaining and watching in all namespaces at once, over HTTP."""

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
        (f"{ALL}&namespace=public/default", "* means all namespaces, and others are named beside it"),
        (f"{ALL}&at=1h", "at is for namespaces by name, not for all of them"),
        (f"{ALL}&topics_pattern=.*", "topics_pattern is for one namespace, not for all"),
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
    assert problem["detail"] == "since: it is of other namespaces, and does not cover all namespaces"


async def test_the_position_of_a_finding_in_all_namespaces_is_one_to_watch_from(orders: RestNode, port: int) -> None:
    position = (await orders.get(f"/api/v1/topics?{ALL}"))["position"]
    await make(orders, "public/default/z")
    async with opened(port, f"{ALL}&since={position}") as stream:
        assert (await stream.frame()).name == "persistent://public/default/z"
    one = (await orders.get("/api/v1/topics?namespace=public/default"))["position"]
    async with opened(port, f"{ALL}&since={one}", **LINES) as refused:
        problem = await refused.problem()
    assert problem["detail"] == "since: it is of other namespaces, and does not cover all namespaces"
