"""Writing: every change a user can ask for, as an update of one aggregate.

A change that concerns several partitions, such as a tenant and its namespaces, is checked here, at the edge: no fold
reads two partitions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress

from topicfold.errors import NamespaceNotFound, OutcomeUnknown, Wait
from topicfold.model import updates
from topicfold.model.events import (
    AggregateKind,
    Operation,
    Verdict,
    handle_of_key,
    is_refusal,
    operation_of,
    operation_text,
)
from topicfold.model.kafka.names import kafka_name
from topicfold.model.labels import check_labels
from topicfold.model.names import PERSISTENT, TopicName
from topicfold.model.records import NamespaceRecord, TenantRecord, TopicRecord
from topicfold.model.updates import Refuse, Updater
from topicfold.runtime.asking import Asked, Written
from topicfold.runtime.at_once import each_at_once
from topicfold.runtime.engine import Engine
from topicfold.runtime.tenancy import look_at, namespaces_of, tenant_exists
from topicfold.runtime.writing.conditions import Conditions, MustLook
from topicfold.runtime.writing.pending import check_body
from topicfold.runtime.writing.refusals import refusal
from topicfold.runtime.writing.update import Target, Update
from topicfold.state.operations import Settled

_AT_ONCE = 32


class Writing:
    """The writes of one node.

    Every method returns when the change is folded here, and may raise what `Updates.submit` does beside the
    refusals named.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def create_topic(self, name: TopicName, record: TopicRecord, asked: Asked) -> Written:
        """Make a topic, or replace one whose stored record cannot be read. Raises what `record_topic` does."""
        return await self.record_topic(name, record, asked)

    async def record_topic(self, name: TopicName, record: TopicRecord, asked: Asked) -> Written:
        """Make a topic's record and nothing else: in Kafka nothing is made, on no node.

        Raises:
            InvalidName: it has no Kafka name of its own and the record names none.
            InvalidLabels: all violations at once.
            AlreadyExists, NamespaceNotFound: refused.
            ClusterUnavailable: one of that name is being deleted, and Kafka has not followed yet.
        """
        return await self._topic(name, await self.recording(name, record), asked, replaces_whole=True)

    async def creation(self, name: TopicName, record: TopicRecord) -> Updater:
        """Return the update of `create_topic`, as far as it can be known without asking Kafka.

        Raises:
            InvalidName: it has no Kafka name of its own and the record names none, or Kafka allows no such name.
            InvalidLabels: all violations at once.
            NotReady, LogUnavailable, PositionTimeout: it could not be looked at what the update depends on.
        """
        return await self.recording(name, record)

    async def recording(self, name: TopicName, record: TopicRecord) -> Updater:
        """Return the update of `record_topic`.

        Raises:
            InvalidName: it has no Kafka name of its own and the record names none.
            InvalidLabels: all violations at once.
            NotReady, LogUnavailable, PositionTimeout: it could not be looked at what the update depends on.
        """
        self._check_creation(name, record)
        return updates.create(record, f"topic {name}")

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

    async def change_topic(self, name: TopicName, updater: Updater, asked: Asked, *, stated: str = "") -> Written:
        """Change a topic's record by a pure function of it. One whose end is decided counts as gone.

        `stated` names the one policy that is set, as `Conditions.of_topic` has it.

        Raises:
            TopicNotFound, NamespaceNotFound, PreconditionFailed: refused.
            PolicyUnmet, Forbidden, WrongKind: a policy cannot hold for this topic.
            InvalidRequest: the same of a whole record; carries all violations.
        """
        return await self._topic(name, updates.unless_ending(str(name), updater), asked, stated=stated)

    def answered(self, place: str | TopicName, asked: Asked) -> Written | None:
        """Return what this change of a topic, or of a namespace, was answered with before.

        None where its key is none that is known here.

        For what must be looked at before a change can be made: it may be gone since.

        Raises:
            KeyReused: the key was another request's.
            TopicNotFound, NamespaceNotFound, PreconditionFailed: refused then, or with whatever else it was.
        """
        target = self._engine.target_of(place)
        handle = self._handle(target, asked)
        settled = self._engine.states[target.partition].operations.get(operation_of(asked.actor, handle))
        if settled is None:
            return None
        check_body(asked.body_hash, settled.body_hash)
        return self._answer(settled, None, target, handle, asked)

    async def change_namespace(self, name: str, updater: Updater, asked: Asked, *, stated: str = "") -> Written:
        """Change a namespace's record by a pure function of it; `stated` names the one policy that is set.

        Raises:
            NamespaceNotFound, PreconditionFailed: refused.
            PolicyUnmet, Forbidden: a policy cannot hold for this namespace.
        """
        conditions = Conditions(self._engine, asked.sees)
        target = self._engine.target(AggregateKind.NAMESPACE, name)
        return await self._submit(target, conditions.of_namespace(name, updater, stated), asked, conditions=conditions)

    async def create_namespace(self, name: str, record: NamespaceRecord, asked: Asked) -> Written:
        """Make a namespace of a tenant that exists.

        Raises:
            TenantNotFound: two looks, each after a barrier, saw no such tenant.
            AlreadyExists, PolicyUnmet, Forbidden: refused.
        """
        tenant = name.partition("/")[0]
        updater = updates.create(record, f"namespace {name}")
        if not await tenant_exists(self._engine, tenant, asked):
            missing = updates.tenant_missing(tenant)

            def without_tenant(old: updates.Stored) -> Refuse:
                return missing if old is None else Refuse(Verdict.ALREADY_EXISTS, f"namespace {name} exists already")

            updater = without_tenant
        return await self.change_namespace(name, updater, asked)

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
        return await self._submit_once(target, updater, asked, alone=True, require_empty=not force, replaces_whole=True)

    async def create_tenant(self, name: str, record: TenantRecord, asked: Asked) -> Written:
        """Make a tenant.

        Raises:
            AlreadyExists: refused.
            PolicyUnmet: it would be allowed a cluster that there is none of.
        """
        return await self.change_tenant(name, updates.create(record, f"tenant {name}"), asked)

    async def update_tenant(self, name: str, record: TenantRecord, asked: Asked) -> Written:
        """Replace a tenant's record.

        Raises:
            TenantNotFound: refused.
            PolicyUnmet: it would be allowed a cluster that there is none of.
        """
        return await self.change_tenant(name, updates.replace_tenant(name, record), asked, replaces_whole=True)

    async def change_tenant(
        self, name: str, updater: Updater, asked: Asked, *, replaces_whole: bool = False
    ) -> Written:
        """Change a tenant's record by a pure function of it; only one that `replaces_whole` may meet an unreadable one.

        Raises:
            TenantNotFound, TooLarge, PreconditionFailed: refused, or whatever else the updater refuses with.
            PolicyUnmet: it would be allowed a cluster that there is none of.
        """
        conditions = Conditions(self._engine, asked.sees)
        target, updater = self._engine.target(AggregateKind.TENANT, name), conditions.of_tenant(updater)
        return await self._submit(target, updater, asked, conditions=conditions, replaces_whole=replaces_whole)

    async def delete_tenant(self, name: str, asked: Asked, *, force: bool = False) -> Written:
        """End a tenant; with `force` its namespaces first, several at once, which may stop half-way.

        A retry under a key that is settled ends nothing more; one that comes while the first attempt is undecided
        ends the namespaces it finds.

        Raises:
            NotEmpty: a live namespace bears its name.
            TenantNotFound: refused.
            OutcomeUnknown: its namespaces could not all be ended, or not in time; that the tenant stands is what its
                operation says.
        """
        await look_at(self._engine, self._engine.states, asked)
        target = self._engine.target(AggregateKind.TENANT, name)
        ended: list[str] = []
        if force and not self._is_decided(target, asked):
            failure = await self._end_namespaces(namespaces_of(self._engine, name), asked, ended)
            if isinstance(failure, OutcomeUnknown) or (ended and isinstance(failure, Wait)):
                raise OutcomeUnknown(
                    f"tenant {name} was not deleted; {len(ended)} of its namespaces were: {failure.reason}",
                    operation=operation_text(target.partition, self._handle(target, asked)),
                    hint="Delete it again: what was deleted stays deleted.",
                    remedy=failure.values.get("remedy", ""),
                ) from failure
            if failure is not None:
                raise failure

        def update(old: updates.Stored) -> Refuse | None:
            owned = namespaces_of(self._engine, name)
            if owned:
                return Refuse(Verdict.TENANT_IN_USE, f"tenant {name} has namespaces: {', '.join(owned[:5])}")
            return updates.tenant_missing(name) if old is None and not ended else None

        return await self._submit_once(target, update, asked, replaces_whole=True)

    async def _end_namespaces(self, names: Sequence[str], asked: Asked, ended: list[str]) -> Exception | None:
        """End namespaces with all that is in them, and add to `ended` those that this did; return what stopped it.

        After a failure no other is begun; of several failures it is one that leaves open what became of a namespace.
        """

        async def end(name: str) -> None:
            with suppress(NamespaceNotFound):
                await self.delete_namespace(name, asked, force=True)
                ended.append(name)

        failures = await each_at_once(end, names, _AT_ONCE)
        return max(failures, key=lambda each: isinstance(each, OutcomeUnknown), default=None)

    def _check_creation(self, name: TopicName, record: TopicRecord) -> None:
        if record.kafka_name is None and name.domain == PERSISTENT:
            kafka_name(name)
        check_labels(record.labels, self._engine.options.label_rules)

    async def _topic(
        self, name: TopicName, updater: Updater, asked: Asked, *, replaces_whole: bool = False, stated: str = ""
    ) -> Written:
        conditions = Conditions(self._engine, asked.sees)
        target = self._engine.target(AggregateKind.TOPIC, str(name), name.namespace)
        updater = conditions.of_topic(name, updater, stated)
        return await self._submit(target, updater, asked, conditions=conditions, replaces_whole=replaces_whole)

    async def _submit(
        self, target: Target, updater: Updater, asked: Asked, *, conditions: Conditions, replaces_whole: bool = False
    ) -> Written:
        """Submit an update with conditions; look where they must be looked at first."""
        while True:
            try:
                return await self._submit_once(target, updater, asked, replaces_whole=replaces_whole)
            except MustLook as wanted:
                await look_at(self._engine, wanted.partitions, asked)
                conditions.looked(wanted.partitions)

    async def _submit_once(
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
        # To wait for nothing costs more than to ask whether there is anything to wait for.
        if not engine.readiness.can_be_read(target.partition):
            await engine.readiness.wait([target.partition], engine.options.ready_timeout_seconds)
        if asked.minimum is not None:
            await engine.reach(asked.minimum, asked.deadline)
        handle = self._handle(target, asked)
        update = Update(
            target,
            Operation(operation_of(asked.actor, handle), 0, asked.key is not None, asked.body_hash),
            updater,
            asked.audit,
            asyncio.get_running_loop().create_future(),
            handle=handle,
            if_match=asked.if_match,
            if_none_match=asked.if_none_match,
            alone=alone,
            require_empty=require_empty,
            replaces_whole=replaces_whole,
        )
        settled = await engine.updates.submit(update, asked.deadline)
        if update.failure is not None and settled.verdict in (Verdict.FAILED, Verdict.UNDECODABLE):
            raise update.failure
        return self._answer(settled, update.refusal, target, handle, asked)

    def _answer(
        self, settled: Settled, refused: updates.Refuse | None, target: Target, handle: bytes, asked: Asked
    ) -> Written:
        if is_refusal(settled.verdict):
            raise refusal(settled.verdict, refused, target, str(settled.etag))
        return Written(
            str(settled.etag),
            self._engine.revision([target.partition]).merged(asked.minimum),
            operation_text(target.partition, handle),
            settled.verdict == Verdict.CHANGED,
        )

    def _handle(self, target: Target, asked: Asked) -> bytes:
        if asked.key is None:
            return self._engine.options.new_id()
        return handle_of_key(asked.actor, asked.method, target.name, asked.key)

    def _is_decided(self, target: Target, asked: Asked) -> bool:
        """Return whether an earlier attempt of this change is known here: its outcome stands."""
        operation = operation_of(asked.actor, self._handle(target, asked))
        return self._engine.states[target.partition].operations.get(operation) is not None
