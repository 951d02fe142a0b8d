"""What an enforcer says: what stays as it is once, and what comes back again."""

from __future__ import annotations

from topicfold.enforcement.comparing import Difference
from topicfold.enforcement.reports import Report, State
from topicfold.enforcement.telling import Telling

NAME = "persistent://public/default/orders"
LIMIT = Difference(NAME, "orders", "max.message.bytes", "5", "9", None)


def test_a_topic_that_is_passed_over_is_told_of_once_and_again_where_the_reason_is_another_or_it_was_reached() -> None:
    told: list[Report] = []
    telling = Telling(told.append)
    for reason in ("gone", "gone", "internal"):
        telling.pass_over(NAME, reason)
    telling.reach(NAME)
    telling.pass_over(NAME, "internal")
    assert [each.reason for each in told] == ["gone", "internal", "internal"]


def test_changes_that_kafka_refuses_are_told_once_and_again_where_it_took_some_meanwhile() -> None:
    told: list[Report] = []
    telling = Telling(told.append)
    for _ in range(2):
        telling.refuse(NAME, [LIMIT], "no")
    telling.change(NAME, [])
    telling.refuse(NAME, [LIMIT], "no")
    assert [(each.state, each.reason) for each in told] == [(State.FAILED, "no")] * 2


def test_nothing_is_remembered_of_a_topic_that_is_gone_so_that_the_next_of_its_name_is_told_of() -> None:
    told: list[Report] = []
    telling = Telling(told.append)
    for _ in range(2):
        telling.pass_over(NAME, "internal")
        telling.refuse(NAME, [LIMIT], "no")
        assert telling.topics() == {NAME}
        telling.forget(NAME)
        assert not telling.topics()
    assert [each.reason for each in told] == ["internal", "no"] * 2
