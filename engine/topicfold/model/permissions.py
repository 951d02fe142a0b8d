"""What a caller may do, and where; and what an operation requires.

A role is granted actions on a tenant, a namespace or a topic. A grant applies to everything below, and what is not
granted is denied. No verdict of the fold depends on this: permissions are checked before anything is logged.

Source: Pulsar's `AuthAction`; CVE-2024-28098, where the right to produce let people change policies.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum, IntEnum, StrEnum


class Permission(StrEnum):
    """The actions that can be granted and mean something here; `ADMIN` is everything within its scope."""

    READ_POLICIES = "read-policies"
    UPDATE_POLICIES = "update-policies"
    LIST_TOPICS = "list-topics"
    WATCH = "watch"
    MANAGE_TOPICS = "manage-topics"
    ADMIN = "admin"


class Scope(IntEnum):
    """Where a right applies; the lower the number, the wider the scope."""

    TENANT = 1
    NAMESPACE = 2
    TOPIC = 3


class Access(Enum):
    """What an operation requires if it is not about a tenant, namespace or topic."""

    PUBLIC = "public"
    """Nothing, not even to know who asks."""
    ANYONE = "anyone"
    """To know who asks; the answer only contains what that caller may see."""
    SUPERUSER = "superuser"


@dataclass(frozen=True, slots=True)
class Right:
    """A permission on the tenant, the namespace or the topic that a request names."""

    permission: Permission
    scope: Scope

    def __str__(self) -> str:
        return f"{self.permission} on the {self.scope.name.lower()}"


ADMINISTER_TENANT = Right(Permission.ADMIN, Scope.TENANT)
ADMINISTER_NAMESPACE = Right(Permission.ADMIN, Scope.NAMESPACE)
LIST_NAMESPACE = Right(Permission.LIST_TOPICS, Scope.NAMESPACE)
READ_NAMESPACE = Right(Permission.READ_POLICIES, Scope.NAMESPACE)
WATCH_NAMESPACE = Right(Permission.WATCH, Scope.NAMESPACE)
ADMINISTER_TOPIC = Right(Permission.ADMIN, Scope.TOPIC)
LIST_TOPIC = Right(Permission.LIST_TOPICS, Scope.TOPIC)
MANAGE_TOPIC = Right(Permission.MANAGE_TOPICS, Scope.TOPIC)
READ_TOPIC = Right(Permission.READ_POLICIES, Scope.TOPIC)
UPDATE_TOPIC = Right(Permission.UPDATE_POLICIES, Scope.TOPIC)

Need = Access | Right
"""What an operation requires."""

PULSAR_ACTIONS = frozenset({"produce", "consume", "functions", "sources", "sinks", "packages"})
"""Pulsar's own actions: they can be granted, and are stored for whoever enforces them."""

ACTIONS = PULSAR_ACTIONS | frozenset(map(str, Permission))
"""All actions that can be granted."""

_IMPLIES_LISTING = ("produce", "consume")


def allows(actions: Collection[str], permission: Permission) -> bool:
    """Return whether somebody who was granted `actions` has `permission`.

    To produce or consume, one has to find the topic, so these imply listing; they never allow anything with policies.

    >>> [allows(("produce",), wanted) for wanted in (Permission.LIST_TOPICS, Permission.UPDATE_POLICIES)]
    [True, False]
    """
    if permission in actions or Permission.ADMIN in actions:
        return True
    return permission is Permission.LIST_TOPICS and any(action in actions for action in _IMPLIES_LISTING)
