"""Watches over real sockets, by both clients: cut, refused, resumed, closed from elsewhere."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack
from itertools import islice
from typing import Any

import pytest

from tests.client.scripted import Script, added, line, names, refusal, scripted, stream
from topicfold.client import AsyncClient, Client, Frame, QueryUnconfirmed, RetryRule, ServerUnreachable, Watch, watching
from topicfold.errors import Forbidden, InvalidName, InvalidRequest, InvalidSelector
from topicfold.wire.confirmation import query_text

IMPATIENT = RetryRule(max_attempts=3, first_delay_seconds=0.001, max_delay_seconds=0.002)
START = (added("a"), line("BOOKMARK", "c0", initial=True))
CHANGES = (added("b", "c1"), added("c", "c2"))
WATCHES = 100
"""As many connections as the HTTP library would give to all."""
Follow = Callable[..., list[Frame]]


def blocking(url: str, count: int, **query: Any) -> list[Frame]:
    """Return the first frames of a watch."""
    with Client(url, retry=IMPATIENT) as client, client.watch(**query) as frames:
        return list(islice(frames, count))


def awaiting(url: str, count: int, **query: Any) -> list[Frame]:
    """The same in an event loop."""

    async def follow() -> list[Frame]:
        async with AsyncClient(url, retry=IMPATIENT) as client, client.watch(**query) as frames:
            return [await anext(frames) for _ in range(count)]

    return asyncio.run(follow())


@pytest.fixture(params=[blocking, awaiting])
def follow(request: pytest.FixtureRequest) -> Follow:
    follow: Follow = request.param
    return follow


def test_frames_come_from_whichever_stream_is_there(follow: Follow) -> None:
    with scripted(
        stream(*START),
        refusal(503, "not_ready"),
        Script(()),
        stream(CHANGES[0], ends=True),
        stream(CHANGES[1], stays_open=True),
    ) as server:
        assert names(follow(server.url, 4)) == ["a", "complete", "b", "c"]
    assert [each.query.get("since") for each in server.requests] == [None, ["c0"], ["c0"], ["c0"], ["c1"]]
    assert {each.headers["accept"] for each in server.requests} == {"application/x-ndjson"}


def test_a_stream_cut_at_any_byte_loses_nothing_and_repeats_nothing(follow: Follow) -> None:
    whole = b"".join(stream(CHANGES[0], b"\n").pieces)
    resumed = stream(*CHANGES, stays_open=True), stream(CHANGES[1], stays_open=True)
    for size in range(0, len(whole), 17):
        got_first = CHANGES[0].rstrip(b"\n") + b"\n" in whole[:size]
        with scripted(Script((whole[:size],)), resumed[got_first]) as server:
            assert names(follow(server.url, 2, since="c0")) == ["b", "c"], size


def test_what_is_watched_is_said_in_full_and_confirmed(follow: Follow) -> None:
    confirmed = query_text(["a/b", "c/d"], "team=pay,tier in (gold,silver)", {"note": "a,b"}, ["pay__*"], "x+")
    with scripted(stream(*START, confirmed=confirmed, stays_open=True)) as server:
        follow(
            server.url, 1, selector="tier in (silver, gold), team = pay", namespaces=["c/d", "a/b"],
            labels={"note": "a,b"}, match="pay__*", regex="x+",
        )  # fmt: skip
    assert server.requests[0].path == "/api/v1/watch"
    assert server.requests[0].query == {
        "namespace": ["c/d", "a/b"], "labelSelector": ["team=pay,tier in(gold,silver)"], "label": ["note=a,b"] * 2,
        "match": ["pay__*"], "regex": ["x+"], "initial": ["true"],
    }  # fmt: skip


def test_a_server_that_does_not_say_what_it_understood_is_refused(follow: Follow) -> None:
    for confirmed in (None, query_text(["public/default"], "tier=gold")):
        with scripted(stream(*START, confirmed=confirmed)) as server, pytest.raises(QueryUnconfirmed):
            follow(server.url, 1)
        assert len(server.requests) == 1


def test_a_refusal_is_raised_with_its_class_and_no_server_is_unreachable(follow: Follow) -> None:
    with scripted(refusal(403, "forbidden")) as server:
        with pytest.raises(Forbidden, match="because"):
            follow(server.url, 1)
        assert len(server.requests) == 1
    with pytest.raises(ServerUnreachable, match=server.url):
        follow(server.url, 1)


def test_what_cannot_be_asked_for_is_refused_before_anything_is_sent(follow: Follow) -> None:
    for query, error in (
        ({"selector": "team in ("}, InvalidSelector),
        ({"namespaces": []}, InvalidRequest),
        ({"namespaces": ["no namespace"]}, InvalidName),
    ):
        with pytest.raises(error):
            follow("http://127.0.0.1:1", 1, **query)


def test_the_namespace_of_the_client_is_watched_if_no_other_is_named() -> None:
    confirmed = query_text(["acme/pay"])
    with (
        scripted(stream(*START, confirmed=confirmed, stays_open=True)) as server,
        Client(server.url, namespace="acme/pay") as client,
        client.watch() as frames,
    ):
        assert names([next(frames)]) == ["a"]


def test_connections_that_watches_hold_are_not_missed_by_calls() -> None:
    held = [stream(*START, stays_open=True)] * WATCHES
    with (
        scripted(*held, refusal(403, "forbidden")) as server,
        Client(server.url, retry=IMPATIENT) as client,
        ExitStack() as stack,
    ):
        for _ in range(WATCHES):
            next(stack.enter_context(client.watch()))
        with pytest.raises(Forbidden):
            client.list_tenants()


def require_ending(frames: Watch) -> None:
    """Require that another thread's `close` ends a watch behind its start."""
    next(frames), next(frames)
    closing = threading.Timer(0.1, frames.close)
    closing.start()
    assert list(frames) == []
    closing.join()


