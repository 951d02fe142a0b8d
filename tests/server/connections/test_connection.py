"""Connections that never become a request."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import socket
import struct
from asyncio.selector_events import _SelectorSocketTransport  # type: ignore[attr-defined]
from collections.abc import AsyncIterator

import pytest

from tests.server.rest import LABELS, NATIVE, RestNode, listening
from topicfold.server import run
from topicfold.server.connections import connection

_POST = (
    f"POST {LABELS} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
).encode()

_MUCH_OF_A_HEAD = b"GET /livez HTTP/1.1\r\nHost: localhost\r\nX-A: " + b"b" * connection.MAX_KEPT_BYTES

_SMALL = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"

_MUCH = b"GET /api/v1/topics?fields=record&limit=50 HTTP/1.1\r\nHost: localhost\r\n%b\r\n"


async def closed_after(port: int, sent: bytes) -> bool:
    """Return whether the server closes a connection that sends this and nothing more."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(sent)
    try:
        async with asyncio.timeout(20):
            return await reader.read() == b""
    except ConnectionResetError:
        return True
    finally:
        writer.close()


@pytest.fixture
async def large(rest: RestNode) -> RestNode:
    """A node with topics that together are more than an operating system keeps for a client."""
    for number in range(40):
        path = f"/api/v1/topics/public/default/topic{number}"
        await rest.done("PUT", path, {"properties": {str(each): "x" * 1_000 for each in range(200)}})
    return rest


@contextlib.asynccontextmanager
async def small_reader(rest: RestNode) -> AsyncIterator[socket.socket]:
    """Give a connection for which its operating system keeps but little."""
    with socket.socket() as small:
        small.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        small.setblocking(False)
        async with listening(rest) as port:
            await asyncio.get_running_loop().sock_connect(small, ("127.0.0.1", port))
            yield small


async def read_late(rest: RestNode, sent: bytes) -> bytes:
    """Return all that comes before the server closes a connection on which nothing is read for two seconds."""
    loop = asyncio.get_running_loop()
    async with small_reader(rest) as small:
        await loop.sock_sendall(small, sent)
        await asyncio.sleep(2)
        found = b""
        with contextlib.suppress(ConnectionResetError):
            while some := await loop.sock_recv(small, 1 << 20):
                found += some
        return found


async def status_of(port: int, sent: bytes) -> int:
    """Return the status of the first answer to what is sent."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(sent)
        return int((await reader.readuntil(b"\r\n")).split(b" ")[1])
    finally:
        writer.transport.abort()


async def is_cut(port: int, sent: bytes) -> bool:
    """Return whether the server ends a connection that goes on sending this, whatever it has answered before."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        async with asyncio.timeout(5):
            writer.write(sent)
            await writer.drain()
            await reader.read()
            return True
    except (ConnectionResetError, BrokenPipeError):
        return True
    except TimeoutError:
        return False
    finally:
        writer.transport.abort()


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("header", [b"", b"Connection: close\r\n"])
async def test_a_client_that_does_not_read_its_answers_is_cut_off(
    large: RestNode, monkeypatch: pytest.MonkeyPatch, header: bytes, times: int
) -> None:
    monkeypatch.setattr(connection, "MAX_SECONDS", 0.2)
    monkeypatch.setattr(run, "KEEP_ALIVE_SECONDS", 1)
    assert not (await read_late(large, _MUCH % b"" * (times - 1) + _MUCH % header)).endswith(b"}")


async def test_nor_does_a_client_that_sends_no_request_any_more_stay_for_the_rest(
    rest: RestNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "MAX_SECONDS", 0.2)
    path = "/api/v1/topics/public/default/orders"
    await rest.done("PUT", path, {"properties": {str(each): "x" * 1_000 for each in range(20)}})
    loop = asyncio.get_running_loop()
    async with small_reader(rest) as small:
        asked = f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
        await loop.sock_sendall(small, asked)
        await loop.sock_recv(small, 1)
        [served] = connections()
        while not served.transport.get_write_buffer_size():
            await loop.sock_sendall(small, asked)
            await asyncio.sleep(0.005)
        await loop.sock_sendall(small, b"no request\r\n\r\n")
        while served.transport.get_write_buffer_size():  # noqa: ASYNC110 -- nobody is told
            await asyncio.sleep(0.005)


async def test_a_connection_that_its_client_reset_is_not_kept(rest: RestNode) -> None:
    async with listening(rest) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
        await reader.readuntil(b"\r\n\r\n")
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.close()
        async with asyncio.timeout(30):
            while connections():  # noqa: ASYNC110 -- nobody is told
                await asyncio.sleep(0.05)


