"""Where to read on: behind what was returned, as long as nobody else may have read on there."""

from __future__ import annotations

from topicfold.client.consuming.going_on import GO_ON_SECONDS, GoingOn

A, B = ("orders", 0), ("orders", 1)


def test_what_came_next_of_what_was_left_is_told_once() -> None:
    going_on = GoingOn()
    going_on.at({A: 7, B: 0})
    going_on.leave(now=0.0)
    assert going_on.take_left([A], now=1.0) == {A: 7}
    assert going_on.take_left([A, B], now=GO_ON_SECONDS) == {B: 0}


def test_what_was_told_and_not_begun_again_is_not_told_when_the_next_one_is_left() -> None:
    going_on = GoingOn()
    going_on.at({A: 7})
    going_on.leave(now=0.0)
    going_on.take_left([A], now=1.0)
    going_on.leave(now=2.0)
    assert going_on.take_left([A], now=3.0) == {}


def test_what_was_left_long_ago_was_revoked_or_is_another_topic_is_not_read_on() -> None:
    going_on = GoingOn()
    going_on.at({A: 7, B: 3, ("refunds", 0): 1})
    going_on.revoked([B])
    going_on.leave(now=0.0)
    going_on.forget({"refunds"})
    assert going_on.take_left([B, ("refunds", 0)], now=1.0) == {}
    assert going_on.take_left([A], now=GO_ON_SECONDS + 1.0) == {}


def test_what_was_left_and_not_begun_again_is_kept_when_the_next_one_is_left() -> None:
    going_on = GoingOn()
    going_on.at({A: 7})
    going_on.leave(now=0.0)
    going_on.at({B: 2})
    going_on.leave(now=50.0)
    assert going_on.take_left([A, B], now=100.0) == {A: 7, B: 2}


def test_more_was_handed_out_than_returned_where_kafkas_client_is_further() -> None:
    going_on = GoingOn()
    going_on.at({A: 7, B: 3})
    new, untouched = ("refunds", 0), ("refunds", 1)
    assert going_on.thrown_away({A: 7, B: 5, new: 1, untouched: -1001}) == {B: 3, new: -1}
