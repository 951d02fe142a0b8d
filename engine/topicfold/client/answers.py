"""The values that a client returns: frozen, and read from the JSON of the REST API.

Reading raises KeyError, TypeError or ValueError if the JSON does not have the expected shape. Unknown members are
ignored, so that newer servers can add some. All are values: equal ones have the same hash, in which mappings do not
count.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Self

from topicfold.client.answer_shape import EACH, NAMESPACE, OPERATION, TENANT, TEXTS, TOPIC, require_shape
from topicfold.errors import Undecodable


@dataclass(frozen=True, slots=True)
class Written:
    """A change that was applied. `operation` identifies it for ever; from `position` on it can be read.

    If there was no record to change, and so nothing to do, `operation` and `etag` are "".
    """

    operation: str
    position: str
    etag: str


@dataclass(frozen=True, slots=True)
class TopicDeleted(Written):
    """A topic's deletion. `kafka_topic` is the Kafka topic that was deleted too, with all its messages.

    It is None if there was none, if the server leaves Kafka alone, or if it had been deleted by an earlier attempt.
    """

    kafka_topic: str | None


@dataclass(frozen=True, slots=True)
class Tenant:
    """A tenant's record."""

    name: str
    admin_roles: tuple[str, ...]
    allowed_clusters: tuple[str, ...]
    etag: str

    @classmethod
    def of(cls, name: str, body: Mapping[str, Any], etag: str) -> Self:
        """Return the tenant `name` that `body` describes."""
        require_shape(body, TENANT)
        return cls(name, tuple(body["adminRoles"]), tuple(body["allowedClusters"]), etag)


@dataclass(frozen=True, slots=True)
class Namespace:
    """A namespace's record. `policies` are those set on the namespace itself, by the names that topics have them by."""

    name: str
    properties: Mapping[str, str] = field(hash=False)
    policies: Mapping[str, Any] = field(hash=False)
    etag: str

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> Self:
        """Return the namespace that `body` describes."""
        require_shape(body, NAMESPACE)
        return cls(body["name"], dict(body["properties"]), body["policies"], body["etag"])


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic's record. `partitions` is 0 if the topic is not partitioned.

    `kafka_name` is None if the Kafka topic has the default name. `policies` are those set on the topic itself, by
    name, in the scopes `local` and `global`; a scope in which none was ever set is None. If the caller may not read
    policies, `policies`, `properties` and `kafka_name` are None. If it `is_undecodable`, the server cannot read the
    record, and all of it appears empty.
    """

    name: str
    labels: Mapping[str, str] = field(hash=False)
    partitions: int
    kafka_name: str | None
    properties: Mapping[str, str] | None = field(hash=False)
    etag: str
    policies: Mapping[str, Mapping[str, Any] | None] | None = field(default=None, hash=False)
    is_undecodable: bool = False

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> Self:
        """Return the topic that `body` describes."""
        require_shape(body, TOPIC)
        require_shape(body.get("kafkaName"), str | None)
        require_shape(body.get("properties"), (TEXTS,))
        require_shape(body.get("policies"), ({EACH: dict | None},))
        return cls(
            name=body["name"],
            labels=dict(body["labels"]),
            partitions=body["partitions"],
            kafka_name=body.get("kafkaName"),
            properties=dict(told) if (told := body.get("properties")) is not None else None,
            etag=body["etag"],
            policies=body.get("policies"),
            is_undecodable=body.get("undecodable", False),
        )

    def readable(self) -> Self:
        """Return this topic.

        Raises:
            Undecodable: it only appears empty, because the server cannot read its record.
        """
        if self.is_undecodable:
            hint = "Ask a node of the newest version. If none can read it, topicfold history shows earlier versions."
            raise Undecodable(f"the server cannot read the record of {self.name}", hint=hint, name=self.name)
        return self


@dataclass(frozen=True, slots=True)
class Found:
    """Topics that were found, sorted by name, as they were at `position`.

    `age_seconds` is the time since the server last saw the end of the log; None if it did not say.
    """

    topics: tuple[Topic, ...]
    position: str
    age_seconds: float | None


@dataclass(frozen=True, slots=True)
class Operation:
    """The outcome of a change. `applied` and `refused` are final; `not_seen` holds only up to the position `as_of`.

    `changed` tells whether an applied change changed anything. `code` is the error code of a refused one.
    """

    id: str
    state: Literal["applied", "refused", "not_seen"]
    etag: str | None
    code: str | None
    as_of: str
    changed: bool | None = None

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> Self:
        """Return the operation that `body` describes."""
        require_shape(body, OPERATION)
        return cls(
            body["operation"], body["state"], body.get("etag"), body.get("code"), body["asOf"], body.get("changed")
        )


@dataclass(frozen=True, slots=True)
class ServerVersion:
    """The server's version, and everything else that it reports about itself."""

    version: str
    details: Mapping[str, Any] = field(hash=False)

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> Self:
        """Return the version that `body` reports."""
        require_shape(body, {"version": str})
        return cls(body["version"], body)


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether the server is ready, and its report on each partition."""

    is_ready: bool
    report: Mapping[str, Any] = field(hash=False)
