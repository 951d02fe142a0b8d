"""What clients ask for: one closed set of operations, and how each is put to the engine."""

from __future__ import annotations

from collections.abc import Coroutine
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from topicfold.model.desired import replace_members
from topicfold.model.events import AggregateKind
from topicfold.model.names import parse_topic
from topicfold.model.policy.changes import change_topic, delete_policies, holding, remove_value, set_value
from topicfold.model.policy.resolve import Policies
from topicfold.model.records import EMPTY, NamespaceRecord, TenantRecord, TopicRecord, frozen
from topicfold.model.updates import Updater
from topicfold.runtime.asking import Asked, Written
from topicfold.runtime.writing.writing import Writing


class Method(Enum):
    """Everything that can be done, and to which kind of aggregate."""

    CREATE_TOPIC = "create_topic"
    DELETE_TOPIC = "delete_topic"
    GROW = "grow_partitions"
    SET_LABELS = "set_labels"
    REMOVE_LABELS = "remove_labels"
    SET_POLICY = "set_policy"
    REMOVE_POLICY = "remove_policy"
    COUNT_UP = "count_up"
    DELETE_POLICIES = "delete_policies"
    RESTORE = "restore"
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


TTL, COUNTER, RETENTION, QUOTAS = (
    "messageTTLInSeconds", "maxProducerPerTopic", "retentionPolicies", "backLogQuotaMap",
)  # fmt: skip
"""The policies that are set; no request but `COUNT_UP` sets the counter."""

UNREADABLE: Final = "unreadable"
"""Stands for a live record that cannot be read."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One request, as a client means it.

    `marker` is unique, so what it sets names it. `number` is a count of partitions. `policies` are to be set, in the
    scope that `is_global` says.
    """

    method: Method
    kind: AggregateKind
    name: str
    namespace: str = ""
    labels: tuple[tuple[str, str], ...] = ()
    keys: tuple[str, ...] | None = None
    number: int = 0
    marker: str = ""
    policies: tuple[tuple[str, Any], ...] = ()
    is_global: bool = False

    @property
    def owner(self) -> str:
        """Whose partition it lives in."""
        return self.namespace if self.kind is AggregateKind.TOPIC else self.name

    @property
    def body(self) -> bytes:
        """Bytes that tell one request from another under the same key."""
        said = (self.labels, self.keys, self.number, self.marker, self.policies, self.is_global)
        return repr(said).encode()

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
            case _:
                return writing.change_topic(parse_topic(self.name), self._policy_updater(), asked)

    def _policy_updater(self) -> Updater:
        """Return the engine's own update of a topic's policies that does this."""
        policies = dict(self.policies)
        name = next(iter(policies), "")
        match self.method:
            case Method.SET_POLICY:
                change = holding(set_value(name, policies[name]), name, lambda: EMPTY)
                return change_topic(self.name, change, is_global=self.is_global)
            case Method.REMOVE_POLICY:
                return change_topic(self.name, remove_value(name), is_global=self.is_global, skip_if_absent=True)
            case Method.COUNT_UP:
                return change_topic(self.name, _counted_up, is_global=self.is_global)
            case Method.DELETE_POLICIES:
                return delete_policies(keeps_global=self.is_global)
            case _:
                members = {"labels": frozen(dict(self.labels)), "local": policies, "global_": None}
                return replace_members(self.name, members, lambda: EMPTY)

    @property
    def namespace_record(self) -> NamespaceRecord:
        """The record that a namespace is made with."""
        return NamespaceRecord(frozen({"op": self.marker} if self.marker else {}))

    @property
    def tenant_record(self) -> TenantRecord:
        """The record that a tenant is made with."""
        return TenantRecord((self.marker,) if self.marker else ())


def _counted_up(old: Policies) -> Policies:
    return {**old, COUNTER: old.get(COUNTER, 0) + 1}