def test_another_thread_ends_a_watch_that_waits_for_a_frame() -> None:
    with scripted(stream(*START, stays_open=True)) as server, Client(server.url) as client:
        require_ending(client.watch())


def test_another_thread_ends_a_watch_that_waits_to_try_again() -> None:
    patient = RetryRule(first_delay_seconds=3_600, max_delay_seconds=3_600)
    with scripted(stream(*START)) as server, Client(server.url, retry=patient) as client, client.watch() as frames:
        require_ending(frames)


async def test_another_task_ends_a_watch_that_waits() -> None:
    with scripted(stream(*START, stays_open=True)) as server:
        async with AsyncClient(server.url) as client, client.watch() as frames:
            await anext(frames), await anext(frames)
            asyncio.get_running_loop().call_later(0.1, lambda: asyncio.ensure_future(frames.close()))
            async with asyncio.timeout(60):
                assert [frame async for frame in frames] == []


async def test_another_task_ends_a_watch_that_waits_to_try_again() -> None:
    patient = RetryRule(first_delay_seconds=3_600, max_delay_seconds=3_600)
    with scripted(stream(*START)) as server:
        async with AsyncClient(server.url, retry=patient) as client, client.watch() as frames:
            await anext(frames), await anext(frames)
            asyncio.get_running_loop().call_later(0.1, lambda: asyncio.ensure_future(frames.close()))
            async with asyncio.timeout(60):
                assert [frame async for frame in frames] == []
        assert len(server.requests) == 1


async def test_a_watch_ends_with_its_context_whether_it_was_begun_or_not() -> None:
    with scripted(stream(*START, stays_open=True)) as server:
        async with AsyncClient(server.url) as client:
            async with client.watch():
                pass
            async with client.watch() as frames:
                await anext(frames)
            async with asyncio.timeout(60):
                assert [frame async for frame in frames] == []


async def test_a_wait_for_a_frame_that_is_cancelled_loses_nothing() -> None:
    silent = Script((), stays_open=True)
    with scripted(stream(*START, stays_open=True), silent, stream(CHANGES[0], stays_open=True)) as server:
        async with AsyncClient(server.url, retry=IMPATIENT) as client, client.watch() as frames:
            await anext(frames), await anext(frames)
            for _ in range(2):
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(anext(frames), 0.1)
            assert names([await anext(frames)]) == ["b"]
    assert [each.query.get("since") for each in server.requests] == [None, ["c0"], ["c0"]]


