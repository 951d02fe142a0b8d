"""Explaining selectors over HTTP."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import quote

import pytest
from pyroaring import BitMap

from tests.runtime.nodes import turns
from tests.server.finding.asking import make
from tests.server.rest import RestNode
from tests.turning import counted_turns
from topicfold.model.finding.near_miss import explain
from topicfold.model.finding.selector import Selector
from topicfold.model.finding.selector_text import parse_selector
from topicfold.runtime import slices
from topicfold.server.finding import explain as explaining
from topicfold.server.finding.explain import EXPLAIN_PATH, Borne
from topicfold.state.indexes.label_index import LabelIndex
from topicfold.state.selection import select
from topicfold.wire.resources import ExplainedQuery


@pytest.fixture
async def topics(rest: RestNode) -> RestNode:
    """A node with a few labelled topics in two namespaces."""
    await rest.done("PUT", "/admin/v2/namespaces/public/pay")
    await make(rest, "a", "public/pay/b", team="pay", tier="gold")
    await make(rest, "c", team="ops")
    await make(rest, "d")
    return rest


async def test_each_requirement_is_counted_by_itself_and_all_together(topics: RestNode) -> None:
    query = "namespace=public/default&namespace=public/pay&labelSelector=team=pay,tier"
    explained = await topics.get(f"{EXPLAIN_PATH}?{query}")
    ExplainedQuery.model_validate(explained)
    assert [(each["requirement"], each["topics"]) for each in explained["requirements"]] == [
        ("team=pay", 2),
        ("tier", 2),
    ]
    assert (explained["selector"], explained["topics"], explained["matched"]) == ("team=pay,tier", 4, 2)
    assert explained["hints"] == []


@pytest.mark.parametrize(
    ("requirement", "count"),
    [
        ("team", 2), ("!team", 2), ("team=pay", 1), ("team!=pay", 3), ("team in (pay,ops)", 2), ("team notin (pay)", 3),
        ("size>9", 1), ("size<9", 0), ("size>10", 0),
    ],
)  # fmt: skip
async def test_a_requirement_is_counted_without_going_through_values_which_may_be_as_many_as_topics(
    topics: RestNode, monkeypatch: pytest.MonkeyPatch, requirement: str, count: int
) -> None:
    monkeypatch.delattr(Borne, "words")
    await make(topics, "e", size="10")
    explained = await topics.get(f"{EXPLAIN_PATH}?labelSelector={quote(requirement)}")
    assert (explained["requirements"][0]["topics"], explained["topics"]) == (count, 4)


async def test_what_was_probably_meant_is_said(topics: RestNode) -> None:
    explained = await topics.get(f"{EXPLAIN_PATH}?labelSelector=taem=pay,tier=glod")
    assert [miss["near"] for each in explained["requirements"] for miss in each["misses"]] == [["team"], ["gold"]]
    assert explained["hints"] == [
        "no topic has key taem; did you mean team?",
        "no topic has tier=glod; did you mean gold?",
    ]


async def test_what_only_topics_bear_that_do_not_count_is_neither_counted_nor_said(topics: RestNode) -> None:
    await make(topics, "__change_events", teams="pays", team="pays")
    explained = await topics.get(f"{EXPLAIN_PATH}?labelSelector=teams=pays,team=pays")
    assert [each["topics"] for each in explained["requirements"]] == [0, 0]
    assert [miss["near"] for each in explained["requirements"] for miss in each["misses"]] == [["pay"], ["team"]]
    everything = await topics.get(f"{EXPLAIN_PATH}?labelSelector=teams=pays,team=pays&includeSystemTopic=true")
    assert ([each["topics"] for each in everything["requirements"]], everything["hints"]) == ([1, 1], [])


@pytest.mark.parametrize("requirement", ["team!=pay", "team notin (pay)"])
async def test_that_a_negative_takes_topics_without_the_key_is_said(topics: RestNode, requirement: str) -> None:
    explained = await topics.get(f"{EXPLAIN_PATH}?labelSelector={requirement.replace(' ', '%20')}")
    assert (explained["requirements"][0]["takesTopicsWithoutKey"], explained["matched"]) == (True, 2)
    assert explained["hints"] == [f"{requirement} also matches topics without team; add team to leave them out"]
    assert (await topics.get(f"{EXPLAIN_PATH}?labelSelector=!team"))["hints"] == []


@pytest.mark.parametrize(("requirement", "where"), [("size>10", "above"), ("size<10", "below")])
async def test_that_a_comparison_finds_nothing_but_integers_is_said(
    topics: RestNode, requirement: str, where: str
) -> None:
    await make(topics, "e", size="10")
    await make(topics, "f", size="10.5")
    explained = await topics.get(f"{EXPLAIN_PATH}?labelSelector={quote(requirement)}")
    assert explained["hints"] == [f"no topic has size with an integer {where} 10; only integers are compared"]
    assert (await topics.get(f"{EXPLAIN_PATH}?labelSelector=size>9"))["hints"] == []
    assert (await topics.get(f"{EXPLAIN_PATH}?labelSelector=length>9"))["hints"] == ["no topic has key length"]


async def test_what_is_matched_obeys_the_whole_query(topics: RestNode) -> None:
    explained = await topics.get(f"{EXPLAIN_PATH}?labelSelector=team&match=c")
    assert (explained["requirements"][0]["topics"], explained["matched"]) == (2, 1)


async def test_a_malformed_selector_is_400_and_says_where(rest: RestNode) -> None:
    answer = await rest.send("GET", f"{EXPLAIN_PATH}?labelSelector=team=pay,,b")
    assert (answer.status_code, answer.json()["code"], answer.json()["column"]) == (400, "invalid_selector", 10)


async def test_a_parameter_that_is_not_known_is_400(rest: RestNode) -> None:
    answer = await rest.send("GET", f"{EXPLAIN_PATH}?limit=5")
    assert (answer.status_code, "'limit' is not known" in answer.text) == (400, True)


async def test_a_slice_holds_one_requirement_or_some_words_and_all_is_of_one_cut(
    topics: RestNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slices, "SLICE_SECONDS", -1.0)
    monkeypatch.setattr(explaining, "_STEP", 1)
    for number in range(20):
        await make(topics, f"e{number}", tier=f"gol{number}")
    query = "namespace=public/default&namespace=public/pay&labelSelector=team=pay,team=ops,tier=glod"
    asking = asyncio.create_task(topics.get(f"{EXPLAIN_PATH}?{query}"))
    await turns(12)
    assert not asking.done()
    await make(topics, "f", team="pay")
    explained = await asking
    counts = [each["topics"] for each in explained["requirements"]]
    assert (counts, explained["topics"]) in (([1, 1, 0], 23), ([1, 1, 0], 24), ([2, 1, 0], 24))
    assert explained["requirements"][2]["misses"][0]["near"][0] in ("gold", "gol0")


async def test_words_are_looked_up_and_compared_in_slices(topics: RestNode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices, "SLICE_SECONDS", -1.0)
    monkeypatch.setattr(explaining, "_STEP", 1)
    for number in range(6):
        await make(topics, f"e{number}", tier=f"gol{number}")
    looked_at: list[tuple[str, int]] = []
    async with counted_turns() as made:
        monkeypatch.setattr(explaining, "most_similar", lambda word, _: looked_at.append((word, made())) or ())
        await topics.get(f"{EXPLAIN_PATH}?labelSelector=tier=glod,tier=glob")
    (first, until_first), (second, until_second) = looked_at
    assert (first, second, until_first > 12, until_second - until_first > 5) == ("glod", "glob", True, True)


async def test_what_ends_while_it_is_explained_bears_nothing(topics: RestNode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices, "SLICE_SECONDS", -1.0)
    asking = asyncio.create_task(topics.get(f"{EXPLAIN_PATH}?namespace=public/pay&labelSelector=team,tier,!a,!b,!c,!d"))
    await turns(3)
    await topics.done("DELETE", "/admin/v2/namespaces/public/pay?force=true")
    explained = await asking
    assert (explained["matched"], [each["topics"] for each in explained["requirements"]]) in (
        (0, [0] * 6),
        (1, [1] * 6),
    )


async def test_what_was_counted_is_counted_anew_once_labels_have_changed(topics: RestNode) -> None:
    table = topics.node.engine.tables.of("public/default")
    assert table is not None
    borne = Borne(table, None)
    (team,) = parse_selector("team=web").requirements
    assert (borne.fulfilling((team,)), [*borne.lacking(team)]) == (0, ["web"])
    await make(topics, "e", team="web")
    assert (borne.fulfilling((team,)), [*borne.lacking(team)]) == (1, [])


async def test_nothing_is_counted_for_the_first_time_once_the_cut_is_taken(
    topics: RestNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []

    def noting(index: LabelIndex, live: BitMap, selector: Selector) -> BitMap:
        done.append("counted")
        return select(index, live, selector)

    def near(*args: Any) -> Any:
        done.append("explained")
        return explain(*args)

    monkeypatch.setattr(explaining, "select", noting)
    monkeypatch.setattr(explaining, "explain", near)
    await topics.get(f"{EXPLAIN_PATH}?namespace=*&labelSelector=team,!x")
    assert done.index("explained") == len(done) - 1
