"""Finding topics, page by page, by both clients: what is asked for, and what becomes of the answers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from topicfold.client import AsyncClient, Client, Match, Page, QueryUnconfirmed
from topicfold.errors import InvalidRequest, InvalidSelector
from topicfold.model.finding.selector_text import parse_selector
from topicfold.wire.confirmation import query_text

Answering = Callable[[httpx2.Request], httpx2.Response]
Find = Callable[..., list[Match]]


def blocking(answering: Answering, **query: Any) -> list[Match]:
    with Client(transport=httpx2.MockTransport(answering)) as client:
        return list(client.topics(**query))


def awaiting(answering: Answering, **query: Any) -> list[Match]:
    async def find() -> list[Match]:
        async with AsyncClient(transport=httpx2.MockTransport(answering)) as client:
            return [topic async for topic in client.topics(**query)]

    return asyncio.run(find())


@pytest.fixture(params=[blocking, awaiting])
def find(request: pytest.FixtureRequest) -> Find:
    find: Find = request.param
    return find


class Paging:
    """Answers two topics a page, and keeps what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[httpx2.QueryParams] = []

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.asked.append(request.url.params)
        first = int(request.url.params.get("continue", "0"))
        items = [
            {"name": f"t{number}", "labels": {"n": str(number)}, "version": "v", "position": "p", "partitions": 0}
            for number in (first, first + 1)
        ]
        more = {"continue": str(first + 2)} if first < 4 else {}
        body = {"items": items, "position": f"p{first}", "counts": {"matched": 6}, **more}
        said = {"X-Log-Position": f"p{first}", "X-Topicfold-Query": confirmed(request.url.params)}
        return httpx2.Response(200, json=body, headers=said)


def confirmed(asked: httpx2.QueryParams) -> str:
    """Return what a server says that understood `asked`."""
    return query_text(
        asked.get_list("namespace"),
        str(parse_selector(asked.get("labelSelector", ""))),
        dict(each.split("=", 1) for each in asked.get_list("label")),
        asked.get_list("match"),
        asked.get("regex", ""),
        with_system_topics="includeSystemTopic" in asked,
        at=asked.get("at", ""),
    )


def test_all_pages_are_read_one_after_another(find: Find) -> None:
    paging = Paging()
    assert [topic.name for topic in find(paging, page_size=2)] == ["t0", "t1", "t2", "t3", "t4", "t5"]
    assert [(asked["limit"], asked.get("continue")) for asked in paging.asked] == [("2", None), ("2", "2"), ("2", "4")]


def test_a_page_is_only_asked_for_when_it_is_reached() -> None:
    paging = Paging()
    with Client(transport=httpx2.MockTransport(paging)) as client:
        topics = iter(client.topics())
        next(topics), next(topics)
        assert len(paging.asked) == 1


def test_pages_tell_their_position_and_counts() -> None:
    with Client(transport=httpx2.MockTransport(Paging())) as client:
        page = next(client.topics().pages())
    assert page == Page(page.topics, "p0", {"matched": 6}, "2")
    assert page.topics[0] == Match("t0", {"n": "0"}, "v", 0, "p")


def test_what_is_asked_for_is_sent_in_full_with_every_page(find: Find) -> None:
    paging = Paging()
    find(
        paging, namespaces=["a/b", "c/d"], selector="tier in (b, a)", labels={"k": "v,w"},
        match=["x__*", "y"], regex="z+", page_size=None,
    )  # fmt: skip
    for asked in paging.asked:
        assert [pair for pair in asked.multi_items() if pair[0] != "continue"] == [
            ("namespace", "a/b"), ("namespace", "c/d"), ("labelSelector", "tier in(a,b)"),
            ("label", "k=v,w"), ("label", "k=v,w"), ("match", "x__*"), ("match", "y"), ("regex", "z+"),
        ]  # fmt: skip


@pytest.mark.parametrize(("at", "sent"), [(None, []), ("", [""]), ("2h", ["2h"]), (0, ["0"])])
def test_an_empty_time_is_sent_and_not_taken_for_now(find: Find, at: str | int | None, sent: list[str]) -> None:
    paging = Paging()
    find(paging, at=at)
    assert [asked.get_list("at") for asked in paging.asked] == [sent] * 3


def test_topics_by_label_are_those_of_the_clients_own_namespace_if_no_other_is_named() -> None:
    paging = Paging()
    with Client(namespace="acme/pay", transport=httpx2.MockTransport(paging)) as client:
        list(client.topics_by_label({"team": "pay"}))
        list(client.topics_by_label({"team": "pay"}, ["a/b"]))
    assert [asked.get_list("namespace") for asked in paging.asked[::3]] == [["acme/pay"], ["a/b"]]


def test_no_labels_are_not_taken_for_all_topics() -> None:
    with Client(transport=httpx2.MockTransport(Paging())) as client, pytest.raises(InvalidRequest):
        client.topics_by_label({})


