"""Watching over real connections: what is streamed, where a stream begins, and how it ends."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from itertools import count
from typing import Any

import pytest

from tests.memory_log import MemoryStore
from tests.runtime.nodes import turns
from tests.server.rest import LABELS, ORDERS, RestNode, listening, rest_node
from tests.server.watching import LINES, ask, opened
from topicfold.runtime.reading import Reading
from topicfold.runtime.revision import Revision, decode_revision
from topicfold.server import watch
from topicfold.server.connections.stream import Line
from topicfold.server.run import listen, server_of

NAMESPACE = "/admin/v2/namespaces/public/other"


@pytest.fixture
async def small(store: MemoryStore) -> AsyncIterator[RestNode]:
    """A node with the topic `orders`, whose window is three events."""
    async with rest_node(store, window_size=3, request_timeout_seconds=1) as made:
        await made.done("PUT", ORDERS)
        yield made


async def label(rest: RestNode, **labels: str) -> None:
    """Set labels of `orders`."""
    await rest.done("POST", LABELS, {"labels": labels})


def moved(rest: RestNode, by: int) -> str:
    """Return a cursor so many events from where the node is."""
    engine = rest.node.engine
    partition = engine.partition("public/default")
    return str(Revision(engine.identity.incarnation, {partition: engine.states[partition].position + by}))


async def watchers_gone(rest: RestNode) -> None:
    """Return once nobody watches."""
    async with asyncio.timeout(60):
        while rest.node.engine.watches.watchers:
            await turns(1)


async def test_events_are_what_browsers_read(orders: RestNode, port: int) -> None:
    async with opened(port, "labelSelector=team%3Dpay") as stream:
        first, bookmark = await stream.frames(2)
        await label(orders, tier="silver")
        changed = await stream.frame()
    assert stream.headers["content-type"] == "text/event-stream"
    assert stream.headers["cache-control"] == "no-store"
    assert stream.headers["x-accel-buffering"] == "no"
    assert stream.received.startswith(b'event: ADDED\ndata: {"type":"ADDED","topic":{')
    assert f"\n\nid: {changed.cursor}\nevent: MODIFIED\ndata: {{".encode() in stream.received
    assert (first.kind, bookmark.kind, bookmark.members["initial"]) == ("ADDED", "BOOKMARK", True)
    assert changed.members["topic"]["labels"] == {"team": "pay", "tier": "silver"}
    assert changed.members["old"]["labels"] == {"team": "pay", "tier": "gold"}
    assert changed.members["actors"] == ["anonymous"]


async def test_lines_are_the_same_frames(orders: RestNode, port: int) -> None:
    async with opened(port, "", **LINES) as stream:
        kinds = [frame.kind for frame in await stream.frames(2)]
    assert stream.headers["content-type"] == "application/x-ndjson"
    assert stream.received.count(b"\n") == len(kinds) == 2
    assert stream.received.startswith(b'{"type":"ADDED"')


@pytest.mark.parametrize(
    ("accept", "content_type"),
    [
        ("application/x-ndjson", "application/x-ndjson"),
        ("Application/X-NDJSON ; charset=utf-8, */*;q=0.1", "application/x-ndjson"),
        ("text/event-stream, application/x-ndjson;q=0.5", "application/x-ndjson"),
        ("application/x-ndjson; q=0, text/event-stream", "text/event-stream"),
        ("application/x-ndjson;q=0.000", "text/event-stream"),
        ("application/x-ndjsonfoo", "text/event-stream"),
        ("*/*", "text/event-stream"),
        (",;", "text/event-stream"),
    ],
)
async def test_lines_are_for_who_accepts_them(port: int, accept: str, content_type: str) -> None:
    async with opened(port, "", accept=accept) as stream:
        assert stream.headers["content-type"] == content_type


async def test_the_answer_confirms_what_was_asked_for(port: int) -> None:
    async with opened(port, "labelSelector=team%3Dpay&match=pay__*&regex=p.*") as stream:
        assert stream.headers["x-topicfold-query"] == (
            '{"labelSelector":"team=pay","labels":{},"match":["pay__*"],"namespace":["public/default"],"regex":"p.*"}'
        )


@pytest.mark.parametrize(
    ("query", "status", "code"),
    [
        ("labelSelector=a%3D%3D%3Db", 400, "invalid_selector"),
        ("labelSelector=", 400, "invalid_selector"),
        ("labelSelector=%20%09", 400, "invalid_selector"),
        ("labelSelector={}", 400, "invalid_selector"),
        ("match=a**", 400, "invalid_pattern"),
        ("match=fine&match=a**", 400, "invalid_pattern"),
        ("regex=(", 400, "invalid_regex"),
        ("selector=a", 400, "invalid_request"),
        ("initial=maybe", 400, "invalid_request"),
        ("timeoutSeconds=0", 400, "invalid_request"),
        ("timeoutSeconds=86401", 400, "invalid_request"),
        ("timeoutSeconds=1.5", 400, "invalid_request"),
        ("since=a&since=b", 400, "invalid_request"),
        ("namespace=public/nowhere", 404, "namespace_not_found"),
        ("namespace=nonsense", 400, "invalid_name"),
    ],
)
async def test_what_cannot_be_understood_is_refused_before_the_stream(
    port: int, query: str, status: int, code: str
) -> None:
    async with opened(port, query) as stream:
        assert (stream.status, (await stream.problem())["code"]) == (status, code)


async def test_a_stream_goes_on_after_its_cursor_and_a_browser_by_its_last_event_id(
    orders: RestNode, port: int
) -> None:
    async with opened(port) as stream:
        cursor = (await stream.frames(2))[1].cursor
    await label(orders, tier="silver")
    for query, headers in ((f"since={cursor}", {}), ("since=ignored", {"Last_Event_ID": cursor})):
        async with opened(port, query, **headers) as resumed:
            assert (await resumed.frame()).kind == "MODIFIED"


async def test_without_a_start_state_only_what_comes_is_told(orders: RestNode, port: int) -> None:
    async with opened(port, "initial=false") as stream:
        assert (await stream.frame()).kind == "BOOKMARK"
        await label(orders, tier="silver")
        assert (await stream.frame()).kind == "MODIFIED"


async def test_a_stream_ends_politely_when_its_time_is_up_and_says_where(orders: RestNode, port: int) -> None:
    async with opened(port, "timeoutSeconds=1&labelSelector=none") as stream:
        await stream.frame()
        await label(orders, tier="silver")
        (last,) = await stream.rest()
    assert (last.kind, last.positions) == ("BOOKMARK", decode_revision(moved(orders, 0)).positions)
    assert stream.ended_politely


async def test_a_connection_serves_the_next_request_after_a_stream(port: int) -> None:
    request = b"GET /api/v1/watch?timeoutSeconds=1 HTTP/1.1\r\nhost: localhost\r\n\r\n"
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request + b"GET /version HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
    async with asyncio.timeout(60):
        answers = await reader.read(-1)
    writer.close()
    assert answers.count(b"HTTP/1.1 200 OK") == 2
    assert b"\r\n0\r\n\r\nHTTP/1.1 200 OK" in answers


async def test_a_head_of_a_watch_is_no_watch(port: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"HEAD /api/v1/watch HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
    async with asyncio.timeout(60):
        answer = await reader.read(-1)
    writer.close()
    assert answer.startswith(b"HTTP/1.1 405 ")
    assert answer.endswith(b"\r\n\r\n")


@pytest.mark.parametrize(
    "cursor", ["nonsense", "AAAA", "%00", base64.urlsafe_b64encode(bytes(27)).decode(), ""],
    ids=["no_token", "short", "nul", "other_bytes", "empty"],
)  # fmt: skip
async def test_a_cursor_that_is_none_is_refused_for_lines_and_a_reset_in_events(port: int, cursor: str) -> None:
    async with opened(port, f"since={cursor}", **LINES) as refused:
        problem = await refused.problem()
    assert (refused.status, problem["code"]) == (400, "invalid_request")
    assert problem["detail"].startswith("since: position " if cursor else "since is empty")
    assert "`cursor` of a frame" in problem["hint"]
    async with opened(port, f"since={cursor}") as stream:
        frames = await stream.frames(3)
    assert [frame.kind for frame in frames] == ["RESET", "ADDED", "BOOKMARK"]
    assert frames[0].members["reason"] == problem["detail"]


async def test_a_cursor_that_a_browser_sends_and_is_none_is_a_reset_in_events_and_refused_for_lines(port: int) -> None:
    async with opened(port, "", Last_Event_ID="nonsense") as stream:
        assert [frame.kind for frame in await stream.frames(3)] == ["RESET", "ADDED", "BOOKMARK"]
        assert stream.received.startswith(b"id: -\nevent: RESET\n")
    async with opened(port, "", Last_Event_ID="nonsense", **LINES) as refused:
        assert (await refused.problem())["detail"].startswith("Last-Event-ID: position ")


@pytest.mark.parametrize(("query", "headers"), [("since=-", {}), ("", {"Last_Event_ID": "-"}), ("since=-", LINES)])
async def test_whoever_has_not_heard_what_followed_a_reset_is_told_it_again(
    port: int, query: str, headers: dict[str, str]
) -> None:
    async with opened(port, query, **headers) as stream:
        assert [frame.kind for frame in await stream.frames(3)] == ["RESET", "ADDED", "BOOKMARK"]


async def test_a_cursor_says_how_far_and_not_of_what_so_another_query_may_go_on_from_it(
    orders: RestNode, port: int
) -> None:
    async with opened(port, "labelSelector=team%3Dship") as stream:
        cursor = (await stream.frame()).cursor
    await label(orders, tier="silver")
    await label(orders, team="ship")
    for query, kinds in (("team%3Dpay", ["MODIFIED", "DELETED"]), ("team%3Dship", ["ADDED"])):
        async with opened(port, f"labelSelector={query}&since={cursor}") as resumed:
            assert [frame.kind for frame in await resumed.frames(len(kinds))] == kinds


async def test_a_cursor_of_another_log_is_a_reset_in_events_and_gone_for_lines(port: int) -> None:
    cursor = str(Revision(b"another-log-id--", dict.fromkeys(range(8), 1)))
    async with opened(port, f"since={cursor}") as stream:
        assert [frame.kind for frame in await stream.frames(3)] == ["RESET", "ADDED", "BOOKMARK"]
    async with opened(port, f"since={cursor}", **LINES) as refused:
        assert (refused.status, (await refused.problem())["code"]) == (410, "resync")


def beside(rest: RestNode) -> str:
    """Return another namespace of the partition that `public/default` is in."""
    partition = rest.node.engine.partition("public/default")
    return next(each for number in count() if rest.node.engine.partition(each := f"public/n{number}") == partition)


async def test_a_cursor_that_says_nothing_of_a_namespace_is_refused_for_lines_and_a_reset_in_events(
    orders: RestNode, port: int
) -> None:
    near = beside(orders)
    await orders.done("PUT", f"/admin/v2/namespaces/{near}")
    await orders.done("PUT", NAMESPACE)
    async with opened(port) as stream:
        cursor = (await stream.frames(2))[1].cursor
    for since, other in ((cursor, near), (cursor, "public/other"), (moved(orders, 0), "public/other")):
        for namespaces in (f"namespace={other}", f"namespace=public/default&namespace={other}"):
            async with opened(port, f"{namespaces}&since={since}", **LINES) as refused:
                problem = await refused.problem()
            assert (refused.status, problem["code"]) == (400, "invalid_request")
            assert problem["detail"] == f"since: it is of other namespaces, and does not cover {other}"
            assert "Leave it out" in problem["hint"]
            async with opened(port, f"{namespaces}&since={since}") as stream:
                reset = await stream.frame()
            assert (reset.kind, reset.members["reason"]) == ("RESET", problem["detail"])


async def test_a_browser_whose_cursor_says_nothing_of_a_namespace_is_told_to_start_anew(
    orders: RestNode, port: int
) -> None:
    near = beside(orders)
    await orders.done("PUT", f"/admin/v2/namespaces/{near}")
    async with opened(port, f"namespace={near}") as stream:
        cursor = (await stream.frame()).cursor
    async with opened(port, "", Last_Event_ID=cursor) as stream:
        assert [frame.kind for frame in await stream.frames(3)] == ["RESET", "ADDED", "BOOKMARK"]


async def test_a_cursor_of_more_namespaces_is_one_of_fewer(orders: RestNode, port: int) -> None:
    near = beside(orders)
    await orders.done("PUT", f"/admin/v2/namespaces/{near}")
    async with opened(port, f"namespace=public/default&namespace={near}&initial=false") as stream:
        cursor = (await stream.frame()).cursor
    await label(orders, tier="silver")
    async with opened(port, f"since={cursor}") as resumed:
        assert (await resumed.frame()).kind == "MODIFIED"


@pytest.mark.parametrize("back", range(6))
async def test_what_the_window_has_is_gone_on_from_and_what_it_lost_is_a_reset_or_gone(
    small: RestNode, back: int
) -> None:
    cursor = moved(small, 0)
    for number in range(back):
        await label(small, k=str(number))
    async with listening(small) as port:
        async with opened(port, f"since={cursor}&timeoutSeconds=1") as stream:
            kinds = [frame.kind for frame in await stream.rest()]
        async with opened(port, f"since={cursor}&timeoutSeconds=1", **LINES) as lines:
            assert lines.status == (410 if back > 3 else 200)
    assert kinds == (["RESET", "ADDED", "BOOKMARK"] if back > 3 else ["MODIFIED"] * back)


@pytest.mark.parametrize("ahead", [1, 2, 3])
async def test_from_beyond_the_end_only_what_is_new_comes(orders: RestNode, port: int, ahead: int) -> None:
    async with opened(port, f"since={moved(orders, ahead)}") as stream:
        await turns(20)
        assert stream.status == 200
        for number in range(4):
            await label(orders, k=str(number))
        told = await stream.frames(4 - ahead)
    assert [frame.members["topic"]["labels"]["k"] for frame in told] == [str(each) for each in range(ahead, 4)]


@pytest.mark.parametrize("ahead", [1, 100, 2**40])
async def test_a_future_that_never_comes_is_an_error_in_events_and_504_for_lines(small: RestNode, ahead: int) -> None:
    async with listening(small) as port:
        async with opened(port, f"since={moved(small, ahead)}") as stream:
            (error,) = await stream.rest()
        async with opened(port, f"since={moved(small, ahead)}", **LINES) as lines:
            assert (lines.status, (await lines.problem())["code"]) == (504, "future")
    assert error.kind == "ERROR"
    assert error.members["problem"]["code"] == "future"
    assert error.members["problem"]["status"] == 504
    assert error.members["problem"]["requestId"] == stream.headers["x-request-id"]
    assert stream.ended_politely


async def test_a_wait_for_the_future_ends_with_the_time_that_was_asked_for(orders: RestNode, port: int) -> None:
    async with opened(port, f"since={moved(orders, 9)}&timeoutSeconds=1") as stream:
        (error,) = await stream.rest()
    assert (error.kind, error.members["problem"]["code"], stream.ended_politely) == ("ERROR", "future", True)
    async with asyncio.timeout(10), opened(port, f"since={moved(orders, 9)}&timeoutSeconds=1", **LINES) as lines:
        assert (lines.status, (await lines.problem())["code"]) == (504, "future")


async def test_a_node_that_just_started_goes_on_from_where_another_was(
    orders: RestNode, port: int, store: MemoryStore
) -> None:
    async with opened(port) as stream:
        cursor = (await stream.frames(2))[1].cursor
    await label(orders, tier="silver")
    async with rest_node(store, 10**9) as started, listening(started) as other, opened(other, f"since={cursor}") as on:
        assert (await on.frame()).kind == "MODIFIED"


async def test_who_wants_lines_waits_no_longer_than_it_says_for_what_is_folded_again(
    orders: RestNode, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def long(positions: object) -> None:
        await asyncio.sleep(60)

    monkeypatch.setattr(orders.node.engine.window_refill, "reach", long)
    async with asyncio.timeout(10), opened(port, f"since={moved(orders, 0)}&timeoutSeconds=1", **LINES) as lines:
        problem = await lines.problem()
    assert (lines.status, problem["code"]) == (503, "overloaded")
    assert "Ask again" in problem["hint"]


@pytest.mark.parametrize(("query", "headers"), [("", {"Last_Event_ID": "-"}), ("&since=-", LINES)])
async def test_what_followed_a_reset_and_was_cut_off_begins_again_though_a_namespace_is_not_there(
    orders: RestNode, port: int, query: str, headers: dict[str, str]
) -> None:
    async with opened(port, f"namespace=public/other{query}", **headers) as stream:
        assert [frame.kind for frame in await stream.frames(2)] == ["RESET", "BOOKMARK"]
        await orders.done("PUT", NAMESPACE)
        await orders.done("PUT", "/api/v1/topics/public/other/parcels")
        assert (await stream.frame()).kind == "ADDED"


async def test_a_namespace_that_ended_meanwhile_is_a_reset_though_it_is_not_there(orders: RestNode, port: int) -> None:
    await orders.done("PUT", NAMESPACE)
    async with opened(port, "namespace=public/other") as stream:
        cursor = (await stream.frame()).cursor
    await orders.done("DELETE", NAMESPACE)
    async with opened(port, f"namespace=public/other&since={cursor}") as stream:
        assert [frame.kind for frame in await stream.frames(2)] == ["RESET", "BOOKMARK"]
        await orders.done("PUT", NAMESPACE)
        await orders.done("PUT", "/admin/v2/persistent/public/other/new")
        assert (await stream.frame()).kind == "ADDED"


async def test_nothing_is_left_of_a_client_that_is_gone_whenever_it_went(
    orders: RestNode, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, gone, may_settle = asyncio.Event(), asyncio.Event(), asyncio.Event()
    settle, lost = Reading.settle, Line.lost

    async def slowly(*wanted: Any) -> object:
        asked.set()
        await may_settle.wait()
        return await settle(*wanted)

    def told(line: Line) -> None:
        lost(line)
        gone.set()

    async with opened(port) as stream:
        await stream.frames(2)
    await watchers_gone(orders)
    monkeypatch.setattr(Reading, "settle", slowly)
    monkeypatch.setattr(Line, "lost", told)
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /api/v1/watch HTTP/1.1\r\nhost: localhost\r\n\r\n")
    await asked.wait()
    writer.transport.abort()
    await gone.wait()
    may_settle.set()
    await turns(50)
    assert not orders.node.engine.watches.watchers


async def test_so_many_watch_and_no_more_however_many_come_at_once(
    orders: RestNode, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "MAX_WATCHES", 3)
    streams = await asyncio.gather(*(ask(port) for _ in range(9)))
    assert sorted(stream.status for stream in streams) == [200] * 3 + [503] * 6
    refused = next(stream for stream in streams if stream.status == 503)
    assert (await refused.problem())["code"] == "overloaded"
    for stream in streams:
        stream.cut()
    await watchers_gone(orders)
    async with opened(port) as again:
        assert again.status == 200


async def test_a_client_that_stops_reading_is_kept_little_for_and_gets_the_rest_when_it_reads(
    orders: RestNode, port: int
) -> None:
    async with opened(port, "initial=false") as slow, opened(port, "initial=false") as fast:
        slow._reader._transport.pause_reading()  # type: ignore[attr-defined]
        for number in range(8_000):
            await orders.node.label(k=f"{number:0100}")
        await fast.frames(8_001)
        held = [each._sink._transport.get_write_buffer_size() for each in orders.node.engine.watches.watchers]
        metrics = (await orders.send("GET", "/metrics")).text
        slow._reader._transport.resume_reading()  # type: ignore[attr-defined]
        told = await slow.frames(8_001)
    assert max(held) < 130_000
    assert "topicfold_watchers_behind 1.0" in metrics
    assert [frame.members["topic"]["labels"]["k"] for frame in told[1:]] == [f"{n:0100}" for n in range(8_000)]


async def test_a_stopping_node_ends_streams_with_a_bookmark_and_takes_no_more(orders: RestNode, port: int) -> None:
    async with opened(port, "labelSelector=none") as stream:
        await stream.frame()
        await label(orders, tier="silver")
        await orders.node.engine.watches.close()
        (last,) = await stream.rest()
        assert (last.kind, stream.ended_politely) == ("BOOKMARK", True)
    async with opened(port) as refused:
        assert (refused.status, (await refused.problem())["code"]) == (503, "not_ready")


async def test_a_server_told_to_stop_ends_streams_at_once(orders: RestNode) -> None:
    server = server_of(orders.node.engine, orders.settings)
    listener = listen(orders.settings)
    port = listener.getsockname()[1]
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    while not server.started:
        await turns(1)
    loop = asyncio.get_running_loop()
    async with opened(port) as stream, opened(port) as unread:
        await stream.frames(2)
        unread._reader._transport.pause_reading()  # type: ignore[attr-defined]
        begun = loop.time()
        server.should_exit = True
        await stream.rest()
        assert stream.ended_politely
        await asyncio.wait_for(serving, 5)
        assert loop.time() - begun < 3


async def test_metrics_count_watchers_frames_and_resets(orders: RestNode, port: int) -> None:
    async with opened(port, "", Last_Event_ID="nonsense") as stream:
        await stream.frames(3)
        text = (await orders.send("GET", "/metrics")).text
    assert "topicfold_watchers 1.0" in text
    assert "topicfold_watchers_behind 0.0" in text
    assert "topicfold_watch_events_total 2.0" in text
    assert 'topicfold_watch_resets_total{reason="invalid_request"} 1.0' in text
