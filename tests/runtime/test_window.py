"""The window: what watchers resume from."""

from __future__ import annotations

from topicfold.model.records import NO_GRANTS
from topicfold.runtime.window import Window
from topicfold.state.aggregate import Etag
from topicfold.state.change import NamespaceTurn, TopicDelta, TopicRow

BEFORE = TopicRow((("team", "pay"), ("tier", "gold")), 0, None, Etag(bytes(16), 1), 3, NO_GRANTS)
AFTER = TopicRow((("team", "pay"),), 4, "orders.eu", Etag(b"e" * 16, 2), 7, {"ann": ("consume", "watch")})


def turn(offset: int) -> NamespaceTurn:
    """Return some effect of the event at `offset`."""
    return NamespaceTurn("a/b", True, offset)


def offsets(window: Window, start: int, end: int = 10**6) -> list[int]:
    """Return where what came between two positions lies, in partition 0."""
    return [effect.offset for effect, _ in window.between(0, start, end)]


def test_what_goes_in_comes_out_equal() -> None:
    window = Window({0: 0})
    seen = [
        (TopicDelta("a/b", "orders", 5, BEFORE, AFTER, 7), b"audit"),
        (TopicDelta("a/b", "orders", 5, None, AFTER, 8), b""),
        (TopicDelta("a/b", "orders", 5, AFTER, None, 9), b"x"),
        (NamespaceTurn("a/b", False, 11), b"y"),
    ]
    for effect, audit in seen:
        window.add(0, effect, audit)
    assert window.between(0, 0, 12) == seen


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


def test_what_is_below_the_floor_takes_no_memory() -> None:
    window = Window({0: 0}, size=100)
    for offset in range(10_000):
        window.add(0, turn(offset), bytes(100))
    assert sum(map(len, window._seen[0])) < 100 * 250
    assert len(window._offsets[0]) < 1_500


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


def test_where_a_namespace_ended_last_is_known_as_far_back_as_the_window_goes() -> None:
    window = Window({0: 10, 1: 0}, size=100)
    for offset, is_live in ((10, True), (20, False), (21, True), (30, False)):
        window.add(0, NamespaceTurn("a/b", is_live, offset), b"")
    older = window.below(0, 0)
    for name, offset in (("a/c", 3), ("a/b", 5)):
        older.add(0, NamespaceTurn(name, False, offset), b"")
    window.extend(0, older)
    assert [window.has_ended(0, "a/b", start) for start in (0, 30, 31)] == [True, True, False]
    assert [window.has_ended(0, "a/c", start) for start in (3, 4)] == [True, False]
    assert not window.has_ended(1, "a/b", 0)
    window.add(0, turn(129), b"")
    assert window.has_ended(0, "a/b", 30)
    assert not window.has_ended(0, "a/c", 0)
    window.add(0, turn(131), b"")
    assert not window.has_ended(0, "a/b", 0)


def test_where_a_live_topic_had_its_own_grants_changed_last_is_known_as_far_back_as_the_window_goes() -> None:
    window = Window({0: 0}, size=10)
    for before, after, offset in ((BEFORE, AFTER, 1), (AFTER, AFTER, 2), (AFTER, BEFORE, 3), (AFTER, None, 4)):
        window.add(0, TopicDelta("a/b", "orders", 5, before, after, offset), b"")
    assert window.has_other_grants(0, "a/b", "orders", 3)
    assert not window.has_other_grants(0, "a/b", "orders", 4)
    assert not window.has_other_grants(0, "a/b", "other", 0)
    window.add(0, turn(14), b"")
    assert not window.has_other_grants(0, "a/b", "orders", 0)
