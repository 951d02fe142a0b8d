"""The window: what watchers resume from."""

from __future__ import annotations

import tracemalloc
from itertools import pairwise

from hypothesis import given

from tests.builders import empty_state, fold
from tests.state.histories import PARTITION, PARTITIONS, Log, logs
from topicfold.model.namespaces import parse_namespaces
from topicfold.model.records import NO_GRANTS
from topicfold.runtime.watching.packed_events import BLOCK_BYTES
from topicfold.runtime.watching.window import _KEPT_BEFORE_FIRST, Seen, Window
from topicfold.state.aggregate import Etag
from topicfold.state.change import NamespaceTurn, TopicChange, TopicDelta, TopicRow

NAMESPACES = ["a/b"]
BEFORE = TopicRow((("team", "pay"), ("tier", "gold")), 0, None, Etag(bytes(16), 1), 3, NO_GRANTS)
AFTER = TopicRow((("team", "pay"),), 4, "orders.eu", Etag(b"e" * 16, 2), 7, {"ann": ("consume", "watch")})


def turn(offset: int) -> NamespaceTurn:
    """Return some effect of the event at `offset`."""
    return NamespaceTurn("a/b", True, offset)


def offsets(window: Window, start: int, end: int = 10**6) -> list[int]:
    """Return where what came between two positions lies, in partition 0."""
    return [effect.offset for effect, _ in window.between(0, start, end, NAMESPACES)]


def test_what_goes_in_comes_out_equal() -> None:
    window = Window({0: 0})
    seen = [
        (TopicDelta("a/b", "orders", BEFORE, AFTER, 7), b"audit"),
        (TopicDelta("a/b", "orders", None, AFTER, 8), b""),
        (TopicDelta("a/b", "orders", AFTER, None, 9), b"x"),
        (NamespaceTurn("a/b", False, 11), b"y"),
    ]
    for effect, audit in seen:
        window.add(0, effect, audit)
    assert window.between(0, 0, 12, NAMESPACES) == seen


@given(logs)
def test_what_the_fold_makes_comes_out_as_what_it_shows(log: Log) -> None:
    window, shown = Window({PARTITION: 0}), []
    for change in fold(empty_state(PARTITION, PARTITIONS), log):
        effect, event = change.effect, change.event
        if effect is not None and event is not None:
            window.add(PARTITION, effect, event.audit)
            shown.append((effect.delta() if isinstance(effect, TopicChange) else effect, event.audit))
    namespaces = {each.namespace for each, _ in shown}
    assert window.between(PARTITION, 0, len(log), namespaces) == shown
    for namespace in namespaces:
        expected = [each for each in shown if each[0].namespace == namespace]
        assert window.between(PARTITION, 0, len(log), [namespace]) == expected


def test_only_what_lies_between_comes() -> None:
    window = Window({0: 0})
    for offset in (1, 4, 6, 9):
        window.add(0, turn(offset), b"")
    assert offsets(window, 4) == [4, 6, 9]
    assert offsets(window, 5, 9) == [6]
    assert offsets(window, 10) == []


def test_the_floor_is_so_many_events_back_and_never_below_where_the_node_folds_from() -> None:
    window = Window({0: 0, 1: 50}, size=10)
    assert [window.floor(0, position) for position in (0, 10, 11, 100)] == [0, 0, 1, 90]
    assert [window.floor(1, position) for position in (50, 60, 61)] == [50, 50, 51]


def test_everything_above_the_floor_is_kept_whatever_was_dropped() -> None:
    window = Window({0: 0}, size=500)
    for offset in range(0, 9_000, 3):
        window.add(0, turn(offset), b"")
        floor = window.floor(0, offset + 1)
        assert offsets(window, floor, floor + 3) == [floor + -floor % 3]
    assert offsets(window, 8_500) == list(range(8_502, 9_000, 3))


def test_one_of_no_size_keeps_nothing() -> None:
    window = Window({0: 0}, size=0)
    for offset in range(3_000):
        window.add(0, turn(offset), b"")
    assert window.floor(0, 3_000) == 3_000
    assert window._bytes[0] == 0
    assert len(window._offsets[0]) <= _KEPT_BEFORE_FIRST


