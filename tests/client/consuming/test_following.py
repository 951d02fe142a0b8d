"""Following a set of topics by frames: what settles when, and what happens where they end or are replaced."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from queue import Queue

import pytest

from topicfold.client.consuming.following import LATEST_SECONDS, QUIET_SECONDS, Following
from topicfold.client.find_answers import Match
from topicfold.client.frames import Added, Bookmark, Deleted, Frame, Reset
from topicfold.client.live_set import NetChange
from topicfold.errors import Forbidden, InvalidRequest, TopicfoldError

START = Bookmark("c0", is_initial=True)


def topic(name: str) -> Match:
    return Match(name, {}, "v1", 0)


def added(name: str) -> Frame:
    return Added("c", topic(name))


class Told:
    """Frames that a test tells, with an error or the end at last."""

    def __init__(self, *frames: Frame | TopicfoldError) -> None:
        self.queue: Queue[Frame | TopicfoldError | None] = Queue()
        self.is_closed = False
        for frame in frames:
            self.queue.put(frame)

    def __iter__(self) -> Iterator[Frame]:
        while (frame := self.queue.get()) is not None:
            if isinstance(frame, TopicfoldError):
                raise frame
            yield frame

    def close(self) -> None:
        self.is_closed = True
        self.queue.put(None)


@pytest.fixture
def following() -> Iterator[Following]:
    following = Following()
    yield following
    following.close()


def changes(following: Following, seconds: float = 5.0) -> list[NetChange]:
    """Return the next changes that settle within the time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if taken := [change for change in following.take_changes() if change]:
            return taken
        threading.Event().wait(0.005)
    return []


def test_before_anything_is_followed_no_topic_matches_and_none_came(following: Following) -> None:
    assert (following.topics, following.take_changes()) == ({}, [])


def test_the_start_state_is_the_first_change(following: Following) -> None:
    assert following.follow(Told(added("a"), Bookmark("c"), added("b"), START)) == NetChange(("a", "b"))
    assert following.take_changes() == [NetChange(("a", "b"))]
    assert set(following.topics) == {"a", "b"}


def test_changes_settle_together_once_it_has_been_quiet(following: Following) -> None:
    told = Told(START)
    following.follow(told)
    following.take_changes()
    began = time.monotonic()
    told.queue.put(added("a"))
    told.queue.put(added("b"))
    assert changes(following) == [NetChange(("a", "b"))]
    assert time.monotonic() - began >= QUIET_SECONDS * 0.9


def test_changes_that_never_pause_settle_all_the_same(following: Following) -> None:
    told = Told(START)
    following.follow(told)
    following.take_changes()
    end = time.monotonic() + 3 * LATEST_SECONDS
    names = []
    while not (names or time.monotonic() > end):
        told.queue.put(added(f"t{time.monotonic()}"))
        names = following.take_changes()
        threading.Event().wait(QUIET_SECONDS / 10)
    assert names


def test_bookmarks_change_nothing(following: Following) -> None:
    told = Told(START)
    following.follow(told)
    following.take_changes()
    told.queue.put(Bookmark("c1"))
    threading.Event().wait(1.5 * QUIET_SECONDS)
    assert following.take_changes() == []


def test_while_a_start_state_is_told_anew_what_matched_before_still_does(following: Following) -> None:
    told = Told(added("a"), START, Reset("too old"), added("z"), Reset("too old again"), added("b"))
    following.follow(told)
    following.take_changes()
    while not following.take_changes():
        threading.Event().wait(0.005)
    assert set(following.topics) == {"a"}
    told.queue.put(START)
    assert changes(following) == [NetChange(("b",), ("a",))]


def test_what_is_followed_instead_changes_only_what_differs(following: Following) -> None:
    first = Told(added("a"), added("b"), START)
    following.follow(first)
    assert following.follow(Told(added("b"), added("c"), START)) == NetChange(("c",), ("a",))
    assert first.is_closed


class ToldLate(Told):
    """Frames of which one more is on its way when they are closed."""

    def close(self) -> None:
        self.queue.put(added("late"))
        super().close()


@pytest.mark.parametrize("told", [Told, ToldLate])
def test_what_still_comes_of_frames_that_are_followed_no_more_counts_for_nothing(
    following: Following, told: type[Told]
) -> None:
    before = {*threading.enumerate()}
    following.follow(told(added("a"), START))
    [reader] = {*threading.enumerate()} - before
    following.follow(Told(added("b"), START))
    reader.join(5)
    following.take_changes()
    assert set(following.topics) == {"b"}


def test_a_process_ends_though_nobody_ended_following(following: Following) -> None:
    before = {*threading.enumerate()}
    following.follow(Told(START))
    [reader] = {*threading.enumerate()} - before
    assert reader.daemon


def test_frames_that_fail_at_once_leave_everything_as_it_was(following: Following) -> None:
    first = Told(added("a"), START)
    following.follow(first)
    following.take_changes()
    refused = Told(added("z"), Forbidden("no"))
    with pytest.raises(Forbidden):
        following.follow(refused)
    assert (refused.is_closed, first.is_closed) == (True, False)
    assert set(following.topics) == {"a"}
    first.queue.put(Deleted("c", topic("a")))
    assert changes(following) == [NetChange((), ("a",))]


def test_nothing_can_be_followed(following: Following) -> None:
    following.follow(Told(added("a"), START))
    assert following.follow_nothing() == NetChange((), ("a",))
    assert following.topics == {}


def test_an_error_is_told_again_and_again_and_the_set_stays(following: Following) -> None:
    told = Told(added("a"), START)
    following.follow(told)
    following.take_changes()
    told.queue.put(Forbidden("no more"))
    for _ in range(2):
        with pytest.raises(Forbidden):
            changes(following)
    assert set(following.topics) == {"a"}


def test_after_an_error_something_else_can_be_followed(following: Following) -> None:
    following.follow(Told(START, Forbidden("no more")))
    with pytest.raises(Forbidden):
        changes(following)
    following.follow(Told(added("a"), START))
    assert changes(following) == [NetChange(("a",))]


def test_frames_that_begin_when_it_was_closed_are_closed_as_well() -> None:
    following, frames = Following(), Told(added("a"))
    with ThreadPoolExecutor(1) as thread:
        change = thread.submit(following.follow, frames)
        following.close()
        frames.queue.put(START)
        with pytest.raises(RuntimeError, match="closed"):
            change.result(10)
    assert frames.is_closed


def test_closing_closes_what_is_followed() -> None:
    following, told = Following(), Told(START)
    following.follow(told)
    following.close()
    assert told.is_closed


def test_frames_that_end_while_they_are_followed_are_told() -> None:
    following, told = Following(), Told(added("a"), START)
    following.follow(told)
    following.take_changes()
    told.close()
    with pytest.raises(InvalidRequest, match="the client was closed"):
        changes(following)
    following.close()
