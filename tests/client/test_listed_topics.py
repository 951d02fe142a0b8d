"""Topics that match and that the server's topic listing names for a consumer's properties (PIP-452)."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.client.served import serving
from topicfold.client import Added, Bookmark, Client, Deleted, Modified, QueryUnconfirmed, listed_topics
from topicfold.client.call import Call
from topicfold.client.find_calls import Asked, Listing
from topicfold.client.frames import Frame
from topicfold.client.listed_topics import ListedTopics
from topicfold.errors import InvalidRequest, ListingFailed, NamespaceNotFound
from topicfold.runtime.revision import Revision

DEFAULT = "persistent://public/default"


@pytest.fixture
def listing() -> str:
    return "by-properties"


@pytest.fixture
def client(listing: str) -> Iterator[Client]:
    settings = {"topic_listing": listing, "enable_broker_topic_list_watcher": False}
    with serving(**settings) as (url,), Client(url) as client:
        yield client


def asked(*namespaces: str, regex: str = "pay.*") -> Asked:
    return Asked.of(namespaces or "public/default", None, None, None, regex)


def told(frame: Frame) -> tuple[type[Frame], str]:
    """Return what a frame says of which topic."""
    assert isinstance(frame, Added | Modified | Deleted)
    return type(frame), frame.topic.name


def test_what_matches_is_told_as_far_as_the_listing_names_it(client: Client) -> None:
    client.create_topic("pay-eu", properties={"region": "eu", "note": "a,b=c"})
    client.create_topic("pay-us", partitions=2, properties={"region": "us"})
    client.create_topic("ship-eu", properties={"region": "eu", "note": "a,b=c"})
    frames = iter(ListedTopics(client, asked(), {"region": "eu", "note": "a,b=c"}))
    first, second = next(frames), next(frames)
    assert isinstance(first, Added)
    assert first.topic.name == f"{DEFAULT}/pay-eu"
    assert second == Bookmark("", is_initial=True)


def test_all_namespaces_are_refused_for_each_has_a_listing_of_its_own(client: Client) -> None:
    with pytest.raises(InvalidRequest, match="properties are asked of \\*") as refused:
        ListedTopics(client, asked("*"), {"region": "eu"})
    assert "Name the namespaces" in refused.value.hint


@pytest.mark.parametrize("listing", ["all", "tests.server.plugins:Heedless"])
def test_a_listing_that_takes_no_notice_of_properties_is_refused(client: Client) -> None:
    client.create_topic("pay-us", properties={"region": "us"})
    with pytest.raises(QueryUnconfirmed, match="does not say what it understood") as refused:
        next(iter(ListedTopics(client, asked(), {"region": "eu"})))
    assert "TOPICFOLD_TOPIC_LISTING=by-properties" in refused.value.hint


@pytest.mark.parametrize("properties", [{"region": "ü b,c=%"}, {"%": "+", "b": ""}])
def test_properties_of_any_characters_are_confirmed(client: Client, properties: dict[str, str]) -> None:
    assert next(iter(ListedTopics(client, asked(), properties))) == Bookmark("", is_initial=True)


def test_partitioned_topics_are_told_whole(client: Client) -> None:
    client.create_topic("pay", partitions=3, properties={"region": "eu"})
    first = next(iter(ListedTopics(client, asked(), {"region": "eu"})))
    assert isinstance(first, Added)
    assert (first.topic.name, first.topic.partitions) == (f"{DEFAULT}/pay", 3)


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


def test_a_namespace_that_ends_has_no_topics_until_it_is_back(client: Client) -> None:
    place = "public/passing"
    client.create_namespace(place)
    for topic in (f"{place}/pay", "public/default/pay"):
        client.create_topic(topic, properties={"region": "eu"})
    frames = iter(ListedTopics(client, asked(place, "public/default"), {"region": "eu"}))
    assert [type(next(frames)) for _ in range(3)] == [Added, Added, Bookmark]
    client.delete_namespace(place, force=True)
    assert told(next(frames)) == (Deleted, f"persistent://{place}/pay")
    client.create_topic("public/default/pay-more", properties={"region": "eu"})
    assert told(next(frames)) == (Added, f"{DEFAULT}/pay-more")
    client.create_namespace(place)
    client.create_topic(f"{place}/pay", properties={"region": "eu"})
    assert told(next(frames)) == (Added, f"persistent://{place}/pay")


def test_the_only_namespace_may_end_between_its_listing_and_the_finding(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.create_topic("pay", properties={"region": "eu"})
    frames = iter(ListedTopics(client, asked(), {"region": "eu"}))
    assert [type(next(frames)) for _ in range(2)] == [Added, Bookmark]
    page_through = client.page_through

    def after_the_end(listing: Listing) -> Any:
        client.delete_namespace("public/default", force=True)
        return page_through(listing)

    monkeypatch.setattr(client, "page_through", after_the_end)
    assert told(next(frames)) == (Deleted, f"{DEFAULT}/pay")


def test_a_listing_that_fails_for_a_moment_is_asked_again(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    frames = iter(ListedTopics(client, asked(), {"region": "eu"}))
    assert isinstance(next(frames), Bookmark)
    client.create_topic("pay", properties={"region": "eu"})
    perform, failures = client.perform, [ListingFailed("it took longer than 15 s")]

    def at_second_try(call: Call[Any]) -> Any:
        if failures:
            raise failures.pop()
        return perform(call)

    monkeypatch.setattr(client, "perform", at_second_try)
    assert isinstance(next(frames), Added)
    assert failures == []


def test_a_server_that_is_on_another_log_now_is_asked_again(client: Client) -> None:
    frames = iter(ListedTopics(client, asked(), {"region": "eu"}))
    assert isinstance(next(frames), Bookmark)
    client.create_topic("pay", properties={"region": "eu"})
    client._position = str(Revision(bytes(16), {0: 1}))
    assert isinstance(next(frames), Added)


def test_it_ends_when_it_is_closed(client: Client) -> None:
    listed = ListedTopics(client, asked(), {"region": "eu"})
    frames = iter(listed)
    next(frames)
    listed.close()
    assert list(frames) == []


def test_a_client_that_is_closed_ends_it_wherever_it_is(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listed_topics, "PERIOD_SECONDS", 0.0)
    watcher = Client(client.url)
    frames = watcher.ending(ListedTopics(watcher, asked("public/default"), {"region": "eu"}))
    following = iter(frames)
    assert isinstance(next(following), Bookmark)
    closing = threading.Timer(0.2, watcher.close)
    closing.start()
    assert list(following) == []
    closing.join()
