"""When a consumer counts as stuck: what it is assigned differs for long from what it is subscribed to."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future
from contextlib import contextmanager

import pytest

from topicfold.client.consuming import assignment_check
from topicfold.client.consuming.assignment_check import LONGEST_PATIENCE_SECONDS, PATIENCE_SECONDS, AssignmentCheck

LATE = PATIENCE_SECONDS + 0.1


class AtOnce:
    """Stands for a pool of one thread whose work is done before anybody looks."""

    def __init__(self, _threads: int, *, thread_name_prefix: str) -> None:
        """Take what a pool takes."""

    def submit(self, work: Callable[[str], Collection[str] | None], member: str) -> Future[Collection[str] | None]:
        done: Future[Collection[str] | None] = Future()
        done.set_result(work(member))
        return done

    def shutdown(self, *, wait: bool, cancel_futures: bool) -> None:
        """Have nothing left to do."""


@pytest.fixture
def _answered_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assignment_check, "ThreadPoolExecutor", AtOnce)


@contextmanager
def check(elsewhere: Collection[str] | None) -> Iterator[AssignmentCheck]:
    """Make one whose group's other members read these topics."""
    check = AssignmentCheck(lambda member: elsewhere if member == "me" else None)
    yield check
    check.close()


def verdict(check: AssignmentCheck, subscribed: str, assigned: str) -> bool:
    """Return what is said of topics with names of one letter, once it has been so for long and Kafka has answered."""
    check.is_stuck(subscribed, assigned, "me", 0.0)
    return check.is_stuck(subscribed, assigned, "me", LATE)


@pytest.mark.usefixtures("_answered_at_once")
def test_a_consumer_that_is_assigned_what_it_is_subscribed_to_is_not_stuck() -> None:
    with check(()) as each:
        assert not verdict(each, "ab", "ab")


@pytest.mark.usefixtures("_answered_at_once")
def test_a_topic_that_nobody_reads_is_a_sign() -> None:
    with check("b") as each:
        assert verdict(each, "abc", "a")


@pytest.mark.usefixtures("_answered_at_once")
def test_a_topic_that_another_member_reads_is_none() -> None:
    with check("bc") as each:
        assert not verdict(each, "abc", "a")


@pytest.mark.usefixtures("_answered_at_once")
def test_a_topic_that_is_assigned_and_not_subscribed_to_is_a_sign_whoever_reads_the_others() -> None:
    with check("b") as each:
        assert verdict(each, "ab", "az")


@pytest.mark.usefixtures("_answered_at_once")
def test_where_kafka_does_not_say_who_reads_what_nobody_is_stuck() -> None:
    with check(None) as each:
        assert not verdict(each, "ab", "a")


def test_nobody_waits_for_what_kafka_says() -> None:
    asked, answer = threading.Event(), threading.Event()

    def elsewhere(_: str) -> Collection[str]:
        asked.set()
        assert answer.wait(60)
        return ()

    check = AssignmentCheck(elsewhere)
    assert not verdict(check, "ab", "a")
    assert asked.wait(60)
    assert not check.is_stuck("ab", "a", "me", LATE)
    answer.set()
    check.close()


def test_what_differs_for_a_moment_is_no_sign() -> None:
    with check(()) as each:
        assert not each.is_stuck("ab", "az", "me", 0.0)
        assert not each.is_stuck("ab", "ab", "me", 1.0)
        assert not each.is_stuck("ab", "az", "me", LATE)


def test_patience_grows_as_long_as_joining_anew_does_not_help() -> None:
    with check(()) as each:
        assert patience(each) == [3, 6, 12, 24, 24]
        assert not each.is_stuck("ab", "ab", "me", 0.0)
        assert patience(each)[:2] == [3, 6]
    assert LONGEST_PATIENCE_SECONDS == 24


@pytest.mark.usefixtures("_answered_at_once")
def test_patience_is_as_short_as_ever_once_another_reads_what_this_one_does_not() -> None:
    others: list[str] = []
    with check(others) as each:
        assert patience(each)[:3] == [3, 6, 12]
        others.append("b")
        each.reset()
        assert not any(each.is_stuck("ab", "a", "me", float(now)) for now in range(60))
        assert patience(each)[:2] == [3, 6]


@pytest.mark.usefixtures("_answered_at_once")
def test_a_member_whose_topics_others_read_asks_ever_more_seldom_until_something_changes() -> None:
    asking = Asking("bcd")
    assert asking.questions("ab", "a", 100) == [3, 9, 18, 33, 60, 87]
    assert asking.questions("abc", "a", 5) == [103]
    assert asking.questions("abcd", "a", 5) == [108]
    asking.check.reset()
    assert asking.questions("ab", "a", 10) == [113, 119]
    asking.check.close()


class Asking:
    """A check that keeps when it asked Kafka, which says that other members read these topics."""

    def __init__(self, elsewhere: str) -> None:
        self.check = AssignmentCheck(self._answer)
        self._elsewhere = elsewhere
        self._asked: list[int] = []
        self._now = 0

    def questions(self, subscribed: str, assigned: str, seconds: int) -> list[int]:
        """Return when Kafka was asked in so many seconds, counted on from before."""
        self._asked = []
        end = self._now + seconds
        while self._now < end:
            self.check.is_stuck(subscribed, assigned, "me", float(self._now))
            self._now += 1
        return self._asked

    def _answer(self, _: str) -> str:
        self._asked.append(self._now)
        return self._elsewhere


def patience(check: AssignmentCheck) -> list[int]:
    """Return after how many seconds each a consumer is found stuck that joins anew in vain, five times."""
    seconds = []
    for _ in range(5):
        check.reset()
        seconds.append(next(now for now in range(100) if check.is_stuck("ab", "az", "me", float(now))))
    return seconds
