"""Clusters under `/admin/v2`: the one served here, and those registered so that replication policies may name them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import orjson
from starlette.requests import Request
from starlette.responses import Response

from topicfold.errors import AlreadyExists, Forbidden, NotFound, PolicyUnmet, TenantNotFound
from topicfold.model.clusters import CLUSTERS, addresses_in, create_cluster, delete_cluster, update_cluster
from topicfold.model.names import check_cluster
from topicfold.model.permissions import Access
from topicfold.runtime.asking import Asked, Consistency
from topicfold.server.answers import JSON_TYPE, read_answer, written_answer
from topicfold.server.asking import asked_to_read, asked_to_write
from topicfold.server.bodies import json_body
from topicfold.server.node import Node
from topicfold.server.paths import decoded
from topicfold.server.routes import READ_ERRORS, WRITE_ERRORS, Operation
from topicfold.wire.resources import ClusterData

_NAMES = {"type": "array", "items": {"type": "string"}}
_TEXTS = {"type": "object", "additionalProperties": {"type": "string"}}


@dataclass(frozen=True, slots=True)
class Clusters:
    """The handlers. Which cluster is served here is a setting; the others are on the log."""

    node: Node

    async def list(self, request: Request) -> Response:
        """Answer the names of all clusters."""
        cut = await self.node.reading.settle(_partition(self.node), asked_to_read(request, self.node))
        return read_answer(sorted(known_clusters(self.node)), cut)

    async def get(self, request: Request) -> Response:
        """Answer one cluster's addresses.

        Raises:
            NotFound: there is no such cluster.
        """
        name = _cluster_in(request)
        cut = await self.node.reading.settle(_partition(self.node), asked_to_read(request, self.node))
        if name not in known_clusters(self.node):
            raise NotFound(f"Cluster does not exist: {name}", hint="GET /admin/v2/clusters lists those there are.")
        registered, etag = self.node.reading.clusters()
        return read_answer(dict(registered.get(name, {})), cut, etag)

    async def create(self, request: Request) -> Response:
        """Register a cluster."""
        name = _cluster_in(request)
        addresses = addresses_in(await json_body(request, self.node))
        asked = asked_to_write(request, self.node, "create", dict(addresses))
        updater = create_cluster(name, addresses, _local(self.node))
        return written_answer(await self.node.writing.change_tenant(CLUSTERS, updater, asked))

    async def update(self, request: Request) -> Response:
        """Give a cluster other addresses."""
        name = _cluster_in(request)
        addresses = addresses_in(await json_body(request, self.node))
        asked = asked_to_write(request, self.node, "update", dict(addresses))
        updater = update_cluster(name, addresses, _local(self.node))
        return written_answer(await self.node.writing.change_tenant(CLUSTERS, updater, asked))

    async def delete(self, request: Request) -> Response:
        """Forget a cluster.

        Raises:
            PolicyUnmet: it is the one that is served here.
        """
        name = _cluster_in(request)
        if name == _local(self.node):
            raise PolicyUnmet(f"Cluster {name} is the one that is served here")
        asked = asked_to_write(request, self.node, "delete", None)
        return written_answer(await self.node.writing.change_tenant(CLUSTERS, delete_cluster(name), asked))

    async def configuration(self, request: Request) -> Response:
        """Answer what Pulsar's command line asks of a broker's configuration before it lists clusters."""
        return Response(orjson.dumps({"clusterName": _local(self.node)}), media_type=JSON_TYPE)


def known_clusters(node: Node) -> frozenset[str]:
    """Return the clusters that policies may name, as far as this node has folded."""
    return node.limits.clusters | {_local(node)} | node.reading.clusters()[0].keys()


async def unknown_clusters(node: Node, names: Collection[str], asked: Asked) -> list[str]:
    """Return those of `names` that are no clusters; a barrier passes before one is called unknown.

    Raises:
        LogUnavailable, PositionTimeout: it could not be seen whether one is.
    """
    partitions = _partition(node)
    await node.reading.settle(partitions, replace(asked, consistency=Consistency.LOCAL))
    if not known_clusters(node).issuperset(names):
        await node.engine.barriers.wait(partitions, asked.deadline)
    return sorted(set(names) - known_clusters(node))


async def check_replication(node: Node, tenant: str, names: Collection[str], asked: Asked) -> None:
    """Check that a tenant's topics may be copied to the clusters called `names`.

    A tenant that names no clusters allows all.

    Raises:
        Forbidden: one is unknown, or not allowed to the tenant; the status is Pulsar's.
        LogUnavailable, PositionTimeout: it could not be seen whether they may.
    """
    unknown = await unknown_clusters(node, names, asked)
    if unknown:
        raise Forbidden(f"Invalid cluster id: {unknown[0]}", hint="GET /admin/v2/clusters lists those there are.")
    await node.reading.settle(node.engine.states, replace(asked, consistency=Consistency.LOCAL))
    if _not_allowed(node, tenant, names):
        await node.engine.barriers.wait([node.engine.partition(tenant)], asked.deadline)
    for name in _not_allowed(node, tenant, names):
        raise Forbidden(f"Cluster [{name}] is not in the list of allowed clusters list for tenant [{tenant}]")


def operations(node: Node) -> Sequence[Operation]:
    """Return what can be done with clusters."""
    clusters = Clusters(node)
    one = "/admin/v2/clusters/{cluster}"
    missing = (*WRITE_ERRORS, NotFound)
    return (
        Operation("listClusters", "GET", "/admin/v2/clusters", clusters.list, "List clusters", answer=_NAMES,
                  errors=READ_ERRORS, needs=Access.ANYONE),
        Operation("getCluster", "GET", one, clusters.get, "Read a cluster's addresses", answer=ClusterData,
                  errors=(*READ_ERRORS, NotFound), needs=Access.SUPERUSER),
        Operation("createCluster", "PUT", one, clusters.create, "Register a cluster", 204, body=ClusterData,
                  errors=(*WRITE_ERRORS, AlreadyExists), needs=Access.SUPERUSER),
        Operation("updateCluster", "POST", one, clusters.update, "Give a cluster other addresses", 204,
                  body=ClusterData, errors=missing, needs=Access.SUPERUSER),
        Operation("deleteCluster", "DELETE", one, clusters.delete, "Forget a cluster", 204,
                  errors=(*missing, PolicyUnmet), needs=Access.SUPERUSER),
        Operation("getRuntimeConfiguration", "GET", "/admin/v2/brokers/configuration/runtime", clusters.configuration,
                  "Read which cluster is served here", answer=_TEXTS, errors=READ_ERRORS, needs=Access.ANYONE),
    )  # fmt: skip


def _cluster_in(request: Request) -> str:
    return check_cluster(decoded(request.path_params["cluster"]))


def _not_allowed(node: Node, tenant: str, names: Collection[str]) -> list[str]:
    try:
        allowed = node.reading.tenant(tenant)[0].allowed_clusters
    except TenantNotFound:
        return []
    return [name for name in names if name not in allowed] if allowed else []


def _local(node: Node) -> str:
    return node.limits.local_cluster


def _partition(node: Node) -> list[int]:
    return [node.engine.partition(CLUSTERS)]
