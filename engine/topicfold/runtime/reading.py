"""Reading: answers from the folded state, each from one cut of the log.

A topic whose deletion is decided no longer exists for readers and writers, even if Kafka has not followed yet.

`settle` waits until the state is as new as the request demands; what follows it on the loop without an await is one
cut. Internally, answers are numbers and sets; names are made here, at the edge.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Collection, Iterator, Mapping
from operator import itemgetter
from typing import NamedTuple

from pyroaring import BitMap

from topicfold.errors import (
    LogUnavailable,
    OperatorNeeded,
    PositionTimeout,
    TopicNotFound,
)
from topicfold.log import payload as payloads
from topicfold.model.clusters import CLUSTERS, Addresses, clusters_in
from topicfold.model.events import AggregateKind, operation_of
from topicfold.model.made import made
from topicfold.model.names import TopicName, partition_base
from topicfold.model.namespaces import Namespaces
from topicfold.model.records import Grants, NamespaceRecord, TenantRecord, TopicRecord
from topicfold.runtime.asking import Asked, Consistency, Cut
from topicfold.runtime.engine import Engine
from topicfold.runtime.finding.listed_labels import listed_labels
from topicfold.runtime.tenancy import namespaces_of
from topicfold.runtime.unreadable import unreadable
from topicfold.runtime.writing.refusals import namespace_not_found, tenant_not_found
from topicfold.state.operations import Settled
from topicfold.state.topic_table import TopicTable

BARRIER_SECONDS = 0.25
"""How long a GET waits for the log to say where it ends."""
FOLD_SECONDS = 3.0
"""How long it then waits until that is folded: some of it is known to be missing here.

