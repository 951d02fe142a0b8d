"""Who is let in at the same time, and who waits for whom."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable

import pytest

from topicfold.client.consuming.gate import Gate


def started(do: Callable[[], None]) -> threading.Thread:
    """Return a thread that does this."""
    thread = threading.Thread(target=do, daemon=True)
    thread.start()
    return thread


def test_any_number_is_inside_at_the_same_time() -> None:
    gate, both = Gate(), threading.Barrier(2, timeout=10)

    def go_in() -> None:
        with gate:
            both.wait()

    other = started(go_in)
    go_in()
    other.join(10)
    assert not other.is_alive()


def test_whoever_is_to_be_alone_waits_for_others_and_keeps_them_out() -> None:
    gate, told = Gate(), list[str]()
    inside, may_leave, alone, may_end = (threading.Event() for _ in range(4))

    def go_in() -> None:
        with gate:
            inside.set()
            may_leave.wait(10)
            told.append("left")

    def be_alone() -> None:
        with gate.alone():
            told.append("alone")
            alone.set()
            may_end.wait(10)
            told.append("ended")

    def come_later() -> None:
        with gate:
            told.append("came")

    threads = [started(go_in)]
    assert inside.wait(10)
    threads.append(started(be_alone))
    assert not alone.wait(0.05)
    may_leave.set()
    assert alone.wait(10)
    threads.append(started(come_later))
    threads[-1].join(0.05)
    may_end.set()
    for each in threads:
        each.join(10)
    assert told == ["left", "alone", "ended", "came"]


def test_a_thread_never_waits_for_itself() -> None:
    gate = Gate()
    with gate, gate, gate.alone(), gate.alone(), gate:
        pass
    other = started(gate.__enter__)
    other.join(10)
    assert not other.is_alive()


def test_who_is_inside_goes_in_again_while_another_waits_to_be_alone() -> None:
    gate, (inside, again, is_alone) = Gate(), [threading.Event() for _ in range(3)]

    def go_in() -> None:
        with gate:
            inside.set()
            again.wait(10)
            with gate:
                pass

    def be_alone() -> None:
        with gate.alone():
            is_alone.set()

    threads = [started(go_in)]
    assert inside.wait(10)
    threads.append(started(be_alone))
    assert not is_alone.wait(0.05)
    again.set()
    assert is_alone.wait(10)
    for each in threads:
        each.join(10)


def test_whoever_is_interrupted_before_he_is_alone_keeps_nobody_out() -> None:
    gate, inside, may_leave = Gate(), threading.Event(), threading.Event()

    def go_in() -> None:
        with gate:
            inside.set()
            may_leave.wait(10)

    threads = [started(go_in)]
    assert inside.wait(10)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(KeyboardInterrupt), gate.alone():
            pass
    finally:
        signal.signal(signal.SIGALRM, before)
    threads.append(started(go_in))
    may_leave.set()
    for each in threads:
        each.join(10)
        assert not each.is_alive()


def test_who_gives_way_waits_for_those_who_are_inside_and_for_nobody_who_comes_later() -> None:
    gate, turns = Gate(), [threading.Event() for _ in range(3)]
    first_is_in, first_may_leave, end = turns

    def go_in_first() -> None:
        with gate, gate:
            first_is_in.set()
            first_may_leave.wait(10)

    def go_in_later() -> None:
        with gate:
            first_may_leave.set()
            end.wait(10)

    threads = [started(go_in_first)]
    assert first_is_in.wait(10)
    assert not gate.give_way(0.01)
    later = threading.Timer(0.05, go_in_later)
    later.start()
    assert gate.give_way(10)
    end.set()
    for each in (*threads, later):
        each.join(10)
    with gate:
        assert gate.give_way(0)


def test_who_gives_way_while_inside_waits_for_the_last_who_came_in() -> None:
    gate, inside, may_leave = Gate(), threading.Event(), threading.Event()

    def go_in() -> None:
        with gate:
            inside.set()
            may_leave.wait(10)

    with gate:
        other = started(go_in)
        assert inside.wait(10)
        assert not gate.give_way(0.01)
        may_leave.set()
        assert gate.give_way(10)
    other.join(10)


def test_who_went_in_once_more_and_out_again_is_waited_for_still() -> None:
    gate, (inside, again, may_leave) = Gate(), [threading.Event() for _ in range(3)]

    def go_in() -> None:
        with gate:
            inside.set()
            again.wait(10)
            with gate:
                pass
            may_leave.wait(10)

    other = started(go_in)
    assert inside.wait(10)
    later = threading.Timer(0.02, again.set)
    later.start()
    assert not gate.give_way(0.2)
    may_leave.set()
    for each in (other, later):
        each.join(10)


def test_two_are_not_alone_at_the_same_time() -> None:
    gate, second = Gate(), threading.Event()

    def be_alone() -> None:
        with gate.alone():
            second.set()

    with gate.alone():
        other = started(be_alone)
        assert not second.wait(0.05)
    assert second.wait(10)
    other.join(10)
