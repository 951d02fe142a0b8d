"""What a client can do with tenants, namespaces, topics and labels, and ask of the server itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

from topicfold.client import calls
from topicfold.client.answers import Operation, Readiness, ServerVersion, Tenant, Topic, Written
from topicfold.client.call import Call, ChangeOptions
from topicfold.client.declaring import asks
from topicfold.client.find_calls import Texts
from topicfold.client.own_namespace import InOwnNamespace
from topicfold.model.names import PERSISTENT


class ResourceCalls(InOwnNamespace):
    """Everything that has a name."""

    @asks
    def list_tenants(self) -> Call[tuple[str, ...]]:
        """Return the names of all tenants, sorted."""
        return calls.list_tenants()

    @asks
    def get_tenant(self, tenant: str) -> Call[Tenant]:
        """Return one tenant."""
        return calls.get_tenant(tenant)

    @asks
    def create_tenant(
        self,
        tenant: str,
        *,
        admin_roles: Texts = (),
        allowed_clusters: Texts = (),
        **options: Unpack[ChangeOptions],
    ) -> Call[Written]:
        """Create a tenant."""
        return calls.put_tenant(tenant, admin_roles, allowed_clusters, options)

    @asks
    def update_tenant(
        self,
        tenant: str,
        *,
        admin_roles: Texts = (),
        allowed_clusters: Texts = (),
        **options: Unpack[ChangeOptions],
    ) -> Call[Written]:
        """Replace what a tenant says."""
        return calls.post_tenant(tenant, admin_roles, allowed_clusters, options)

    @asks
    def delete_tenant(self, tenant: str, *, force: bool = False, **options: Unpack[ChangeOptions]) -> Call[Written]:
        """Delete a tenant; one that has namespaces is `NotEmpty` without `force`."""
        return calls.delete_tenant(tenant, force, options)

    @asks
    def list_namespaces(self, tenant: str) -> Call[tuple[str, ...]]:
        """Return the namespaces of a tenant as `tenant/namespace`, sorted."""
        return calls.list_namespaces(tenant)

    @asks
    def get_namespace(self, namespace: str) -> Call[Mapping[str, Any]]:
        """Return the policies of a namespace, in Pulsar's words."""
        return calls.get_namespace(namespace)

    @asks
    def create_namespace(self, namespace: str, **options: Unpack[ChangeOptions]) -> Call[Written]:
        """Create a namespace in a tenant that exists."""
        return calls.put_namespace(namespace, options)

    @asks
    def delete_namespace(
        self, namespace: str, *, force: bool = False, **options: Unpack[ChangeOptions]
    ) -> Call[Written]:
        """Delete a namespace; one that has topics is `NotEmpty` without `force`, which deletes them too."""
        return calls.delete_namespace(namespace, force, options)

    @asks
    def namespace_labels(self, namespace: str) -> Call[dict[str, tuple[str, ...]]]:
        """Return the labels in use in a namespace: each key with its values, both sorted."""
        return calls.namespace_labels(namespace)

    @asks
    def list_topics(
        self,
        namespace: str,
        *,
        domain: str = PERSISTENT,
        labels: Mapping[str, str] | None = None,
        properties: Mapping[str, str] | None = None,
        with_system_topics: bool = False,
    ) -> Call[tuple[str, ...]]:
        """Return full names, sorted, a partitioned topic as its partitions (as Pulsar lists them).

        `properties` are for the server's topic listing (PIP-452); that called `all` takes no notice of them.
        """
        return calls.list_topics(namespace, domain, labels or {}, properties or {}, with_system_topics)

    @asks
    def list_partitioned_topics(
        self, namespace: str, *, domain: str = PERSISTENT, labels: Mapping[str, str] | None = None
    ) -> Call[tuple[str, ...]]:
        """Return the full names of partitioned topics, sorted."""
        return calls.list_partitioned_topics(namespace, domain, labels or {})

    @asks
    def get_topic(self, topic: str) -> Call[Topic]:
        """Return a topic's record."""
        return calls.get_topic(self._in_full(topic))

    @asks
    def partitioned_topic_metadata(self, topic: str) -> Call[Mapping[str, Any]]:
        """Return what Pulsar tells of a topic's partitions: how many `partitions`, 0 where it is not partitioned."""
        return calls.get_partitions(self._in_full(topic))

    @asks
    def create_topic(
        self,
        topic: str,
        *,
        partitions: int = 0,
        kafka_name: str | None = None,
        properties: Mapping[str, str] | None = None,
        labels: Mapping[str, str] | None = None,
        policies: Mapping[str, Mapping[str, Any]] | None = None,
        **options: Unpack[ChangeOptions],
    ) -> Call[Topic]:
        """Create a topic: plain with 0 `partitions`, else partitioned.

        `kafka_name` is the Kafka topic it stands for, where that does not follow from its name. `policies` are by
        name, in the scopes `local` and `global`.
        """
        record = {
            "partitions": partitions,
            "kafkaName": kafka_name,
            "properties": dict(properties or {}),
            "labels": dict(labels or {}),
            **({"policies": policies} if policies else {}),
        }
        return calls.put_topic(self._in_full(topic), record, options)

    @asks
    def adopt_topic(
        self, topic: str, *, partitions: int = 0, kafka_name: str | None = None, **options: Unpack[ChangeOptions]
    ) -> Call[Topic]:
        """Make the record of a topic whose Kafka topic is there: unlike `create_topic`, never one in Kafka."""
        return calls.adopt_topic(self._in_full(topic), {"partitions": partitions, "kafkaName": kafka_name}, options)

    @asks
    def patch_topic(self, topic: str, changes: Mapping[str, Any], **options: Unpack[ChangeOptions]) -> Call[Written]:
        """Merge `changes` into a topic's record in one update: `labels`, `properties`, `policies` by scope.

        They are a JSON Merge Patch: what is left out stays, at any depth; None removes; a list is replaced whole.

            client.patch_topic("orders", {"labels": {"tier": "gold", "stage": None}})

        Source: RFC 7396.
        """
        return calls.patch_topic(self._in_full(topic), changes, options)

    @asks
    def grow_topic(self, topic: str, partitions: int, **options: Unpack[ChangeOptions]) -> Call[Written]:
        """Give a partitioned topic `partitions` partitions, more than it has."""
        return calls.grow_topic(self._in_full(topic), partitions, options)

    @asks
    def delete_topic(self, topic: str, **options: Unpack[ChangeOptions]) -> Call[Written]:
        """Delete a topic, partitioned or not."""
        return calls.delete_topic(self._in_full(topic), options)

    @asks
    def delete_plain_topic(self, topic: str, **options: Unpack[ChangeOptions]) -> Call[Written]:
        """Delete a topic; a partitioned one is `WrongKind`."""
        return calls.delete_plain_topic(self._in_full(topic), options)

    @asks
    def delete_partitioned_topic(self, topic: str, **options: Unpack[ChangeOptions]) -> Call[Written]:
        """Delete a topic and with it its partitions; one that is not partitioned is `WrongKind`."""
        return calls.delete_partitioned_topic(self._in_full(topic), options)

    @asks
    def get_labels(self, topic: str) -> Call[dict[str, str]]:
        """Return a topic's labels."""
        return calls.get_labels(self._in_full(topic))

    @asks
    def set_labels(self, topic: str, labels: Mapping[str, str], **options: Unpack[ChangeOptions]) -> Call[Written]:
        """Set these labels of a topic; its others stay."""
        return calls.post_labels(self._in_full(topic), labels, options)

    @asks
    def remove_labels(self, topic: str, keys: Texts, **options: Unpack[ChangeOptions]) -> Call[Written]:
        """Remove the labels of these keys from a topic."""
        return calls.delete_labels(self._in_full(topic), keys, options)

    @asks
    def remove_all_labels(self, topic: str, **options: Unpack[ChangeOptions]) -> Call[Written]:
        """Remove every label from a topic."""
        return calls.delete_all_labels(self._in_full(topic), options)

    @asks
    def get_properties(self, topic: str) -> Call[dict[str, str]]:
        """Return a topic's properties."""
        return calls.get_properties(self._in_full(topic))

    @asks
    def update_properties(
        self, topic: str, properties: Mapping[str, str], **options: Unpack[ChangeOptions]
    ) -> Call[Written]:
        """Set these properties of a topic; its others stay."""
        return calls.put_properties(self._in_full(topic), properties, options)

    @asks
    def remove_property(self, topic: str, key: str, **options: Unpack[ChangeOptions]) -> Call[Written]:
        """Remove a property of a topic."""
        return calls.delete_property(self._in_full(topic), key, options)

    @asks
    def get_operation(self, operation: str) -> Call[Operation]:
        """Return what became of a change whose outcome was unknown."""
        return calls.get_operation(operation)

    @asks
    def version(self) -> Call[ServerVersion]:
        """Return the server's version."""
        return calls.get_version()

    @asks
    def readiness(self) -> Call[Readiness]:
        """Return whether the server is ready, and its report; not being ready is no error."""
        return calls.get_readiness()

    @asks
    def diagnosis(self) -> Call[Mapping[str, Any]]:
        """Return what the server finds out about itself: `healthy`, `problems` with what to do, and each part."""
        return calls.get_diagnosis()
