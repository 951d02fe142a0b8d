"""Records: everything known about one tenant, namespace or topic. Frozen; an update creates a new one.

Policies are values by name, as described in `policy.table`; labels are separate, because they are indexed. Records are
encoded in `log.payload`; `schemas/` documents each field.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType

from topicfold.model.policy.resolve import Policies

MAX_PARTITIONS = 10_000

EMPTY: Mapping[str, str] = MappingProxyType({})

Grants = Mapping[str, tuple[str, ...]]
"""The actions granted to each role, sorted."""

NO_GRANTS: Grants = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class TenantRecord:
    """A tenant: who administers it, and which clusters it may be on (Pulsar's TenantInfo)."""

    admin_roles: tuple[str, ...] = ()
    allowed_clusters: tuple[str, ...] = ()
    grants: Grants = field(default_factory=lambda: NO_GRANTS)


@dataclass(frozen=True, slots=True)
class NamespaceRecord:
    """A namespace. `properties` are free text, not indexed; `policies` apply to its topics, which may override them."""

    properties: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    policies: Policies = field(default_factory=lambda: EMPTY)
    grants: Grants = field(default_factory=lambda: NO_GRANTS)


class Step(StrEnum):
    """A step in Kafka that a topic's record waits for."""

    MAKE = "make"
    """Give the Kafka topic as many partitions as the record says; create it if there is none."""
    END = "end"
    """Delete the Kafka topic, then this record."""


@dataclass(frozen=True, slots=True)
class Pending:
    """What is left to do in Kafka for a topic. Any node with the rights can do it, any number of times.

    `kafka_id` is Kafka's own id of the topic to delete: another topic with that name is left alone.
    """

    step: Step
    kafka_id: str = ""


@dataclass(frozen=True, slots=True)
class TopicRecord:
    """A topic.

    `partitions` is 0 for a topic that is not partitioned, n ≥ 1 for a partitioned one. `kafka_name` is None if it
    follows from the topic's own name. `local` are the policies on this cluster, `global_` those on all clusters; None
    until the first is set, and empty once the last is removed. `pending` is None if nothing is left to do in Kafka.
    Mappings are read-only, so an updater cannot change what others see.
    """

    partitions: int = 0
    kafka_name: str | None = None
    properties: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    labels: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    local: Policies | None = None
    global_: Policies | None = None
    grants: Grants = field(default_factory=lambda: NO_GRANTS)
    pending: Pending | None = None

    @property
    def is_ending(self) -> bool:
        """Whether its end is decided and only Kafka has not followed yet."""
        return self.pending is not None and self.pending.step is Step.END

    def with_labels(self, labels: Mapping[str, str]) -> TopicRecord:
        """Return this record with exactly these labels."""
        return replace(self, labels=frozen(labels))

    def with_policies(self, policies: Policies | None, *, is_global: bool) -> TopicRecord:
        """Return this record with exactly these policies in one scope."""
        return replace(self, global_=policies) if is_global else replace(self, local=policies)


@dataclass(frozen=True, slots=True)
class UnreadableRecord:
    """Stands for a live record whose payload, of that schema, cannot be read. It can be deleted, or replaced whole."""

    payload_schema: int = 0


Record = TenantRecord | NamespaceRecord | TopicRecord


def frozen(pairs: Mapping[str, str]) -> Mapping[str, str]:
    """Return a read-only copy of `pairs`, ordered by key."""
    return MappingProxyType(dict(sorted(pairs.items()))) if pairs else EMPTY
