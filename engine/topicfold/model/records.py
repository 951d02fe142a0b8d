"""Records: everything known about one tenant, namespace or topic. Frozen; an update makes a new one.

Labels are part of a topic's local policies, as PIP-451 has them (`customLabels`).
How records are laid out as bytes is the codec's business; `schemas/` documents each field.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

MAX_PARTITIONS = 10_000

EMPTY: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class TenantRecord:
    """A tenant: who administers it and where it may live (Pulsar's TenantInfo)."""

    admin_roles: tuple[str, ...] = ()
    allowed_clusters: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NamespaceRecord:
    """A namespace. `properties` are free text, not indexed."""

    properties: Mapping[str, str] = field(default_factory=lambda: EMPTY)


@dataclass(frozen=True, slots=True)
class TopicRecord:
    """A topic.

    `partitions` 0 means a plain topic, n ≥ 1 a partitioned one. `kafka_name` None means the name follows from the
    topic's own. Mappings are read-only: an updater cannot reach what others see.
    """

    partitions: int = 0
    kafka_name: str | None = None
    properties: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    labels: Mapping[str, str] = field(default_factory=lambda: EMPTY)

    def with_labels(self, labels: Mapping[str, str]) -> TopicRecord:
        """Return this record with just these labels."""
        return TopicRecord(self.partitions, self.kafka_name, self.properties, frozen(labels))


@dataclass(frozen=True, slots=True)
class UnreadableRecord:
    """Stands for a live record whose bytes cannot be read. It can be deleted or replaced whole."""


Record = TenantRecord | NamespaceRecord | TopicRecord


def frozen(pairs: Mapping[str, str]) -> Mapping[str, str]:
    """Return a read-only copy of `pairs`, ordered by key."""
    return MappingProxyType(dict(sorted(pairs.items()))) if pairs else EMPTY