def test_what_is_below_the_floor_takes_no_memory() -> None:
    window = Window({0: 0}, size=100)
    for offset in range(10_000):
        window.add(0, turn(offset), bytes(100))
    assert len(window._seen[0]) < BLOCK_BYTES + 100 * 250
    assert len(window._offsets[0]) < 1_500


def test_events_are_no_objects_of_their_own() -> None:
    window = Window({0: 0})
    tracemalloc.start()
    try:
        for offset in range(5_000):
            window.add(0, turn(offset), bytes(100))
        assert len(tracemalloc.take_snapshot().traces) < 500
    finally:
        tracemalloc.stop()


def test_of_what_is_added_below_only_as_much_is_kept_as_there_is_room_for() -> None:
    window = Window({0: 1_000}, size=100)
    older = window.below(0, 0)
    for offset in range(1_000):
        older.add(0, turn(offset), b"")
    window.extend(0, older)
    assert (window.start(0), offsets(window, 0)) == (900, list(range(900, 1_000)))
    window.add(0, turn(1_000), b"")
    assert offsets(window, 0) == list(range(901, 1_001))


def test_partitions_know_nothing_of_each_other() -> None:
    window = Window({0: 0, 1: 0})
    window.add(1, turn(3), b"")
    assert offsets(window, 0) == []


def ended(window: Window, place: str, start: int) -> str | None:
    """Return one of the namespaces of `place` that ended in partition 0 from `start` on."""
    return window.ended(0, start, parse_namespaces([place]))


def test_where_a_namespace_ended_last_is_known_as_far_back_as_the_window_goes() -> None:
    window = Window({0: 10, 1: 0}, size=100)
    for offset, is_live in ((10, True), (20, False), (21, True), (30, False)):
        window.add(0, NamespaceTurn("a/b", is_live, offset), b"")
    older = window.below(0, 0)
    for name, offset in (("a/c", 3), ("a/b", 5)):
        older.add(0, NamespaceTurn(name, False, offset), b"")
    window.extend(0, older)
    for place in ("a/b", "*/b"):
        assert [ended(window, place, start) for start in (0, 30, 31)] == ["a/b", "a/b", None]
    for place in ("a/c", "a/c*"):
        assert [ended(window, place, start) for start in (3, 4)] == ["a/c", None]
    assert ended(window, "a/d*", 0) is None
    assert window.ended(1, 0, parse_namespaces(["a/b"])) is None
    window.add(0, turn(129), b"")
    for place in ("a/b", "*"):
        assert ended(window, place, 30) == "a/b"
    assert ended(window, "a/c", 0) is None
    window.add(0, turn(131), b"")
    for place in ("a/b", "*"):
        assert ended(window, place, 0) is None


def test_where_a_live_topic_had_its_own_grants_changed_last_is_known_as_far_back_as_the_window_goes() -> None:
    window = Window({0: 0}, size=10)
    for before, after, offset in ((BEFORE, AFTER, 1), (AFTER, AFTER, 2), (AFTER, BEFORE, 3), (AFTER, None, 4)):
        window.add(0, TopicDelta("a/b", "orders", before, after, offset), b"")
    assert window.has_other_grants(0, "a/b", "orders", 3)
    assert not window.has_other_grants(0, "a/b", "orders", 4)
    assert not window.has_other_grants(0, "a/b", "other", 0)
    window.add(0, turn(14), b"")
    assert not window.has_other_grants(0, "a/b", "orders", 0)


def granted(count: int, *more: str) -> TopicRow:
    """Return a row of a topic on which so many roles may consume, and `more` produce."""
    return AFTER._replace(
        grants=dict.fromkeys(map(str, range(count)), ("consume",)) | dict.fromkeys(more, ("produce",))
    )


def changes_of(*rows: TopicRow | None, key: str = "orders", start: int = 0) -> list[TopicDelta]:
    """Return what makes each of `rows` of a topic the one after it."""
    pairs = enumerate(pairwise(rows), start)
    return [TopicDelta("a/b", key, before, after, offset) for offset, (before, after) in pairs]


