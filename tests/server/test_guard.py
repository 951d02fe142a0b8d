"""Who is let in: no foreign host, no foreign page, no header with two meanings."""

from __future__ import annotations

from contextlib import suppress

import httpx2
import pytest
from starlette.types import Message, Receive, Scope, Send

from tests.memory_log import MemoryStore
from tests.server.rest import LABELS, ORDERS, RestNode, listening, problem_in, raw, rest_node
from topicfold.errors import NotReady
from topicfold.server.dispatch import Dispatch
from topicfold.server.finding.find import FIND_PATH
from topicfold.server.guard import MAX_HEADER_BYTES, MAX_TOKEN_BYTES


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:8080", "127.0.0.1", "127.0.0.1:9", "127.1.2.3:80", "[::1]", "[::1]:8080"]
)
async def test_a_request_for_this_machine_is_served(rest: RestNode, host: str) -> None:
    assert (await rest.send("GET", "/livez", host=host)).status_code == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "10.0.0.1", "0.0.0.0", "", "localhost:80:80",
     "localhost@evil.example", "[::2]", "::1", "127.1", "localhost:x", "\xe9"],
)  # fmt: skip
async def test_a_request_for_another_host_is_403(rest: RestNode, host: str) -> None:
    assert await rest.problem("GET", LABELS, host=host) == (403, "forbidden")


@pytest.mark.parametrize(("version", "refusal"), [("1.1", (400, "invalid_request")), ("1.0", (403, "forbidden"))])
async def test_a_request_without_a_host_breaks_the_rules_of_newer_http_alone(
    rest: RestNode, version: str, refusal: tuple[int, str]
) -> None:
    async with listening(rest) as port:
        assert problem_in(*await raw(port, f"GET /livez HTTP/{version}\r\n\r\n".encode())) == refusal


async def test_a_configured_host_is_served(store: MemoryStore) -> None:
    async with rest_node(store, allowed_hosts=("policies.example", "other.example:81", "[fd00::1]")) as rest:
        for host in ("Policies.Example:443", "other.example:81", "[fd00::1]", "[FD00::1]:443"):
            assert (await rest.send("GET", "/livez", host=host)).status_code == 200
        for host in ("other.example", "[fd00::2]:443"):
            assert (await rest.send("GET", "/livez", host=host)).status_code == 403


@pytest.mark.parametrize(
    ("here", "host"),
    [("10.2.3.4", "10.2.3.4:8080"), ("10.2.3.4", "10.2.3.4"), ("::ffff:10.2.3.4", "10.2.3.4:8080"),
     ("fd00::7", "[FD00::7]:8080")],
)  # fmt: skip
async def test_the_address_that_the_client_has_connected_to_is_served(rest: RestNode, here: str, host: str) -> None:
    """Probes of Kubernetes, targets of Prometheus and checks of load balancers say it in Host."""
    assert await status_at(rest, here, host) == 200


@pytest.mark.parametrize("host", ["10.2.3.5:8080", "evil.example:8080", "10.2.3.4.evil.example", "10.2.3.4:x", ""])
async def test_another_host_is_403_whatever_the_client_has_connected_to(rest: RestNode, host: str) -> None:
    assert await status_at(rest, "10.2.3.4", host) == 403


async def status_at(rest: RestNode, here: str, host: str) -> int:
    """Return the status of `/livez` to a client of the address `here` that says `host`."""

    async def entry(scope: Scope, receive: Receive, send: Send) -> None:
        await rest.app({**scope, "server": (here, 8080)}, receive, send)

    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(entry)) as client:
        return (await client.get("http://127.0.0.1/livez", headers={"host": host})).status_code


async def test_a_request_without_a_host_is_403(port: int) -> None:
    assert problem_in(*await raw(port, b"GET /livez HTTP/1.0\r\n\r\n")) == (403, "forbidden")


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:3000", "https://127.0.0.1.evil.example", "", "\xe9"]
)
async def test_a_change_from_a_foreign_page_is_403(orders: RestNode, origin: str) -> None:
    assert await orders.problem("DELETE", ORDERS, origin=origin) == (403, "forbidden")
    assert (await orders.send("GET", LABELS, origin=origin)).status_code == 200


async def test_a_cross_site_change_is_403(orders: RestNode) -> None:
    assert await orders.problem("DELETE", ORDERS, sec_fetch_site="cross-site") == (403, "forbidden")


