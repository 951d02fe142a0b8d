"""Methods of a client for tenants, namespaces, topics and labels, and for the server itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

from topicfold.client import calls
from topicfold.client.answer_shape import DIAGNOSIS, READINESS, TEXTS
from topicfold.client.answers import (
    Namespace,
    Operation,
    Readiness,
    ServerVersion,
    Tenant,
    Topic,
    TopicDeleted,
    Written,
)
from topicfold.client.call import (
    Answer,
    Call,
    ChangeOptions,
    Query,
    change,
    change_headers,
    etag_of,
    lists_in,
    mapping_in,
    mapping_of,
    names_in,
)
from topicfold.client.declaring import asks
from topicfold.client.find_calls import Texts, each_of, pairs
from topicfold.client.own_namespace import InOwnNamespace
from topicfold.client.paths import (
    domain_query,
    given_segment,
    namespace_path,
    native_topic_path,
    path_of,
    segment,
    tenant_path,
    topic_path,
)
from topicfold.errors import InvalidRequest
from topicfold.model.names import PERSISTENT, check_tenant, parse_namespace


class ResourceCalls(InOwnNamespace):
    """Tenants, namespaces, topics, labels, and the state of the server."""

    @asks
    def list_tenants(self) -> Call[tuple[str, ...]]:
        """Return the names of all tenants, sorted."""
        return Call("GET", "/admin/v2/tenants", names_in)

    @asks
    def get_tenant(self, tenant: str) -> Call[Tenant]:
        """Return one tenant."""

        def read(answer: Answer) -> Tenant:
            return Tenant.of(tenant, answer.body, etag_of(answer))

        return Call("GET", tenant_path(tenant), read)

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
        return change("PUT", tenant_path(tenant), options, body=_tenant_body(admin_roles, allowed_clusters))

    @asks
    def update_tenant(
        self,
        tenant: str,
        *,
        admin_roles: Texts = (),
        allowed_clusters: Texts = (),
        **options: Unpack[ChangeOptions],
    ) -> Call[Written]:
        """Replace a tenant's admin roles and allowed clusters."""
        return change("POST", tenant_path(tenant), options, body=_tenant_body(admin_roles, allowed_clusters))

    @asks
    def delete_tenant(self, tenant: str, *, force: bool = False, **options: Unpack[ChangeOptions]) -> Call[Written]:
        """Delete a tenant. If it has namespaces, raise `NotEmpty`, or delete them too with `force`."""
        return change("DELETE", tenant_path(tenant), options, query=_force(force))

    @asks
    def list_namespaces(self, tenant: str) -> Call[tuple[str, ...]]:
        """Return the namespaces of a tenant as `tenant/namespace`, sorted."""
        return Call("GET", f"/admin/v2/namespaces/{segment(check_tenant(tenant))}", names_in)

    @asks
    def get_namespace(self, namespace: str) -> Call[Mapping[str, Any]]:
        """Return the policies of a namespace, under the names that they have in Pulsar's document."""
        return Call("GET", namespace_path(namespace), mapping_in)

    @asks
    def get_namespace_record(self, namespace: str, *, at: str | int | None = None) -> Call[Namespace]:
        """Return a namespace's properties and policies, by the names that topics have them by.

        With `at`, as they were at an offset of its history (after that change), at a position, or at a time.
        """
        return calls.get_namespace_record(namespace, at)

    @asks
    def patch_namespace(
        self, namespace: str, changes: Mapping[str, Any], **options: Unpack[ChangeOptions]
    ) -> Call[Written]:
        """Merge `changes` into a namespace's record in one update: `properties`, and `policies` by name.

        They are a JSON Merge Patch, as those of `patch_topic`.

            client.patch_namespace("acme/pay", {"policies": {"messageTTLInSeconds": 3600, "publishRate": None}})

        Source: RFC 7396.
        """
        return calls.patch_namespace(namespace, changes, options)

    @asks
    def create_namespace(self, namespace: str, **options: Unpack[ChangeOptions]) -> Call[Written]:
        """Create a namespace in an existing tenant."""
        return change("PUT", namespace_path(namespace), options)

    @asks
    def delete_namespace(
        self, namespace: str, *, force: bool = False, **options: Unpack[ChangeOptions]
    ) -> Call[Written]:
        """Delete a namespace. If it has topics, raise `NotEmpty`, or delete them too with `force`."""
        return change("DELETE", namespace_path(namespace), options, query=_force(force))

    @asks
    def namespace_labels(self, namespace: str) -> Call[dict[str, tuple[str, ...]]]:
        """Return the labels in use in a namespace: each key with its values, both sorted."""
        return Call("GET", f"{namespace_path(namespace)}/topicCustomLabels", lists_in)

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
        """Return the full names of topics, sorted. As in Pulsar, a partitioned topic is listed as its partitions.

        `properties` are for the server's topic listing (PIP-452); the listing `all` ignores them.
        """
        return calls.list_topics(namespace, domain, labels or {}, properties or {}, with_system_topics)

    @asks
    def list_partitioned_topics(
        self, namespace: str, *, domain: str = PERSISTENT, labels: Mapping[str, str] | None = None
    ) -> Call[tuple[str, ...]]:
        """Return the full names of partitioned topics, sorted."""
        path = f"/admin/v2/{domain}/{path_of(parse_namespace(namespace))}/partitioned"
        return Call("GET", path, names_in, query=pairs("custom-labels", labels or {}, ":"))

    @asks
    def get_topic(self, topic: str) -> Call[Topic]:
        """Return a topic's record."""
        name = self._in_full(topic)
        return Call("GET", native_topic_path(name), calls.topic_in, domain_query(name))

    @asks
    def partitioned_topic_metadata(self, topic: str) -> Call[Mapping[str, Any]]:
        """Return Pulsar's metadata of a topic's partitions; `partitions` is 0 if it is not partitioned."""
        return Call("GET", f"{topic_path(self._in_full(topic))}/partitions", mapping_of({"partitions": int}))

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
        """Create a topic; with 0 `partitions`, one that is not partitioned.

        `kafka_name` is the name of its Kafka topic, if it is not the default. `policies` are given by name, in the
        scopes `local` and `global`.
        """
        record = {
            "partitions": partitions,
            "kafkaName": kafka_name,
            "properties": properties or {},
            "labels": labels or {},
            **({"policies": policies} if policies else {}),
        }
        return calls.put_topic(self._in_full(topic), record, options)

    @asks
    def adopt_topic(
        self, topic: str, *, partitions: int = 0, kafka_name: str | None = None, **options: Unpack[ChangeOptions]
    ) -> Call[Topic]:
        """Create the record of an existing Kafka topic; unlike `create_topic`, never create anything in Kafka."""
        name = self._in_full(topic)
        record = {"partitions": partitions, "kafkaName": kafka_name}
        query = (*domain_query(name), ("adopt", "true"))
        return Call("PUT", native_topic_path(name), calls.topic_in, query, record, change_headers(options))

    @asks
    def patch_topic(self, topic: str, changes: Mapping[str, Any], **options: Unpack[ChangeOptions]) -> Call[Written]:
        """Merge `changes` into a topic's record in one update: `labels`, `properties`, `policies` by scope.

        They are a JSON Merge Patch: at any depth, None removes a member, and members left out stay as they are. A list
        is replaced as a whole.

            client.patch_topic("orders", {"labels": {"tier": "gold", "stage": None}})

        Source: RFC 7396.
        """
        return calls.patch_topic(self._in_full(topic), changes, options)

    @asks
    def grow_topic(self, topic: str, partitions: int, **options: Unpack[ChangeOptions]) -> Call[Written]:
        """Increase the number of partitions of a partitioned topic to `partitions`."""
        return change("POST", f"{topic_path(self._in_full(topic))}/partitions", options, body=partitions)

    @asks
    def delete_topic(self, topic: str, **options: Unpack[ChangeOptions]) -> Call[TopicDeleted]:
        """Delete a topic, partitioned or not."""
        name = self._in_full(topic)
        return calls.delete_topic(native_topic_path(name), domain_query(name), options)

    @asks
    def delete_plain_topic(self, topic: str, **options: Unpack[ChangeOptions]) -> Call[TopicDeleted]:
        """Delete a topic that is not partitioned; raise `WrongKind` if it is."""
        return calls.delete_topic(topic_path(self._in_full(topic)), (), options)

    @asks
    def delete_partitioned_topic(self, topic: str, **options: Unpack[ChangeOptions]) -> Call[TopicDeleted]:
        """Delete a partitioned topic with its partitions; raise `WrongKind` if it is not partitioned."""
        return calls.delete_topic(f"{topic_path(self._in_full(topic))}/partitions", (), options)

    @asks
    def get_labels(self, topic: str) -> Call[dict[str, str]]:
        """Return a topic's labels."""
        return Call("GET", self._labels_path(topic), mapping_of(TEXTS))

    @asks
    def set_labels(self, topic: str, labels: Mapping[str, str], **options: Unpack[ChangeOptions]) -> Call[Written]:
        """Set these labels of a topic, and keep its others."""
        return change("POST", self._labels_path(topic), options, body={"labels": labels})

    @asks
    def remove_labels(self, topic: str, keys: Texts, **options: Unpack[ChangeOptions]) -> Call[Written]:
        """Remove the labels with these keys from a topic.

        Raises:
            InvalidRequest: `keys` is empty. Use `remove_all_labels` to remove all of them.
        """
        query = tuple(("keys", key) for key in each_of(keys))
        if not query:
            raise InvalidRequest("no keys of labels to remove", hint="Name at least one key, or remove all labels.")
        return change("DELETE", self._labels_path(topic), options, query=query)

    @asks
    def remove_all_labels(self, topic: str, **options: Unpack[ChangeOptions]) -> Call[Written]:
        """Remove all labels from a topic."""
        return change("DELETE", self._labels_path(topic), options, query=(("all", "true"),))

    @asks
    def get_properties(self, topic: str) -> Call[dict[str, str]]:
        """Return a topic's properties."""
        return Call("GET", self._properties_path(topic), mapping_of(TEXTS))

    @asks
    def update_properties(
        self, topic: str, properties: Mapping[str, str], **options: Unpack[ChangeOptions]
    ) -> Call[Written]:
        """Set these properties of a topic, and keep its others."""
        return change("PUT", self._properties_path(topic), options, body=properties)

    @asks
    def remove_property(self, topic: str, key: str, **options: Unpack[ChangeOptions]) -> Call[Written]:
        """Remove a property of a topic."""
        return change("DELETE", self._properties_path(topic), options, query=(("key", key),))

    @asks
    def get_operation(self, operation: str) -> Call[Operation]:
        """Return the outcome of a change, for instance after `OutcomeUnknown`."""
        path = f"/api/v1/operations/{given_segment('operation', operation)}"
        return Call("GET", path, lambda answer: Operation.of(answer.body))

    @asks
    def version(self) -> Call[ServerVersion]:
        """Return the server's version."""
        return Call("GET", "/version", lambda answer: ServerVersion.of(answer.body))

    @asks
    def readiness(self) -> Call[Readiness]:
        """Return whether the server is ready, and its report. A server that is not ready does not raise an error."""
        report_in = mapping_of(READINESS)

        def read(answer: Answer) -> Readiness:
            return Readiness(answer.status == 200, report_in(answer))

        return Call("GET", "/readyz", read, query=(("verbose", ""),), accepts={503: READINESS})

    @asks
    def diagnosis(self) -> Call[Mapping[str, Any]]:
        """Return the server's diagnosis of itself: `healthy`, `problems` with what to do about them, and details."""
        return Call("GET", "/api/v1/doctor", mapping_of(DIAGNOSIS))

    def _labels_path(self, topic: str) -> str:
        return f"{topic_path(self._in_full(topic))}/custom-labels"

    def _properties_path(self, topic: str) -> str:
        return f"{topic_path(self._in_full(topic))}/properties"


def _tenant_body(admin_roles: Texts, allowed_clusters: Texts) -> Mapping[str, Any]:
    return {"adminRoles": list(each_of(admin_roles)), "allowedClusters": list(each_of(allowed_clusters))}


def _force(force: bool) -> Query:
    return (("force", "true"),) if force else ()
