"""Who asks, once it is proven."""

from __future__ import annotations

import math
from dataclasses import dataclass

from starlette.types import Scope

from topicfold.errors import InvalidRequest, Unauthenticated
from topicfold.model.grants import check_role
from topicfold.runtime.fair_semaphore import ASKER

ANONYMOUS = "anonymous"
"""Stands in the history for whoever asked a node that authenticates nobody."""

_KEY = "topicfold.principal"


@dataclass(frozen=True, slots=True)
class Principal:
    """Somebody: `name` is for the history, `roles` are what grants are held against."""

    name: str
    roles: frozenset[str]


@dataclass(frozen=True, slots=True)
class Credential:
    """What proves who somebody is, from the time `since` until another, in seconds since 1970."""

    principal: Principal
    until: float = math.inf
    since: float = -math.inf

    def holds(self, now: float) -> bool:
        """Return whether it proves that at the time `now`; before `since` the clock was put back."""
        return self.since <= now < self.until


def principal_with(roles: list[str], name: str = "") -> Principal:
    """Return the principal that has `roles`, called like the first of them unless `name` says other.

    Raises:
        Unauthenticated: there is no role, or one that no grant could name.
    """
    if not roles:
        raise Unauthenticated("the credential names no role")
    try:
        return Principal(check_role(name or roles[0]), frozenset(map(check_role, roles)))
    except InvalidRequest as error:
        raise Unauthenticated(f"the credential cannot be used: {error.reason}") from None


def note_principal(scope: Scope, principal: Principal) -> None:
    """Let all that follows in a request know who asks."""
    scope[_KEY] = principal
    ASKER.set(principal.name)


def principal_of(scope: Scope) -> Principal | None:
    """Return who asks, None where nobody was asked to prove it."""
    return scope.get(_KEY)


def actor_of(scope: Scope) -> str:
    """Return the name of who asks."""
    principal = principal_of(scope)
    return ANONYMOUS if principal is None else principal.name
