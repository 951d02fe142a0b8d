"""Desired states of topics and namespaces: some members of a record are patched, or replaced, all in one update."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from topicfold.model.events import Verdict
from topicfold.model.merge_patch import merge_patch
from topicfold.model.policy.resolve import Origin, Policies
from topicfold.model.policy.whole import merge_policies, put_whole
from topicfold.model.records import EMPTY, NamespaceRecord, TopicRecord, frozen
from topicfold.model.updates import Refuse, Updater, of_topic

GLOBAL_SCOPE = "global_"
SCOPES = ("local", GLOBAL_SCOPE)
"""The members of a topic's record that hold policies."""
NAMESPACE_POLICIES = "policies"
"""The member of a namespace's record that does."""

_LEVELS = {"local": Origin.TOPIC, GLOBAL_SCOPE: Origin.GLOBAL, NAMESPACE_POLICIES: Origin.NAMESPACE}

R = TypeVar("R", TopicRecord, NamespaceRecord)


def replace_members(name: str, members: Mapping[str, Any], below: Callable[[], Policies]) -> Updater:
    """Return the update that sets these `members` of a topic's record, as `with_members` does."""
    return of_topic(name, lambda old: with_members(old, members, below))


def with_members(old: R, members: Mapping[str, Any], below: Callable[[], Policies]) -> R | Refuse:
    """Return a record with these `members`, and the others as they are.

    Policies that were all removed are as good as none: to go from the one to the other changes nothing. It is refused
    if retention and backlog quota would contradict each other. `below` is only called if there are policies among
    `members`; it returns those that apply where this record has none of its own.
    """
    for member in _LEVELS:
        if members.get(member):
            new = put_whole(members[member], below())(getattr(old, member) or EMPTY)
            if isinstance(new, Refuse):
                return Refuse(Verdict.POLICY_UNMET, f"{place_of(member)}: {new.reason}")
    changed = {each: new for each, new in members.items() if (new or EMPTY) != (getattr(old, each) or EMPTY)}
    return replace(old, **changed)


def place_of(member: str) -> str:
    """Return where in JSON the policies are that a record has in `member`.

    >>> [place_of(member) for member in ("local", "global_", "policies")]
    ['policies.local', 'policies.global', 'policies']
    """
    return member if member == NAMESPACE_POLICIES else f"policies.{member.rstrip('_')}"


def merge_members(old: TopicRecord | NamespaceRecord, patch: Mapping[str, Any]) -> dict[str, Any]:
    """Return the new values of those members of a record that a merge patch names.

    The patch is by member. For policies it is canonical, or None if all of them are to be removed.

    >>> merge_members(TopicRecord(labels={"team": "pay"}), {"labels": {"team": None, "env": "prod"}})
    {'labels': mappingproxy({'env': 'prod'})}

    Raises:
        InvalidPolicy: the merged policies of a level are invalid; carries all that is wrong at that level.
    """
    return {name: _merged(name, getattr(old, name), each) for name, each in patch.items()}


def _merged(name: str, old: Any, patch: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    if name not in _LEVELS:
        return frozen(merge_patch(old, patch) or {})
    if patch is None:
        return EMPTY if name == NAMESPACE_POLICIES else None
    merged = merge_policies(old or EMPTY, patch, level=_LEVELS[name])
    # A removal does not create policies if there were none.
    return None if old is None and patch and not merged else merged
