"""What a client can do with grants, and with the clusters that replication may name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

from topicfold.client import access_calls
from topicfold.client.access_calls import Grants
from topicfold.client.answers import Written
from topicfold.client.call import Call, ChangeOptions
from topicfold.client.declaring import asks
from topicfold.client.find_calls import Texts
from topicfold.client.own_namespace import InOwnNamespace


class AccessCalls(InOwnNamespace):
    """Grants of actions to roles on tenants, namespaces and topics; and clusters.

    A grant holds for all that lies below. Granting replaces what the role was granted there before; revoking takes
    all of it away.
    """

    @asks
    def tenant_permissions(self, tenant: str) -> Call[Grants]:
        """Return what each role may do in a tenant."""
        return access_calls.tenant_permissions(tenant)

    @asks
    def namespace_permissions(self, namespace: str) -> Call[Grants]:
        """Return what each role may do in a namespace."""
        return access_calls.namespace_permissions(namespace)

    @asks
    def topic_permissions(self, topic: str) -> Call[Grants]:
        """Return what each role may do with a topic."""
        return access_calls.topic_permissions(self._in_full(topic))

    @asks
    def grant_on_tenant(
        self, tenant: str, role: str, actions: Texts, **options: Unpack[ChangeOptions]
    ) -> Call[Written]:
        """Let `role` do `actions` in a tenant."""
        return access_calls.grant_on_tenant(tenant, role, actions, options)

    @asks
    def grant_on_namespace(
        self, namespace: str, role: str, actions: Texts, **options: Unpack[ChangeOptions]
    ) -> Call[Written]:
        """Let `role` do `actions` in a namespace."""
        return access_calls.grant_on_namespace(namespace, role, actions, options)

    @asks
    def grant_on_topic(self, topic: str, role: str, actions: Texts, **options: Unpack[ChangeOptions]) -> Call[Written]:
        """Let `role` do `actions` with a topic."""
        return access_calls.grant_on_topic(self._in_full(topic), role, actions, options)

    @asks
    def revoke_on_tenant(self, tenant: str, role: str, **options: Unpack[ChangeOptions]) -> Call[Written]:
        """Take away what `role` was granted on a tenant."""
        return access_calls.revoke_on_tenant(tenant, role, options)

    @asks
    def revoke_on_namespace(self, namespace: str, role: str, **options: Unpack[ChangeOptions]) -> Call[Written]:
        """Take away what `role` was granted on a namespace."""
        return access_calls.revoke_on_namespace(namespace, role, options)

    @asks
    def revoke_on_topic(self, topic: str, role: str, **options: Unpack[ChangeOptions]) -> Call[Written]:
        """Take away what `role` was granted on a topic."""
        return access_calls.revoke_on_topic(self._in_full(topic), role, options)

    @asks
    def list_clusters(self) -> Call[tuple[str, ...]]:
        """Return the names of all clusters, sorted."""
        return access_calls.list_clusters()

    @asks
    def get_cluster(self, cluster: str) -> Call[dict[str, Any]]:
        """Return a cluster's addresses and, as a list, its peers, by the names Pulsar has for them."""
        return access_calls.get_cluster(cluster)

    @asks
    def create_cluster(
        self, cluster: str, addresses: Mapping[str, Any], **options: Unpack[ChangeOptions]
    ) -> Call[Written]:
        """Register a cluster, so that policies may name it; `addresses` are as `get_cluster` returns them."""
        return access_calls.put_cluster(cluster, addresses, options)

    @asks
    def delete_cluster(self, cluster: str, **options: Unpack[ChangeOptions]) -> Call[Written]:
        """Forget a cluster."""
        return access_calls.delete_cluster(cluster, options)
