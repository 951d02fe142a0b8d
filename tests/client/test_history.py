"""The client's calls about histories and older versions."""

from __future__ import annotations

import pytest

from topicfold.client import Client
from topicfold.errors import TopicNotFound, VersionNotFound


@pytest.fixture
def versions(client: Client) -> list[str]:
    """The ETags of `orders`: of its making, and of five changes."""
    made = [client.create_topic("orders").etag]
    return made + [client.set_labels("orders", {"n": str(number)}).etag for number in range(5)]


def test_a_history_is_read_page_by_page(client: Client, versions: list[str]) -> None:
    first = client.history("orders", limit=4)
    rest = client.history("orders", before=first.before)
    assert [entry.etag for entry in (*first.entries, *rest.entries)] == versions[::-1]
    assert (rest.before, rest.gap, rest.entries[-1].kind) == ("", "", "created")
    assert first.entries[0].changes[0].path == ("labels", "n")


def test_an_older_version_is_read_at_its_offset_or_position(client: Client, versions: list[str]) -> None:
    entry = client.history("orders").entries[2]
    for place in (entry.offset, str(entry.offset), entry.position):
        found = client.get_topic_at("orders", place)
        assert (found.etag, found.labels) == (versions[3], {"n": "2"})


def test_a_topic_goes_back_to_a_version_and_what_never_was_is_not_found(client: Client, versions: list[str]) -> None:
    client.roll_back("orders", versions[1], reason="undo")
    assert client.get_labels("orders") == {"n": "0"}
    client.roll_back("orders", client.history("orders").entries[1].offset)
    assert client.get_labels("orders") == {"n": "4"}
    with pytest.raises(VersionNotFound) as caught:
        client.roll_back("orders", "f" * 32)
    assert len(caught.value.values["nearest"]) == 5


def test_other_domains_have_histories_of_their_own(client: Client, versions: list[str]) -> None:
    topic = "non-persistent://public/default/orders"
    with pytest.raises(TopicNotFound):
        client.history(topic)
    client.create_topic(topic)
    etag = client.history(topic).entries[0].etag
    client.set_labels(topic, {"a": "b"})
    client.roll_back(topic, etag)
    assert client.get_labels(topic) == {}
