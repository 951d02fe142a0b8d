"""Calls that are made otherwise than by their own methods, too: tried, of many topics at once, or read another way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from topicfold.client.answers import Namespace, Topic, TopicDeleted, Written
from topicfold.client.call import (
    Answer,
    Call,
    ChangeOptions,
    Query,
    change,
    change_headers,
    names_in,
    percent_encoded,
    written,
)
from topicfold.client.find_calls import pairs
from topicfold.client.paths import domain_query, native_namespace_path, native_topic_path, path_of
from topicfold.model.names import parse_namespace
from topicfold.wire.headers import DELETED_KAFKA_TOPIC, TAKEN_KAFKA_TOPIC

T = TypeVar("T")


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


def put_topic(topic: str, record: Mapping[str, Any], o: ChangeOptions) -> Call[Topic]:
    """Ask to create a topic."""
    return _put(topic, record, o, topic_in)


def create_topic(topic: str, record: Mapping[str, Any], o: ChangeOptions) -> Call[tuple[Topic, str | None]]:
    """Ask to create a topic; return with it the Kafka topic that was there before and was taken over."""
    return _put(topic, record, o, _created)


def patch_topic(topic: str, changes: Mapping[str, Any], o: ChangeOptions) -> Call[Written]:
    """Ask to merge a patch into a topic's record."""
    return change("PATCH", native_topic_path(topic), o, query=domain_query(topic), body=dict(changes))


def roll_back(topic: str, to: str | int, o: ChangeOptions) -> Call[Written]:
    """Ask to give a topic back what a version of it said."""
    return change("POST", f"{native_topic_path(topic)}/rollback", o, query=domain_query(topic), body={"to": str(to)})


def get_namespace_record(namespace: str, at: str | int | None = None) -> Call[Namespace]:
    """Ask for a namespace's record, as it is or was."""
    query: Query = () if at is None else (("at", str(at)),)
    return Call("GET", native_namespace_path(namespace), lambda answer: Namespace.of(answer.body), query)


def patch_namespace(namespace: str, changes: Mapping[str, Any], o: ChangeOptions) -> Call[Written]:
    """Ask to merge a patch into a namespace's record."""
    return change("PATCH", native_namespace_path(namespace), o, body=dict(changes))


def roll_back_namespace(namespace: str, to: str | int, o: ChangeOptions) -> Call[Written]:
    """Ask to give a namespace back what a version of it said."""
    return change("POST", f"{native_namespace_path(namespace)}/rollback", o, body={"to": str(to)})


def delete_topic(path: str, query: Query, o: ChangeOptions) -> Call[TopicDeleted]:
    """Ask to delete the topic that a path and a query name."""
    return Call("DELETE", path, _deleted, query, headers=change_headers(o))


def _put(topic: str, record: Mapping[str, Any], o: ChangeOptions, read: Callable[[Answer], T]) -> Call[T]:
    return Call("PUT", native_topic_path(topic), read, domain_query(topic), dict(record), change_headers(o))


def _created(answer: Answer) -> tuple[Topic, str | None]:
    return topic_in(answer), answer.headers.get(TAKEN_KAFKA_TOPIC.lower())


def _deleted(answer: Answer) -> TopicDeleted:
    change = written(answer)
    kafka_topic = answer.headers.get(DELETED_KAFKA_TOPIC.lower())
    return TopicDeleted(change.operation, change.position, change.etag, kafka_topic)


def topic_in(answer: Answer) -> Topic:
    """Return the topic's record that an answer is."""
    return Topic.of(answer.body)
