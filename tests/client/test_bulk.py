"""Many calls, several at once."""

from __future__ import annotations

import threading
import time

import pytest

from topicfold.client import Client, bulk
from topicfold.client.bulk import count_topics, each_at_once, label_counts, topics_in


def test_each_thing_is_called_once_and_told_when_its_call_ends() -> None:
    assert sorted(each_at_once("test", lambda number: number * 2, range(100))) == [2 * number for number in range(100)]
    assert list(each_at_once("test", str, [])) == []


def test_what_fails_ends_it_once_the_calls_that_are_under_way_have_ended() -> None:
    under_way, made = threading.Barrier(2), list[int]()

    def call(number: int) -> None:
        if number < 2:
            under_way.wait(60)
        if number == 1:
            raise ValueError
        time.sleep(0.05)
        made.append(number)

    with pytest.raises(ValueError):
        list(each_at_once("test", call, range(1000)))
    ended = list(made)
    assert 0 in ended
    assert len(ended) < 1000
    time.sleep(0.2)
    assert made == ended


def test_who_is_interrupted_does_not_wait_for_servers_that_do_not_answer() -> None:
    answers, called = threading.Event(), list[int]()

    def call(number: int) -> int:
        called.append(number)
        return 0 if number == 0 or answers.wait(60) else 1

    calls = each_at_once("interrupted", call, range(1000))
    assert next(calls) == 0
    with pytest.raises(KeyboardInterrupt):
        calls.throw(KeyboardInterrupt)  # type: ignore[attr-defined]  # it is a generator
    assert not answers.is_set()
    under_way = [thread for thread in threading.enumerate() if thread.name == "interrupted"]
    # Nor does the interpreter, when it ends.
    assert all(thread.daemon for thread in under_way)
    answers.set()
    for thread in under_way:
        thread.join()
    assert len(called) < 20


@pytest.mark.parametrize("length", [3, 64])
def test_topics_of_more_namespaces_than_a_query_takes_are_counted_however_long_their_names(
    client: Client, length: int
) -> None:
    tenant = ":" * length
    client.create_tenant(tenant)
    namespaces = [f"{tenant}/{number::>{length}}" for number in range(101)]
    list(each_at_once("test", client.create_namespace, namespaces))
    for each in (namespaces[0], namespaces[-1]):
        client.create_topic(f"{each}/t", labels={"team": "pay"})
    counts = label_counts(client, namespaces)
    assert counts.topics == {namespaces[0]: 1, namespaces[-1]: 1}
    assert counts.bearing == {(each, "team", "pay"): 1 for each in (namespaces[0], namespaces[-1])}
    assert count_topics(client, namespaces) == 2


def test_no_namespaces_have_no_topics(client: Client) -> None:
    assert (label_counts(client, []).topics, count_topics(client, [])) == ({}, 0)


def test_a_topic_that_a_name_and_a_pattern_in_another_query_mean_is_told_once(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk, "NAMESPACES_A_QUERY", 1)
    client.create_topic("orders")
    found = topics_in(client, ["public/default", "public/*"])
    assert [topic.name for topic in found] == ["persistent://public/default/orders"]