@pytest.mark.parametrize("call", ["topics", "watch"])
def test_an_empty_list_of_patterns_is_not_taken_for_all_topics(call: str) -> None:
    with Client(transport=httpx2.MockTransport(Paging())) as client, pytest.raises(InvalidRequest, match="no pattern"):
        getattr(client, call)(match=[])


def test_a_malformed_selector_names_its_column_before_anything_is_sent(find: Find) -> None:
    paging = Paging()
    with pytest.raises(InvalidSelector) as refused:
        find(paging, selector="team=pay,,x")
    assert refused.value.values["column"] == 10
    assert paging.asked == []


STRUCTURED = {
    "matchLabels": {"note": "a b"},
    "matchExpressions": [{"key": "tier", "operator": "In", "values": ["b", "a"]}],
}


@pytest.mark.parametrize("selector", [STRUCTURED, json.dumps(STRUCTURED)])
def test_a_document_is_a_selector_too_and_loses_no_value(find: Find, selector: Any) -> None:
    paging = Paging()
    find(paging, selector=selector, labels={"team": "pay"})
    sent = [pair for pair in paging.asked[0].multi_items() if pair[0] in ("labelSelector", "label")]
    assert sent == [("labelSelector", "tier in(a,b)"), ("label", "team=pay"), ("label", "note=a b")]


def test_a_document_of_labels_alone_sends_no_text(find: Find) -> None:
    paging = Paging()
    find(paging, selector={"matchLabels": {"team": "pay"}})
    assert "labelSelector" not in paging.asked[0]
    assert set(paging.asked[0].get_list("label")) == {"team=pay"}


@pytest.mark.parametrize(
    ("selector", "said"),
    [
        ({"team": "pay"}, "an object of matchLabels and matchExpressions"),
        ({"matchLabels": {"team": 1}}, "matchLabels: an object whose values are texts"),
        ({"matchExpressions": [{"key": "a", "operator": "In", "values": []}]}, r"matchExpressions\[0\].values"),
    ],
)
def test_a_document_that_is_no_selector_is_refused_before_anything_is_sent(
    find: Find, selector: Any, said: str
) -> None:
    with pytest.raises(InvalidSelector, match=said):
        find(Paging(), selector=selector)


def test_a_label_cannot_have_two_values(find: Find) -> None:
    with pytest.raises(InvalidRequest, match="no topic can have two values of 'team'"):
        find(Paging(), selector={"matchLabels": {"team": "pay"}}, labels={"team": "ship"})


@pytest.mark.parametrize("selector", ["", " ", {}, {"matchLabels": {}}, "{}"])
def test_an_empty_selector_is_not_taken_for_all_topics_by_a_watch(selector: Any) -> None:
    with (
        Client(transport=httpx2.MockTransport(Paging())) as client,
        pytest.raises(InvalidSelector, match="is empty") as refused,
    ):
        client.watch(selector)
    assert refused.value.hint == "Leave selector out to watch all topics."


def test_a_selector_is_not_longer_where_it_arrives_than_it_was_given(find: Find) -> None:
    paging = Paging()
    given = ",".join(f"k{number} notin(b,a)" for number in range(60))
    find(paging, selector=given)
    assert len(paging.asked[0]["labelSelector"]) == len(given)


def test_no_labels_at_all_are_not_taken_for_all_topics_by_a_watch() -> None:
    with (
        Client(transport=httpx2.MockTransport(Paging())) as client,
        pytest.raises(InvalidRequest, match="the labels are empty") as refused,
    ):
        client.watch(labels={})
    assert refused.value.hint == "Leave labels out to watch all topics."


def test_pulsars_own_topics_are_asked_for_by_name(find: Find) -> None:
    paging = Paging()
    find(paging, with_system_topics=True)
    assert paging.asked[0]["includeSystemTopic"] == "true"


@pytest.mark.parametrize("said", [None, "{}", "no JSON", confirmed(httpx2.QueryParams([("namespace", "a/b")]))])
def test_a_server_that_understood_something_else_is_not_believed(said: str | None) -> None:
    topic = {"name": "t", "labels": {}, "version": "v", "position": "p", "partitions": 0}
    body = {"items": [topic], "position": "p", "counts": {"matched": 1}}
    headers = {} if said is None else {"X-Topicfold-Query": said}
    transport = httpx2.MockTransport(lambda _: httpx2.Response(200, json=body, headers=headers))
    with Client(transport=transport) as client:
        for ask in (
            lambda: list(client.topics("tier=gold")),
            lambda: client.find_topics("tier=gold"),
            lambda: client.explain("tier=gold"),
            lambda: list(client.topics_by_label({"tier": "gold"})),
        ):
            with pytest.raises(QueryUnconfirmed):
                ask()
