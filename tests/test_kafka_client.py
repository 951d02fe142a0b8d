"""What all clients of Kafka have in common: settings that none of them takes."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient

from topicfold.errors import BadSetting
from topicfold.kafka_client import open_kafka_client


@pytest.mark.parametrize("kind", [AdminClient, Consumer, Producer])
@pytest.mark.parametrize(
    ("setting", "value", "why"),
    [
        ("no.such.setting", "1", 'No such configuration property: "no.such.setting"'),
        ("oauth_cb", "text", "expected oauth_cb property as a callable function"),
        ("throttle_cb", "text", "expected throttle_cb property as a callable function"),
        ("default.topic.config", "text", "'str' object has no attribute 'keys'"),
        ("sasl.password", "\udc80", "'utf-8' codec can't encode character '\\udc80' in position 0"),
    ],
)
def test_a_setting_that_cannot_be_is_told_in_the_words_of_kafkas_client(
    kind: Any, setting: str, value: str, why: str
) -> None:
    with pytest.raises(BadSetting) as refused:
        open_kafka_client(kind, {"bootstrap.servers": "127.0.0.1:1", "group.id": "any", setting: value})
    assert refused.value.reason.startswith(f"Kafka's client does not accept these settings: {why}")
