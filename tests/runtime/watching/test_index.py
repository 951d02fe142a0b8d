"""The watch index: whom a change may concern."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest

from tests.builders import an_id, fold, folded, namespace_put, topic_put
from tests.guarantees.watch_clients import PATTERNS, SELECTORS
from topicfold.log.port import LogIdentity
from topicfold.model.finding.pattern import SEPARATOR, parse_pattern
from topicfold.model.finding.query import TopicQuery
from topicfold.model.finding.regex import parse_regex
from topicfold.model.finding.selector_text import parse_selector
from topicfold.model.namespaces import Namespaces
from topicfold.model.records import NO_GRANTS
from topicfold.runtime.watching.group import Group
from topicfold.runtime.watching.index import WatchIndex
from topicfold.runtime.watching.subject import Subject, borne
from topicfold.server.frames import Frames
from topicfold.state.aggregate import NO_ETAG
from topicfold.state.change import TopicDelta, TopicRow
from topicfold.state.indexes.label_index import LabelIndex

ENCODING = Frames(LogIdentity(bytes(16), 1, "x"), as_events=True)


def group(selector: str = "", patterns: tuple[str, ...] = (), regex: str | None = None) -> Group:
    """Return a group that watches this."""
    compiled = None if regex is None else parse_regex(regex)
    query = TopicQuery(parse_selector(selector), tuple(map(parse_pattern, patterns)), compiled)
    return Group(Subject(query, Namespaces(("a/b",)), ENCODING), frozenset({0}), {})


def row(**labels: str) -> TopicRow:
    """Return a topic with these labels."""
    return TopicRow(tuple(labels.items()), 0, None, NO_ETAG, 0, NO_GRANTS)


def delta(key: str, before: TopicRow | None, after: TopicRow | None) -> TopicDelta:
    """Return a change of the topic `key`."""
    return TopicDelta("a/b", key, before, after, 0)


def filed(*groups: Group, labels: Sequence[LabelIndex] = ()) -> WatchIndex:
    """Return an index of these groups."""
    index = WatchIndex(SEPARATOR)
    for each in groups:
        index.add(each, each.subject.query, labels)
    return index


def test_a_group_is_found_by_what_a_topic_bore_and_by_what_it_bears() -> None:
    mine, other = group("team=pay"), group("team=risk")
    index = filed(mine, other)
    assert index.candidates(delta("x", row(team="pay"), row())) == {mine}
    assert index.candidates(delta("x", None, row(team="risk"))) == {other}
    assert index.candidates(delta("x", row(team="pay"), row(team="risk"))) == {mine, other}
    assert index.candidates(delta("x", row(team="none"), None)) == set()


def test_a_group_is_filed_under_the_rarest_of_what_it_demands() -> None:
    events = [
        topic_put(10 + n, an_id(1), name=f"persistent://public/default/t{n}", labels={"env": "prod", "t": str(n)})
        for n in range(9)
    ]
    state = folded(namespace_put(1))
    fold(state, events)
    mine = group("env=prod,t=3")
    index = filed(mine, labels=[state.topics["public/default"].index])
    assert index.candidates(delta("x", None, row(env="prod"))) == set()
    assert index.candidates(delta("x", None, row(t="3"))) == {mine}


def test_what_demands_no_label_is_found_by_its_patterns_and_else_always() -> None:
    by_name, always = group("!legacy", ("pay__*",)), group("!legacy", (), "pay.*")
    index = filed(by_name, always)
    assert index.candidates(delta("pay__refund", None, row())) == {by_name, always}
    assert index.candidates(delta("risk__refund", None, row())) == {always}


def test_nothing_is_left_of_groups_that_are_gone() -> None:
    groups = [group(selector, patterns) for selector in SELECTORS for patterns in PATTERNS]
    index = filed(*groups)
    assert len(index) == len(set(index.all())) == len(groups)
    for each in groups:
        index.discard(each, each.subject.query)
    assert len(index) == 0
    assert index.candidates(delta("x__y", row(k="v", l="w"), row(k="3"))) == set()
    assert not index._places


@pytest.mark.parametrize("seed", range(300))
def test_everybody_whom_a_change_concerns_is_among_the_candidates(seed: int) -> None:
    random = Random(seed)
    groups = [
        group(random.choice(SELECTORS), random.choice(PATTERNS), random.choice((None, "x.*", ".*y"))) for _ in range(20)
    ]
    index = filed(*groups)

    def any_row() -> TopicRow | None:
        keys = random.sample("klm", random.randrange(4))
        return random.choice((None, row(**{key: random.choice("vw37") for key in keys})))

    change = delta(random.choice(("x", "x__y", "z__z", "y")), any_row(), any_row())
    concerned = {each for each in groups if each.subject.kind_of(change, borne(change))}
    assert concerned <= index.candidates(change)
