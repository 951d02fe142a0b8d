"""One function for each route about tenants, namespaces, topics and labels, and about the server itself. No I/O."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from topicfold.client.answers import Found, Operation, Readiness, ServerVersion, Tenant, Topic, Written
from topicfold.client.call import (
    Answer,
    Call,
    ChangeOptions,
    Query,
    age_seconds,
    change,
    change_headers,
    etag_of,
    mapping_in,
    names_in,
    percent_encoded,
)
from topicfold.client.find_calls import Asked, Texts, each_of, pairs
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
from topicfold.model.names import check_tenant, parse_namespace


def list_tenants() -> Call[tuple[str, ...]]:
    """Ask for the names of all tenants."""
    return Call("GET", "/admin/v2/tenants", names_in)


def get_tenant(tenant: str) -> Call[Tenant]:
    """Ask for one tenant."""

    def read(answer: Answer) -> Tenant:
        return Tenant.of(tenant, answer.body, etag_of(answer))

    return Call("GET", tenant_path(tenant), read)


def put_tenant(tenant: str, admin_roles: Texts, clusters: Texts, o: ChangeOptions) -> Call[Written]:
    """Ask to create a tenant."""
    body = {"adminRoles": list(each_of(admin_roles)), "allowedClusters": list(each_of(clusters))}
    return change("PUT", tenant_path(tenant), o, body=body)


def post_tenant(tenant: str, admin_roles: Texts, clusters: Texts, o: ChangeOptions) -> Call[Written]:
    """Ask to replace what a tenant says."""
    body = {"adminRoles": list(each_of(admin_roles)), "allowedClusters": list(each_of(clusters))}
    return change("POST", tenant_path(tenant), o, body=body)


def delete_tenant(tenant: str, force: bool, o: ChangeOptions) -> Call[Written]:
    """Ask to delete a tenant."""
    return change("DELETE", tenant_path(tenant), o, query=_force(force))


def list_namespaces(tenant: str) -> Call[tuple[str, ...]]:
    """Ask for the namespaces of a tenant."""
    return Call("GET", f"/admin/v2/namespaces/{segment(check_tenant(tenant))}", names_in)


def get_namespace(namespace: str) -> Call[Mapping[str, Any]]:
    """Ask for one namespace."""
    return Call("GET", namespace_path(namespace), mapping_in)


def put_namespace(namespace: str, o: ChangeOptions) -> Call[Written]:
    """Ask to create a namespace."""
    return change("PUT", namespace_path(namespace), o)


def delete_namespace(namespace: str, force: bool, o: ChangeOptions) -> Call[Written]:
    """Ask to delete a namespace."""
    return change("DELETE", namespace_path(namespace), o, query=_force(force))


def namespace_labels(namespace: str) -> Call[dict[str, tuple[str, ...]]]:
    """Ask for all labels in use in a namespace."""

    def read(answer: Answer) -> dict[str, tuple[str, ...]]:
        return {key: tuple(values) for key, values in answer.body.items()}

    return Call("GET", f"{namespace_path(namespace)}/topicCustomLabels", read)


def list_topics(
    namespace: str, domain: str, labels: Mapping[str, str], properties: Mapping[str, str], with_system_topics: bool
) -> Call[tuple[str, ...]]:
    """Ask for full names, partitioned topics as their partitions.

    Properties are percent-encoded once more than the query is, as Pulsar's clients do, so they may hold commas.
    """
    path = f"/admin/v2/{domain}/{path_of(parse_namespace(namespace))}"
    text = ",".join(f"{percent_encoded(key)}={percent_encoded(value)}" for key, value in properties.items())
    asked = (("properties", text),) if properties else ()
    system = (("includeSystemTopic", "true"),) if with_system_topics else ()
    return Call("GET", path, names_in, query=(*pairs("custom-labels", labels, ":"), *asked, *system))


def list_partitioned_topics(namespace: str, domain: str, labels: Mapping[str, str]) -> Call[tuple[str, ...]]:
    """Ask for the full names of partitioned topics."""
    path = f"/admin/v2/{domain}/{path_of(parse_namespace(namespace))}/partitioned"
    return Call("GET", path, names_in, query=pairs("custom-labels", labels, ":"))


def grow_topic(topic: str, partitions: int, o: ChangeOptions) -> Call[Written]:
    """Ask for more partitions."""
    return change("POST", f"{topic_path(topic)}/partitions", o, body=partitions)


def get_labels(topic: str) -> Call[dict[str, str]]:
    """Ask for a topic's labels."""
    return Call("GET", f"{topic_path(topic)}/custom-labels", lambda answer: dict(answer.body))


def post_labels(topic: str, labels: Mapping[str, str], o: ChangeOptions) -> Call[Written]:
    """Ask to set labels beside those that are there."""
    return change("POST", f"{topic_path(topic)}/custom-labels", o, body={"labels": dict(labels)})


