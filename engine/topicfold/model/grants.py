"""Changing grants: which roles may be named, and the updates that grant actions to a role or revoke them.

Each tenant, namespace and topic has its own grants. `permissions` says what an action allows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import islice
from types import MappingProxyType
from typing import Any

from topicfold.errors import InvalidRequest
from topicfold.model.events import Verdict
from topicfold.model.permissions import ACTIONS
from topicfold.model.records import NO_GRANTS, Grants, Record, UnreadableRecord
from topicfold.model.updates import Refuse, Stored, Updater

MAX_ROLES = 256
"""The most roles with grants on one tenant, namespace or topic."""
MAX_ROLE_LENGTH = 128


def check_role(role: str) -> str:
    """Return `role` if grants may name it.

    Raises:
        InvalidRequest: it is empty, too long, or cannot be printed.
    """
    if not role or len(role) > MAX_ROLE_LENGTH or not role.isprintable() or role != role.strip():
        raise InvalidRequest(
            f"role {role[:80]!a}: expected 1 to {MAX_ROLE_LENGTH} printable characters, no space around them"
        )
    return role


def actions_in(body: Any) -> tuple[str, ...]:
    """Return the actions in a JSON list, sorted and without repetitions.

    Raises:
        InvalidRequest: it is not a list, is empty, or names unknown actions; carries each of these.
    """
    known = ", ".join(sorted(ACTIONS))
    if not isinstance(body, list) or not body:
        raise InvalidRequest(f"expected a list of actions; the actions are {known}", hint="DELETE takes all away.")
    wrong = list(islice(_wrong_actions(body), MAX_ROLES))
    if wrong:
        first = "; ".join(each["reason"] for each in wrong[:5])
        raise InvalidRequest(f"{first}; the actions are {known}", violations=wrong)
    return tuple(sorted(set(body)))


def _wrong_actions(given: Iterable[Any]) -> Iterator[dict[str, str]]:
    for index, action in enumerate(given):
        if not isinstance(action, str):
            yield {"path": str(index), "reason": "must be text"}
        elif action not in ACTIONS:
            yield {"path": str(index), "reason": f"{action[:80]!r} is not an action"}


def grants_in(given: Any) -> Grants:
    """Return the grants in a JSON object, lists of actions by role; none for null.

    Raises:
        InvalidRequest: it is not such an object, or has too many roles.
    """
    if given is None:
        return NO_GRANTS
    if not isinstance(given, dict):
        raise InvalidRequest("grants must be an object: lists of actions by role")
    if len(given) > MAX_ROLES:
        raise InvalidRequest(f"{len(given)} roles have grants, at most {MAX_ROLES} may")
    return MappingProxyType({check_role(role): actions_in(given[role]) for role in sorted(given)})


def grant(role: str, actions: Iterable[str], missing: Refuse) -> Updater:
    """Return the update that grants exactly these actions to `role`, replacing what it was granted here before."""
    granted = tuple(actions)

    def change(old: Grants) -> Grants | Refuse:
        if role not in old and len(old) >= MAX_ROLES:
            return Refuse(Verdict.TOO_MANY_GRANTS, f"{len(old)} roles have grants here, at most {MAX_ROLES} may")
        return MappingProxyType(dict(sorted({**old, role: granted}.items())))

    return _change_grants(change, missing)


def revoke(role: str, missing: Refuse) -> Updater:
    """Return the update that revokes everything that `role` was granted here, if anything."""
    return _change_grants(lambda old: _without(old, role), missing)


def _change_grants(change: Callable[[Grants], Grants | Refuse], missing: Refuse) -> Updater:
    def update(old: Stored) -> Record | Refuse:
        if old is None or isinstance(old, UnreadableRecord):
            return missing
        grants = change(old.grants)
        return grants if isinstance(grants, Refuse) else replace(old, grants=grants)

    return update


def _without(grants: Grants, role: str) -> Grants:
    kept = {each: actions for each, actions in grants.items() if each != role}
    return MappingProxyType(kept) if kept else NO_GRANTS
