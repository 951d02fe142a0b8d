"""What a policy's value must fit beside itself: the namespace, the clusters and the topics that there are.

Looked at after the topic was seen to be there, before anything is written. The order is Pulsar's.

Source: `internalSetReplicationClusters` and `internalSetShadowTopic` of Pulsar's `PersistentTopicsBase`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace

from starlette.requests import Request

from topicfold.errors import NamespaceNotFound, PolicyUnmet, TopicNotFound
from topicfold.model.names import PERSISTENT, TopicName, parse_topic
from topicfold.model.permissions import Permission, Right, Scope
from topicfold.model.policy.values import Value
from topicfold.runtime.asking import Asked, Consistency
from topicfold.runtime.policies import namespace_policies
from topicfold.server.asking import asked_to_read
from topicfold.server.clusters import check_replication
from topicfold.server.node import Node

Condition = Callable[[Node, Request, TopicName, Value, bool], Awaitable[None]]
"""Takes a topic, a value that is right by itself and whether it is for all clusters; raises where it does not fit."""

_LISTING = Right(Permission.LIST_TOPICS, Scope.TOPIC)


async def check_conditions(
    node: Node, request: Request, name: TopicName, policy: str, value: Value, *, is_global: bool, is_new: bool = False
) -> None:
    """Check a value against what there is beside it, as of a barrier.

    Raises:
        NamespaceNotFound, TopicNotFound: the topic is not there, unless it is about to be made.
        PolicyUnmet, Forbidden: the value does not fit.
    """
    condition = _CONDITIONS.get(policy)
    if condition is not None:
        await node.reading.settle([node.engine.partition(name.namespace)], _fresh(request, node))
        if is_new:
            node.reading.namespace(name.namespace)
        else:
            node.reading.topic(name)
        await condition(node, request, name, value, is_global)


async def _replication(node: Node, request: Request, name: TopicName, clusters: Value, is_global: bool) -> None:
    local = node.limits.local_cluster
    if is_global:
        around = namespace_policies(node.engine, name.namespace).get("replicationClusters", (local,))
        if len(around) < 2:
            raise PolicyUnmet(f"Namespace {name.namespace} replicates to fewer than two clusters: {', '.join(around)}")
        outside = [cluster for cluster in clusters if cluster not in around]
        if outside:
            raise PolicyUnmet(f"Cluster {outside[0]} is none of namespace {name.namespace}: {', '.join(around)}")
    elif local not in clusters:
        raise PolicyUnmet(f"The local cluster {local} must be among the replication clusters of one cluster")
    await check_replication(node, name.tenant, clusters, _fresh(request, node))


async def _shadow_topics(node: Node, request: Request, name: TopicName, shadows: Value, _: bool) -> None:
    if name.domain != PERSISTENT:
        raise PolicyUnmet(f"Only a persistent topic can have shadow topics, {name} is none")
    for text in shadows:
        shadow = parse_topic(text)
        await node.reading.settle([node.engine.partition(shadow.namespace)], _fresh(request, node))
        # Who may not list it is not told that it is there.
        if not (_exists(node, shadow) and node.has(request, _LISTING, shadow)):
            raise PolicyUnmet(f"Shadow topic [{text}] not exists.")


def _exists(node: Node, name: TopicName) -> bool:
    """Return whether there is such a topic, or such a partition of one."""
    try:
        node.reading.topic(name)
    except (NamespaceNotFound, TopicNotFound):
        return node.reading.is_partition(name)
    return True


def _fresh(request: Request, node: Node) -> Asked:
    """Return the circumstances of a look at everything acknowledged so far."""
    return replace(asked_to_read(request, node), consistency=Consistency.BARRIER)


_CONDITIONS: Mapping[str, Condition] = {"replicationClusters": _replication, "shadowTopics": _shadow_topics}
