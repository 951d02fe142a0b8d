"""What a node allows policies to say, whatever their kind: bounds, known clusters and filters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from topicfold.model.policy.values import Value

MAX_MESSAGE_BYTES = 5 * 1024 * 1024
MAX_QUORUM = 5


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of values, and the values below every other.

    `entry_filters` None knows any filter. `local_cluster` is this one's name, `clusters` are those known by settings.
    `defaults` are values by policy name, used where no topic and no namespace says anything; they stand before the
    table's own.
    """

    max_message_bytes: int = MAX_MESSAGE_BYTES
    max_quorum: int = MAX_QUORUM
    entry_filters: frozenset[str] | None = None
    may_override_entry_filters: bool = True
    local_cluster: str = "standalone"
    clusters: frozenset[str] = frozenset({"standalone"})
    policies_enabled: bool = True
    refuses_unknown: bool = False
    defaults: Mapping[str, Value] = field(default_factory=lambda: MappingProxyType({}))
