"""What is told of a difference."""

from __future__ import annotations

import pytest

from topicfold.enforcement.comparing import Difference
from topicfold.model.policy.resolve import Origin


@pytest.mark.parametrize(
    ("setting", "old", "new", "deletes"),
    [
        ("retention.ms", "-1", "600000", True),
        ("retention.ms", "600000", "60000", True),
        ("retention.ms", "60000", "600000", False),
        ("retention.bytes", "1048576", "-1", False),
        ("retention.ms", "-1", None, None),
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
