"""Finding: what brute force would find, at the position that is stated, whatever is found at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyroaring import BitMap

from tests.memory_log import MemoryStore
from tests.runtime.nodes import Node, running, turns
from topicfold.errors import Overloaded
from topicfold.model.finding.pattern import parse_pattern
from topicfold.model.finding.query import TopicQuery
from topicfold.model.finding.regex import parse_regex
from topicfold.model.finding.selector_text import parse_selector
from topicfold.model.names import TopicName, parse_topic, topic_of_key
from topicfold.model.namespaces import Namespaces
from topicfold.model.records import NamespaceRecord, TopicRecord, frozen
from topicfold.runtime.finding import finding, found, look, tried_names
from topicfold.runtime.finding.finding import Finding
from topicfold.runtime.finding.found import Found
from topicfold.state.finding import find
from topicfold.state.indexes import name_order
from topicfold.state.topic_table import TopicTable

NAMESPACES = ("public/default", "public/default-2", "public/a")
EVERYTHING = TopicQuery()


@pytest.fixture(params=["sorted", "walked"], autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small sets are sorted; here large ones begin at nothing, too, and slices hold one name."""
    if request.param == "walked":
        monkeypatch.setattr(found, "MAX_SORTED", 0)
        monkeypatch.setattr(finding, "MAX_SORTED", 0)
        monkeypatch.setattr(finding, "SLICE_SECONDS", 0.0)
        monkeypatch.setattr(finding, "_STEP", 1)
        monkeypatch.setattr(tried_names, "_BETWEEN_LOOKS", 1)
        monkeypatch.setattr(name_order, "BLOCK", 2)


@pytest.fixture
async def several(store: MemoryStore) -> AsyncIterator[Node]:
    """A node with three namespaces."""
    async with running(store) as node:
        for namespace in NAMESPACES[1:]:
            await node.writing.create_namespace(namespace, NamespaceRecord(), node.asked())
        yield node


async def make(node: Node, name: str, **labels: str) -> None:
    """Make a topic."""
    await node.writing.create_topic(parse_topic(name), TopicRecord(labels=frozen(labels)), node.asked())


def everyone(namespace: str) -> None:
    """Leave nobody out."""


def names(found_topics: Found, last: TopicName | None = None, most: int = 10**6) -> list[str]:
    """Return the full names that were found, in the order they come."""
    return [
        topic_of_key(section.namespace, section.table.keys[number])
        for section, numbers in found_topics.after(last, most)
        for number in numbers
    ]


LOCALS = ["__change_events", *(f"{first}__{second}" for first in "ab" for second in "xyz")]
LABELS = st.dictionaries(st.sampled_from(["team", "tier"]), st.sampled_from(["1", "2"]))
TOPICS = st.dictionaries(
    st.tuples(st.sampled_from(["persistent", "non-persistent"]), st.sampled_from(NAMESPACES), st.sampled_from(LOCALS)),
    LABELS,
    max_size=12,
)
QUERIES = st.builds(
    TopicQuery,
    st.sampled_from(["", "team", "!team", "team=1", "team!=1,tier", "tier in (1,2)", "tier notin (2)"]).map(
        parse_selector
    ),
    st.lists(st.sampled_from(["a__*", "*__x", "**"]).map(parse_pattern), max_size=2).map(tuple),
    st.sampled_from([None, "a.*", ".*[xy]", "none"]).map(lambda text: text and parse_regex(text)),
    st.booleans(),
)


@given(topics=TOPICS, query=QUERIES, among=st.permutations(NAMESPACES), limit=st.integers(1, 5))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_it_finds_what_brute_force_finds_and_in_pages_the_same(
    topics: Mapping[tuple[str, str, str], dict[str, str]], query: TopicQuery, among: list[str], limit: int
) -> None:
    async def run() -> None:
        async with running(MemoryStore(partitions=8)) as node:
            for namespace in NAMESPACES[1:]:
                await node.writing.create_namespace(namespace, NamespaceRecord(), node.asked())
            for (domain, namespace, local), labels in topics.items():
                await make(node, f"{domain}://{namespace}/{local}", **labels)
            found_topics = await Finding(node.engine).find(Namespaces(tuple(among[:2])), query, everyone)
            expected = sorted(
                f"{domain}://{namespace}/{local}"
                for (domain, namespace, local), labels in topics.items()
                if namespace in among[:2] and query.selector.matches(labels) and query.matches_name(local)
            )
            assert names(found_topics) == expected
            assert sum(found_topics.counts().values()) == found_topics.count == len(expected)
            paged: list[str] = []
            while page := names(found_topics, parse_topic(paged[-1]) if paged else None, limit):
                assert len(page) <= limit
                paged += page
            assert paged == expected

    asyncio.run(run())


async def test_whoever_may_not_see_a_topic_does_not_find_or_count_it(several: Node) -> None:
    for local in ("a", "b", "c"):
        await make(several, local)
    for regex in (None, parse_regex(".")):
        found_topics = await Finding(several.engine).find(
            Namespaces(NAMESPACES[:1]), TopicQuery(regex=regex), lambda namespace: BitMap([1])
        )
        assert (names(found_topics), found_topics.count) == (["persistent://public/default/b"], 1)


