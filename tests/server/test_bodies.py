"""Bodies that are no JSON, or more than anybody should send: a 4xx that says why."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket

import orjson
import pytest

from tests.memory_log import MemoryStore
from tests.server.rest import LABELS, NATIVE, ORDERS, RestNode, listening, problem_in, raw, rest_node
from tests.turning import counted_turns
from topicfold.errors import InvalidRequest, Overloaded
from topicfold.server.bodies import parse_json

POST = f"POST {LABELS} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"

BAD_JSON = {
    "cut": b'{"labels": {',
    "two values": b"{} {}",
    "NaN": b'{"labels": {"a": NaN}}',
    "Infinity": b"-Infinity",
    "a key twice": b'{"labels": {"a": "1", "a": "2"}}',
    "a key twice, spelt apart": b'{"labels": {"a": "1", "\\u0061": "2"}}',
    "labels twice": b'{"labels": {}, "labels": {"a": "b"}}',
    "no UTF-8": b'{"labels": {"a": "\xff"}}',
    "a lone surrogate": b'{"labels": {"a": "\\ud800"}}',
    "a surrogate in UTF-8": b'{"labels": {"a": "\xed\xa0\x80"}}',
    "UTF-16": '{"labels": {}}'.encode("utf-16"),
    "a byte order mark": b'\xef\xbb\xbf{"labels": {}}',
    "single quotes": b"{'labels': {}}",
    "a comment": b"{} // none",
    "depth 33": b"[" * 33 + b"]" * 33,
    "depth 100,000": b"[" * 100_000 + b"]" * 100_000,
    "depth 100,000 of objects": b'{"a":' * 40_000 + b"1" + b"}" * 40_000,
    "depth 1,000 under a key that comes again": b'{"a":' + b"[" * 1_000 + b"]" * 1_000 + b',"a":1}',
    "open depth": b"[" * 200_000,
    "a long number": b"[" + b"9" * 5_000 + b"]",
}


@pytest.mark.parametrize("body", BAD_JSON.values(), ids=BAD_JSON)
async def test_what_is_no_strict_json_is_400(orders: RestNode, body: bytes) -> None:
    assert await orders.problem("POST", LABELS, body) == (400, "invalid_request")


LONG = "x" * 120_000
UNKNOWN = dict.fromkeys(map(str, range(2_000)), 1)


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", LABELS, {"labels": {LONG: "v"}}),
        ("POST", LABELS, {"labels": {LONG: 1}}),
        ("PUT", f"{ORDERS}/properties", {LONG: []}),
        ("PATCH", NATIVE, {LONG: 1}),
        ("PATCH", NATIVE, {"labels": {LONG: "v"}, "properties": {LONG: 1}}),
        ("PATCH", NATIVE, {"policies": {LONG: {"nosuch": 1}}}),
        ("PATCH", NATIVE, {"policies": {"local": {LONG: 1}}}),
        ("PATCH", NATIVE, {"policies": {"local": {"subscriptionPolicies": {LONG: {"dispatchRate": UNKNOWN}}}}}),
        ("PATCH", NATIVE, {"policies": {"local": {"backLogQuotaMap": {LONG: UNKNOWN}}}}),
        ("POST", f"{NATIVE}/rollback", {LONG: 1}),
        ("POST", "/admin/v2/clusters/standalone/peers", [LONG]),
    ],
)
async def test_a_refusal_does_not_repeat_a_long_name(orders: RestNode, method: str, path: str, body: object) -> None:
    answer = await orders.send(method, path, body)
    assert answer.status_code in (400, 412), answer.status_code
    assert len(answer.content) < len(LONG)


async def test_a_body_that_memory_does_not_suffice_for_is_not_called_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    def run_short(raw: bytes) -> None:
        raise orjson.JSONDecodeError("Not enough memory to allocate buffer for parsing", raw.decode(), 0)

    monkeypatch.setattr(orjson, "loads", run_short)
    with pytest.raises(Overloaded, match="not enough memory"):
        await parse_json(b"{}")


async def test_a_depth_of_32_is_taken_and_one_more_is_not() -> None:
    assert await parse_json(b"[" * 32 + b"]" * 32)
    with pytest.raises(InvalidRequest, match="more than 32 levels"):
        await parse_json(b"[" * 33 + b"]" * 33)


@pytest.mark.parametrize("body", [b"[" + b'[],{"a":"b:c"},' * 2_000 + b"[]]", b"[" + b"[{}]," * 5_000 + b"0]"])
async def test_others_have_their_turn_while_a_large_body_is_read(body: bytes) -> None:
    async with counted_turns() as turns:
        assert await parse_json(body) == json.loads(body)
        assert turns() >= 2


@pytest.mark.parametrize("body", [b'{"a": "1:2", "a": 3}', b'[{"b": {"x": 1, "a": 2, "a": 3}}]'])
async def test_a_key_twice_is_found_however_deep_and_whatever_texts_hold(body: bytes) -> None:
    with pytest.raises(InvalidRequest, match="'a' twice"):
        await parse_json(body)


async def test_white_space_around_a_body_is_passed_over() -> None:
    assert await parse_json(b' \r\n\t{"labels": {}}\n ') == {"labels": {}}


async def test_the_place_of_a_mistake_is_said() -> None:
    with pytest.raises(InvalidRequest, match="line 1 column"):
        await parse_json(b'{"labels": }')


async def test_a_body_of_ten_megabytes_is_refused_before_it_is_sent(port: int) -> None:
    answer = await raw(port, f"{POST}Content-Length: 10000000\r\n\r\n".encode())
    assert problem_in(*answer) == (413, "too_large")
    assert answer[1]["connection"] == "close"


async def test_who_sends_ten_megabytes_before_reading_still_gets_the_answer(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("topicfold.server.connections.exchange.LINGER_SECONDS", 60)

    def exchange() -> bytes:
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(f"{POST}Content-Length: 10000000\r\n\r\n".encode() + b"x" * 10_000_000)
            return client.recv(20)

    assert (await asyncio.to_thread(exchange)).startswith(b"HTTP/1.1 413 ")


async def test_a_chunked_body_without_an_end_is_cut_off(port: int) -> None:
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    request = f"{POST}Transfer-Encoding: chunked\r\n\r\n".encode() + chunk * 5
    answer = await raw(port, request, then_wait=True)
    assert problem_in(*answer) == (413, "too_large")


async def test_a_body_of_the_limit_is_read(orders: RestNode) -> None:
    body = b'{"labels": {"a": "b"}}'.ljust(256 * 1024)
    await orders.done("POST", LABELS, body)
    assert await orders.problem("POST", LABELS, body + b" ") == (413, "too_large")


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "x"])
async def test_an_encoded_body_is_415_and_never_unpacked(orders: RestNode, encoding: str) -> None:
    bomb = gzip.compress(bytes(10_000_000))
    answer = await orders.problem("POST", LABELS, bomb, content_encoding=encoding)
    assert answer == (415, "unsupported_media_type")


async def test_a_body_that_does_not_arrive_is_408(orders: RestNode, store: MemoryStore) -> None:
    async with rest_node(store, 10**9, request_timeout_seconds=0.05) as hasty, listening(hasty) as port:
        answer = await raw(port, f"{POST}Content-Length: 10\r\n\r\n{{".encode())
    assert problem_in(*answer) == (408, "request_timeout")


async def test_a_body_where_none_is_read_does_no_harm(port: int) -> None:
    request = f"DELETE {LABELS}?all=true HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{{}}"
    assert (await raw(port, request.encode()))[0] == 204
