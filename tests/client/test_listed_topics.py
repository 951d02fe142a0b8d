"""Topics that match and that the server's topic listing names for a consumer's properties (PIP-452)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.client.served import serving
from topicfold.client import Added, Bookmark, Client, Deleted, Modified
from topicfold.client.find_calls import Asked
from topicfold.client.listed_topics import ListedTopics
from topicfold.errors import NamespaceNotFound

DEFAULT = "persistent://public/default"


@pytest.fixture(params=["all", "by-properties"])
def listing(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def client(listing: str) -> Iterator[Client]:
    settings = {"topic_listing": listing, "enable_broker_topic_list_watcher": False}
    with serving(**settings) as (url,), Client(url) as client:
        yield client


def asked(namespace: str = "public/default", regex: str = "pay.*") -> Asked:
    return Asked.of(namespace, None, None, None, regex)


def test_what_matches_is_told_as_far_as_the_listing_names_it(client: Client, listing: str) -> None:
    client.create_topic("pay-eu", properties={"region": "eu", "note": "a,b=c"})
    client.create_topic("pay-us", partitions=2, properties={"region": "us"})
    client.create_topic("ship-eu", properties={"region": "eu", "note": "a,b=c"})
    frames = iter(ListedTopics(client, asked(), {"region": "eu", "note": "a,b=c"}))
    told = [next(frames) for _ in range({"all": 3, "by-properties": 2}[listing])]
    names = [frame.topic.name for frame in told if isinstance(frame, Added)]
    assert names == [f"{DEFAULT}/pay-eu", f"{DEFAULT}/pay-us"][: len(told) - 1]
    assert told[-1] == Bookmark("", is_initial=True)


@pytest.mark.parametrize("listing", ["by-properties"])
def test_partitioned_topics_are_told_whole(client: Client) -> None:
    client.create_topic("pay", partitions=3, properties={"region": "eu"})
    first = next(iter(ListedTopics(client, asked(), {"region": "eu"})))
    assert isinstance(first, Added)
    assert (first.topic.name, first.topic.partitions) == (f"{DEFAULT}/pay", 3)


@pytest.mark.parametrize("listing", ["by-properties"])
def test_what_comes_changes_and_goes_is_told_as_a_watch_tells_it(client: Client) -> None:
    frames = iter(ListedTopics(client, asked(), {"region": "eu"}))
    assert isinstance(next(frames), Bookmark)
    client.create_topic("pay", properties={"region": "eu"})
    assert isinstance(next(frames), Added)
    client.set_labels("pay", {"tier": "gold"})
    assert isinstance(next(frames), Modified)
    client.patch_topic("pay", {"properties": {"region": "us"}})
    assert isinstance(next(frames), Deleted)


def test_what_the_server_refuses_is_raised(client: Client) -> None:
    with pytest.raises(NamespaceNotFound):
        next(iter(ListedTopics(client, asked("public/nowhere"), {"region": "eu"})))


def test_it_ends_when_it_is_closed(client: Client) -> None:
    listed = ListedTopics(client, asked(), {"region": "eu"})
    frames = iter(listed)
    next(frames)
    listed.close()
    assert list(frames) == []
