"""All policies of one scope at once: reads them from JSON by name, and reports everything that is wrong together.

For updates that replace or patch all policies, for desired states, and for rolling back to an older version.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import partial
from types import MappingProxyType
from typing import Any

from topicfold.errors import InvalidPolicy, step
from topicfold.model.merge_patch import merge_patch
from topicfold.model.policy.changes import QUOTAS, RETENTION, Change, holding
from topicfold.model.policy.description import Policy
from topicfold.model.policy.limits import Limits
from topicfold.model.policy.resolve import Origin, Policies
from topicfold.model.policy.shapes import QUOTA_TYPES
from topicfold.model.policy.table import BY_NAME
from topicfold.model.policy.unset import is_no_dispatch_rate
from topicfold.model.policy.values import Kind, Value, kind_of, read_patch, read_value
from topicfold.model.records import EMPTY
from topicfold.model.updates import Refuse

_SUBSCRIPTIONS, _RATE = "subscriptionPolicies", "dispatchRate"


def read_policies(given: Any, what: str = "policies", *, level: Origin = Origin.TOPIC) -> Policies:
    """Return the canonical policies in a JSON object by name; a null leaves a policy unset.

    So does a value that unsets it, and a subscription's rate that limits nothing. Not every policy can be set for all
    clusters, or for a whole namespace.

    >>> dict(read_policies({"maxMessageSize": "12", "publishRate": None}))
    {'maxMessageSize': 12}

    Raises:
        InvalidPolicy: carries everything that is wrong with them, with paths.
    """
    found = _read(given, what, partial(read_value, refuses_unknown=True), level)
    said = {name: _kept(name, value) for name, value in found.items() if value is not None}
    return MappingProxyType({name: value for name, value in said.items() if value is not None})


def read_policies_patch(given: Any, *, level: Origin = Origin.TOPIC) -> Mapping[str, Any]:
    """Return the canonical merge patch, for the policies of one level, in a JSON object by name.

    >>> dict(read_policies_patch({"maxMessageSize": "12", "publishRate": None}))
    {'maxMessageSize': 12, 'publishRate': None}

    Raises:
        InvalidPolicy: carries everything that is wrong with them regardless of what they are applied to, with paths.
    """
    return MappingProxyType(_read(given, "policies", read_patch, level))


def merge_policies(old: Policies, patch: Mapping[str, Any], *, level: Origin = Origin.TOPIC) -> Policies:
    """Return the policies of one level after a canonical merge patch; those that it does not name stay.

    A policy of which nothing is left is unset.

    Raises:
        InvalidPolicy: carries everything that is wrong with the result.
    """
    merged = merge_patch(old, patch)
    left = {name: merged.get(name) for name, each in patch.items() if merged.get(name) != {} or each == {}}
    read = read_policies(left, level=level)
    return MappingProxyType({**{name: value for name, value in old.items() if name not in patch}, **read})


def _read(given: Any, what: str, read: Callable[[Kind, Any, str], Value], level: Origin) -> dict[str, Any]:
    """Return the values in a JSON object by name; nulls stay.

    Raises:
        InvalidPolicy: carries everything that is wrong.
    """
    if not isinstance(given, Mapping):
        raise InvalidPolicy(what, [{"path": "", "reason": f"must be an object, not {kind_of(given)}"}])
    found: dict[str, Any] = {}
    violations: list[dict[str, str]] = []
    for name, value in given.items():
        policy = BY_NAME.get(name)
        if policy is None:
            violations.append({"path": step(name), "reason": _unknown(str(name))})
        elif refused := _refusal(policy, level):
            violations.append({"path": name, "reason": refused})
        else:
            try:
                found[name] = None if value is None else read(policy.kind, value, name)
            except InvalidPolicy as error:
                violations += [
                    {"path": f"{name}.{each['path']}".rstrip("."), "reason": each["reason"]}
                    for each in error.values["violations"]
                ]
    if violations:
        raise InvalidPolicy(what, violations)
    return found


def check_changed(old: Policies, new: Policies, limits: Limits) -> None:
    """Check each policy of `new` that differs from `old`; unchanged values may stay even if they are no longer allowed.

    Raises:
        InvalidPolicy, PolicyUnmet, Forbidden: for the first policy that may not be set.
    """
    for name, value in new.items():
        if old.get(name) != value:
            BY_NAME[name].check(value, limits)


def put_whole(new: Policies, below: Policies) -> Change:
    """Return the change to exactly these policies.

    It is refused if it changes retention or backlog quota and the two would contradict each other; `below` are the
    policies that apply where this scope has none.
    """

    def change(old: Policies) -> Policies | Refuse:
        touched = [name for name in (QUOTAS, RETENTION) if new.get(name, EMPTY) != old.get(name, EMPTY)]
        if not touched:
            return new
        quotas, before = new.get(QUOTAS, EMPTY), old.get(QUOTAS, EMPTY)
        changed = QUOTA_TYPES if RETENTION in touched else [kind for kind in quotas if quotas[kind] != before.get(kind)]
        return holding(lambda _: new, touched[0], lambda: below, changed)(old)

    return change


def _kept(name: str, value: Value) -> Value:
    """Return the part of a value that is stored, None for none."""
    if name != _SUBSCRIPTIONS:
        return None if value == BY_NAME[name].topic.unsets else value
    limiting = {each: said for each, said in value.items() if said and not is_no_dispatch_rate(said[_RATE])}
    return MappingProxyType(limiting) or None


def _refusal(policy: Policy, level: Origin) -> str:
    """Return why a policy cannot be set at a level, "" where it can."""
    if level is Origin.GLOBAL and not policy.topic.has_global:
        return "cannot be set for all clusters; set it in policies.local"
    if level is Origin.NAMESPACE and policy.namespace is None:
        return "cannot be set for a whole namespace; set it on topics"
    return ""


def _unknown(name: str) -> str:
    near = get_close_matches(name, BY_NAME, n=1)
    return (
        f"is not a policy; did you mean {near[0]}?"
        if near
        else f"is not a policy; the policies are {', '.join(BY_NAME)}"
    )
