"""What clients ask for: one closed set of operations, how each is put to the engine, and what it should come to.

`effect` is the judge's own reading of the specification; it shares nothing with `topicfold.model.updates`.
"""

from __future__ import annotations

from collections.abc import Collection, Coroutine, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Final

from topicfold.model.events import AggregateKind, Verdict
from topicfold.model.names import parse_topic
from topicfold.model.records import NamespaceRecord, Record, TenantRecord, TopicRecord, frozen
from topicfold.runtime.asking import Asked, Written
from topicfold.runtime.writing import Writing


class Method(Enum):
    """Everything that can be done, and to which kind of aggregate."""

    CREATE_TOPIC = "create_topic"
    DELETE_TOPIC = "delete_topic"
    GROW = "grow_partitions"
    SET_LABELS = "set_labels"
    REMOVE_LABELS = "remove_labels"
    CREATE_NAMESPACE = "create_namespace"
    DELETE_NAMESPACE = "delete_namespace"
    FORCE_NAMESPACE = "force_namespace"
    CREATE_TENANT = "create_tenant"
    UPDATE_TENANT = "update_tenant"
    DELETE_TENANT = "delete_tenant"
    ENSURE = "ensure"

    @property
    def replaces_whole(self) -> bool:
        """Whether it needs no readable record."""
        return self in (
            Method.CREATE_TOPIC,
            Method.DELETE_TOPIC,
            Method.DELETE_NAMESPACE,
            Method.FORCE_NAMESPACE,
            Method.UPDATE_TENANT,
            Method.DELETE_TENANT,
        )


UNREADABLE: Final = "unreadable"
"""Stands for a live record that cannot be read."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One request, as a client means it.

    `marker` is unique, so what it sets names it. `number` is a count of partitions.
    """

    method: Method
    kind: AggregateKind
    name: str
    namespace: str = ""
    labels: tuple[tuple[str, str], ...] = ()
    keys: tuple[str, ...] | None = None
    number: int = 0
    marker: str = ""

    @property
    def owner(self) -> str:
        """Whose partition it lives in."""
        return self.namespace if self.kind is AggregateKind.TOPIC else self.name

    @property
    def body(self) -> bytes:
        """Bytes that tell one request from another under the same key."""
        return repr((self.labels, self.keys, self.number, self.marker)).encode()

    def put_to(self, writing: Writing, asked: Asked) -> Coroutine[Any, Any, Written]:
        """Return the call of the engine that asks for this."""
        match self.method:
            case Method.CREATE_TOPIC:
                record = TopicRecord(partitions=self.number, labels=frozen(dict(self.labels)))
                return writing.create_topic(parse_topic(self.name), record, asked)
            case Method.DELETE_TOPIC:
                return writing.delete_topic(parse_topic(self.name), asked)
            case Method.GROW:
                return writing.grow_partitions(parse_topic(self.name), self.number, asked)
            case Method.SET_LABELS:
                return writing.set_labels(parse_topic(self.name), dict(self.labels), asked)
            case Method.REMOVE_LABELS:
                return writing.remove_labels(parse_topic(self.name), self.keys, asked)
            case Method.CREATE_NAMESPACE:
                return writing.create_namespace(self.name, self.namespace_record, asked)
            case Method.DELETE_NAMESPACE:
                return writing.delete_namespace(self.name, asked)
            case Method.FORCE_NAMESPACE:
                return writing.delete_namespace(self.name, asked, force=True)
            case Method.CREATE_TENANT:
                return writing.create_tenant(self.name, self.tenant_record, asked)
            case Method.UPDATE_TENANT:
                return writing.update_tenant(self.name, self.tenant_record, asked)
            case Method.DELETE_TENANT:
                return writing.delete_tenant(self.name, asked)
            case Method.ENSURE:
                raise AssertionError("only an engine ensures")

    @property
    def namespace_record(self) -> NamespaceRecord:
        """The record that a namespace is made with."""
        return NamespaceRecord(frozen({"op": self.marker} if self.marker else {}))

    @property
    def tenant_record(self) -> TenantRecord:
        """The record that a tenant is made with."""
        return TenantRecord((self.marker,) if self.marker else ())


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


def _without(labels: Mapping[str, str], keys: Collection[str] | None) -> dict[str, str]:
    return {key: value for key, value in labels.items() if keys is not None and key not in keys}
