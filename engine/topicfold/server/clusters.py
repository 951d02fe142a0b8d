"""Clusters under `/admin/v2`: the one served here, and those registered so that replication policies may name them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import orjson
from starlette.requests import Request
from starlette.responses import Response

from topicfold.errors import AlreadyExists, NotFound, PolicyUnmet
from topicfold.model.clusters import (
    CLUSTERS,
    Addresses,
    addresses_in,
    create_cluster,
    delete_cluster,
    peers_in,
    peers_in_body,
    set_peers,
    shown_cluster,
    update_cluster,
)
from topicfold.model.names import check_cluster
from topicfold.model.permissions import Access
from topicfold.model.updates import Updater
from topicfold.runtime.asking import Cut
from topicfold.runtime.writing.cluster_rules import known_clusters
from topicfold.server.answers import JSON_TYPE, read_answer, written_answer
from topicfold.server.asking import asked_to_write, settled
from topicfold.server.bodies import json_body
from topicfold.server.node import Node
from topicfold.server.paths import decoded
from topicfold.server.routes import READ_ERRORS, TEXT_BY_NAME, TEXTS, UNREADABLE, WRITE_ERRORS, Operation
from topicfold.wire.resources import ClusterData


@dataclass(frozen=True, slots=True)
class Clusters:
    """The handlers. Which cluster is served here is a setting; the others are on the log, all in one record.

    So what a change means has the name of its cluster in it: one key may have been used for several.
    """

    node: Node

    async def list(self, request: Request) -> Response:
        """Answer the names of all clusters."""
        cut = await settled(request, self.node, CLUSTERS)
        return read_answer(sorted(known_clusters(self.node.engine)), cut)

    async def get(self, request: Request) -> Response:
        """Answer one cluster's addresses."""
        addresses, cut, etag = await self._addresses(request)
        return read_answer(shown_cluster(addresses), cut, etag)

    async def create(self, request: Request) -> Response:
        """Register a cluster."""
        return await self._put(request, "create", create_cluster)

    async def update(self, request: Request) -> Response:
        """Give a cluster other addresses."""
        return await self._put(request, "update", update_cluster)

    async def delete(self, request: Request) -> Response:
        """Forget a cluster.

        Raises:
            PolicyUnmet: it is the one that is served here.
        """
        name = _cluster_in(request)
        if name == _local(self.node):
            raise PolicyUnmet(f"Cluster {name} is the one that is served here")
        asked = asked_to_write(request, self.node, "delete", name)
        return written_answer(await self.node.writing.change_tenant(CLUSTERS, delete_cluster(name), asked))

    async def peers(self, request: Request) -> Response:
        """Answer a cluster's peers."""
        addresses, cut, etag = await self._addresses(request)
        return read_answer(list(peers_in(addresses)), cut, etag)

    async def set_peers(self, request: Request) -> Response:
        """Give a cluster other peers; none takes them away."""
        name = _cluster_in(request)
        peers = peers_in_body(await json_body(request, self.node))
        asked = asked_to_write(request, self.node, "peers", name, peers)
        updater = set_peers(name, peers, self.node.limits.clusters | {_local(self.node)})
        return written_answer(await self.node.writing.change_tenant(CLUSTERS, updater, asked))

    async def configuration(self, request: Request) -> Response:
        """Answer what Pulsar's command line asks of a broker's configuration before it lists clusters."""
        return Response(orjson.dumps({"clusterName": _local(self.node)}), media_type=JSON_TYPE)

    async def _put(self, request: Request, meaning: str, change: Callable[[str, Addresses, str], Updater]) -> Response:
        name = _cluster_in(request)
        addresses = addresses_in(await json_body(request, self.node))
        asked = asked_to_write(request, self.node, meaning, name, dict(addresses))
        updater = change(name, addresses, _local(self.node))
        return written_answer(await self.node.writing.change_tenant(CLUSTERS, updater, asked))

    async def _addresses(self, request: Request) -> tuple[Addresses, Cut, str]:
        """Return the addresses of the cluster that is named, none for the one served here, the cut, and the ETag.

        Raises:
            NotFound: there is no such cluster.
        """
        name = _cluster_in(request)
        cut = await settled(request, self.node, CLUSTERS)
        if name not in known_clusters(self.node.engine):
            raise NotFound(f"Cluster does not exist: {name}", hint="GET /admin/v2/clusters lists those there are.")
        registered, etag = self.node.reading.clusters()
        return registered.get(name, {}), cut, etag


def operations(node: Node) -> Sequence[Operation]:
    """Return what can be done with clusters."""
    clusters = Clusters(node)
    one = "/admin/v2/clusters/{cluster}"
    missing = (*WRITE_ERRORS, NotFound)
    return (
        Operation("listClusters", "GET", "/admin/v2/clusters", clusters.list, "List clusters", answer=TEXTS,
                  errors=(*READ_ERRORS, *UNREADABLE), needs=Access.ANYONE),
        Operation("getCluster", "GET", one, clusters.get, "Read a cluster's addresses", answer=ClusterData,
                  errors=(*READ_ERRORS, NotFound, *UNREADABLE), needs=Access.SUPERUSER),
        Operation("createCluster", "PUT", one, clusters.create, "Register a cluster", 204, body=ClusterData,
                  errors=(*WRITE_ERRORS, AlreadyExists), needs=Access.SUPERUSER),
        Operation("updateCluster", "POST", one, clusters.update, "Replace a cluster's addresses", 204,
                  body=ClusterData, errors=missing, needs=Access.SUPERUSER),
        Operation("deleteCluster", "DELETE", one, clusters.delete, "Delete a cluster's record", 204,
                  errors=(*missing, PolicyUnmet), needs=Access.SUPERUSER),
        Operation("getPeerClusters", "GET", f"{one}/peers", clusters.peers, "Read a cluster's peers", answer=TEXTS,
                  errors=(*READ_ERRORS, NotFound, *UNREADABLE), needs=Access.SUPERUSER),
        Operation("setPeerClusters", "POST", f"{one}/peers", clusters.set_peers, "Set a cluster's peers", 204,
                  body=TEXTS, without_body="it has none any more", errors=(*missing, PolicyUnmet),
                  needs=Access.SUPERUSER),
        Operation("getRuntimeConfiguration", "GET", "/admin/v2/brokers/configuration/runtime", clusters.configuration,
                  "Read the name of the local cluster", answer=TEXT_BY_NAME, errors=READ_ERRORS, needs=Access.ANYONE),
    )  # fmt: skip


def _cluster_in(request: Request) -> str:
    return check_cluster(decoded(request.path_params["cluster"]))


def _local(node: Node) -> str:
    return node.limits.local_cluster
