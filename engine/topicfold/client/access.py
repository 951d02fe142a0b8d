"""Methods of a client for grants, and for the clusters that replication policies can name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

from topicfold.client.answer_shape import EACH
from topicfold.client.answers import Written
from topicfold.client.call import Call, ChangeOptions, change, lists_in, mapping_of, names_in
from topicfold.client.declaring import asks
from topicfold.client.find_calls import Texts, each_of
from topicfold.client.own_namespace import InOwnNamespace
from topicfold.client.paths import given_segment, namespace_path, tenant_path, topic_path

Grants = dict[str, tuple[str, ...]]
"""The actions that each role was granted, by role."""


class AccessCalls(InOwnNamespace):
    """Grants to roles on tenants, namespaces and topics; and clusters.

    A grant also applies to everything below: a tenant's namespaces, a namespace's topics. A new grant replaces what
    the role was granted there before; revoking removes all of it.
    """

    @asks
    def tenant_permissions(self, tenant: str) -> Call[Grants]:
        """Return the actions that each role was granted on a tenant."""
        return _permissions(tenant_path(tenant))

    @asks
    def namespace_permissions(self, namespace: str) -> Call[Grants]:
        """Return the actions that each role was granted on a namespace."""
        return _permissions(namespace_path(namespace))

    @asks
    def topic_permissions(self, topic: str) -> Call[Grants]:
        """Return the actions that each role was granted on a topic."""
        return _permissions(topic_path(self._in_full(topic)))

    @asks
    def grant_on_tenant(
        self, tenant: str, role: str, actions: Texts, **options: Unpack[ChangeOptions]
    ) -> Call[Written]:
        """Grant `role` these `actions` on a tenant."""
        return _grant(tenant_path(tenant), role, actions, options)

    @asks
    def grant_on_namespace(
        self, namespace: str, role: str, actions: Texts, **options: Unpack[ChangeOptions]
    ) -> Call[Written]:
        """Grant `role` these `actions` on a namespace."""
        return _grant(namespace_path(namespace), role, actions, options)

    @asks
    def grant_on_topic(self, topic: str, role: str, actions: Texts, **options: Unpack[ChangeOptions]) -> Call[Written]:
        """Grant `role` these `actions` on a topic."""
        return _grant(topic_path(self._in_full(topic)), role, actions, options)

    @asks
    def revoke_on_tenant(self, tenant: str, role: str, **options: Unpack[ChangeOptions]) -> Call[Written]:
        """Revoke everything that `role` was granted on a tenant."""
        return _revoke(tenant_path(tenant), role, options)

    @asks
    def revoke_on_namespace(self, namespace: str, role: str, **options: Unpack[ChangeOptions]) -> Call[Written]:
        """Revoke everything that `role` was granted on a namespace."""
        return _revoke(namespace_path(namespace), role, options)

    @asks
    def revoke_on_topic(self, topic: str, role: str, **options: Unpack[ChangeOptions]) -> Call[Written]:
        """Revoke everything that `role` was granted on a topic."""
        return _revoke(topic_path(self._in_full(topic)), role, options)

    @asks
    def list_clusters(self) -> Call[tuple[str, ...]]:
        """Return the names of all clusters, sorted."""
        return Call("GET", "/admin/v2/clusters", names_in)

    @asks
    def get_cluster(self, cluster: str) -> Call[dict[str, Any]]:
        """Return a cluster's addresses and the list of its peers, under Pulsar's names for them."""
        return Call("GET", _cluster_path(cluster), mapping_of({EACH: str | list | bool | None}))

    @asks
    def create_cluster(
        self, cluster: str, addresses: Mapping[str, Any], **options: Unpack[ChangeOptions]
    ) -> Call[Written]:
        """Register a cluster, so that policies can name it; `addresses` has the form that `get_cluster` returns."""
        return change("PUT", _cluster_path(cluster), options, body=dict(addresses))

    @asks
    def delete_cluster(self, cluster: str, **options: Unpack[ChangeOptions]) -> Call[Written]:
        """Delete a cluster's record."""
        return change("DELETE", _cluster_path(cluster), options)


def _permissions(path: str) -> Call[Grants]:
    return Call("GET", f"{path}/permissions", lists_in)


def _grant(path: str, role: str, actions: Texts, o: ChangeOptions) -> Call[Written]:
    return change("POST", f"{path}/permissions/{given_segment('role', role)}", o, body=list(each_of(actions)))


def _revoke(path: str, role: str, o: ChangeOptions) -> Call[Written]:
    return change("DELETE", f"{path}/permissions/{given_segment('role', role)}", o)


def _cluster_path(cluster: str) -> str:
    return f"/admin/v2/clusters/{given_segment('cluster', cluster)}"
