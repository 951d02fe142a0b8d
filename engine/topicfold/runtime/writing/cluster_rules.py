"""Which clusters a policy may name, by the folded state: known ones that the tenant may use, and no two peers.

Source: `validateClusterForTenant` and `validatePeerClusterConflict` of Pulsar's `PulsarWebResource`.
"""

from __future__ import annotations

from collections.abc import Collection

from topicfold.errors import TenantNotFound
from topicfold.model.clusters import CLUSTERS, peers_in
from topicfold.model.events import Verdict
from topicfold.model.updates import Refuse
from topicfold.runtime.engine import Engine
from topicfold.runtime.reading import Reading


def cluster_partitions(engine: Engine, tenant: str = CLUSTERS) -> frozenset[int]:
    """Return the partitions that say which clusters there are, and which of them `tenant` may use."""
    return frozenset({engine.partition(CLUSTERS), engine.partition(tenant)})


def known_clusters(engine: Engine) -> frozenset[str]:
    """Return the clusters that policies may name."""
    limits = engine.options.limits
    return limits.clusters | {limits.local_cluster} | Reading(engine).clusters()[0].keys()


def unknown_clusters(engine: Engine, names: Collection[str]) -> list[str]:
    """Return those of `names` that are no clusters, sorted."""
    return sorted(set(names) - known_clusters(engine))


def refusal_of_clusters(engine: Engine, tenant: str, names: Collection[str]) -> Refuse | None:
    """Return what is against copying a tenant's topics to the clusters called `names`.

    A tenant that names no clusters allows all. Of two clusters of which one is the other's peer a topic is on one.
    """
    for name in unknown_clusters(engine, names):
        return Refuse(Verdict.CLUSTER_UNKNOWN, f"Invalid cluster id: {name}")
    registered = Reading(engine).clusters()[0]
    for name in names:
        conflicting = [peer for peer in peers_in(registered.get(name, {})) if peer in names]
        if conflicting:
            them, all_of_them = ", ".join(conflicting), ", ".join(names)
            return Refuse(
                Verdict.PEER_CLUSTER,
                f"{name}'s peer-clusters [{them}] can't be part of replication-clusters [{all_of_them}]",
            )
    allowed = _allowed_clusters(engine, tenant)
    for name in names:
        if allowed and name not in allowed:
            return Refuse(
                Verdict.CLUSTER_NOT_ALLOWED,
                f"Cluster [{name}] is not in the list of allowed clusters list for tenant [{tenant}]",
            )
    return None


def _allowed_clusters(engine: Engine, tenant: str) -> Collection[str]:
    try:
        return Reading(engine).tenant(tenant)[0].allowed_clusters
    except TenantNotFound:
        return ()
