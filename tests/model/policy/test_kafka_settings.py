"""What policies mean in Kafka's settings."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import retention
from topicfold.model.policy.description import EnforcedBy
from topicfold.model.policy.kafka_settings import ENFORCED, Told, is_met, kafka_settings, sayings, told_settings
from topicfold.model.policy.resolve import Origin, Policies, resolve_all
from topicfold.model.policy.table import POLICIES

BYTES = 1024 * 1024


@pytest.mark.parametrize(
    ("policy", "value", "settings"),
    [
        ("retentionPolicies", retention(10, 20), {"retention.ms": "600000", "retention.bytes": str(20 * BYTES)}),
        ("retentionPolicies", retention(-1, -1), {"retention.ms": "-1", "retention.bytes": "-1"}),
        ("retentionPolicies", retention(-1, 5), {"retention.ms": "-1", "retention.bytes": str(5 * BYTES)}),
        ("retentionPolicies", retention(0, 0), {}),
        ("retentionPolicies", retention(0, -1), {}),
        ("retentionPolicies", retention(5, 0), {}),
        ("retentionPolicies", retention(1, 2**62), {"retention.ms": "60000", "retention.bytes": str(2**63 - 1)}),
        ("maxMessageSize", 1, {"max.message.bytes": "1"}),
        ("maxMessageSize", 0, {}),
        ("maxMessageSize", -1, {}),
        ("compactionThreshold", 1, {"cleanup.policy": "compact"}),
        ("compactionThreshold", 0, {"cleanup.policy": "delete"}),
        ("compactionThreshold", -1, {}),
        ("messageTTLInSeconds", 60, {}),
    ],
)
def test_a_policys_value_is_these_settings(policy: str, value: Any, settings: dict[str, str]) -> None:
    assert kafka_settings(policy, value) == settings


def told(levels: dict[Origin, Policies], *defaults: str) -> dict[str, Told]:
    return told_settings(resolve_all(levels), defaults)


def test_what_only_the_built_in_defaults_say_is_not_told() -> None:
    assert told({}) == {}
    assert told({Origin.TOPIC: {"messageTTLInSeconds": 5}}) == {}


@pytest.mark.parametrize("origin", [Origin.TOPIC, Origin.GLOBAL, Origin.NAMESPACE])
def test_what_a_level_says_is_told_with_the_level(origin: Origin) -> None:
    assert told({origin: {"maxMessageSize": 5}}) == {"max.message.bytes": Told("5", origin)}


@pytest.mark.parametrize(
    ("threshold", "retained", "cleanup"),
    [(1, retention(5, -1), "compact,delete"), (1, retention(0, 0), "compact"), (1, None, "compact"),
     (0, retention(5, -1), "delete"), (0, None, "delete")],
)  # fmt: skip
def test_compaction_leaves_a_retention_that_takes_effect_as_it_is_and_none_is_begun_by_one(
    threshold: int, retained: Any, cleanup: str
) -> None:
    namespace: Policies = {} if retained is None else {"retentionPolicies": retained}
    found = told({Origin.TOPIC: {"compactionThreshold": threshold}, Origin.NAMESPACE: namespace})
    assert found["cleanup.policy"] == Told(cleanup, Origin.TOPIC)


def test_a_default_by_settings_is_told_and_a_negative_value_is_passed_over() -> None:
    levels: dict[Origin, Policies] = {Origin.TOPIC: {"maxMessageSize": -1}, Origin.BROKER: {"maxMessageSize": 7}}
    assert told(levels) == {}
    assert told(levels, "maxMessageSize") == {"max.message.bytes": Told("7", Origin.BROKER)}


@pytest.mark.parametrize(
    ("setting", "wanted", "found", "met"),
    [("retention.ms", "1", "1", True), ("retention.ms", "1", "2", False), ("retention.ms", "1,2", "2,1", False),
     ("cleanup.policy", "compact,delete", "delete,compact", True), ("cleanup.policy", "delete", "compact", False),
     ("cleanup.policy", "compact", "compact,delete", False)],
)  # fmt: skip
def test_a_setting_is_as_it_should_be_with_just_its_value_and_cleanup_in_any_order(
    setting: str, wanted: str, found: str, met: bool
) -> None:
    assert is_met(setting, wanted, found) is met


def test_the_table_of_policies_says_that_kafka_enforces_just_these() -> None:
    assert {policy.name for policy in POLICIES if policy.enforced_by is EnforcedBy.KAFKA} == set(ENFORCED)


def test_the_sayings_of_a_level_are_those_of_its_enforced_policies() -> None:
    policies = {"retentionPolicies": retention(1, -1), "compactionThreshold": 9, "maxProducerPerTopic": 4}
    assert sayings(policies) == {
        ("retention.ms", "60000"),
        ("retention.bytes", "-1"),
        ("cleanup.policy", "compact"),
        ("cleanup.policy", "compact,delete"),
    }
    assert sayings(None) == frozenset()
