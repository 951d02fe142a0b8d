"""What a consumer is subscribed to, as topics come, go and are made anew."""

from __future__ import annotations

from topicfold.client.consuming.subscription import LEAVE_SECONDS, Subscription

DISTRUST_SECONDS = 60.0
NOBODY: frozenset[str] = frozenset()
A = {"a": "id-a"}
B = {"b": "id-b"}
ANEW = {"a": "another"}


def subscribed(**there: str) -> Subscription:
    """Return one that is subscribed to these."""
    subscription = Subscription(DISTRUST_SECONDS)
    subscription.next(there, NOBODY, NOBODY, 0.0)
    return subscription


def test_topics_that_are_there_are_subscribed_to_once() -> None:
    subscription = Subscription(DISTRUST_SECONDS)
    assert subscription.next(A, NOBODY, NOBODY, 0.0) == {"a"}
    assert subscription.next(A, {"a"}, NOBODY, 0.1) is None
    assert subscription.next(A | B, {"a"}, NOBODY, 0.2) == {"a", "b"}


def test_nothing_that_is_there_is_no_subscription() -> None:
    assert Subscription(DISTRUST_SECONDS).next({}, NOBODY, NOBODY, 0.0) is None


def test_a_topic_that_went_is_dropped_once_what_had_arrived_was_delivered() -> None:
    subscription = subscribed(**A, **B)
    assert subscription.next(B, {"a", "b"}, NOBODY, 1.0) is None
    assert subscription.leaving == {"a"}
    assert subscription.next(B, {"a", "b"}, {"a"}, 1.1) is None
    assert subscription.next(B, {"a", "b"}, NOBODY, 1.2) == {"b"}


def test_a_topic_that_went_is_dropped_after_a_second_whatever_had_arrived() -> None:
    subscription = subscribed(**A)
    subscription.next({}, {"a"}, NOBODY, 1.0)
    assert subscription.next({}, {"a"}, {"a"}, 1.0 + LEAVE_SECONDS) == set()


def test_a_topic_that_comes_back_while_it_is_left_stays() -> None:
    subscription = subscribed(**A)
    subscription.next({}, {"a"}, NOBODY, 1.0)
    assert subscription.next(A, {"a"}, NOBODY, 1.1) is None
    assert not subscription.leaving


def test_a_topic_that_goes_again_is_read_for_as_long_as_if_it_had_not_gone_before() -> None:
    subscription = subscribed(**A)
    subscription.next({}, {"a"}, NOBODY, 1.0)
    subscription.next(A, {"a"}, {"a"}, 1.1)
    subscription.next({}, {"a"}, NOBODY, 1.2)
    assert subscription.next({}, {"a"}, {"a"}, 1.1 + LEAVE_SECONDS) is None
    assert subscription.next({}, {"a"}, {"a"}, 1.2 + LEAVE_SECONDS) == set()


def test_a_topic_made_anew_is_left_until_nothing_of_it_is_assigned_and_then_starts_over() -> None:
    subscription = subscribed(**A, **B)
    anew = {"a": "another"} | B
    assert subscription.next(anew, {"a", "b"}, NOBODY, 1.0) == {"b"}
    assert subscription.next(anew, {"a", "b"}, NOBODY, 1.1) is None
    assert subscription.next(anew, {"b"}, NOBODY, 1.2) == {"a", "b"}
    assert subscription.starts_over([("a", 0), ("a", 1), ("b", 0)]) == [("a", 0), ("a", 1)]


def test_a_topic_made_anew_while_it_was_not_there_starts_over() -> None:
    subscription = subscribed(**A)
    for now in (1.0, 2.0):
        subscription.next({}, NOBODY, NOBODY, now)
    assert subscription.next({"a": "another"}, NOBODY, NOBODY, 3.0) == {"a"}
    assert subscription.starts_over([("a", 0)]) == [("a", 0)]


def test_a_topic_that_comes_back_as_it_was_goes_on_where_the_group_was() -> None:
    subscription = subscribed(**A)
    for now in (1.0, 2.0):
        subscription.next({}, NOBODY, NOBODY, now)
    subscription.next(A, NOBODY, NOBODY, 3.0)
    assert subscription.starts_over([("a", 0)]) == []


def made_anew() -> Subscription:
    """Return one of which the topic a was made anew and is assigned again."""
    subscription = subscribed(**A)
    subscription.next(ANEW, NOBODY, NOBODY, 1.0)
    return subscription


def test_a_partition_starts_over_until_it_has_and_never_again() -> None:
    subscription = made_anew()
    for _ in range(2):
        assert subscription.starts_over([("a", 0), ("a", 1)]) == [("a", 0), ("a", 1)]
    subscription.restarted(("a", 0))
    for assigned in ([], [("a", 0)]):
        assert subscription.starts_over(assigned) == []
    assert subscription.starts_over([("a", 1)]) == [("a", 1)]


