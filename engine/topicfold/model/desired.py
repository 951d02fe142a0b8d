"""The desired state of a topic: some members of its record are patched, or replaced, all in one update."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from topicfold.model.events import Verdict
from topicfold.model.merge_patch import merge_patch
from topicfold.model.policy.resolve import Policies
from topicfold.model.policy.whole import merge_policies, put_whole
from topicfold.model.records import EMPTY, Record, TopicRecord, frozen
from topicfold.model.updates import Refuse, Updater, of_topic

GLOBAL_SCOPE = "global_"
SCOPES = ("local", GLOBAL_SCOPE)
"""The members of a topic's record that hold policies."""


def replace_members(name: str, members: Mapping[str, Any], below: Callable[[], Policies]) -> Updater:
    """Return the update that sets these `members` of a topic's record and keeps the others.

    Policies that were all removed are as good as none: to go from the one to the other changes nothing. It is refused
    if retention and backlog quota would contradict each other. `below` is called when the update runs; it returns the
    policies that apply where the topic has none of its own.
    """

    def change(old: TopicRecord) -> Record | Refuse:
        for scope in SCOPES:
            if members.get(scope):
                new = put_whole(members[scope], below())(getattr(old, scope) or EMPTY)
                if isinstance(new, Refuse):
                    return Refuse(Verdict.POLICY_UNMET, f"policies.{scope.rstrip('_')}: {new.reason}")
        changed = {each: new for each, new in members.items() if (new or EMPTY) != (getattr(old, each) or EMPTY)}
        return replace(old, **changed)

    return of_topic(name, change)


def merge_members(old: TopicRecord, patch: Mapping[str, Any]) -> dict[str, Any]:
    """Return the new values of those members of a topic's record that a merge patch names.

    The patch is by member. For policies it is canonical, or None for a scope to be removed.

    >>> merge_members(TopicRecord(labels={"team": "pay"}), {"labels": {"team": None, "env": "prod"}})
    {'labels': mappingproxy({'env': 'prod'})}

    Raises:
        InvalidPolicy: the merged policies of a scope are invalid; carries all that is wrong in that scope.
    """
    return {name: _merged(name, getattr(old, name), each) for name, each in patch.items()}


def _merged(name: str, old: Any, patch: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    if name not in SCOPES:
        return frozen(merge_patch(old, patch) or {})
    if patch is None:
        return None
    merged = merge_policies(old or EMPTY, patch, is_global=name == GLOBAL_SCOPE)
    # A removal does not create policies if there were none.
    return None if old is None and patch and not merged else merged
