"""Policies of one topic: what each level says, read from the folded state as of one cut.

Fails closed: a record that cannot be read is an error and never counts as empty. Otherwise the level below would take
effect, and a shorter retention deletes data.

Source: Pulsar's issue #26137.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from topicfold.log.payload import decode_namespace
from topicfold.model.events import AggregateKind
from topicfold.model.names import TopicName
from topicfold.model.policy.changes import QUOTAS, RETENTION
from topicfold.model.policy.limits import Limits
from topicfold.model.policy.resolve import Effective, Origin, Policies, broker_level, broker_value, resolve_all
from topicfold.model.policy.table import BY_NAME
from topicfold.model.records import EMPTY, TopicRecord
from topicfold.model.system_topics import is_system_topic
from topicfold.runtime.engine import Engine
from topicfold.runtime.reading import Reading, TopicView
from topicfold.runtime.unreadable import unreadable


@dataclass(frozen=True, slots=True)
class TopicPolicies:
    """What is said of one topic's policies: by its own `record`, by its namespace, and by this node.

    Ask at once: the namespace is looked at when it is asked for, unless `once` is what it said at another time.
    """

    engine: Engine
    name: TopicName
    etag: str
    record: TopicRecord
    once: Policies | None = None

    @property
    def limits(self) -> Limits:
        """What policies may say on this node."""
        return self.engine.options.limits

    def namespace(self) -> Policies:
        """Return the policies of the topic's namespace.

        Raises:
            Undecodable, NewerSchema: its record cannot be read.
        """
        return namespace_policies(self.engine, self.name.namespace) if self.once is None else self.once

    def own(self, *, is_global: bool) -> Policies | None:
        """Return the topic's own policies of one scope, None where it never had any."""
        return self.record.global_ if is_global else self.record.local

    def levels(self) -> Mapping[Origin, Policies | None]:
        """Return what each level says that is heard: a node may be told to pass over topics, or their filters.

        Raises:
            Undecodable, NewerSchema: the namespace's record cannot be read.
        """
        limits = self.limits
        levels: dict[Origin, Policies | None] = {}
        if limits.policies_enabled:
            levels |= {Origin.TOPIC: self.record.local, Origin.GLOBAL: self.record.global_}
        levels[Origin.NAMESPACE] = self.namespace()
        if not limits.may_override_entry_filters:
            levels = {origin: _without_filters(policies) for origin, policies in levels.items()}
        return levels | {Origin.BROKER: broker_level(limits)}

    def effective(self) -> dict[str, Effective]:
        """Return what takes effect of every policy, by name, in the order of the table.

        Raises:
            Undecodable, NewerSchema: the namespace's record cannot be read.
        """
        return resolve_all(self.levels(), is_system_topic=is_system_topic(self.name.local))


def policies_of(engine: Engine, name: TopicName) -> TopicPolicies:
    """Return what is said of the policies of a live topic.

    Raises:
        NamespaceNotFound, TopicNotFound: it is not there.
        Undecodable, NewerSchema: its record cannot be read.
    """
    view = Reading(engine).topic(name)
    return TopicPolicies(engine, name, view.etag, readable(view))


def readable(view: TopicView) -> TopicRecord:
    """Return a topic's record.

    Raises:
        Undecodable, NewerSchema: it cannot be read.
    """
    if view.record is None:
        raise unreadable(AggregateKind.TOPIC, view.name, view.payload_schema)
    return view.record


def namespace_policies(engine: Engine, name: str) -> Policies:
    """Return the policies of a namespace; one that is not live has none.

    Raises:
        Undecodable, NewerSchema: its record cannot be read.
    """
    owner = engine.states[engine.partition(name)].current(AggregateKind.NAMESPACE, name)
    if not owner.is_live:
        return EMPTY
    record = decode_namespace(owner.payload_schema, owner.payload)
    if record is None:
        raise unreadable(AggregateKind.NAMESPACE, name, owner.payload_schema)
    return record.policies


def below_topics(engine: Engine, namespace: str) -> Policies:
    """Return the retention and the backlog quotas that hold where a topic says nothing, each quota by itself.

    Raises:
        Undecodable, NewerSchema: the namespace's record cannot be read.
    """
    limits = engine.options.limits
    said = namespace_policies(engine, namespace)
    quotas = {**broker_value(BY_NAME[QUOTAS], limits), **said.get(QUOTAS, EMPTY)}
    retention = said.get(RETENTION, broker_value(BY_NAME[RETENTION], limits))
    return MappingProxyType({RETENTION: retention, QUOTAS: MappingProxyType(quotas)})


def _without_filters(policies: Policies | None) -> Policies | None:
    return policies and {name: value for name, value in policies.items() if name != "entryFilters"}
