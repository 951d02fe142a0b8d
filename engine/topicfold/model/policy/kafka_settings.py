"""What policies mean in Kafka's own settings of a topic.

| policy | Kafka | |
|---|---|---|
| retention, time | `retention.ms` | minutes × 60,000; −1 keeps for ever |
| retention, size | `retention.bytes` | MiB × 1,048,576, of each partition, in Pulsar as in Kafka; −1: no limit |
| maximum message size | `max.message.bytes` | of a batch of records, compressed, as Kafka counts; 0: no limit of ours |
| compaction threshold | `cleanup.policy` | above 0 `compact`, with a retention `compact,delete`; 0 `delete` |

Pulsar's compaction leaves retention as it is; Kafka's `compact` alone would switch it off.
Retention 0 and 0 means in Pulsar: delete what every subscription has read. Kafka does not know what was read, and would
delete all of it: there it says nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from topicfold.model.policy.changes import RETENTION
from topicfold.model.policy.resolve import Effective, Origin, Policies
from topicfold.model.policy.values import MIB, Value

MESSAGE_SIZE = "maxMessageSize"
COMPACTION = "compactionThreshold"
ENFORCED = (RETENTION, MESSAGE_SIZE, COMPACTION)

RETENTION_MS = "retention.ms"
RETENTION_BYTES = "retention.bytes"
MAX_MESSAGE_BYTES = "max.message.bytes"
CLEANUP_POLICY = "cleanup.policy"
SETTINGS = (RETENTION_MS, RETENTION_BYTES, MAX_MESSAGE_BYTES, CLEANUP_POLICY)
"""All settings that are ever touched, in the order in which they are shown."""

_COMPACTED, _COMPACTED_AND_TRIMMED = "compact", "compact,delete"
_MS_PER_MINUTE = 60_000
_LARGEST = (1 << 63) - 1


Sayings = frozenset[tuple[str, str]]
"""Settings with the values that policies told Kafka."""


@dataclass(frozen=True, slots=True)
class Told:
    """What a setting is to be, and which level of policies says so."""

    value: str
    origin: Origin


def kafka_settings(policy: str, value: Value) -> dict[str, str]:
    """Return Kafka's settings for a policy's value; none for a value that says nothing to Kafka.

    >>> kafka_settings("retentionPolicies", {"retentionTimeInMinutes": 10, "retentionSizeInMB": -1})
    {'retention.ms': '600000', 'retention.bytes': '-1'}
    """
    match policy:
        case "retentionPolicies":
            minutes, size = value["retentionTimeInMinutes"], value["retentionSizeInMB"]
            if not minutes and not size:
                return {}
            return {
                RETENTION_MS: _limit(minutes, _MS_PER_MINUTE),
                RETENTION_BYTES: _limit(size, MIB),
            }
        case "maxMessageSize":
            return {MAX_MESSAGE_BYTES: str(value)} if value > 0 else {}
        case "compactionThreshold":
            return {CLEANUP_POLICY: _COMPACTED if value > 0 else "delete"} if value >= 0 else {}
        case _:
            return {}


def told_settings(effective: Mapping[str, Effective], defaults: Collection[str]) -> dict[str, Told]:
    """Return what effective policies tell Kafka. What only a broker's built-in default says is not told.

    `defaults` are the policies that this node's settings give a default.
    """
    told: dict[str, Told] = {}
    for policy in ENFORCED:
        found = effective[policy]
        if found.origin is not None and says_something(policy, found, defaults):
            for setting, value in kafka_settings(policy, found.value).items():
                told[setting] = Told(value, found.origin)
    cleanup = told.get(CLEANUP_POLICY)
    if cleanup is not None and cleanup.value == _COMPACTED and RETENTION_MS in told:
        told[CLEANUP_POLICY] = Told(_COMPACTED_AND_TRIMMED, cleanup.origin)
    return told


def says_something(policy: str, found: Effective, defaults: Collection[str]) -> bool:
    """Return whether what takes effect of `policy` tells Kafka anything, as `told_settings` has it."""
    is_own = found.origin is not None and (found.origin is not Origin.BROKER or policy in defaults)
    return is_own and bool(kafka_settings(policy, found.value))


def sayings(policies: Policies | None) -> Sayings:
    """Return each (setting, value) that the policies of one level would tell Kafka, with or without other levels."""
    said = policies or {}
    pairs = {pair for policy in ENFORCED if policy in said for pair in kafka_settings(policy, said[policy]).items()}
    if (CLEANUP_POLICY, _COMPACTED) in pairs:
        pairs.add((CLEANUP_POLICY, _COMPACTED_AND_TRIMMED))
    return frozenset(pairs)


def is_met(setting: str, told: str, found: str) -> bool:
    """Return whether `found` is as told; the order of clean-up policies is nothing."""
    return found == told or (setting == CLEANUP_POLICY and sorted(found.split(",")) == sorted(told.split(",")))


def _limit(number: int, factor: int) -> str:
    return "-1" if number < 0 else str(min(number * factor, _LARGEST))
