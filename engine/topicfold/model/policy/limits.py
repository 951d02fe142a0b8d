"""What a node allows in policies: bounds, known clusters and filters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from topicfold.model.policy.values import Value

MAX_MESSAGE_BYTES = 5 * 1024 * 1024
MAX_QUORUM = 5


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of values, and the node's defaults.

    `entry_filters` None allows any filter. `local_cluster` is this cluster's name; `clusters` are those known from
    settings. `defaults` are values by policy name for when neither topic nor namespace sets one; they take precedence
    over the table's own. Equal ones have equal hashes, so that what follows from them can be cached.
    """

    max_message_bytes: int = MAX_MESSAGE_BYTES
    max_quorum: int = MAX_QUORUM
    entry_filters: frozenset[str] | None = None
    may_override_entry_filters: bool = True
    local_cluster: str = "standalone"
    clusters: frozenset[str] = frozenset({"standalone"})
    policies_enabled: bool = True
    refuses_unknown: bool = False
    defaults: Mapping[str, Value] = field(default_factory=lambda: MappingProxyType({}), hash=False)