def interrupted_while_read(patch: pytest.MonkeyPatch) -> None:
    def interrupted(_: bytes) -> None:
        raise KeyboardInterrupt

    patch.setattr(watching, "frame_of", interrupted)


def interrupted_on_its_way(patch: pytest.MonkeyPatch) -> None:
    taken = Watch._next

    def interrupted(frames: Watch) -> Frame:
        taken(frames)
        raise KeyboardInterrupt

    patch.setattr(Watch, "_next", interrupted)


@pytest.mark.parametrize("interrupted", [interrupted_while_read, interrupted_on_its_way])
def test_an_interrupt_in_the_middle_of_a_frame_loses_nothing(
    monkeypatch: pytest.MonkeyPatch, interrupted: Callable[[pytest.MonkeyPatch], None]
) -> None:
    again = stream(line("RESET", reason="as asked"), added("a"), added("b"), line("BOOKMARK", "c1", initial=True))
    with scripted(stream(*START, *CHANGES), again) as server, Client(server.url) as client:
        frames = client.watch()
        told = [next(frames), next(frames)]
        with monkeypatch.context() as patch:
            interrupted(patch)
            with pytest.raises(KeyboardInterrupt):
                next(frames)
        told += islice(frames, 4)
        assert names(told) == ["a", "complete", "reset", "a", "b", "complete"]


def test_the_cursor_of_one_watch_is_where_another_goes_on() -> None:
    with scripted(stream(*START, CHANGES[0], stays_open=True), stream(CHANGES[1], stays_open=True)) as server:
        with Client(server.url) as client, client.watch() as frames:
            list(islice(frames, 3))
            cursor = frames.cursor
        assert names(blocking(server.url, 1, since=cursor)) == ["c"]
    assert server.requests[1].query["since"] == ["c1"]


_CLOSED_IN_A_CHILD = """
import os, sys, threading
from topicfold.client import Client
with Client(sys.argv[1]) as client, client.watch() as frames:
    next(frames), next(frames)
    if os.fork() == 0:
        client.close()
        os._exit(0)
    os.wait()
    threading.Timer(1.0, frames.close).start()
    assert list(frames) == []
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")
def test_a_process_that_was_forked_cuts_no_watch_of_its_parent() -> None:
    with scripted(stream(*START, stays_open=True)) as server:
        subprocess.run([sys.executable, "-c", _CLOSED_IN_A_CHILD, server.url], check=True)
    assert len(server.requests) == 1


_GOES_ON_IN_A_CHILD = """
import os, signal, sys
from topicfold.client import Client
with Client(sys.argv[1]) as client, client.watch() as frames:
    next(frames), next(frames)
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        name = next(frames).topic.name
        frames.close()
        os._exit(0 if name.endswith("/b") else 1)
    sys.exit(os.waitpid(child, 0)[1])
"""


_GOES_ON_IN_A_CHILDS_LOOP = """
import asyncio, os, signal, sys
from topicfold.client import AsyncClient
async def rest(frames):
    name = (await anext(frames)).topic.name
    await frames.close()
    return name
async def watch():
    async with AsyncClient(sys.argv[1]) as client, client.watch() as frames:
        await anext(frames), await anext(frames)
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            os._exit(0 if asyncio.run(rest(frames)).endswith("/b") else 1)
        sys.exit(os.waitpid(child, 0)[1])
asyncio.run(watch())
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")
@pytest.mark.parametrize("program", [_GOES_ON_IN_A_CHILD, _GOES_ON_IN_A_CHILDS_LOOP], ids=["blocking", "asynchronous"])
def test_a_watch_goes_on_in_a_process_that_was_forked_by_a_stream_of_its_own(program: str) -> None:
    with scripted(stream(*START, stays_open=True), stream(CHANGES[0], stays_open=True)) as server:
        subprocess.run([sys.executable, "-c", program, server.url], check=True)
    assert [each.query.get("since") for each in server.requests] == [None, ["c0"]]