async def test_nor_is_one_that_ended_before_a_request_came(rest: RestNode) -> None:
    async with listening(rest) as port:
        for sent in (b"", b"GET /livez"):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(sent)
            writer.close()
        await asyncio.sleep(0.05)
        async with asyncio.timeout(connection.HEAD_SECONDS / 3):
            while connections():  # noqa: ASYNC110 -- nobody is told
                await asyncio.sleep(0.05)


def connections() -> list[connection.Connection]:
    """Return the connections of this loop that anything refers to."""
    gc.collect()
    loop = asyncio.get_running_loop()
    return [each for each in gc.get_objects() if isinstance(each, connection.Connection) and each.loop is loop]


async def test_a_client_that_reads_its_answer_late_has_all_of_it(
    large: RestNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "KEEP_ALIVE_SECONDS", 1)
    assert (await read_late(large, _MUCH % b"")).endswith(b"}")


async def test_a_client_that_has_read_its_answer_is_not_cut_off_later(large: RestNode) -> None:
    loop = asyncio.get_running_loop()
    async with small_reader(large) as small:
        await loop.sock_sendall(small, _MUCH % b"")
        await loop.sock_recv(small, 1)
        [served] = connections()
        while (timer := served._read_timer) is None:  # noqa: ASYNC110 -- nobody is told
            await asyncio.sleep(0.005)
        while served._read_timer is not None:
            await loop.sock_recv(small, 1 << 20)
        assert timer.cancelled()


@pytest.mark.parametrize("sent", [b"", b"GET /livez HTTP/1.1\r\nHost: loc"])
async def test_a_head_that_does_not_arrive_closes_the_connection(
    orders: RestNode, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    monkeypatch.setattr(connection, "HEAD_SECONDS", 0.05)
    async with listening(orders) as port:
        assert await closed_after(port, sent)


async def test_a_head_without_an_end_closes_the_connection(port: int) -> None:
    assert await closed_after(port, b"GET /livez HTTP/1.1\r\n" + b"X-A: b\r\n" * 400_000)


@pytest.mark.parametrize("more", [b"X-A: b\r\n" * 100_000, b"X-A: " + b"b" * 1_000_000])
async def test_of_a_head_that_is_too_large_little_is_kept(port: int, more: bytes) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n" + more)
        await writer.drain()
        # More is under way than fits between the two: once it was taken, so was what is too large.
        while not any(each._fruitless_bytes > len(more) for each in connections()):  # noqa: ASYNC110 -- nobody is told
            await asyncio.sleep(0.05)
        [served] = connections()
        assert not served.headers
        assert not served.url
        writer.write(b"\r\n\r\n")
        assert (await reader.readuntil(b"\r\n")).split()[1] == b"413"
    finally:
        writer.transport.abort()


@pytest.mark.parametrize("last", [1, 2, 3])
async def test_the_end_of_a_head_that_is_too_large_is_seen_though_it_comes_byte_by_byte(port: int, last: int) -> None:
    start = b"GET /livez HTTP/1.1\r\nHost: localhost\r\nX-A: "
    kept = connection.MAX_KEPT_BYTES - len(start) - 4 + last
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(start + b"b" * kept + b"\r\n\r\n"[:-last])
        for number in range(last):
            await asyncio.sleep(0.1)
            writer.write(b"\r\n\r\n"[number - last :][:1])
        assert (await asyncio.wait_for(reader.readuntil(b"\r\n"), 5)).split()[1] == b"413"
    finally:
        writer.transport.abort()


@pytest.mark.parametrize("last", [1, 2, 3])
@pytest.mark.parametrize("pieces", [(_MUCH_OF_A_HEAD,), (_MUCH_OF_A_HEAD, b""), (_MUCH_OF_A_HEAD, b"b" * 100_000)])
async def test_nor_is_it_missed_where_it_comes_in_two_pieces_while_the_rest_is_passed_over(
    port: int, pieces: tuple[bytes, ...], last: int
) -> None:
    *before, begun = pieces
    end = b"\r\n\r\n"
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for piece in (*before, begun + end[:-last], end[-last:]):
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0.1)
        assert (await asyncio.wait_for(reader.readuntil(b"\r\n"), 20)).split()[1] == b"413"
    finally:
        writer.transport.abort()


async def test_empty_lines_without_an_end_close_the_connection(port: int) -> None:
    assert await is_cut(port, b"\r\n" * 500_000)


async def test_who_sent_a_head_that_is_too_large_behind_a_request_has_the_answer_to_that(port: int) -> None:
    first = f"GET {NATIVE} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(first + b"GET /livez HTTP/1.1\r\n" + b"X-A: b\r\n" * 100_000 + b"\r\n")
    try:
        assert (await reader.readuntil(b"\r\n")).split()[1] == b"200"
    finally:
        writer.transport.abort()


