"""Cuts: topics as they were, read while the fold goes on."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import an_id, folded, namespace_delete, namespace_put, topic_delete, topic_put
from topicfold.runtime import cut as cut_module
from topicfold.runtime.cut import Cuts, NamespaceCut
from topicfold.state.fold import PartitionState
from topicfold.state.topic_table import TopicTable

NAMESPACE = "public/default"
Rows = list[tuple[str, dict[str, str]]]


class Watched:
    """A namespace with topics, whose changes are published to `cuts`."""

    def __init__(self, *keys: str) -> None:
        self.state: PartitionState = folded(namespace_put(1))
        self.cuts = Cuts()
        self._ids = 1
        self._versions: dict[str, bytes] = {}
        for key in keys:
            self.label(key, v="0")

    @property
    def table(self) -> TopicTable:
        """Its topics."""
        return self.state.topics[NAMESPACE]

    def label(self, key: str, **labels: str) -> None:
        """Give a topic these labels."""
        self._apply(topic_put, key, labels=labels)

    def end(self, key: str) -> None:
        """End a topic."""
        self._apply(topic_delete, key)

    def open(self) -> NamespaceCut:
        """Take a cut of all that is live."""
        return self.cuts.open(NAMESPACE, self.table, list(self.table.live))

    def _apply(self, event, key: str, **fields: object) -> None:  # type: ignore[no-untyped-def]
        self._ids += 1
        base = self._versions.get(key, bytes(16))
        name = f"persistent://{NAMESPACE}/{key}"
        change = self.state.apply(self.state.position, event(self._ids, an_id(1), base, name=name, **fields))
        self._versions[key] = an_id(self._ids)
        if change.effect is not None:
            self.cuts.publish(change.effect)


def rows(cut: NamespaceCut) -> Rows:
    """Return all that is left of a cut, taken two at a time."""
    taken = []
    while numbers := cut.take(2):
        taken += [(key, dict(row.labels)) for key, row in cut.rows(numbers)]
    return taken


def test_a_cut_shows_what_was_there_when_it_was_taken() -> None:
    watched = Watched("a", "b")
    cut = watched.open()
    watched.label("a", v="1")
    watched.end("b")
    watched.label("c", v="1")
    assert rows(cut) == [("a", {"v": "0"}), ("b", {"v": "0"})]


def test_what_changes_while_it_is_read_is_shown_as_it_was() -> None:
    watched = Watched("a", "b")
    cut = watched.open()
    cut.take(1)
    watched.label("b", v="1")
    watched.label("b", v="2")
    assert rows(cut) == [("b", {"v": "0"})]


def test_only_topics_that_have_not_changed_are_read_from_the_table() -> None:
    watched = Watched("a", "b", "c")
    cut = watched.open()
    assert cut.is_unchanged([0, 1, 2])
    watched.label("b", v="1")
    watched.end("c")
    assert [cut.is_unchanged([number]) for number in range(3)] == [True, False, False]


def test_cuts_of_different_moments_show_different_things() -> None:
    watched = Watched("a")
    cuts = []
    for value in "123":
        cuts.append(watched.open())
        watched.label("a", v=value)
    assert [rows(cut) for cut in cuts] == [[("a", {"v": value})] for value in "012"]


def test_the_end_of_the_namespace_leaves_a_cut_as_it_was() -> None:
    watched = Watched("a")
    cut = watched.open()
    watched.label("a", v="1")
    b = topic_put(92, an_id(91), bytes(16), name=f"persistent://{NAMESPACE}/b", labels={"v": "2"})
    for event in (namespace_delete(90, an_id(1)), namespace_put(91, an_id(90)), b):
        effect = watched.state.apply(watched.state.position, event).effect
        assert effect is not None
        watched.cuts.publish(effect)
    next_life = watched.open()
    assert rows(cut) == [("a", {"v": "0"})]
    assert rows(next_life) == [("b", {"v": "2"})]


def test_a_cut_that_too_much_changed_since_is_lost_and_a_newer_one_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cut_module, "MAX_CHANGES", 3)
    watched = Watched("a", "b")
    old = watched.open()
    watched.label("a", v="1")
    young = watched.open()
    for value in "234":
        watched.label("a", v=value)
    assert old.is_lost
    assert rows(old) == []
    assert not young.is_lost
    assert rows(young) == [("a", {"v": "1"}), ("b", {"v": "0"})]


def test_what_no_open_cut_needs_is_forgotten() -> None:
    watched = Watched("a", "b")
    first, second = watched.open(), watched.open()
    watched.label("a", v="1")
    third = watched.open()
    watched.label("b", v="1")
    kept = []
    for cut in (first, second, second, third):
        cut.close()
        kept.append(len(third._past._order))
    assert kept == [2, 1, 1, 0]
    assert third._past._rows == {}


@given(st.lists(st.tuples(st.sampled_from("cxr"), st.integers(0, 4)), max_size=60))
def test_a_cut_shows_what_a_copy_would_whatever_happens(steps: list[tuple[str, int]]) -> None:
    watched = Watched(*"abcde")
    taken: list[tuple[NamespaceCut, Rows]] = []
    for value, (kind, number) in enumerate(steps):
        if kind == "c":
            taken.append((watched.open(), rows(watched.open())))
        elif kind == "x":
            watched.label("abcde"[number], v=str(value))
        elif taken:
            cut, copy = taken.pop(number % len(taken))
            assert rows(cut) == copy
            cut.close()
    assert all(rows(cut) == copy for cut, copy in taken)
