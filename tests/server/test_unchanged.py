"""If-None-Match: who has what there is, is told so; and only where the ETag stands for all of the answer."""

from __future__ import annotations

import pytest

from tests.server.rest import LABELS, NATIVE, ORDERS, RestNode, listening, raw

NAMESPACE = "/admin/v2/namespaces/public/default"
OF_ONE_RECORD = [
    LABELS,
    NATIVE,
    f"{ORDERS}/properties",
    f"{ORDERS}/maxProducers",
    f"{NAMESPACE}/maxProducersPerTopic",
    f"{NAMESPACE}/properties",
    f"{NAMESPACE}/permissions",
    "/admin/v2/tenants/public",
    "/admin/v2/tenants/public/permissions",
]
OF_MORE = [
    f"{ORDERS}/maxProducers?applied=true",
    f"{ORDERS}/permissions",
    "/api/v1/topics/public/default/orders/effective",
    NAMESPACE,
]


@pytest.fixture
async def limited(orders: RestNode) -> RestNode:
    """A node with `orders`, which may have so many producers, as its namespace's may."""
    await orders.done("POST", f"{ORDERS}/maxProducers", 5)
    await orders.done("POST", f"{NAMESPACE}/maxProducersPerTopic", 6)
    return orders


@pytest.mark.parametrize("path", OF_ONE_RECORD)
async def test_who_has_what_one_record_says_is_told_that_it_is_unchanged(limited: RestNode, path: str) -> None:
    read = await limited.send("GET", path)
    etag = read.headers["etag"]
    for known in (etag, f"W/{etag}", f'"other", {etag}', "*"):
        again = await limited.send("GET", path, if_none_match=known)
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", etag)
        assert again.headers["x-log-position"] == read.headers["x-log-position"]
        assert "content-length" not in again.headers
    assert (await limited.send("HEAD", path, if_none_match=etag)).status_code == 304
    assert (await limited.send("GET", path, if_none_match='"other"')).content == read.content


async def test_a_change_ends_that(limited: RestNode) -> None:
    etag = (await limited.send("GET", LABELS)).headers["etag"]
    await limited.done("POST", LABELS, {"labels": {"team": "web"}})
    again = await limited.send("GET", LABELS, if_none_match=etag)
    assert (again.status_code, again.json()["team"]) == (200, "web")


@pytest.mark.parametrize("path", OF_MORE)
async def test_what_follows_from_more_than_a_record_is_told_again(limited: RestNode, path: str) -> None:
    etag = (await limited.send("GET", path)).headers["etag"]
    assert (await limited.send("GET", path, if_none_match=etag)).status_code == 200


async def test_what_is_not_there_is_so_whatever_one_has(limited: RestNode) -> None:
    assert (await limited.problem("GET", f"{ORDERS}2/custom-labels", if_none_match="*"))[0] == 404


async def test_the_connection_goes_on_behind_it(limited: RestNode) -> None:
    request = f"GET {LABELS} HTTP/1.1\r\nHost: localhost\r\nIf-None-Match: *\r\n\r\n"
    async with listening(limited) as port:
        status, headers, _ = await raw(port, (request * 2).encode())
    assert (status, headers.get("transfer-encoding"), headers.get("connection")) == (304, None, None)