async def test_a_change_from_our_own_page_is_made(orders: RestNode) -> None:
    await orders.done("DELETE", ORDERS, origin="http://127.0.0.1", sec_fetch_site="same-origin")


@pytest.mark.parametrize("name", ["Host", "If-Match", "Idempotency-Key", "X-Min-Position", "X-Request-Id", "Origin"])
async def test_a_header_with_one_meaning_that_comes_twice_is_400(port: int, name: str) -> None:
    request = f"GET {LABELS} HTTP/1.1\r\nHost: localhost\r\n{name}: localhost\r\n{name}: localhost\r\n\r\n"
    assert problem_in(*await raw(port, request.encode())) == (400, "invalid_request")


async def test_the_longest_token_and_the_longest_position_fit_into_one_request() -> None:
    async with rest_node(MemoryStore(partitions=1_024)) as rest:
        position = (await rest.send("GET", "/admin/v2/tenants")).headers["x-log-position"]
        token = "Bearer " + "x" * MAX_TOKEN_BYTES
        answer = await rest.send("GET", FIND_PATH, x_min_position=position, authorization=token)
        assert answer.status_code == 200, answer.text


async def test_headers_that_are_too_large_only_together_are_413(port: int) -> None:
    head = b"".join(b"X-%d: %b\r\n" % (number, b"x" * 1_000) for number in range(MAX_HEADER_BYTES // 1_000 + 1))
    answered = await raw(port, b"GET /livez HTTP/1.1\r\nHost: localhost\r\n%b\r\n" % head)
    assert problem_in(*answered) == (413, "too_large")


async def test_many_short_headers_count_with_what_parts_them(port: int) -> None:
    head = b"X: y\r\n" * (MAX_HEADER_BYTES // len(b"X: y\r\n") + 1)
    answered = await raw(port, b"GET /livez HTTP/1.1\r\nHost: localhost\r\n%b\r\n" % head)
    assert problem_in(*answered) == (413, "too_large")


async def test_headers_of_a_megabyte_are_413(port: int) -> None:
    request = f"GET /livez HTTP/1.1\r\nHost: localhost\r\nX-Much: {'x' * 1_000_000}\r\n\r\n"
    assert problem_in(*await raw(port, request.encode())) == (413, "too_large")


@pytest.mark.parametrize("request_id", ["", "a b", "x" * 129, "é"])
async def test_a_malformed_request_id_is_400(rest: RestNode, request_id: str) -> None:
    assert await rest.problem("GET", LABELS, x_request_id=request_id) == (400, "invalid_request")


@pytest.mark.parametrize(
    "framing",
    ["Content-Length: 5\r\nTransfer-Encoding: chunked", "Content-Length: 5\r\nContent-Length: 6", "Content-Length: -1",
     "Content-Length: 0x10", "Transfer-Encoding: gzip, chunked, identity"],
)  # fmt: skip
async def test_a_body_framed_in_two_ways_is_400(port: int, framing: str) -> None:
    request = f"POST {LABELS} HTTP/1.1\r\nHost: localhost\r\n{framing}\r\n\r\n0\r\n\r\n"
    assert (await raw(port, request.encode()))[0] in (400, 415)


@pytest.mark.parametrize(
    "framing",
    [{"content_length": "0x10"}, {"content_length": "-1"}, {"content_length": "20", "transfer_encoding": "chunked"}],
)
async def test_nor_is_such_a_body_read_where_the_parser_lets_it_through(
    rest: RestNode, framing: dict[str, str]
) -> None:
    body = b'{"labels":{"a":"1"}}'
    assert await rest.problem("POST", LABELS, body, **framing) == (400, "invalid_request")
    assert await rest.problem("POST", LABELS, body, content_length="9" * 5_000) == (413, "too_large")


@pytest.mark.parametrize("failure", [NotReady("stopping"), ZeroDivisionError("a fault of ours")])
async def test_an_answer_that_has_begun_is_not_followed_by_another_whatever_fails(
    rest: RestNode, monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    sent: list[str] = []

    async def fails(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        raise failure

    async def entry(scope: Scope, receive: Receive, send: Send) -> None:
        async def noting(message: Message) -> None:
            sent.append(message["type"])
            await send(message)

        await rest.app(scope, receive, noting)

    monkeypatch.setattr(Dispatch, "__call__", lambda _, *call: fails(*call))
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(entry)) as client:
        with suppress(ZeroDivisionError, AssertionError):
            await client.get("http://127.0.0.1/livez")
    assert sent == ["http.response.start"]
