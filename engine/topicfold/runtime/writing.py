"""Writing: every change a user can ask for, as an update of one aggregate.

What concerns more than one partition, a tenant and its namespaces, is looked at here, at the edge: no fold reads
two partitions.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Collection, Mapping

from topicfold.errors import (
    AlreadyExists,
    ClusterRefused,
    FewerPartitions,
    InvalidLabels,
    NamespaceNotFound,
    NotEmpty,
    NotFound,
    PolicyUnmet,
    PreconditionFailed,
    TenantNotFound,
    TooLarge,
    TopicfoldError,
    TopicNotFound,
    Undecodable,
    WrongKind,
)
from topicfold.model import updates
from topicfold.model.events import AggregateKind, Operation, Verdict, operation_of_key
from topicfold.model.grants import MAX_ROLES
from topicfold.model.labels import check_labels
from topicfold.model.names import PERSISTENT, TopicName, kafka_name
from topicfold.model.policy.retention import QUOTA_EXCEEDS, RETENTION_BELOW
from topicfold.model.records import NamespaceRecord, TenantRecord, TopicRecord
from topicfold.model.updates import Refuse, Updater
from topicfold.runtime.asking import Asked, Written
from topicfold.runtime.engine import Engine
from topicfold.runtime.group import Target, Update
from topicfold.runtime.updates import operation_text
from topicfold.state.aggregate import Aggregate


class Writing:
    """The writes of one node.

    Every method returns when the change is folded here, and may raise what `Updates.submit` does beside the
    refusals named.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def create_topic(self, name: TopicName, record: TopicRecord, asked: Asked) -> Written:
        """Make a topic, or replace one whose stored record cannot be read.

        Raises:
            InvalidName: it has no Kafka name of its own and the record names none.
            InvalidLabels: all violations at once.
            AlreadyExists, NamespaceNotFound: refused.
        """
        return await self.record_topic(name, record, asked)

    async def record_topic(self, name: TopicName, record: TopicRecord, asked: Asked) -> Written:
        """Make a topic's record and nothing else: in Kafka nothing is made, on no node.

        Raises:
            InvalidName: it has no Kafka name of its own and the record names none.
            InvalidLabels: all violations at once.
            AlreadyExists, NamespaceNotFound: refused.
        """
        self._check_creation(name, record)
        return await self._topic(name, updates.create(record, f"topic {name}"), asked, replaces_whole=True)

    async def delete_topic(self, name: TopicName, asked: Asked, *, is_partitioned: bool | None = None) -> Written:
        """End a topic, its labels and policies with it; `is_partitioned` None takes either kind.

        Raises:
            TopicNotFound, NamespaceNotFound, WrongKind, PreconditionFailed: refused.
        """
        updater = updates.delete_topic(str(name), is_partitioned=is_partitioned)
        return await self._topic(name, updater, asked, replaces_whole=True)

    async def grow_partitions(self, name: TopicName, partitions: int, asked: Asked) -> Written:
        """Raise the number of partitions of a partitioned topic.

        Raises:
            WrongKind: it is none.
            FewerPartitions: it has more already.
        """
        return await self._topic(name, updates.grow_partitions(str(name), partitions), asked)

    async def set_labels(self, name: TopicName, labels: Mapping[str, str], asked: Asked) -> Written:
        """Set or change `labels` of a topic, keeping its others.

        Raises:
            InvalidLabels: all violations at once.
            TopicNotFound, NamespaceNotFound, PreconditionFailed: refused.
        """
        rules = self._engine.options.label_rules
        check_labels(labels, rules)
        return await self.change_topic(name, updates.set_labels(str(name), labels, rules), asked)

    async def remove_labels(self, name: TopicName, keys: Collection[str] | None, asked: Asked) -> Written:
        """Take labels off a topic, all of them where `keys` is None. Absent keys are no error.

        Raises:
            TopicNotFound, NamespaceNotFound, PreconditionFailed: refused.
        """
        return await self.change_topic(name, updates.remove_labels(str(name), keys), asked)

    async def change_topic(self, name: TopicName, updater: Updater, asked: Asked) -> Written:
        """Change a topic's record by a pure function of it. One whose end is decided counts as gone.

        Raises:
            TopicNotFound, NamespaceNotFound, PolicyUnmet, PreconditionFailed: refused.
        """
        return await self._topic(name, updates.unless_ending(str(name), updater), asked)

    async def change_namespace(self, name: str, updater: Updater, asked: Asked) -> Written:
        """Change a namespace's record by a pure function of it.

        Raises:
            NamespaceNotFound, PolicyUnmet, PreconditionFailed: refused.
        """
        return await self._submit(self._engine.target(AggregateKind.NAMESPACE, name), updater, asked)

    async def create_namespace(self, name: str, record: NamespaceRecord, asked: Asked) -> Written:
        """Make a namespace of a tenant that exists.

        Raises:
            TenantNotFound: two looks, each after a barrier, saw no such tenant.
            AlreadyExists: refused.
        """
        tenant = name.partition("/")[0]
        updater = updates.create(record, f"namespace {name}")
        if not await self._tenant_exists(tenant, asked):
            missing = updates.tenant_missing(tenant)

            def without_tenant(old: updates.Stored) -> Refuse:
                return missing if old is None else Refuse(Verdict.ALREADY_EXISTS, f"namespace {name} exists already")

            updater = without_tenant
        return await self._submit(self._engine.target(AggregateKind.NAMESPACE, name), updater, asked)

    async def delete_namespace(self, name: str, asked: Asked, *, force: bool = False) -> Written:
        """End a namespace; with `force` its topics end with it.

        Whether topics live in it is left to the fold: this node may not have heard yet that the last of them ended,
        and their ends do not move the namespace's version.

        Raises:
            NotEmpty: topics live in it.
            NamespaceNotFound: refused.
        """
        target = self._engine.target(AggregateKind.NAMESPACE, name)
        updater = updates.delete(updates.namespace_missing(name))
        return await self._submit(target, updater, asked, alone=True, require_empty=not force, replaces_whole=True)

    async def create_tenant(self, name: str, record: TenantRecord, asked: Asked) -> Written:
        """Make a tenant.

        Raises:
            AlreadyExists: refused.
        """
        updater = updates.create(record, f"tenant {name}")
        return await self._submit(self._engine.target(AggregateKind.TENANT, name), updater, asked)

    async def update_tenant(self, name: str, record: TenantRecord, asked: Asked) -> Written:
        """Replace a tenant's record.

        Raises:
            TenantNotFound: refused.
        """
        updater = updates.replace_tenant(name, record)
        return await self._submit(self._engine.target(AggregateKind.TENANT, name), updater, asked, replaces_whole=True)

    async def change_tenant(self, name: str, updater: Updater, asked: Asked) -> Written:
        """Change a tenant's record by a pure function of it.

        Raises:
            TenantNotFound, TooLarge, PreconditionFailed: refused, or whatever else the updater refuses with.
        """
        return await self._submit(self._engine.target(AggregateKind.TENANT, name), updater, asked)

    async def delete_tenant(self, name: str, asked: Asked, *, force: bool = False) -> Written:
        """End a tenant; with `force` its namespaces first, one after another, which may stop half-way.

        A retry under a key that is settled ends nothing more; one that comes while the first attempt is undecided
        ends the namespaces it finds.

        Raises:
            NotEmpty: a live namespace bears its name.
            TenantNotFound: refused.
        """
        await self._pass_everywhere(asked)
        target = self._engine.target(AggregateKind.TENANT, name)
        ended: list[str] = []
        if force and self._engine.states[target.partition].operations.get(self._operation_id(target, asked)) is None:
            for namespace in self._namespaces_of(name):
                with contextlib.suppress(NamespaceNotFound):
                    await self.delete_namespace(namespace, asked, force=True)
                    ended.append(namespace)

        def update(old: updates.Stored) -> Refuse | None:
            owned = self._namespaces_of(name)
            if owned:
                return Refuse(Verdict.TENANT_IN_USE, f"tenant {name} has namespaces: {', '.join(owned[:5])}")
            return updates.tenant_missing(name) if old is None and not ended else None

        return await self._submit(target, update, asked, replaces_whole=True)

    def _check_creation(self, name: TopicName, record: TopicRecord) -> None:
        if record.kafka_name is None and name.domain == PERSISTENT:
            kafka_name(name)
        check_labels(record.labels, self._engine.options.label_rules)

    def _namespaces_of(self, tenant: str) -> list[str]:
        tables = (state.topics for state in self._engine.states.values())
        return sorted(name for names in tables for name in names if name.startswith(f"{tenant}/"))

    async def _tenant_exists(self, name: str, asked: Asked) -> bool:
        """Return whether a tenant exists; a no needs two looks that saw the same versions."""
        before: tuple[object, ...] | None = None
        while True:
            await self._pass_everywhere(asked)
            seen = self._versions_of_tenant(name)
            if any(owner.is_live for owner in seen):
                return True
            if seen == before:
                return False
            before = seen

    def _versions_of_tenant(self, name: str) -> tuple[Aggregate, ...]:
        states = self._engine.states
        tenant = states[self._engine.partition(name)].current(AggregateKind.TENANT, name)
        return (
            tenant,
            *(
                namespace
                for state in states.values()
                for full, namespace in state.namespaces.items()
                if full.startswith(f"{name}/")
            ),
        )

    async def _pass_everywhere(self, asked: Asked) -> None:
        await self._engine.readiness.wait(self._engine.states, self._engine.options.ready_timeout_seconds)
        await self._engine.barriers.wait(self._engine.states, asked.deadline)

    async def _topic(self, name: TopicName, updater: Updater, asked: Asked, *, replaces_whole: bool = False) -> Written:
        target = self._engine.target(AggregateKind.TOPIC, str(name), name.namespace)
        return await self._submit(target, updater, asked, replaces_whole=replaces_whole)

    async def _submit(
        self,
        target: Target,
        updater: Updater,
        asked: Asked,
        *,
        alone: bool = False,
        require_empty: bool = False,
        replaces_whole: bool = False,
    ) -> Written:
        engine = self._engine
        await engine.readiness.wait([target.partition], engine.options.ready_timeout_seconds)
        await engine.reach(asked.minimum, asked.deadline)
        operation_id = self._operation_id(target, asked)
        update = Update(
            target,
            Operation(operation_id, 0, asked.key is not None, asked.body_hash),
            updater,
            asked.audit,
            asyncio.get_running_loop().create_future(),
            if_match=asked.if_match,
            alone=alone,
            require_empty=require_empty,
            replaces_whole=replaces_whole,
        )
        settled = await engine.updates.submit(update, asked.deadline)
        if settled.verdict > Verdict.UNCHANGED:
            raise refusal(settled.verdict, update.refusal, target, str(settled.etag))
        return Written(
            str(settled.etag),
            engine.revision([target.partition]).merged(asked.minimum),
            operation_text(target.partition, operation_id),
            settled.verdict == Verdict.CHANGED,
        )

    def _operation_id(self, target: Target, asked: Asked) -> bytes:
        if asked.key is None:
            return self._engine.options.new_id()
        return operation_of_key(asked.actor, asked.method, target.name, asked.key)