@pytest.mark.parametrize(
    "endless", [b"X-A: b\r\n" * 400_000, b"X-A: " + b"b" * 3_000_000, b"X-A: b\r\n" * 300_000 + b"\r\n" * 1_000_000]
)
async def test_trailers_without_an_end_close_the_connection(port: int, endless: bytes) -> None:
    assert await is_cut(port, _POST + b"0\r\n" + endless)


async def test_a_chunk_whose_line_has_no_end_closes_the_connection(port: int) -> None:
    assert await is_cut(port, _POST + b"1;" + b"x" * 3_000_000)


async def test_what_comes_between_the_pieces_of_a_body_may_be_much(port: int) -> None:
    body = b'{"labels": {"team": "pay"' + b" " * 230_000 + b"}}"
    chunks = b"".join(b"1;tiny\r\n%c\r\n" % byte for byte in body)
    assert len(chunks) > connection.MAX_HEAD_BYTES
    assert await status_of(port, _POST + chunks + b"0\r\n\r\n") == 204


@pytest.mark.parametrize(
    ("headers", "trailer", "status"),
    [
        (b"Host: localhost", b'If-Match: "0-1"', 200),
        (b"Host: localhost", b"Host: localhost", 200),
        (b"Host: localhost", b"Origin: https://else.where", 200),
        (b"X-Nothing: at all", b"Host: localhost", 400),
    ],
)
async def test_a_trailer_is_no_header(port: int, headers: bytes, trailer: bytes, status: int) -> None:
    head = f"GET {NATIVE} HTTP/1.1\r\n".encode() + headers + b"\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert await status_of(port, head + b"0\r\n" + trailer + b"\r\n\r\n") == status


@pytest.mark.parametrize(
    ("target", "host", "status"),
    [
        (b"http://else.where", b"localhost", 403),
        (b"http://else.where:80", b"localhost", 403),
        (b"http://localhost@else.where", b"localhost", 403),
        (b"https://localhost:8080", b"else.where", 200),
        (b"", b"else.where", 403),
    ],
)
async def test_the_host_that_a_target_names_counts_and_not_the_header(
    port: int, target: bytes, host: bytes, status: int
) -> None:
    head = b"GET %b%b HTTP/1.1\r\nHost: %b\r\n\r\n" % (target, NATIVE.encode(), host)
    assert await status_of(port, head) == status
    assert await status_of(port, b"GET %b%b HTTP/1.1\r\n\r\n" % (target, NATIVE.encode())) == 400


@pytest.mark.parametrize("target", [b"http://localhost", b"http://localhost?x=1", b"http://localhost/?x=1"])
async def test_a_target_that_ends_with_its_host_is_the_one_of_the_root(port: int, target: bytes) -> None:
    assert await status_of(port, b"GET %b HTTP/1.1\r\nHost: localhost\r\n\r\n" % target) == 200


