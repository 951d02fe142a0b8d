"""What is told of a difference."""

from __future__ import annotations

import pytest

from topicfold.cluster.port import TopicSetting
from topicfold.enforcement.comparing import Difference, asked_for, left_over
from topicfold.enforcement.wishes import Wish
from topicfold.model.policy.kafka_settings import Told
from topicfold.model.policy.resolve import Origin


@pytest.mark.parametrize(
    ("setting", "old", "new", "deletes"),
    [
        ("retention.ms", "-1", "600000", True),
        ("retention.ms", "600000", "60000", True),
        ("retention.ms", "60000", "600000", False),
        ("retention.bytes", "1048576", "-1", False),
        ("retention.ms", "-1", None, None),
        ("retention.ms", "None", "600000", None),
        ("retention.ms", "None", "-1", False),
        ("cleanup.policy", "compact", "delete", True),
        ("cleanup.policy", "delete", "compact", True),
        ("cleanup.policy", "compact,delete", "compact", False),
        ("cleanup.policy", "compact", None, None),
        ("max.message.bytes", "2000", "1000", False),
        ("max.message.bytes", "2000", None, False),
    ],
)
def test_a_difference_tells_whether_kafka_deletes_messages_for_it(
    setting: str, old: str, new: str | None, deletes: bool | None
) -> None:
    assert Difference("orders", "orders", setting, old, new, Origin.TOPIC).deletes_messages is deletes


@pytest.mark.parametrize(
    ("own", "told", "deletes"),
    [("compact", None, False), ("compact,delete", None, True), ("compact", "compact,delete", True), (None, None, True)],
)
def test_a_lower_retention_deletes_nothing_of_a_topic_that_is_only_compacted(
    own: str | None, told: str | None, deletes: bool
) -> None:
    found = {"retention.ms": TopicSetting("900000", is_own=True)}
    if own is not None:
        found["cleanup.policy"] = TopicSetting(own, is_own=True)
    wanted = {"retention.ms": Told("600000", Origin.TOPIC)}
    if told is not None:
        wanted["cleanup.policy"] = Told(told, Origin.TOPIC)
    first, *_ = asked_for(Wish("orders", "orders", wanted), found)
    assert (first.setting, first.deletes_messages) == ("retention.ms", deletes)
    [left] = (each for each in left_over(Wish("orders", "orders", {}), found) if each.setting == "retention.ms")
    assert left.deletes_messages is (False if own == "compact" else None)
