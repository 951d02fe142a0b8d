"""Ownership: requests for another node's namespaces are sent there, and any node can answer them all the same."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import httpx2
import pytest
from pydantic import ValidationError

from tests import plain_http
from tests.memory_log import MemoryStore
from tests.server.rest import RestNode, listening, raw, rest_node
from topicfold.settings import Settings

OWNERS = {"public/default": "http://one:8080", "public/pay": "http://two:8080", "acme/*": "http://two:8080/"}
ADDRESSES = ("http://one:8080", "http://two:8080", "http://three:8080")
PAY = "/admin/v2/persistent/public/pay"


@pytest.fixture
async def owners(store: MemoryStore) -> AsyncIterator[dict[str, RestNode]]:
    """Three nodes by their addresses: one owns public/default, two public/pay and all of acme, three nothing."""
    async with AsyncExitStack() as stack:
        yield {
            url: await stack.enter_async_context(rest_node(store, n * 10**9, advertised_url=url, owners=OWNERS))
            for n, url in enumerate(ADDRESSES, 1)
        }


async def follow(nodes: dict[str, RestNode], url: str, method: str, path: str, body: object = None) -> list[str]:
    """Send a request as a client does that follows redirects; return the nodes it came to."""
    came_to = [url]
    while True:
        answer = await nodes[came_to[-1]].send(method, path, body)
        if answer.status_code != 307:
            assert answer.status_code in (200, 204), answer.text
            return came_to
        assert answer.content == b""
        to = httpx2.URL(answer.headers["location"])
        came_to.append(f"{to.scheme}://{to.netloc.decode()}")
        path = to.raw_path.decode()
        assert len(came_to) < 5, "redirected in circles"


@pytest.mark.parametrize("url", ADDRESSES)
async def test_a_request_comes_to_the_owner_wherever_it_was_sent(owners: dict[str, RestNode], url: str) -> None:
    await owners[url].done("PUT", "/admin/v2/tenants/acme")
    for method, path, owner in (
        ("PUT", "/admin/v2/namespaces/public/pay", ADDRESSES[1]),
        ("PUT", f"{PAY}/orders", ADDRESSES[1]),
        ("GET", PAY, ADDRESSES[1]),
        ("PUT", "/admin/v2/namespaces/acme/any", ADDRESSES[1]),
        ("GET", "/admin/v2/persistent/public/default", ADDRESSES[0]),
        ("GET", "/admin/v2/namespaces/public", url),
        ("PUT", "/admin/v2/namespaces/public/nobodys", url),
        ("GET", "/admin/v2/tenants", url),
        ("GET", "/api/v1/topics?namespace=public/pay", url),
        ("GET", "/api/v1/topics/public/pay/orders", ADDRESSES[1]),
        ("GET", "/api/v1/topics/public/pay/orders/history?limit=1", ADDRESSES[1]),
        ("PATCH", "/api/v1/topics/public/pay/orders?domain=persistent", ADDRESSES[1]),
    ):
        assert await follow(owners, url, method, path) == ([url] if url == owner else [url, owner]), path


async def test_the_body_and_the_query_arrive(owners: dict[str, RestNode]) -> None:
    await follow(owners, ADDRESSES[2], "PUT", "/admin/v2/namespaces/public/pay")
    await follow(owners, ADDRESSES[2], "PUT", f"{PAY}/o+n%20e%3F", {"a": "b"})
    path = f"{PAY}/o+n%20e%3F/messageTTL?isGlobal=true&messageTTL=%36"
    assert await follow(owners, ADDRESSES[0], "POST", path) == [ADDRESSES[0], ADDRESSES[1]]
    node = owners[ADDRESSES[2]]
    assert await node.get(f"{PAY}/o+n%20e%3F/messageTTL?isGlobal=true&authoritative=true") == 6


@pytest.mark.parametrize(
    ("query", "sent_on"),
    [
        ("", "authoritative=true"),
        ("?a=%20+b&x&a", "a=%20+b&x&a&authoritative=true"),
        ("?authoritative=false", "authoritative=true"),
        ("?authoritative=no&z=1", "z=1&authoritative=true"),
        ("?xauthoritative=true", "xauthoritative=true&authoritative=true"),
    ],
)
async def test_the_path_and_the_query_are_sent_on_as_they_came(
    owners: dict[str, RestNode], query: str, sent_on: str
) -> None:
    path = f"{PAY}/a%2Bb%20c"
    answer = await owners[ADDRESSES[0]].send("DELETE", path + query)
    assert answer.status_code == 307
    assert answer.headers["location"] == f"http://two:8080{path}?{sent_on}"


async def test_any_node_answers_what_is_sent_to_it_for_good(owners: dict[str, RestNode]) -> None:
    for url, node in owners.items():
        name = url.removeprefix("http://").partition(":")[0]
        await node.done("PUT", f"/admin/v2/namespaces/public/{name}?authoritative=true")
        await node.done("PUT", f"/admin/v2/persistent/public/{name}/t?authoritative=TRUE")
        for each in owners.values():
            listed = await each.get(f"/admin/v2/persistent/public/{name}?authoritative=true")
            assert listed == [f"persistent://public/{name}/t"]


async def test_nodes_that_disagree_send_a_request_on_once(store: MemoryStore) -> None:
    one, two = ADDRESSES[:2]
    async with (
        rest_node(store, advertised_url=one, owners={"public/default": two}) as first,
        rest_node(store, 10**9, advertised_url=two, owners={"public/default": one}) as second,
    ):
        nodes = {one: first, two: second}
        assert await follow(nodes, one, "GET", "/admin/v2/persistent/public/default") == [one, two]
        assert await follow(nodes, two, "GET", "/admin/v2/persistent/public/default") == [two, one]


async def test_a_redirect_tells_nothing_of_what_there_is(owners: dict[str, RestNode]) -> None:
    node = owners[ADDRESSES[0]]
    await node.done("PUT", "/admin/v2/namespaces/public/pay?authoritative=true")
    await node.done("PUT", f"{PAY}/orders?authoritative=true")
    there = await node.send("GET", f"{PAY}/orders/partitions")
    nowhere = await node.send("GET", f"{PAY}/nothing/partitions")
    assert (there.status_code, nowhere.status_code) == (307, 307)
    assert there.headers.keys() == nowhere.headers.keys()


async def test_a_path_that_names_no_namespace_is_refused_where_it_lands(owners: dict[str, RestNode]) -> None:
    node = owners[ADDRESSES[0]]
    assert await node.problem("GET", "/admin/v2/persistent/public/p%2Fy") == (412, "invalid_name")
    assert await node.problem("GET", "/admin/v2/persistent/acme/%zz/orders/partitions") == (412, "invalid_name")


async def test_a_client_that_follows_redirects_needs_to_know_nothing(store: MemoryStore) -> None:
    async with AsyncExitStack() as stack:
        owner = await stack.enter_async_context(rest_node(store))
        port = await stack.enter_async_context(listening(owner))
        url = f"http://127.0.0.1:{port}"
        other = await stack.enter_async_context(
            rest_node(store, 10**9, advertised_url="http://other:1", owners={"public/*": url})
        )
        other_port = await stack.enter_async_context(listening(other))
        client = await stack.enter_async_context(plain_http.async_client(follow_redirects=True))
        topic = f"http://127.0.0.1:{other_port}/admin/v2/persistent/public/default/orders"
        assert (await client.put(topic, json={"a": "b"})).status_code == 204
        answer = await client.get(f"{topic}/properties")
        assert (answer.json(), answer.url.port) == ({"a": "b"}, port)


@pytest.mark.parametrize(
    ("advertised", "host"),
    [
        ("http://one:8080", "one:8080"),
        ("https://One", "one"),
        ("http://one:80", "one"),
        ("http://[fd00::1]:8080", "[fd00::1]:8080"),
    ],
)
async def test_a_node_answers_to_the_host_that_others_send_requests_to(
    store: MemoryStore, advertised: str, host: str
) -> None:
    async with rest_node(store, advertised_url=advertised, allowed_hosts=("else.example",)) as rest:
        for served in (host, "else.example", "localhost"):
            assert (await rest.send("GET", "/admin/v2/tenants", host=served)).status_code == 200
        assert await rest.problem("GET", "/admin/v2/tenants", host="two:8080") == (403, "forbidden")


async def test_a_body_that_was_not_read_does_not_keep_the_redirect_back(owners: dict[str, RestNode]) -> None:
    async with listening(owners[ADDRESSES[0]]) as port:
        request = f"PUT {PAY}/orders HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100000\r\n\r\n".encode()
        status, headers, _ = await raw(port, request)
    assert (status, headers["location"]) == (307, f"http://two:8080{PAY}/orders?authoritative=true")


async def test_a_page_in_a_browser_is_answered_by_its_own_node(owners: dict[str, RestNode]) -> None:
    node = owners[ADDRESSES[0]]
    await node.done("PUT", "/admin/v2/namespaces/public/pay", sec_fetch_site="same-origin")
    await node.done("PUT", f"{PAY}/orders", sec_fetch_site="same-origin")
    item = await node.get("/api/v1/topics/public/pay/orders", sec_fetch_site="same-origin")
    assert item["name"] == "persistent://public/pay/orders"


async def test_just_the_operations_that_may_be_redirected_are_so_in_the_document(owners: dict[str, RestNode]) -> None:
    node, shown = owners[ADDRESSES[0]], {}
    document = (await node.send("GET", "/openapi.json")).json()
    names = {"tenant": "acme", "namespace": "any", "topic": "t", "domain": "persistent"}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            answer = await node.send(method.upper(), path.format_map(_Named(names)))
            shown[operation["operationId"]] = "307" in operation["responses"]
            assert shown[operation["operationId"]] == (answer.status_code == 307 and "location" in answer.headers), path
    assert shown["getTopicRecord"]
    assert not shown["findTopics"]


class _Named(dict[str, str]):
    def __missing__(self, key: str) -> str:
        return f"some-{key}"


async def test_without_owners_nothing_is_redirected(rest: RestNode) -> None:
    await rest.done("PUT", "/admin/v2/namespaces/public/pay")
    assert await rest.get(PAY) == []


@pytest.mark.parametrize(
    "owners",
    [{"public": "http://a"}, {"*/*": "http://a"}, {"a/b/c": "http://a"}, {"public/*": "ftp://a"}, {"public/*": "a:1"},
     {"public/*": "http://a/path"}, {"public/*": "http://u@a"}, {"public/*": "http://a?x=1"}, {"public/*": "http://a:x"},
     {"public/*": "http://a\r\nX: y"}],
)  # fmt: skip
def test_owners_that_cannot_be_are_refused_at_start(owners: dict[str, str]) -> None:
    with pytest.raises(
        ValidationError, match=r"not the address of a node|cannot contain a user|expected|Port could not"
    ):
        Settings(advertised_url="http://here", owners=owners)


def test_a_node_with_owners_must_know_itself() -> None:
    with pytest.raises(ValidationError, match="owners need advertised_url"):
        Settings(owners=OWNERS)


async def test_who_may_not_come_in_is_not_sent_on(store: MemoryStore, tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text("t-root root\nt-ann ann\n")
    tokens.chmod(0o600)
    told = {"auth_static_tokens_file": tokens, "superusers": ("root",)}
    async with rest_node(store, advertised_url=ADDRESSES[0], owners=OWNERS, **told) as rest:
        assert await rest.problem("GET", PAY) == (401, "unauthenticated")
        assert await rest.problem("GET", PAY, authorization="Bearer t-ann") == (403, "forbidden")
        assert (await rest.send("GET", PAY, authorization="Bearer t-root")).status_code == 307
