"""What a consumer is subscribed to, as topics come, go and are made anew."""

from __future__ import annotations

from topicfold.client.subscription import LEAVE_SECONDS, Subscription

NOBODY: frozenset[str] = frozenset()
A = {"a": "id-a"}
B = {"b": "id-b"}


def subscribed(**there: str) -> Subscription:
    """Return one that is subscribed to these."""
    subscription = Subscription()
    subscription.next(there, NOBODY, NOBODY, 0.0)
    return subscription


def test_topics_that_are_there_are_subscribed_to_once() -> None:
    subscription = Subscription()
    assert subscription.next(A, NOBODY, NOBODY, 0.0) == {"a"}
    assert subscription.next(A, {"a"}, NOBODY, 0.1) is None
    assert subscription.next(A | B, {"a"}, NOBODY, 0.2) == {"a", "b"}


def test_nothing_that_is_there_is_no_subscription() -> None:
    assert Subscription().next({}, NOBODY, NOBODY, 0.0) is None


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
    subscription.next({"a": "another"}, NOBODY, NOBODY, 1.0)
    return subscription


def test_a_partition_starts_over_once_for_each_time_it_is_assigned() -> None:
    subscription = made_anew()
    subscription.restarted(("a", 0))
    assert subscription.starts_over([("a", 0)]) == []
    assert subscription.starts_over([]) == []
    assert subscription.starts_over([("a", 0)]) == [("a", 0)]


def test_a_partition_of_which_a_record_was_delivered_never_starts_over_again() -> None:
    subscription = made_anew()
    subscription.restarted(("a", 0))
    subscription.delivered(("a", 0))
    assert subscription.starts_over([]) == []
    assert subscription.starts_over([("a", 0)]) == []


def test_a_record_of_before_does_not_count_for_a_topic_made_anew() -> None:
    subscription = made_anew()
    subscription.delivered(("a", 0))
    assert subscription.starts_over([("a", 0)]) == [("a", 0)]


def test_another_consumer_is_subscribed_to_everything_again() -> None:
    subscription = subscribed(**A)
    subscription.forget()
    assert subscription.next(A, NOBODY, NOBODY, 1.0) == {"a"}