async def test_an_expression_is_tried_once_on_each_name(several: Node) -> None:
    found_once = Finding(several.engine)
    await make(several, "a")
    query = TopicQuery(regex=parse_regex("[ab]"))
    assert len(names(await found_once.find(Namespaces(NAMESPACES[:1]), query, everyone))) == 1
    await make(several, "b")
    table = several.engine.tables.of(NAMESPACES[0])
    assert table is not None
    outcome = several.engine.tables.outcomes.of(table, parse_regex("[ab]"))
    assert list(outcome.tried) == [0]
    assert len(names(await found_once.find(Namespaces(NAMESPACES[:1]), query, everyone))) == 2


async def test_what_changes_while_it_tries_counts_as_it_is_at_the_end(
    several: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finding, "SLICE_SECONDS", 0.0)
    monkeypatch.setattr(tried_names, "_BETWEEN_LOOKS", 1)
    for local in ("a", "b", "c", "d"):
        await make(several, local)
    task = asyncio.ensure_future(
        Finding(several.engine).find(Namespaces(NAMESPACES[:1]), TopicQuery(regex=parse_regex("[a-e]")), everyone)
    )
    await turns(2)
    assert not task.done()
    several.log.pause()
    doomed = asyncio.ensure_future(several.writing.delete_topic(parse_topic("a"), several.asked()))
    made = asyncio.ensure_future(make(several, "e"))
    several.log.resume()
    found_topics = await task
    await asyncio.gather(doomed, made)
    assert names(found_topics) in ([f"persistent://public/default/{local}" for local in "abcd"],
                                   [f"persistent://public/default/{local}" for local in "bcd"],
                                   [f"persistent://public/default/{local}" for local in "bcde"])  # fmt: skip


async def test_a_finding_ends_with_its_time_and_the_next_goes_on_from_there(
    several: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finding, "SLICE_SECONDS", 0.0)
    monkeypatch.setattr(tried_names, "_BETWEEN_LOOKS", 1)
    for local in "abcd":
        await make(several, local)
    seeking, asked = Finding(several.engine), several.asked()._replace(deadline=0.0)
    query = TopicQuery(regex=parse_regex("[a-c]"))
    times = 0
    while times < 10:
        try:
            found_topics = await seeking.find(Namespaces(NAMESPACES[:1]), query, everyone, asked=asked)
            break
        except Overloaded:
            times += 1
    assert (found_topics.count, times >= 3) == (3, True)


async def test_few_expressions_are_remembered(several: Node) -> None:
    await make(several, "a")
    remembering = Finding(several.engine)
    for number in range(finding.MAX_EXPRESSIONS + 5):
        await remembering.find(Namespaces(NAMESPACES[:1]), TopicQuery(regex=parse_regex(f"a{number}?")), everyone)
    [known] = remembering._known.values()
    assert len(known.expressions) == finding.MAX_EXPRESSIONS


async def test_nothing_is_known_of_a_namespace_that_has_ended(several: Node) -> None:
    remembering = Finding(several.engine)
    await remembering.find(Namespaces(("public/a",)), EVERYTHING, everyone)
    await several.writing.delete_namespace("public/a", several.asked())
    assert (await remembering.find(Namespaces(("public/a",)), EVERYTHING, everyone)).sections == []
    assert len(remembering._known) <= 1


async def test_topics_after_a_place_are_read_while_others_are_made(several: Node) -> None:
    for local in ("b", "d", "non-persistent://public/default/c"):
        await make(several, local)
    found_topics = await Finding(several.engine).find(Namespaces(NAMESPACES[:1]), EVERYTHING, everyone)
    sections = found_topics.all_after(parse_topic("non-persistent://public/default/b"))
    await make(several, "c")
    read = [section.table.keys[number] for section, numbers in sections for number in numbers]
    assert read == ["non-persistent://c", "b", "d"]


async def test_a_namespace_is_gone_through_once_however_long_others_take(
    several: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    for namespace in NAMESPACES:
        for number in range(5):
            await make(several, f"{namespace}/{number}", size=str(number))
    monkeypatch.setattr(finding, "SLICE_SECONDS", 0.0)
    monkeypatch.setattr("topicfold.state.finding._STEP", 1)
    went: list[TopicTable] = []

    def noting(table: TopicTable, query: TopicQuery) -> BitMap:
        went.append(table)
        return find(table, query)

    monkeypatch.setattr(look, "find", noting)
    found_topics = await Finding(several.engine).find(
        Namespaces(NAMESPACES), TopicQuery(parse_selector("size>2")), everyone
    )
    assert (found_topics.count, len(went)) == (6, 3)


async def test_what_changes_in_a_namespace_that_was_gone_through_counts_as_it_is_at_the_end(
    several: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finding, "SLICE_SECONDS", 0.0)
    monkeypatch.setattr(tried_names, "_BETWEEN_LOOKS", 1)
    first, second = NAMESPACES[:2]
    await make(several, f"{first}/a", team="pay")
    for number in range(50):
        await make(several, f"{second}/{number}", team="pay")
    query = TopicQuery(parse_selector("team=pay"), regex=parse_regex("[a-z0-9]+"))
    several.log.pause()
    changing = asyncio.ensure_future(
        several.writing.set_labels(parse_topic(f"{first}/a"), {"team": "ops"}, several.asked())
    )
    seeking = asyncio.ensure_future(Finding(several.engine).find(Namespaces(NAMESPACES[:2]), query, everyone))
    await turns(4)
    several.log.resume()
    await changing
    assert not seeking.done()
    assert (await seeking).counts() == {second: 50}