Source: Kubernetes KEP-2340 (a consistent read from a cache waits as long).
"""


class TopicView(NamedTuple):
    """A live topic. `record` is None where its stored record, of that schema, cannot be read."""

    name: str
    etag: str
    record: TopicRecord | None
    payload_schema: int = 0


class Reading:
    """The reads of one node. All methods that need not be awaited answer at once, from what is folded."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def settle(self, partitions: Collection[int], asked: Asked) -> Cut:
        """Return once the state of `partitions` is as new as `asked` wants.

        A barrier for a GET gives up as `catch_up` does: the answer then says how old it may be.

        Raises:
            NotReady: a partition is not folded yet.
            PositionTimeout: the minimum position, or a linearizable barrier, was not reached in time.
            LogUnavailable: a linearizable read cannot be had.
        """
        engine = self._engine
        if not all(map(engine.readiness.can_be_read, partitions)):
            await engine.readiness.wait(partitions, engine.options.ready_timeout_seconds)
        if asked.minimum is not None:
            await engine.reach(asked.minimum, asked.deadline)
        if asked.consistency is Consistency.LINEARIZABLE:
            await engine.barriers.wait_linearizable(partitions, asked.deadline)
        elif asked.consistency is Consistency.BARRIER:
            await self.catch_up(partitions, asked.deadline)
        cut = self._cut(partitions)
        return cut._replace(revision=cut.revision.merged(asked.minimum))

    def cut(self, partitions: Collection[int]) -> Cut | None:
        """Return what `settle` returns if nothing has to be waited for; None if a partition has."""
        return self._cut(partitions) if all(map(self._engine.readiness.can_be_read, partitions)) else None

    def _cut(self, partitions: Collection[int]) -> Cut:
        engine, age_of = self._engine, self._engine.freshness.age_seconds
        return made(Cut, (engine.revision(partitions), max([age_of(each) for each in partitions])))

    async def catch_up(self, partitions: Collection[int], deadline: float = math.inf) -> None:
        """Fold `partitions` up to the log's end as of now, by `deadline` (a time of the loop's clock) at the latest.

        Gives up where the log does not say within `BARRIER_SECONDS` where it ends, or that is not folded after
        `FOLD_SECONDS` more. Does not wait for partitions that have stopped, or cannot be reached.
        """
        engine, now = self._engine, asyncio.get_running_loop().time
        if not engine.freshness.is_reachable:
            return
        try:
            ends = await engine.barriers.ends_by(min(deadline, now() + BARRIER_SECONDS))
            going_on = [each for each in partitions if each in ends and each not in engine.reader.faults]
            await engine.barriers.reach(ends, going_on, min(deadline, now() + FOLD_SECONDS))
        except (LogUnavailable, PositionTimeout, OperatorNeeded):
            return

    def topic(self, name: TopicName) -> TopicView:
        """Return a live topic.

        Raises:
            NamespaceNotFound, TopicNotFound: it is not there.
        """
        table, number = self._live(name)
        etag, schema, payload = table.stored(number)
        return made(TopicView, (str(name), str(etag), payloads.recall_topic(schema, payload), schema))

    def has_topic(self, name: TopicName) -> bool:
        """Return whether there is such a live topic, or such a partition of one."""
        return self._find(name) is not None or self.is_partition(name)

    def is_partition(self, name: TopicName) -> bool:
        """Return whether `name` is that of one partition of a live topic."""
        base = partition_base(name.local)
        found = None if base is None else self._find(name._replace(local=base))
        return found is not None and int(name.local.rpartition("-")[2]) < found[0].partitions.get(found[1], 0)

    def labels(self, name: TopicName) -> tuple[Mapping[str, str], str]:
        """Return a live topic's labels and its ETag; a topic whose record cannot be read has none.

        Raises:
            NamespaceNotFound, TopicNotFound: it is not there.
        """
        table, number = self._live(name)
        etag, _, _ = table.stored(number)
        return table.labels(number), str(etag)

    async def all_labels(self, namespace: str, among: BitMap | None = None) -> dict[str, list[str]]:
        """Return every label key of a namespace with its values, sorted; with `among`, those of these topics.

        As they are when this is called, whatever changes until it returns.

        Raises:
            NamespaceNotFound: it is not there.
            Overloaded: too much has changed meanwhile.
        """
        return await listed_labels(self._engine.tables.cuts, namespace, self._table(namespace), among)

    def namespace(self, name: str) -> tuple[NamespaceRecord, str]:
        """Return a live namespace's record and ETag.

        Raises:
            NamespaceNotFound: it is not there.
            Undecodable, NewerSchema: its record cannot be read.
        """
        self._table(name)
        owner = self._engine.states[self._engine.partition(name)].namespaces[name]
        record = payloads.decode_namespace(owner.payload_schema, owner.payload)
        if record is None:
            raise unreadable(AggregateKind.NAMESPACE, name, owner.payload_schema)
        return record, str(owner.etag)

    def require_namespace(self, name: str) -> None:
        """Return if a namespace is live, even if its record cannot be read.

        Raises:
            NamespaceNotFound: it is not there.
        """
        self._table(name)

    def require_namespaces(self, namespaces: Namespaces) -> None:
        """Return if everything that `namespaces` names exists: namespaces, and the tenants of patterns.

        Raises:
            NamespaceNotFound, TenantNotFound: it is not.
        """
        for name in namespaces.names:
            self.require_namespace(name)
        for tenant in namespaces.tenants:
            self.namespaces(tenant)

    def topic_grants(self, namespace: str) -> list[tuple[str, Grants]]:
        """Return the grants of a namespace's topics that have any, with the topics' keys, sorted.

        Raises:
            NamespaceNotFound: it is not there.
        """
        table = self._table(namespace)
        return sorted(
            [(table.keys[number], grants) for number, grants in table.grants.items() if number not in table.ending],
            key=itemgetter(0),
        )

    def namespaces(self, tenant: str) -> list[str]:
        """Return the live namespaces of a tenant, sorted.

        Raises:
            TenantNotFound: there is no such tenant.
        """
        names = namespaces_of(self._engine, tenant)
        if not names and tenant not in self._recorded():
            raise tenant_not_found(tenant)
        return names

    def tenant(self, name: str) -> tuple[TenantRecord, str]:
        """Return a tenant's record and ETag; one that exists through its namespaces alone has an empty record.

        Raises:
            TenantNotFound: there is no such tenant.
            Undecodable, NewerSchema: its record cannot be read.
        """
        record, etag = self._tenant_record(name)
        if record is None:
            self.namespaces(name)
        return record or TenantRecord(), etag

    def tenants(self) -> list[str]:
        """Return all tenants, sorted: those with a live record, and those with a live namespace."""
        states = self._engine.states.values()
        borne = {
            tenant
            for state in states
            for tenant, names in state.names_of.items()
            if not state.topics.keys().isdisjoint(names)
        }
        return sorted(self._recorded() | borne)

    def clusters(self) -> tuple[Mapping[str, Addresses], str]:
        """Return the registered clusters with their addresses, and the ETag of their record.

        Raises:
            Undecodable, NewerSchema: it cannot be read.
        """
        record, etag = self._tenant_record(CLUSTERS)
        return clusters_in(record or TenantRecord()), etag

    def operation(self, partition: int, actor: str, handle: bytes) -> Settled | None:
        """Return the outcome of the operation that `handle` means for `actor`.

        None where it has not been seen within the ring's horizon, or is another actor's.
        """
        return self._engine.states[partition].operations.get(operation_of(actor, handle))

    def _recorded(self) -> set[str]:
        """Return the tenants with a live record."""
        recorded = {name for state in self._engine.states.values() for name, t in state.tenants.items() if t.is_live}
        return {name for name in recorded if not name.startswith("@")}

    def _tenant_record(self, name: str) -> tuple[TenantRecord | None, str]:
        """Return a tenant's record, None where it has none, and its ETag."""
        owner = self._engine.states[self._engine.partition(name)].current(AggregateKind.TENANT, name)
        record = payloads.decode_tenant(owner.payload_schema, owner.payload) if owner.is_live else None
        if owner.is_live and record is None:
            raise unreadable(AggregateKind.TENANT, name, owner.payload_schema)
        return record, str(owner.etag)

    def _table(self, namespace: str) -> TopicTable:
        table = self._engine.tables.of(namespace)
        if table is None:
            raise namespace_not_found(namespace)
        return table

    def _live(self, name: TopicName) -> tuple[TopicTable, int]:
        found = self._find(name)
        if found is None:
            self._table(name.namespace)
            raise TopicNotFound(f"Topic {name} not found", name=str(name))
        return found

    def _find(self, name: TopicName) -> tuple[TopicTable, int] | None:
        """Return where a live topic's row is, None where there is none."""
        namespace = name.namespace
        table = self._engine.tables.of(namespace)
        number = None if table is None else table.numbers.get(name.key)
        if table is None or number is None or number not in table.live:
            return None
        return None if number in table.ending else (table, number)

    def all_namespaces(self) -> Iterator[str]:
        """Yield the live namespaces of all tenants, in no order."""
        return (name for state in self._engine.states.values() for name in state.topics)
