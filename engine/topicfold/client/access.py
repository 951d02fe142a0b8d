"""What a client can do with grants, and with the clusters that replication may name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Unpack

from topicfold.client import access_calls
from topicfold.client.access_calls import Grants
from topicfold.client.answers import Written
from topicfold.client.call import ChangeOptions
from topicfold.client.sending import Sender


class AccessCalls(Sender):
    """Grants of actions to roles on tenants, namespaces and topics; and clusters.

    A grant holds for all that lies below. Granting replaces what the role was granted there before; revoking takes
    all of it away.
    """

    def tenant_permissions(self, tenant: str) -> Grants:
        """Return what each role may do in a tenant."""
        return self.perform(access_calls.tenant_permissions(tenant))

    def namespace_permissions(self, namespace: str) -> Grants:
        """Return what each role may do in a namespace."""
        return self.perform(access_calls.namespace_permissions(namespace))

    def topic_permissions(self, topic: str) -> Grants:
        """Return what each role may do with a topic."""
        return self.perform(access_calls.topic_permissions(topic))

    def grant_on_tenant(
        self, tenant: str, role: str, actions: Iterable[str], **options: Unpack[ChangeOptions]
    ) -> Written:
        """Let `role` do `actions` in a tenant."""
        return self.perform(access_calls.grant_on_tenant(tenant, role, actions, options))

    def grant_on_namespace(
        self, namespace: str, role: str, actions: Iterable[str], **options: Unpack[ChangeOptions]
    ) -> Written:
        """Let `role` do `actions` in a namespace."""
        return self.perform(access_calls.grant_on_namespace(namespace, role, actions, options))

    def grant_on_topic(
        self, topic: str, role: str, actions: Iterable[str], **options: Unpack[ChangeOptions]
    ) -> Written:
        """Let `role` do `actions` with a topic."""
        return self.perform(access_calls.grant_on_topic(topic, role, actions, options))

    def revoke_on_tenant(self, tenant: str, role: str, **options: Unpack[ChangeOptions]) -> Written:
        """Take away what `role` was granted on a tenant."""
        return self.perform(access_calls.revoke_on_tenant(tenant, role, options))

    def revoke_on_namespace(self, namespace: str, role: str, **options: Unpack[ChangeOptions]) -> Written:
        """Take away what `role` was granted on a namespace."""
        return self.perform(access_calls.revoke_on_namespace(namespace, role, options))

    def revoke_on_topic(self, topic: str, role: str, **options: Unpack[ChangeOptions]) -> Written:
        """Take away what `role` was granted on a topic."""
        return self.perform(access_calls.revoke_on_topic(topic, role, options))

    def list_clusters(self) -> tuple[str, ...]:
        """Return the names of all clusters, sorted."""
        return self.perform(access_calls.list_clusters())

    def get_cluster(self, cluster: str) -> dict[str, str]:
        """Return a cluster's addresses, by the names Pulsar has for them."""
        return self.perform(access_calls.get_cluster(cluster))

    def create_cluster(self, cluster: str, addresses: Mapping[str, str], **options: Unpack[ChangeOptions]) -> Written:
        """Register a cluster, so that policies may name it; `addresses` are by name, such as `serviceUrl`."""
        return self.perform(access_calls.put_cluster(cluster, addresses, options))

    def delete_cluster(self, cluster: str, **options: Unpack[ChangeOptions]) -> Written:
        """Forget a cluster."""
        return self.perform(access_calls.delete_cluster(cluster, options))
