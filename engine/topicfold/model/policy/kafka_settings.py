"""How policies translate to Kafka's own settings of a topic.

| policy | Kafka | |
|---|---|---|
| retention, time | `retention.ms` | minutes × 60,000; −1 keeps for ever |
| retention, size | `retention.bytes` | MiB × 1,048,576, of each partition, in Pulsar as in Kafka; −1: no limit |
| maximum message size | `max.message.bytes` | of a batch of records, compressed, as Kafka counts; 0: no limit of ours |
| compaction threshold | `cleanup.policy` | above 0 `compact`, with a retention `compact,delete`; 0 `delete` |

Pulsar's compaction does not affect retention, while Kafka's `compact` alone would switch it off.
In Pulsar, retention 0 and 0 means: delete what every subscription has read. Kafka does not know what was read, and
would delete everything, so a 0 sets nothing there.
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
"""All settings that are ever changed, in the order in which they are shown."""

NOT_COMPACTED = "delete"
_COMPACTED, _COMPACTED_AND_TRIMMED = "compact", "compact,delete"
_MS_PER_MINUTE = 60_000
_LARGEST = (1 << 63) - 1


Sayings = frozenset[tuple[str, str]]
"""Settings of Kafka with their values, as required by policies."""


@dataclass(frozen=True, slots=True)
class Told:
    """The required value of a setting, and the level of policies that requires it."""

    value: str
    origin: Origin


def kafka_settings(policy: str, value: Value) -> dict[str, str]:
    """Return Kafka's settings for a policy's value; none for a value that means nothing to Kafka.

    >>> kafka_settings("retentionPolicies", {"retentionTimeInMinutes": 10, "retentionSizeInMB": -1})
    {'retention.ms': '600000', 'retention.bytes': '-1'}
    """
    match policy:
        case "retentionPolicies":
            minutes, size = value["retentionTimeInMinutes"], value["retentionSizeInMB"]
            if not minutes or not size:
                return {}
            return {
                RETENTION_MS: _limit(minutes, _MS_PER_MINUTE),
                RETENTION_BYTES: _limit(size, MIB),
            }
        case "maxMessageSize":
            return {MAX_MESSAGE_BYTES: str(value)} if value > 0 else {}
        case "compactionThreshold":
            return {CLEANUP_POLICY: _COMPACTED if value > 0 else NOT_COMPACTED} if value >= 0 else {}
        case _:
            return {}


def told_settings(effective: Mapping[str, Effective], defaults: Collection[str]) -> dict[str, Told]:
    """Return the settings that effective policies require of Kafka. Built-in defaults of a broker require none.

    `defaults` are the policies for which this node's settings have a default.
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
    """Return whether the effective value of `policy` requires any setting of Kafka, as in `told_settings`."""
    is_own = found.origin is not None and (found.origin is not Origin.BROKER or policy in defaults)
    return is_own and bool(kafka_settings(policy, found.value))


def sayings(policies: Policies | None) -> Sayings:
    """Return each (setting, value) that the policies of one level may require, alone or together with other levels."""
    said = policies or {}
    pairs = {pair for policy in ENFORCED if policy in said for pair in kafka_settings(policy, said[policy]).items()}
    if (CLEANUP_POLICY, _COMPACTED) in pairs:
        pairs.add((CLEANUP_POLICY, _COMPACTED_AND_TRIMMED))
    return frozenset(pairs)


def is_met(setting: str, told: str, found: str) -> bool:
    """Return whether the value `found` is the one `told`; the order of clean-up policies does not matter."""
    return found == told or (setting == CLEANUP_POLICY and sorted(found.split(",")) == sorted(told.split(",")))


def keeps_less(setting: str, old: str | None, new: str | None) -> bool | None:
    """Return whether a topic keeps less by the value `new` of a setting than by `old`.

    None where one is not known: it is Kafka's own, or Kafka does not tell it.

    >>> keeps_less("retention.ms", "-1", "60000"), keeps_less("retention.ms", None, "-1")
    (True, False)
    >>> keeps_less("cleanup.policy", "compact", "delete"), keeps_less("cleanup.policy", None, "delete")
    (True, None)
    """
    if new is None:
        return None
    if setting != CLEANUP_POLICY:
        return lowers(old or "", new)
    return None if old is None else not set(new.split(",")) <= set(old.split(","))


def lowers(old: str, new: str) -> bool | None:
    """Return whether a topic keeps less by the limit `new` than by `old`; None where `old` is none that Kafka tells."""
    if int(new) < 0:
        return False
    try:
        return int(old) < 0 or int(new) < int(old)
    except ValueError:
        return None


def _limit(number: int, factor: int) -> str:
    return "-1" if number < 0 else str(min(number * factor, _LARGEST))