def test_many_grants_come_out_as_they_went_in_whatever_becomes_of_them() -> None:
    window = Window({0: 0})
    few, many, more, other = granted(3), granted(1_000), granted(1_000, "ann", "7"), granted(999, "bob")
    rows = [None, few, many, many, more, many, few, many, None, other, *[many, more] * 30, other]
    seen: list[Seen] = [(each, b"audit") for each in changes_of(*rows)]
    for effect, audit in seen:
        window.add(0, effect, audit)
    assert window.between(0, 0, 100, NAMESPACES) == seen
    after = [effect.after for effect, _ in window.between(0, 1, 5, NAMESPACES) if isinstance(effect, TopicDelta)]
    assert [row and len(row.grants) for row in after] == [1_000, 1_000, 1_001, 1_000]


def test_events_before_which_something_else_became_of_a_topic_have_their_own_grants() -> None:
    window = Window({0: 0})
    seen: list[Seen] = [
        (each, b"") for each in (*changes_of(None, granted(100)), *changes_of(granted(90), granted(90), start=7))
    ]
    for effect, audit in seen:
        window.add(0, effect, audit)
    assert window.between(0, 0, 100, NAMESPACES) == seen


def test_events_that_change_few_of_many_grants_take_little() -> None:
    window, rows = Window({0: 0}), [granted(10_000, f"role-{turn % 100}") for turn in range(500)]
    for effect in changes_of(*rows, *[rows[-1]] * 500):
        window.add(0, effect, b"")
    kept = window._seen[0]
    packed = [lists for _, lists in kept.between(0, len(window._offsets[0])) if any(lists)]
    lists = {each for pair in packed for each in pair}
    whole = len(packed[0][0])
    assert (len(packed), len(lists) < 11) == (999, True)
    assert len(kept) < 20 * whole
    assert window._bytes[0] == sum(map(len, lists)) + len(kept)


def test_grants_of_topics_that_nothing_is_said_of_any_more_are_forgotten() -> None:
    window = Window({0: 0}, size=10)
    window.add(0, changes_of(None, granted(100))[0], b"")
    window.add(0, turn(20), b"")
    assert not window._grants[0]._last


def test_where_events_are_large_it_goes_back_as_far_as_there_is_room() -> None:
    window = Window({0: 0}, size=1_000, max_bytes=100_000)
    for offset in range(0, 1_000, 2):
        window.add(0, turn(offset), bytes(1_000))
    floor = window.floor(0, 999)
    assert 800 < floor < 850
    assert window.lowest(0, 999) == floor
    assert offsets(window, floor) == list(range(floor + floor % 2, 1_000, 2))
    for offset in range(1_000, 2_000):
        window.add(0, turn(offset), b"")
    assert window.floor(0, 2_000) == 1_000


def test_what_is_added_below_takes_no_more_than_the_room_there_is() -> None:
    window = Window({0: 1_000}, size=1_000, max_bytes=100_000)
    for offset in range(1_000, 1_050):
        window.add(0, turn(offset), bytes(1_000))
    older = window.below(0, 100)
    for offset in range(100, 1_000):
        older.add(0, turn(offset), bytes(1_000))
    window.extend(0, older)
    assert 940 < window.start(0) == window.floor(0, 1_050) == window.lowest(0, 1_050) < 965
    window.add(0, turn(1_050), bytes(1_000))
    assert offsets(window, 0) == list(range(window.floor(0, 1_051), 1_051))
    assert window._bytes[0] <= 100_000


def test_what_was_added_below_makes_room_for_what_comes() -> None:
    window = Window({0: 100}, size=1_000, max_bytes=100_000)
    older = window.below(0, 0)
    for offset in range(100):
        older.add(0, turn(offset), bytes(1_000))
    window.extend(0, older)
    for offset in range(100, 160):
        window.add(0, turn(offset), bytes(1_000))
    assert 90 < len(offsets(window, 0)) < 100


def test_where_there_is_no_room_at_all_nothing_is_kept_and_nothing_breaks() -> None:
    window = Window({0: 1_000}, size=1_000, max_bytes=1_050)
    window.add(0, turn(1_000), bytes(1_000))
    older = window.below(0, 100)
    for offset in range(100, 1_000):
        older.add(0, turn(offset), bytes(1_000))
    window.extend(0, older)
    assert window.start(0) == window.floor(0, 1_001) == 1_000
    assert offsets(window, 0) == [1_000]
