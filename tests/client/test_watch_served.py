"""Watching and finding against the real server, over nodes that come and go."""

from __future__ import annotations

import asyncio
import sys
import threading
from itertools import islice

import httpx2
import pytest

from tests.client.scripted import names
from tests.client.served import serving
from topicfold.client import AsyncClient, Bookmark, Client, Deleted, Modified, Watch
from topicfold.runtime.revision import Revision


class Failover(httpx2.HTTPTransport):
    """A load balancer that knows of nodes that are gone: requests go to the first that is left of `urls`."""

    def __init__(self, urls: list[str]) -> None:
        super().__init__()
        self.urls = urls

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        request.url = request.url.copy_with(port=httpx2.URL(self.urls[0]).port)
        return super().handle_request(request)


def told(frames: Watch, count: int) -> list[str]:
    return [name for name in names(list(islice(frames, count))) if name != "bookmark"]


def test_topics_come_and_go_with_their_labels(client: Client) -> None:
    client.create_topic("a", labels={"team": "pay"})
    with client.watch("team in (pay)", match="*") as frames:
        assert told(frames, 2) == ["a", "complete"]
        client.create_topic("b", labels={"team": "ops"})
        client.set_labels("b", {"team": "pay"})
        client.set_labels("b", {"tier": "gold"})
        client.remove_labels("b", ["team"])
        assert told(frames, 1) == ["b"]
        modified, deleted = islice(frames, 2)
    assert isinstance(modified, Modified)
    assert (modified.old_labels, modified.topic.labels) == ({"team": "pay"}, {"team": "pay", "tier": "gold"})
    assert isinstance(deleted, Deleted)


def test_a_client_that_is_closed_ends_its_watches(client: Client) -> None:
    watcher = Client(client.url)
    frames = watcher.watch()
    assert told(frames, 1) == ["complete"]
    closing = threading.Timer(0.2, watcher.close)
    closing.start()
    assert list(frames) == []
    closing.join()


def test_a_client_can_be_closed_while_others_open_watches() -> None:
    watcher = Client("http://127.0.0.1:1")
    kept: list[Watch] = []

    def open_watches() -> None:
        kept.extend(watcher.watch() for _ in range(2_000))

    switched = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    threads = [threading.Thread(target=open_watches) for _ in range(2)]
    try:
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            watcher._to_be_ended()
    finally:
        for thread in threads:
            thread.join()
        sys.setswitchinterval(switched)
    assert set(watcher._to_be_ended()) == set(kept)


async def test_an_async_client_that_is_closed_ends_its_watches(client: Client) -> None:
    watcher = AsyncClient(client.url)
    frames = watcher.watch()
    assert isinstance(await anext(aiter(frames)), Bookmark)
    ending = asyncio.ensure_future(anext(aiter(frames)))
    await asyncio.sleep(0.2)
    await watcher.close()
    with pytest.raises(StopAsyncIteration):
        await asyncio.wait_for(ending, 5)


def test_a_watch_goes_on_where_it_was_on_another_node() -> None:
    with serving(0.0, 0.02) as urls:
        nodes = Failover(list(urls))
        with Client(urls[1]) as writer, Client(urls[0], transport=nodes) as client, client.watch() as frames:
            assert told(frames, 1) == ["complete"]
            writer.create_topic("a")
            assert told(frames, 1) == ["a"]
            nodes.urls.pop(0)
            with Client(urls[1]) as second:
                second.create_topic("b")
            assert told(frames, 1) == ["b"]
            cursor = frames.cursor
            writer.create_topic("c")
        with Client(urls[1]) as client, client.watch(since=cursor) as frames:
            assert told(frames, 1) == ["c"]


async def test_an_event_loop_finds_and_watches_what_is_there(server_url: str) -> None:
    async with AsyncClient(server_url) as client:
        for number in range(5):
            await client.create_topic(f"t__{number}", labels={"team": "pay"})
        found = [
            topic async for topic in client.topics(selector="team=pay", match="t__*", regex="t__[0-3]", page_size=2)
        ]
        assert [topic.name[-4:] for topic in found] == ["t__0", "t__1", "t__2", "t__3"]
        async with client.watch(match="t__*") as frames:
            assert len([await anext(frames) for _ in range(6)]) == 6


def test_a_watch_that_begins_anew_is_told_of_a_namespace_once_it_is_there(client: Client) -> None:
    of_another_log = str(Revision(b"another-log-id--", dict.fromkeys(range(8), 1)))
    with client.watch(namespaces=["public/default", "public/other"], since=of_another_log) as frames:
        assert told(frames, 2) == ["reset", "complete"]
        client.create_namespace("public/other")
        client.create_topic("public/other/parcels")
        assert told(frames, 1) == ["parcels"]
