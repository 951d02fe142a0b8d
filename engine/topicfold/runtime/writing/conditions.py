"""Conditions between a policy's value and other records: its namespace, the clusters and other topics.

They are checked inside every update, against the state folded at that moment. So a refusal is the log's decision, and
final for its key. A refusal that depends on another partition needs a barrier there first (`MustLook`).

Source: `internalSetReplicationClusters` and `internalSetShadowTopic` of Pulsar's `PersistentTopicsBase`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

from topicfold.errors import InvalidRequest
from topicfold.model.desired import GLOBAL_SCOPE, SCOPES
from topicfold.model.events import Verdict
from topicfold.model.names import PERSISTENT, TopicName, parse_topic
from topicfold.model.policy.changes import QUOTAS, RETENTION, contradicts
from topicfold.model.policy.resolve import Policies
from topicfold.model.policy.retention import RETENTION_BELOW
from topicfold.model.policy.values import Value
from topicfold.model.records import EMPTY, NamespaceRecord, Record, TenantRecord, TopicRecord
from topicfold.model.system_topics import is_heartbeat_namespace
from topicfold.model.updates import Postponed, Refuse, Stored, Updater
from topicfold.runtime.engine import Engine
from topicfold.runtime.policies import below_topics, namespace_policies
from topicfold.runtime.reading import Reading
from topicfold.runtime.writing.cluster_rules import cluster_partitions, refusal_of_clusters, unknown_clusters

REPLICATION = "replicationClusters"
SHADOWS = "shadowTopics"

Sees = Callable[[TopicName], bool]


class MustLook(Postponed):
    """A refusal that is only given after a barrier in `partitions`."""

    def __init__(self, partitions: Collection[int]) -> None:
        super().__init__(f"partitions {sorted(partitions)}")
        self.partitions = frozenset(partitions)


class Conditions:
    """The conditions of one request's change. `sees` tells which topics who asks may know of."""

    def __init__(self, engine: Engine, sees: Sees) -> None:
        self._engine = engine
        self._reading = Reading(engine)
        self._sees = sees
        self._looked: set[int] = set()

    def looked(self, partitions: Collection[int]) -> None:
        """Note that a barrier asked for after the request has passed in `partitions`."""
        self._looked |= set(partitions)

    def of_topic(self, name: TopicName, updater: Updater, stated: str = "") -> Updater:
        """Return `updater`, refused where policies of a topic that it changes cannot hold.

        The policy called `stated` is looked at even where it stays as it is. Where none is, the update is of a whole
        record, and raises all that is wrong with it.

        Raises:
            InvalidRequest: from the update; carries all violations.
            MustLook: from the update.
        """

        def update(old: Stored) -> Record | Refuse | None:
            new = updater(old)
            if not isinstance(new, TopicRecord):
                return new
            before = old if isinstance(old, TopicRecord) else None
            is_same = before is not None and (before.local, before.global_) == (new.local, new.global_)
            if is_same and not stated:
                return new
            if is_heartbeat_namespace(name.namespace) and (stated or new.local or new.global_):
                return Refuse(Verdict.WRONG_KIND, f"Not allowed to set policies of the heartbeat topic {name}")
            found = dict(self._refusals(name, before, new, stated))
            if found and not stated:
                raise _violated({path: refusal.reason for path, refusal in found.items()})
            return next(iter(found.values()), new)

        return update

    def of_namespace(self, name: str, updater: Updater, stated: str = "") -> Updater:
        """Return `updater`, refused where a namespace would be copied to clusters that its tenant may not use."""

        def update(old: Stored) -> Record | Refuse | None:
            new = updater(old)
            if not isinstance(new, NamespaceRecord):
                return new
            before = old.policies if isinstance(old, NamespaceRecord) else EMPTY
            clusters = new.policies.get(REPLICATION)
            if clusters is None or (clusters == before.get(REPLICATION) and stated != REPLICATION):
                return new
            return self._refusal_of_clusters(name.partition("/")[0], clusters) or new

        return update

    def of_tenant(self, updater: Updater) -> Updater:
        """Return `updater`, refused where a tenant would be allowed clusters that there are none of."""

        def update(old: Stored) -> Record | Refuse | None:
            new = updater(old)
            before = old.allowed_clusters if isinstance(old, TenantRecord) else ()
            if not isinstance(new, TenantRecord) or new.allowed_clusters == before:
                return new
            unknown = unknown_clusters(self._engine, new.allowed_clusters)
            if not unknown:
                return new
            self._require_looked(cluster_partitions(self._engine))
            return Refuse(Verdict.POLICY_UNMET, f"Clusters do not exist: {', '.join(unknown)}")

        return update

    def _refusals(
        self, name: TopicName, before: TopicRecord | None, new: TopicRecord, stated: str
    ) -> Iterator[tuple[str, Refuse]]:
        """Yield what is against the policies of `new`, by their paths."""
        for scope in SCOPES:
            told: Policies = getattr(new, scope) or EMPTY
            known: Policies = (before and getattr(before, scope)) or EMPTY
            path = f"policies.{scope.rstrip('_')}"
            holds_both = not told.keys().isdisjoint((RETENTION, QUOTAS))
            if before is None and holds_both and contradicts(told, below_topics(self._engine, name.namespace)):
                yield path, Refuse(Verdict.RETENTION_BELOW_QUOTA, RETENTION_BELOW)
            for policy in (REPLICATION, SHADOWS):
                value = told.get(policy)
                if value is not None and (policy == stated or value != known.get(policy)):
                    refusal = self._refusal_of(name, policy, value, is_global=scope == GLOBAL_SCOPE)
                    if refusal is not None:
                        yield f"{path}.{policy}", refusal

    def _refusal_of(self, name: TopicName, policy: str, value: Value, *, is_global: bool) -> Refuse | None:
        if policy == SHADOWS:
            return self._refusal_of_shadows(name, value)
        return self._refusal_of_replication(name, value, is_global=is_global)

    def _refusal_of_replication(self, name: TopicName, clusters: Value, *, is_global: bool) -> Refuse | None:
        local = self._engine.options.limits.local_cluster
        reason = ""
        if is_global:
            around = namespace_policies(self._engine, name.namespace).get(REPLICATION, (local,))
            outside = [cluster for cluster in clusters if cluster not in around]
            if len(around) < 2:
                reason = f"Namespace {name.namespace} replicates to fewer than two clusters: {', '.join(around)}"
            elif outside:
                reason = (
                    f"Cluster {outside[0]} is not among the clusters of namespace {name.namespace}: {', '.join(around)}"
                )
        elif local not in clusters:
            reason = f"The local cluster {local} must be among the replication clusters"
        return Refuse(Verdict.POLICY_UNMET, reason) if reason else self._refusal_of_clusters(name.tenant, clusters)

    def _refusal_of_clusters(self, tenant: str, clusters: Collection[str]) -> Refuse | None:
        partitions = cluster_partitions(self._engine, tenant)
        refusal = refusal_of_clusters(self._engine, tenant, clusters)
        if refusal is not None or not all(map(self._engine.readiness.is_ready, partitions)):
            self._require_looked(partitions)
        return refusal

    def _refusal_of_shadows(self, name: TopicName, shadows: Value) -> Refuse | None:
        if name.domain != PERSISTENT:
            return Refuse(Verdict.POLICY_UNMET, f"Only a persistent topic can have shadow topics, {name} is none")
        for text in shadows:
            shadow = parse_topic(text)
            # Who may not list it is not told that it is there.
            if not (self._reading.has_topic(shadow) and self._sees(shadow)):
                self._require_looked([self._engine.partition(shadow.namespace)])
                return Refuse(Verdict.POLICY_UNMET, f"Shadow topic [{text}] not exists.")
        return None

    def _require_looked(self, partitions: Collection[int]) -> None:
        """Return if a barrier has passed in `partitions`.

        Raises:
            MustLook: it has not.
        """
        if not self._looked.issuperset(partitions):
            raise MustLook(partitions)


def _violated(found: Mapping[str, str]) -> InvalidRequest:
    said = "; ".join(f"{path}: {reason}" for path, reason in found.items())
    return InvalidRequest(said, violations=[{"path": path, "reason": reason} for path, reason in found.items()])
