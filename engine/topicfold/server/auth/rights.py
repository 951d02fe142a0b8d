"""What roles may do, by what this node has folded: admins of tenants, and grants on tenants, namespaces and topics.

A tenant's record lies in another partition than its namespaces, so a change of it may take effect a moment earlier or
later than one of theirs. What has not been folded since the start counts for nothing, nor what is not to be believed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pyroaring import BitMap

from topicfold.log.payload import decode_namespace, decode_tenant
from topicfold.model.events import partition_of
from topicfold.model.names import TopicName, partition_base
from topicfold.model.permissions import Permission, allows
from topicfold.model.records import NO_GRANTS, Grants, TenantRecord
from topicfold.runtime.engine import Engine
from topicfold.state.aggregate import Aggregate
from topicfold.state.fold import PartitionState
from topicfold.state.indexes.postings import Postings
from topicfold.state.topic_table import TopicTable

MAX_REMEMBERED = 10_000

Roles = frozenset[str]
Asked = tuple[Roles, Permission, str]


class _Grounds(NamedTuple):
    """What a yes rests on: `record` being the record of that name, in a partition that can be read."""

    partition: int
    records: Mapping[str, Aggregate]
    name: str
    record: Aggregate


class Rights:
    """Answers from the engine's state at the moment it is asked. What does not exist has no grants."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._partitions = engine.identity.partitions
        self._grounds: dict[Asked, _Grounds] = {}

    def on_tenant(self, roles: Roles, permission: Permission, tenant: str) -> bool:
        """Return whether `roles` have `permission` in all of a tenant."""
        record = self._tenant(tenant)
        return not roles.isdisjoint(record.admin_roles) or _granted(record.grants, roles, permission)

    def on_namespace(self, roles: Roles, permission: Permission, namespace: str) -> bool:
        """Return whether `roles` have `permission` in all of a namespace.

        A yes is remembered with the record that says it, and stands as long as that is the record. Cost: O(roles);
        0.4 µs for the same yes again.
        """
        asked = roles, permission, namespace
        grounds = self._grounds.get(asked)
        if (
            grounds is not None
            and grounds.records.get(grounds.name) is grounds.record
            and self._engine.readiness.can_be_read(grounds.partition)
        ):
            return True
        tenant = namespace.partition("/")[0]
        if _granted(self._namespace_grants(namespace), roles, permission):
            self._remember(asked, self._state(namespace), namespace)
        elif self.on_tenant(roles, permission, tenant):
            self._remember(asked, self._state(tenant), tenant)
        else:
            return False
        return True

    def on_topic(self, roles: Roles, permission: Permission, name: TopicName) -> bool:
        """Return whether `roles` have `permission` on a topic; one partition of a topic is under the topic's grants."""
        if self.on_namespace(roles, permission, name.namespace):
            return True
        table = self._table(name.namespace)
        return table is not None and _granted(_topic_grants(table, name), roles, permission)

    def listable(self, roles: Roles, namespace: str) -> BitMap | None:
        """Return the topics of a namespace that `roles` may list, by their numbers; None where that is all of them.

        The set may be the index's own: it must not be changed, and holds until the next fold. Cost: set steps, a few
        for each of the roles.
        """
        if self.on_namespace(roles, Permission.LIST_TOPICS, namespace):
            return None
        table = self._table(namespace)
        granting = [] if table is None else [
            topics
            for role in roles
            for actions, topics in table.granted.to(role).items()
            if allows(actions, Permission.LIST_TOPICS)
        ]  # fmt: skip
        return Postings.union(granting) if granting else BitMap()

    def touch_namespace(self, roles: Roles, namespace: str) -> bool:
        """Return whether `roles` have any right in a namespace, or in all of its tenant. Cost: O(roles)."""
        if not roles.isdisjoint(self._namespace_grants(namespace)):
            return True
        table = self._table(namespace)
        if table is not None and any(map(table.granted.to, roles)):
            return True
        return self.touch_tenant(roles, namespace.partition("/")[0])

    def touch_tenant(self, roles: Roles, tenant: str) -> bool:
        """Return whether `roles` have any right in all of a tenant; those in one of its namespaces do not count."""
        record = self._tenant(tenant)
        return not (roles.isdisjoint(record.admin_roles) and roles.isdisjoint(record.grants))

    def granted_on(self, place: str | TopicName, role: str) -> Sequence[str]:
        """Return what `role` is granted on a tenant, a namespace or a topic itself."""
        if isinstance(place, TopicName):
            table = self._table(place.namespace)
            grants = NO_GRANTS if table is None else _topic_grants(table, place)
        else:
            grants = self._namespace_grants(place) if "/" in place else self._tenant(place).grants
        return grants.get(role, ())

    def _remember(self, asked: Asked, state: PartitionState | None, name: str) -> None:
        if state is not None:
            if len(self._grounds) >= MAX_REMEMBERED:
                self._grounds.clear()
            records = state.namespaces if "/" in name else state.tenants
            self._grounds[asked] = _Grounds(state.partition, records, name, records[name])

    def _tenant(self, tenant: str) -> TenantRecord:
        state = self._state(tenant)
        owner = None if state is None else state.tenants.get(tenant)
        if owner is None or not owner.is_live:
            return _NOBODY
        return decode_tenant(owner.payload_schema, owner.payload) or _NOBODY

    def _namespace_grants(self, namespace: str) -> Grants:
        state = self._state(namespace)
        owner = None if state is None else state.namespaces.get(namespace)
        if owner is None or not owner.is_live:
            return NO_GRANTS
        record = decode_namespace(owner.payload_schema, owner.payload)
        return NO_GRANTS if record is None else record.grants

    def _table(self, namespace: str) -> TopicTable | None:
        state = self._state(namespace)
        return None if state is None else state.topics.get(namespace)

    def _state(self, name: str) -> PartitionState | None:
        """Return the state that a tenant or a namespace is in, None while it is not folded, or not to be believed."""
        partition = partition_of(name, self._partitions)
        return self._engine.states[partition] if self._engine.readiness.can_be_read(partition) else None


_NOBODY = TenantRecord()


def _topic_grants(table: TopicTable, name: TopicName) -> Grants:
    number = table.numbers.get(name.key)
    if number is None or number not in table.live:
        base = partition_base(name.local)
        number = None if base is None else table.numbers.get(name._replace(local=base).key)
    return NO_GRANTS if number is None else table.grants.get(number, NO_GRANTS)


def _granted(grants: Grants, roles: Roles, permission: Permission) -> bool:
    for role in roles:
        actions = grants.get(role)
        if actions is not None and allows(actions, permission):
            return True
    return False