async def test_requests_follow_each_other_on_one_connection(port: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    request = f"GET {NATIVE} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    writer.write(request * 3)
    for _ in range(3):
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 OK")
        length = next(line for line in head.split(b"\r\n") if line.startswith(b"content-length"))
        await reader.readexactly(int(length.partition(b": ")[2]))
    writer.close()


async def pipelined(rest: RestNode, *, read_after: float = 0.0) -> int:
    """Have many requests answered behind one whose answer is read late; return how many were read ahead."""
    loop = asyncio.get_running_loop()
    answer, count = b"\r\n\r\nok\n", 3_000
    async with small_reader(rest) as small:
        sending = asyncio.create_task(loop.sock_sendall(small, _MUCH % b"" + _SMALL * count))
        read = await loop.sock_recv(small, 1)
        [served] = connections()
        await asyncio.sleep(read_after)
        answered = ahead = 0
        while answered < count:
            ahead = max(ahead, len(served.pipeline))
            more = await loop.sock_recv(small, 1 << 16)
            assert more
            read = read[1 - len(answer) :] + more
            answered += read.count(answer)
        await sending
    return ahead


async def test_of_requests_that_come_before_others_are_answered_few_are_read_ahead(large: RestNode) -> None:
    assert 0 < await pipelined(large) <= connection.PIECE_BYTES // len(_SMALL) + 1


async def test_the_rest_of_a_head_that_is_not_read_yet_is_not_late(
    large: RestNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "HEAD_SECONDS", 0.05)
    assert await pipelined(large, read_after=0.3)


_UPGRADE = (
    f"POST {LABELS} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n".encode()
)
_SET = b'{"labels":{"a":"1"}}'


@pytest.mark.parametrize(
    "framed",
    [b"Content-Length: 20\r\n\r\n" + _SET, b"Transfer-Encoding: chunked\r\n\r\n14\r\n" + _SET + b"\r\n0\r\n\r\n"],
)
async def test_requests_that_ask_for_another_protocol_are_taken_with_their_bodies(port: int, framed: bytes) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write((_UPGRADE + framed) * 3)
    for _ in range(3):
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 204 ")
    writer.close()


async def test_a_body_that_comes_behind_a_request_for_another_protocol_is_not_the_next_request(port: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(_UPGRADE + b"Expect: 100-continue\r\nContent-Length: 20\r\n\r\n")
    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 100 ")
    writer.write(_SET)
    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 204 ")
    writer.close()


@pytest.mark.parametrize(
    "head", [_UPGRADE + b"Connection: close\r\n", _UPGRADE.replace(b"HTTP/1.1", b"HTTP/1.0")], ids=["said", "old"]
)
async def test_the_last_request_of_a_connection_may_ask_for_another_protocol(port: int, head: bytes) -> None:
    assert await status_of(port, head + b"Content-Length: 20\r\n\r\n" + _SET) == 204


async def test_a_request_for_a_tunnel_to_a_path_is_answered_once(port: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"CONNECT /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert (await reader.read()).count(b"HTTP/1.1 ") == 1
    writer.close()


async def test_a_request_for_a_tunnel_is_400(port: int) -> None:
    assert await status_of(port, b"CONNECT else.where:80 HTTP/1.1\r\nHost: localhost\r\n\r\n") == 400


@pytest.mark.parametrize("last", [b"", b"Connection: close\r\n"])
@pytest.mark.parametrize("stray", [b"\0", b"}", b"no request\r\n\r\n"])
async def test_what_is_no_request_does_not_take_the_answer_of_the_one_before(
    port: int, stray: bytes, last: bytes
) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = f"POST {LABELS} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 20\r\n\r\n".encode()
    writer.write(head + _SET + head.replace(b"\r\n\r\n", b"\r\n%b\r\n" % last) + _SET + stray)
    answers = (await reader.read()).split(b"\r\n\r\n")
    assert [each.split(b"\r\n")[0] for each in answers] == [b"HTTP/1.1 204 No Content"] * 2 + [b""]
    writer.close()


@pytest.mark.parametrize(("method", "path", "status"), [("POST", LABELS, 400), ("DELETE", f"{LABELS}?all=true", 204)])
async def test_a_body_that_is_garbled_is_400_if_anybody_reads_it(
    port: int, method: str, path: str, status: int
) -> None:
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    assert await status_of(port, head + b"14\r\n" + _SET + b"\r\nno chunk\r\n") == status


async def test_a_body_that_is_garbled_while_it_is_waited_for_is_400(port: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(_POST.replace(b"\r\n\r\n", b"\r\nExpect: 100-continue\r\n\r\n"))
    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 100 ")
    writer.write(b"no chunk\r\n")
    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 400 ")
    writer.close()


async def test_what_is_no_request_does_not_cut_an_answer_that_takes_longer_than_a_head_may(
    orders: RestNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "HEAD_SECONDS", 0.05)
    async with listening(orders) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /api/v1/watch?timeoutSeconds=1 HTTP/1.1\r\nHost: localhost\r\n\r\nno request\r\n\r\n")
        assert (await reader.read()).endswith(b"\r\n0\r\n\r\n")
        writer.close()


@pytest.mark.parametrize(
    ("request_line", "begins", "ends"),
    [
        (b"GET /livez", b"HTTP/1.1 200 OK", b"\r\n\r\nok\n"),
        (b"GET /nowhere", b"HTTP/1.1 404 Not Found", b"}"),
        (b"DELETE " + LABELS.encode() + b"?all=true", b"HTTP/1.1 204 No Content", b"\r\n\r\n"),
        (b"HEAD /livez", b"HTTP/1.1 200 OK", b"\r\n\r\n"),
    ],
)
async def test_a_short_answer_is_written_at_once_with_its_head(
    orders: RestNode, monkeypatch: pytest.MonkeyPatch, request_line: bytes, begins: bytes, ends: bytes
) -> None:
    written: list[bytes] = []
    write = _SelectorSocketTransport.write

    def noting(transport: _SelectorSocketTransport, data: bytes) -> None:
        if not data.startswith(request_line):
            written.append(data)
        write(transport, data)

    async with listening(orders) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        monkeypatch.setattr(_SelectorSocketTransport, "write", noting)
        writer.write(request_line + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        await reader.read()
        writer.close()
    (answer,) = [each for each in written if each]
    assert answer.startswith(begins)
    assert answer.endswith(ends)