def test_nothing_starts_over_while_the_former_topic_is_still_being_left() -> None:
    subscription = subscribed(**A)
    subscription.next(ANEW, {"a"}, NOBODY, 1.0)
    assert subscription.starts_over([("a", 0)]) == []
    subscription.next(ANEW, NOBODY, NOBODY, 1.1)
    assert subscription.starts_over([("a", 0)]) == [("a", 0)]


def test_a_topic_made_anew_twice_starts_over_twice() -> None:
    subscription = made_anew()
    subscription.restarted(("a", 0))
    subscription.next({"a": "a third"}, {"a"}, NOBODY, 2.0)
    subscription.next({"a": "a third"}, NOBODY, NOBODY, 2.1)
    assert subscription.starts_over([("a", 0)]) == [("a", 0)]


def test_offsets_of_a_topic_made_anew_are_trusted_once_it_was_subscribed_to_for_long() -> None:
    subscription = made_anew()
    subscription.next(ANEW, NOBODY, NOBODY, 2.0)
    subscription.next(ANEW, NOBODY, NOBODY, 1.0 + DISTRUST_SECONDS - 0.1)
    assert subscription.starts_over([("a", 0)]) == [("a", 0)]
    subscription.restarted(("a", 0))
    subscription.starts_over([("a", 0)])
    subscription.next(ANEW, {"a"}, NOBODY, 1.0 + 2 * DISTRUST_SECONDS)
    assert subscription.starts_over([("a", 0), ("a", 1)]) == []


def test_they_are_not_while_it_is_not_subscribed_to() -> None:
    subscription = made_anew()
    for now in (2.0, 3.0 + LEAVE_SECONDS):
        subscription.next({}, NOBODY, NOBODY, now)
    subscription.next(ANEW, NOBODY, NOBODY, 2 * DISTRUST_SECONDS)
    subscription.next(ANEW, NOBODY, NOBODY, 2.5 * DISTRUST_SECONDS)
    assert subscription.starts_over([("a", 0)]) == [("a", 0)]


def test_a_partition_that_comes_in_between_makes_that_no_later() -> None:
    subscription = made_anew()
    for number, now in enumerate((2.0, DISTRUST_SECONDS - 1.0)):
        assert subscription.starts_over([("a", number)]) == [("a", number)]
        subscription.restarted(("a", number))
        subscription.next(ANEW, {"a"}, NOBODY, now)
    subscription.starts_over([("a", 0), ("a", 1)])
    subscription.next(ANEW, {"a"}, NOBODY, 2.0 + DISTRUST_SECONDS)
    assert subscription.starts_over([("a", 2)]) == []


def test_nor_while_something_of_it_is_to_start_over_and_has_not() -> None:
    subscription = made_anew()
    for now in (2.0, 2 * DISTRUST_SECONDS, 3 * DISTRUST_SECONDS):
        assert subscription.starts_over([("a", 0)]) == [("a", 0)]
        subscription.next(ANEW, {"a"}, NOBODY, now)


def test_what_is_held_stays_while_its_topic_is_as_it_was() -> None:
    subscription = subscribed(**A, **B)
    assert subscription.keeps([("a", 0), ("b", 1)], A | B)
    assert subscription.keeps([], {})
    assert not subscription.keeps([("a", 0), ("b", 1)], A)
    assert not subscription.keeps([("a", 0)], ANEW)


def test_nothing_that_is_held_stays_where_a_topic_was_made_anew() -> None:
    subscription = subscribed(**A, **B)
    assert [sorted(subscription.made_anew(there)) for there in (A | B, B, {}, ANEW | B)] == [[], [], [], [*ANEW]]
    assert not subscription.keeps([("b", 0)], ANEW | B)
    assert subscription.keeps([], ANEW | B)
    subscription.next(ANEW | B, NOBODY, NOBODY, 1.0)
    assert not subscription.made_anew(ANEW | B)
    assert subscription.keeps([("b", 0)], ANEW | B)


def test_what_is_held_does_not_stay_where_its_partition_is_to_start_over() -> None:
    subscription = made_anew()
    assert not subscription.keeps([("a", 0)], ANEW)
    subscription.restarted(("a", 0))
    assert subscription.keeps([("a", 0)], ANEW)


def test_another_consumer_is_subscribed_to_everything_again() -> None:
    subscription = subscribed(**A)
    subscription.forget()
    assert subscription.next(A, NOBODY, NOBODY, 1.0) == {"a"}
