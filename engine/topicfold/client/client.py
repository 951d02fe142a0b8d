"""The blocking client: one method for each thing the REST API can do.

Those about policies are in `policies`, about histories in `history`, about grants and clusters in `access`; how calls
are sent, in `sending`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Unpack

from topicfold.client import calls
from topicfold.client.access import AccessCalls
from topicfold.client.answers import Found, Operation, Readiness, ServerVersion, Tenant, Topic, Written
from topicfold.client.call import ChangeOptions
from topicfold.client.history import HistoryCalls
from topicfold.client.policies import PolicyCalls
from topicfold.model.names import DEFAULT_NAMESPACE, PERSISTENT


class Client(PolicyCalls, AccessCalls, HistoryCalls):
    """A connection to Topicfold servers behind one URL.

    Reads what it wrote, on whatever node it arrives: each thread's calls carry the position of its last answer
    (`read_your_writes=False` stops that). Threads may share a client; what one thread wrote, another is not sure to
    read at once on another node. Changes carry an Idempotency-Key and are tried again when that may help, within
    `timeout_seconds` for the whole call.

        with Client() as client:
            client.create_topic("orders", labels={"team": "pay"})
            client.find_topics(labels={"team": "pay"}).topics

    Every method raises the errors of `topicfold.errors` that the server answers with, `ServerUnreachable`,
    `AnswerLost` (changes only) and `UnexpectedAnswer`; names that break the rules are `InvalidName` before anything
    is sent. Topics may be named in full, as `tenant/namespace/topic`, or bare in `public/default`.
    """

    def list_tenants(self) -> tuple[str, ...]:
        """Return the names of all tenants, sorted."""
        return self.perform(calls.list_tenants())

    def get_tenant(self, tenant: str) -> Tenant:
        """Return one tenant."""
        return self.perform(calls.get_tenant(tenant))

    def create_tenant(
        self,
        tenant: str,
        *,
        admin_roles: Iterable[str] = (),
        allowed_clusters: Iterable[str] = (),
        **options: Unpack[ChangeOptions],
    ) -> Written:
        """Create a tenant."""
        return self.perform(calls.put_tenant(tenant, admin_roles, allowed_clusters, options))

    def update_tenant(
        self,
        tenant: str,
        *,
        admin_roles: Iterable[str] = (),
        allowed_clusters: Iterable[str] = (),
        **options: Unpack[ChangeOptions],
    ) -> Written:
        """Replace what a tenant says."""
        return self.perform(calls.post_tenant(tenant, admin_roles, allowed_clusters, options))

    def delete_tenant(self, tenant: str, *, force: bool = False, **options: Unpack[ChangeOptions]) -> Written:
        """Delete a tenant; one that has namespaces is `NotEmpty` without `force`."""
        return self.perform(calls.delete_tenant(tenant, force, options))

    def list_namespaces(self, tenant: str) -> tuple[str, ...]:
        """Return the namespaces of a tenant as `tenant/namespace`, sorted."""
        return self.perform(calls.list_namespaces(tenant))

    def get_namespace(self, namespace: str) -> Mapping[str, Any]:
        """Return the policies of a namespace, in Pulsar's words."""
        return self.perform(calls.get_namespace(namespace))

    def create_namespace(self, namespace: str, **options: Unpack[ChangeOptions]) -> Written:
        """Create a namespace in a tenant that exists."""
        return self.perform(calls.put_namespace(namespace, options))

    def delete_namespace(self, namespace: str, *, force: bool = False, **options: Unpack[ChangeOptions]) -> Written:
        """Delete a namespace; one that has topics is `NotEmpty` without `force`, which deletes them too."""
        return self.perform(calls.delete_namespace(namespace, force, options))

    def namespace_labels(self, namespace: str) -> dict[str, tuple[str, ...]]:
        """Return the labels in use in a namespace: each key with its values, both sorted."""
        return self.perform(calls.namespace_labels(namespace))

    def list_topics(
        self, namespace: str, *, domain: str = PERSISTENT, labels: Mapping[str, str] | None = None
    ) -> tuple[str, ...]:
        """Return full names, sorted, a partitioned topic as its partitions (as Pulsar lists them)."""
        return self.perform(calls.list_topics(namespace, domain, labels or {}))

    def list_partitioned_topics(
        self, namespace: str, *, domain: str = PERSISTENT, labels: Mapping[str, str] | None = None
    ) -> tuple[str, ...]:
        """Return the full names of partitioned topics, sorted."""
        return self.perform(calls.list_partitioned_topics(namespace, domain, labels or {}))

    def find_topics(
        self, namespaces: Iterable[str] = (DEFAULT_NAMESPACE,), *, labels: Mapping[str, str] | None = None
    ) -> Found:
        """Return the topics of these namespaces that bear all of `labels`, each partitioned topic once."""
        return self.perform(calls.find_topics(namespaces, labels or {}))

    def get_topic(self, topic: str) -> Topic:
        """Return a topic's record."""
        return self.perform(calls.get_topic(topic))

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
    ) -> Topic:
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
        return self.perform(calls.put_topic(topic, record, options))

    def adopt_topic(
        self, topic: str, *, partitions: int = 0, kafka_name: str | None = None, **options: Unpack[ChangeOptions]
    ) -> Topic:
        """Make the record of a topic whose Kafka topic is there: unlike `create_topic`, never one in Kafka."""
        return self.perform(calls.adopt_topic(topic, {"partitions": partitions, "kafkaName": kafka_name}, options))

    def patch_topic(self, topic: str, changes: Mapping[str, Any], **options: Unpack[ChangeOptions]) -> Written:
        """Replace members of a topic's record in one update: `labels`, `properties`, `policies` by scope.

        What `changes` leaves out stays as it is.
        """
        return self.perform(calls.patch_topic(topic, changes, options))

    def grow_topic(self, topic: str, partitions: int, **options: Unpack[ChangeOptions]) -> Written:
        """Give a partitioned topic `partitions` partitions, more than it has."""
        return self.perform(calls.grow_topic(topic, partitions, options))

    def delete_topic(self, topic: str, **options: Unpack[ChangeOptions]) -> Written:
        """Delete a topic, partitioned or not."""
        return self.perform(calls.delete_topic(topic, options))

    def delete_plain_topic(self, topic: str, **options: Unpack[ChangeOptions]) -> Written:
        """Delete a topic; a partitioned one is `WrongKind`."""
        return self.perform(calls.delete_plain_topic(topic, options))

    def delete_partitioned_topic(self, topic: str, **options: Unpack[ChangeOptions]) -> Written:
        """Delete a topic and with it its partitions; one that is not partitioned is `WrongKind`."""
        return self.perform(calls.delete_partitioned_topic(topic, options))

    def get_labels(self, topic: str) -> dict[str, str]:
        """Return a topic's labels."""
        return self.perform(calls.get_labels(topic))

    def set_labels(self, topic: str, labels: Mapping[str, str], **options: Unpack[ChangeOptions]) -> Written:
        """Set these labels of a topic; its others stay."""
        return self.perform(calls.post_labels(topic, labels, options))

    def remove_labels(self, topic: str, keys: Iterable[str], **options: Unpack[ChangeOptions]) -> Written:
        """Remove the labels of these keys from a topic."""
        return self.perform(calls.delete_labels(topic, keys, options))

    def remove_all_labels(self, topic: str, **options: Unpack[ChangeOptions]) -> Written:
        """Remove every label from a topic."""
        return self.perform(calls.delete_all_labels(topic, options))

    def get_properties(self, topic: str) -> dict[str, str]:
        """Return a topic's properties."""
        return self.perform(calls.get_properties(topic))

    def update_properties(self, topic: str, properties: Mapping[str, str], **options: Unpack[ChangeOptions]) -> Written:
        """Set these properties of a topic; its others stay."""
        return self.perform(calls.put_properties(topic, properties, options))

    def remove_property(self, topic: str, key: str, **options: Unpack[ChangeOptions]) -> Written:
        """Remove a property of a topic."""
        return self.perform(calls.delete_property(topic, key, options))

    def get_operation(self, operation: str) -> Operation:
        """Return what became of a change whose outcome was unknown."""
        return self.perform(calls.get_operation(operation))

    def version(self) -> ServerVersion:
        """Return the server's version."""
        return self.perform(calls.get_version())

    def readiness(self) -> Readiness:
        """Return whether the server is ready, and its report; not being ready is no error."""
        return self.perform(calls.get_readiness())
