"""Desired state of a topic: some members of its record merged with a patch, or replaced whole, all in one update."""

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
    """Return the update that gives `members` of a topic's record these values and keeps the others.

    `below` says, when the update runs, what holds where a topic has no policies of its own: retention and backlog
    quota that would contradict each other are refused.
    """

    def change(old: TopicRecord) -> Record | Refuse:
        for scope in SCOPES:
            if members.get(scope):
                new = put_whole(members[scope], below())(getattr(old, scope) or EMPTY)
                if isinstance(new, Refuse):
                    return Refuse(Verdict.POLICY_UNMET, f"policies.{scope.rstrip('_')}: {new.reason}")
        return replace(old, **members)

    return of_topic(name, change)


def merge_members(old: TopicRecord, patch: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that a merge patch gives the members of a topic's record which it names.

    The patch is by member; that of policies is canonical, None for a scope that is taken off.

    >>> merge_members(TopicRecord(labels={"team": "pay"}), {"labels": {"team": None, "env": "prod"}})
    {'labels': mappingproxy({'env': 'prod'})}

    Raises:
        InvalidPolicy: what is merged of policies is wrong; carries all of one scope.
    """
    return {name: _merged(name, getattr(old, name), each) for name, each in patch.items()}


def _merged(name: str, old: Any, patch: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    if name not in SCOPES:
        return frozen(merge_patch(old, patch) or {})
    if patch is None:
        return None
    merged = merge_policies(old or EMPTY, patch, is_global=name == GLOBAL_SCOPE)
    # Removing makes no policies where there were none.
    return None if old is None and patch and not merged else merged