def delete_labels(topic: str, keys: Texts, o: ChangeOptions) -> Call[Written]:
    """Ask to remove the labels of these keys.

    Raises:
        InvalidRequest: there are none; the route would not know what is meant.
    """
    query = tuple(("keys", key) for key in each_of(keys))
    if not query:
        raise InvalidRequest("no keys of labels to remove", hint="Name at least one key, or remove all labels.")
    return change("DELETE", f"{topic_path(topic)}/custom-labels", o, query=query)


def delete_all_labels(topic: str, o: ChangeOptions) -> Call[Written]:
    """Ask to remove all labels of a topic."""
    return change("DELETE", f"{topic_path(topic)}/custom-labels", o, query=(("all", "true"),))


def find_topics(asked: Asked, limit: int | None) -> Call[Found]:
    """Ask for the whole records of topics, of `limit` at most where they are asked for as a page."""

    def read(answer: Answer) -> Found:
        topics = tuple(sorted(map(Topic.of, answer.body["items"]), key=lambda topic: topic.name))
        return Found(topics, answer.body["position"], age_seconds(answer))

    page = () if limit is None else (("limit", str(limit)),)
    return Call("GET", "/api/v1/topics", read, (("fields", "record"), *asked.query, *page), confirms=asked.text)


def get_topic(topic: str) -> Call[Topic]:
    """Ask for one topic's record."""
    return Call("GET", native_topic_path(topic), _topic, domain_query(topic))


def put_topic(topic: str, record: Mapping[str, Any], o: ChangeOptions) -> Call[Topic]:
    """Ask to create a topic."""
    headers = change_headers(o)
    return Call("PUT", native_topic_path(topic), _topic, domain_query(topic), dict(record), headers)


def adopt_topic(topic: str, record: Mapping[str, Any], o: ChangeOptions) -> Call[Topic]:
    """Ask to make the record of a topic that Kafka has."""
    query = (*domain_query(topic), ("adopt", "true"))
    return Call("PUT", native_topic_path(topic), _topic, query, dict(record), change_headers(o))


def patch_topic(topic: str, changes: Mapping[str, Any], o: ChangeOptions) -> Call[Written]:
    """Ask to merge a patch into a topic's record."""
    return change("PATCH", native_topic_path(topic), o, query=domain_query(topic), body=dict(changes))


def delete_topic(topic: str, o: ChangeOptions) -> Call[Written]:
    """Ask to delete a topic, partitioned or not."""
    return change("DELETE", native_topic_path(topic), o, query=domain_query(topic))


def get_partitions(topic: str) -> Call[Mapping[str, Any]]:
    """Ask for what Pulsar tells of a topic's partitions."""
    return Call("GET", f"{topic_path(topic)}/partitions", mapping_in)


def delete_plain_topic(topic: str, o: ChangeOptions) -> Call[Written]:
    """Ask to delete a topic if it is not partitioned."""
    return change("DELETE", topic_path(topic), o)


def delete_partitioned_topic(topic: str, o: ChangeOptions) -> Call[Written]:
    """Ask to delete a topic if it is partitioned."""
    return change("DELETE", f"{topic_path(topic)}/partitions", o)


def get_properties(topic: str) -> Call[dict[str, str]]:
    """Ask for a topic's properties."""
    return Call("GET", f"{topic_path(topic)}/properties", lambda answer: dict(answer.body))


def put_properties(topic: str, properties: Mapping[str, str], o: ChangeOptions) -> Call[Written]:
    """Ask to set properties beside those that are there."""
    return change("PUT", f"{topic_path(topic)}/properties", o, body=dict(properties))


def delete_property(topic: str, key: str, o: ChangeOptions) -> Call[Written]:
    """Ask to remove a property."""
    return change("DELETE", f"{topic_path(topic)}/properties", o, query=(("key", key),))


def get_operation(operation: str) -> Call[Operation]:
    """Ask what became of a change."""
    path = f"/api/v1/operations/{given_segment('operation', operation)}"
    return Call("GET", path, lambda answer: Operation.of(answer.body))


def get_version() -> Call[ServerVersion]:
    """Ask for the server's version."""
    return Call("GET", "/version", lambda answer: ServerVersion(answer.body["version"], answer.body))


def get_readiness() -> Call[Readiness]:
    """Ask whether the server is ready, in detail; not being so is an answer, not an error."""

    def read(answer: Answer) -> Readiness:
        return Readiness(answer.status == 200, mapping_in(answer))

    return Call("GET", "/readyz", read, query=(("verbose", ""),), accepts=frozenset({503}))


def get_diagnosis() -> Call[Mapping[str, Any]]:
    """Ask what the server finds out about itself; not being well is an answer, not an error."""
    return Call("GET", "/api/v1/doctor", mapping_in)


def _force(force: bool) -> Query:
    return (("force", "true"),) if force else ()


def _topic(answer: Answer) -> Topic:
    return Topic.of(answer.body)