def refusal(verdict: int, reason: str, target: Target, etag: str) -> TopicfoldError:
    """Return the error that a refused operation is answered with; `reason` may be lost ("") after a restart."""
    name = target.name
    match verdict:
        case Verdict.NOT_EMPTY:
            return NotEmpty(
                reason or f"Cannot delete non empty namespace {name}", hint="Delete its topics first, or use force."
            )
        case Verdict.TENANT_IN_USE:
            return NotEmpty(reason or f"tenant {name} has namespaces", hint="Delete its namespaces first, or force it.")
        case Verdict.TOPIC_NOT_FOUND:
            return TopicNotFound(reason or f"Topic {name} not found", name=name)
        case Verdict.NAMESPACE_NOT_FOUND:
            namespace = target.namespace
            return NamespaceNotFound(
                f"Namespace not found: {namespace}",
                name=namespace,
                hint=f"topicfold namespaces create {namespace}",
            )
        case Verdict.TENANT_NOT_FOUND:
            tenant = name.partition("/")[0]
            return TenantNotFound(
                reason or f"tenant {tenant} not found", name=tenant, hint=f"topicfold tenants create {tenant}"
            )
        case Verdict.ALREADY_EXISTS:
            return AlreadyExists(reason or f"{name} exists already", name=name)
        case Verdict.PRECONDITION_FAILED:
            return PreconditionFailed(f"{name} has another version now", current=etag)
        case Verdict.TOO_MANY_LABELS:
            return InvalidLabels([{"path": "labels", "reason": reason or "too many labels"}])
        case Verdict.WRONG_KIND:
            return WrongKind(reason or f"topic {name} is of the other kind", name=name)
        case Verdict.FEWER_PARTITIONS:
            return FewerPartitions(reason or "partitions cannot become fewer", name=name)
        case Verdict.RECORD_TOO_LARGE:
            return TooLarge(reason or "the record would be too large", limit=256 * 1024)
        case Verdict.QUOTA_EXCEEDS_RETENTION:
            return PolicyUnmet(QUOTA_EXCEEDS.replace("topic", target.kind.name.lower()))
        case Verdict.RETENTION_BELOW_QUOTA:
            return PolicyUnmet(RETENTION_BELOW.replace("topic", target.kind.name.lower()))
        case Verdict.POLICY_UNMET:
            return PolicyUnmet(reason or f"the policy cannot hold for {name}")
        case Verdict.TOO_MANY_GRANTS:
            return TooLarge(reason or "more names than one record may hold", limit=MAX_ROLES)
        case Verdict.CLUSTER_NOT_FOUND:
            return NotFound(reason or "Cluster does not exist", hint="GET /admin/v2/clusters lists those there are.")
        case Verdict.CLUSTER_REFUSED:
            return ClusterRefused(reason or f"Kafka refuses the topic of {name}", kafka_topic=name)
        case Verdict.UNDECODABLE:
            return Undecodable(reason or f"the record of {name} cannot be read", name=name)
        case _:
            return TopicfoldError(f"refused for a reason this version does not know ({verdict})")
