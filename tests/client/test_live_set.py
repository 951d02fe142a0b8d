"""The set that a watch tells of: what is in it, and what came and went since one last asked."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from topicfold.client.find_answers import Match
from topicfold.client.frames import Added, Bookmark, Deleted, Frame, Modified, Reset
from topicfold.client.live_set import LiveSet, NetChange

COMPLETE = Bookmark("c0", is_initial=True)


def topic(name: str, **labels: str) -> Match:
    return Match(name, labels, "v1", 0)


def added(name: str) -> Added:
    return Added("c", topic(name))


def held(*frames: Frame) -> LiveSet:
    live = LiveSet()
    for frame in frames:
        live.apply(frame)
    return live


def test_nothing_has_changed_before_the_start_state_is_complete() -> None:
    live = held(added("b"), added("a"))
    assert (live.is_complete, live.take_change()) == (False, NetChange())
    live.apply(COMPLETE)
    assert (live.is_complete, live.take_change()) == (True, NetChange(("a", "b"), ()))


def test_what_came_and_what_went_is_told_once_and_nothing_is_kept_of_it() -> None:
    live = held(added("a"), COMPLETE)
    for change, frame in ((("a",), ()), Bookmark("c1")), (((), ("a",)), Deleted("c", topic("a"))):
        live.apply(frame)
        told = live.take_change()
        assert told and told == NetChange(*change)  # noqa: PT018 -- that it is a change, and which
        assert not live.take_change()
        assert not live._touched


def test_what_came_and_went_in_between_is_no_change() -> None:
    live = held(added("a"), COMPLETE)
    live.take_change()
    for frame in (added("b"), Deleted("c", topic("b")), Deleted("c", topic("a")), added("a")):
        live.apply(frame)
    assert not live.take_change()


def test_names_that_went_are_told_in_order_as_those_that_came() -> None:
    names = tuple("abcdefgh")
    live = held(*map(added, reversed(names)), COMPLETE)
    assert live.take_change() == NetChange(names)
    live.apply(Reset("too far behind"))
    live.apply(COMPLETE)
    assert live.take_change() == NetChange((), names)


def test_a_topic_that_is_in_the_state_after_a_reset_too_neither_goes_nor_comes() -> None:
    live = held(added("a"), added("b"), COMPLETE)
    live.take_change()
    for frame in (Reset("too far behind"), added("b"), added("c")):
        live.apply(frame)
    assert not live.take_change()
    live.apply(COMPLETE)
    assert live.take_change() == NetChange(("c",), ("a",))


def test_labels_are_those_that_were_told_last() -> None:
    live = held(added("a"), COMPLETE, Modified("c", topic("a", tier="gold"), {}))
    assert live.topics["a"].labels == {"tier": "gold"}


FRAMES = st.one_of(
    st.builds(added, st.sampled_from("abc")),
    st.builds(lambda name: Deleted("c", topic(name)), st.sampled_from("abc")),
    st.just(Reset("")),
    st.just(COMPLETE),
)


@given(st.lists(st.tuples(FRAMES, st.booleans())))
def test_changes_add_up_to_the_set_whenever_they_are_taken(steps: list[tuple[Frame, bool]]) -> None:
    live, mine = LiveSet(), set[str]()
    for frame, takes in [*steps, (COMPLETE, True)]:
        live.apply(frame)
        change = live.take_change() if takes else NetChange()
        assert mine.isdisjoint(change.added)
        assert mine.issuperset(change.removed)
        mine = (mine | set(change.added)) - set(change.removed)
    assert mine == set(live.topics)
