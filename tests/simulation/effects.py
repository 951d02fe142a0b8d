"""What an operation should come to: the judge's own reading of the specification.

It shares nothing with the engine's updates but the shapes of records.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from tests.simulation.operations import COUNTER, QUOTAS, RETENTION, UNREADABLE, Method, Operation
from topicfold.model.events import AggregateKind, Verdict
from topicfold.model.records import NamespaceRecord, Record, TenantRecord, TopicRecord

Found = Record | str | None
"""A record, `UNREADABLE`, or None where nothing lives."""


def effect(operation: Operation, old: Found, topics_alive: int) -> tuple[Verdict, Found]:
    """Return what `operation` must come to where `old` is; its namespace, if it has one, is alive."""
    missing = _MISSING[operation.kind]
    match operation.method:
        case Method.ENSURE:
            blank: Record = TenantRecord() if operation.kind is AggregateKind.TENANT else NamespaceRecord()
            return (Verdict.CHANGED, blank) if old is None else (Verdict.UNCHANGED, old)
        case Method.CREATE_TOPIC:
            return _created(
                None if old is UNREADABLE else old,
                TopicRecord(partitions=operation.number, labels=dict(operation.labels)),
            )
        case Method.CREATE_NAMESPACE:
            return _created(old, operation.namespace_record)
        case Method.CREATE_TENANT:
            return _created(old, operation.tenant_record)
        case Method.DELETE_NAMESPACE if old is not None and topics_alive:
            return Verdict.NOT_EMPTY, old
        case Method.DELETE_TOPIC | Method.DELETE_NAMESPACE | Method.FORCE_NAMESPACE | Method.DELETE_TENANT:
            return (missing, old) if old is None else (Verdict.CHANGED, None)
        case Method.UPDATE_TENANT:
            return (missing, old) if old is None else _changed(old, operation.tenant_record)
        case Method.GROW:
            return _grown(old, operation.number)
        case Method.SET_LABELS if isinstance(old, TopicRecord):
            return _changed(old, replace(old, labels={**old.labels, **dict(operation.labels)}))
        case Method.REMOVE_LABELS if isinstance(old, TopicRecord):
            return _changed(old, replace(old, labels=_without(old.labels, operation.keys)))
        case Method.DELETE_POLICIES if not isinstance(old, TopicRecord):
            return Verdict.UNCHANGED, old
        case Method.DELETE_POLICIES:
            return _changed(old, replace(old, local=None, global_=old.global_ if operation.is_global else None))
        case Method.RESTORE if isinstance(old, TopicRecord):
            return _restored(old, operation)
        case Method.SET_POLICY | Method.REMOVE_POLICY | Method.COUNT_UP if isinstance(old, TopicRecord):
            return _policies_changed(old, operation)
        case _:
            return missing, old


_MISSING = {
    AggregateKind.TENANT: Verdict.TENANT_NOT_FOUND,
    AggregateKind.NAMESPACE: Verdict.NAMESPACE_NOT_FOUND,
    AggregateKind.TOPIC: Verdict.TOPIC_NOT_FOUND,
}


def _created(old: Found, new: Record) -> tuple[Verdict, Found]:
    return (Verdict.CHANGED, new) if old is None else (Verdict.ALREADY_EXISTS, old)


def _changed(old: Found, new: Record) -> tuple[Verdict, Found]:
    return (Verdict.UNCHANGED, old) if new == old else (Verdict.CHANGED, new)


def _grown(old: Found, number: int) -> tuple[Verdict, Found]:
    if not isinstance(old, TopicRecord) or not old.partitions:
        return Verdict.WRONG_KIND, old
    if number < old.partitions:
        return Verdict.FEWER_PARTITIONS, old
    return _changed(old, replace(old, partitions=number))


def _restored(old: TopicRecord, operation: Operation) -> tuple[Verdict, Found]:
    policies = dict(operation.policies)
    touched = [name for name in (RETENTION, QUOTAS) if policies.get(name) != (old.local or {}).get(name)]
    if touched and _contradict(policies):
        return Verdict.POLICY_UNMET, old
    # Policies that were all removed are as good as none.
    local, global_ = policies if policies or old.local else old.local, None if old.global_ else old.global_
    return _changed(old, replace(old, labels=dict(operation.labels), local=local, global_=global_))


def _policies_changed(old: TopicRecord, operation: Operation) -> tuple[Verdict, Found]:
    before = old.global_ if operation.is_global else old.local
    policies = dict(before or {})
    if operation.method is Method.COUNT_UP:
        policies[COUNTER] = policies.get(COUNTER, 0) + 1
    elif operation.method is Method.SET_POLICY:
        policies.update(operation.policies)
        if _contradict(policies):
            is_retention = operation.policies[0][0] == RETENTION
            return Verdict.RETENTION_BELOW_QUOTA if is_retention else Verdict.QUOTA_EXCEEDS_RETENTION, old
    elif before is None:
        return Verdict.UNCHANGED, old
    else:
        policies.pop(operation.policies[0][0], None)
    return _changed(old, replace(old, global_=policies) if operation.is_global else replace(old, local=policies))


def _contradict(policies: Mapping[str, Any]) -> bool:
    """Return whether a quota reaches the retention; only sizes are ever drawn."""
    kept = policies.get(RETENTION, {"retentionSizeInMB": 0})["retentionSizeInMB"] * 1024 * 1024
    return kept > 0 and any(quota["limitSize"] >= kept for quota in policies.get(QUOTAS, {}).values())


def _without(labels: Mapping[str, str], keys: Collection[str] | None) -> dict[str, str]:
    return {key: value for key, value in labels.items() if keys is not None and key not in keys}
