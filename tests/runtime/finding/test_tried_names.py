"""Tried names: a few between two looks at the clock, each once, whoever asks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from pyroaring import BitMap

from tests.runtime.nodes import Node
from tests.runtime.watching.watchers import Watching, quiet, tell
from topicfold.model.finding.query import TopicQuery
from topicfold.model.finding.regex import Regex, parse_regex
from topicfold.model.names import parse_topic
from topicfold.model.namespaces import Namespaces
from topicfold.model.records import TopicRecord
from topicfold.runtime import slices
from topicfold.runtime.finding import finding
from topicfold.runtime.finding.finding import Finding
from topicfold.runtime.finding.tried_names import Outcome
from topicfold.runtime.watching import pump, rest, watcher, watches

NUMBER = 40
FEW = 8
REGEX = "t[0-9]*"
DEFAULT = Namespaces(("public/default",))


class Tries:
    """Counts tries of expressions, and the most of them in one turn of the loop."""

    def __init__(self) -> None:
        self.all = self.most = 0

    async def look(self) -> None:
        """Look at each turn of the loop, for ever."""
        while True:
            before = self.all
            await asyncio.sleep(0)
            self.most = max(self.most, self.all - before)


@pytest.fixture
async def tries(many: Node, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Tries]:
    """All tries; each takes longer than a slice."""
    counted, matches = Tries(), Regex.matches

    def counting(self: Regex, name: str) -> bool:
        counted.all += 1
        return matches(self, name)

    monkeypatch.setattr(Regex, "matches", counting)
    for module in (finding, slices, rest, watcher, watches):
        monkeypatch.setattr(module, "SLICE_SECONDS", -1.0)
    looking = asyncio.create_task(counted.look())
    yield counted
    looking.cancel()


@pytest.fixture
async def many(node: Node) -> Node:
    """A node with forty topics."""
    for number in range(NUMBER):
        await node.writing.create_topic(parse_topic(f"t{number}"), TopicRecord(), node.asked())
    return node


async def test_a_start_state_its_hash_and_a_resumed_watch_try_few_names_in_one_turn(many: Node, tries: Tries) -> None:
    watchings = [Watching(many, regex=REGEX + "|" + "x" * each) for each in range(3)]
    resumed = Watching(many, regex="t.*", since={0: 0})
    for each in (*watchings, resumed):
        await each.up_to_date()
    assert [each.kinds().count("ADDED") for each in (*watchings, resumed)] == [NUMBER] * 4
    assert {len(each.frames[-1].members["hash"]) for each in watchings} == {8}
    assert tries.all == 4 * NUMBER
    assert tries.most <= FEW


async def test_the_hash_of_a_bookmark_tries_few_names_in_one_turn(
    many: Node, tries: Tries, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pump, "MATCH_SECONDS", 60.0)
    watching = Watching(many, regex=REGEX, initial=False)
    await watching.up_to_date()
    await many.writing.create_topic(parse_topic("other"), TopicRecord(), many.asked())
    tell(many)
    await quiet(many)
    assert watching.kinds() == ["BOOKMARK", "BOOKMARK"]
    assert len(watching.frames[-1].members["hash"]) == 8
    assert tries.most <= FEW


async def test_a_change_is_tried_on_one_expression_in_a_turn(many: Node, tries: Tries) -> None:
    watchings = [Watching(many, regex=REGEX + "|" + "x" * each, initial=False) for each in range(12)]
    for each in watchings:
        await each.up_to_date()
    tries.most = 0
    await many.writing.create_topic(parse_topic("t"), TopicRecord(), many.asked())
    await quiet(many)
    assert [each.kinds()[-1] for each in watchings] == ["ADDED"] * 12
    assert tries.most <= 2


async def test_findings_at_once_try_few_names_in_one_turn_all_together(many: Node, tries: Tries) -> None:
    finder = Finding(many.engine)
    queries = [TopicQuery(regex=parse_regex(f"t[0-9]*|{each}")) for each in range(6)]
    found = await asyncio.gather(*(finder.find(DEFAULT, each, lambda _: None) for each in queries))
    assert [each.count for each in found] == [NUMBER] * 6
    assert tries.most <= 3 * FEW


async def test_whoever_watches_and_finds_with_one_expression_tries_each_name_once(many: Node, tries: Tries) -> None:
    watchings = [Watching(many, regex=REGEX) for _ in range(3)]
    for each in watchings:
        await each.up_to_date()
    await Finding(many.engine).find(DEFAULT, TopicQuery(regex=parse_regex(REGEX)), lambda _: None)
    assert tries.all == NUMBER


def test_what_was_tried_until_it_was_late_is_not_tried_again() -> None:
    outcome, regex, keys = Outcome(), parse_regex(".*[02468]"), [str(number) for number in range(10)]
    everything = BitMap(range(10))
    assert not outcome.cover(regex, everything, keys, lambda: True)
    assert (list(outcome.tried), list(outcome.matching)) == ([0, 1, 2, 3], [0, 2])
    assert outcome.cover(regex, everything, keys, lambda: False)
    assert (len(outcome.tried), list(outcome.matching)) == (10, [0, 2, 4, 6, 8])
