"""Refusals: the error for an operation that the log refused."""

from __future__ import annotations

from topicfold.errors import (
    AlreadyExists,
    ClusterRefused,
    FewerPartitions,
    Forbidden,
    InvalidLabels,
    InvalidRequest,
    NamespaceNotFound,
    NotEmpty,
    NotFound,
    PeerCluster,
    PolicyUnmet,
    PreconditionFailed,
    TenantNotFound,
    TooLarge,
    TopicfoldError,
    TopicNotFound,
    Undecodable,
    UnknownCluster,
    WrongKind,
)
from topicfold.log.payload import MAX_PAYLOAD_BYTES
from topicfold.model.clusters import CLUSTERS
from topicfold.model.events import Verdict
from topicfold.model.grants import MAX_ROLES
from topicfold.model.names import argument
from topicfold.model.policy.retention import QUOTA_EXCEEDS, RETENTION_BELOW
from topicfold.model.updates import Refuse
from topicfold.runtime.writing.update import Target

_CLUSTERS_HINT = "GET /admin/v2/clusters lists those there are."


def namespace_not_found(name: str) -> NamespaceNotFound:
    """Return the error that there is no namespace called `name`."""
    hint = f"topicfold namespaces create {argument(name)}"
    return NamespaceNotFound(f"Namespace not found: {name}", name=name, hint=hint)


def tenant_not_found(name: str, reason: str = "") -> TenantNotFound:
    """Return the error that there is no tenant called `name`; `reason` may say it in other words."""
    hint = f"topicfold tenants create {argument(name)}"
    return TenantNotFound(reason or f"tenant {name} not found", name=name, hint=hint)


def refusal(verdict: int, refused: Refuse | None, target: Target, etag: str) -> TopicfoldError:
    """Return the error that a refused operation is answered with; `refused` may be lost (None) after a restart."""
    name = target.name
    reason, hint = (refused.reason, refused.hint) if refused else ("", "")
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
            return namespace_not_found(target.namespace)
        case Verdict.TENANT_NOT_FOUND:
            return tenant_not_found(name.partition("/")[0], reason)
        case Verdict.ALREADY_EXISTS:
            return AlreadyExists(reason or f"{name} exists already", name=name, hint=hint)
        case Verdict.PRECONDITION_FAILED:
            has = "the clusters have" if name == CLUSTERS else f"{name} has"
            return PreconditionFailed(reason or f"{has} another version now", current=etag)
        case Verdict.TOO_MANY_LABELS:
            return InvalidLabels([{"path": "labels", "reason": reason or "too many labels"}])
        case Verdict.WRONG_KIND:
            return WrongKind(reason or f"topic {name} is of the other kind", name=name)
        case Verdict.FEWER_PARTITIONS:
            return FewerPartitions(reason or "the number of partitions cannot be reduced", name=name)
        case Verdict.RECORD_TOO_LARGE:
            return TooLarge(reason or "the record would be too large", limit=MAX_PAYLOAD_BYTES)
        case Verdict.QUOTA_EXCEEDS_RETENTION:
            return PolicyUnmet(QUOTA_EXCEEDS.replace("topic", target.kind.name.lower()))
        case Verdict.RETENTION_BELOW_QUOTA:
            return PolicyUnmet(RETENTION_BELOW.replace("topic", target.kind.name.lower()))
        case Verdict.POLICY_UNMET:
            return PolicyUnmet(reason or f"the policy is not allowed for {name}")
        case Verdict.TOO_MANY_GRANTS:
            return TooLarge(reason or "more names than one record can hold", limit=MAX_ROLES)
        case Verdict.CLUSTER_NOT_FOUND:
            return NotFound(reason or "Cluster does not exist", hint=_CLUSTERS_HINT)
        case Verdict.CLUSTER_NOT_ALLOWED:
            return Forbidden(reason or "a cluster is not allowed to the tenant", hint=_CLUSTERS_HINT)
        case Verdict.CLUSTER_UNKNOWN:
            return UnknownCluster(reason or "Invalid cluster id", hint=_CLUSTERS_HINT)
        case Verdict.PEER_CLUSTER:
            return PeerCluster(reason or "a cluster and its peer cannot both be replication clusters")
        case Verdict.CLUSTER_REFUSED:
            return ClusterRefused(reason or f"Kafka refuses the topic of {name}", kafka_topic=name)
        case Verdict.UNDECODABLE:
            return Undecodable(reason or f"the record of {name} cannot be read", name=name)
        case Verdict.FAILED:
            return InvalidRequest(reason or "refused before under this Idempotency-Key, for a reason not kept")
        case _:
            return InvalidRequest(
                f"refused by a newer node, for a reason that this version does not know ({verdict})",
                hint="Upgrade this node, or ask an upgraded one.",
            )
