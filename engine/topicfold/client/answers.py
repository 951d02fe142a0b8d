"""What the client answers with: frozen values, read from the JSON of the REST API.

Reading raises KeyError, TypeError or ValueError where the JSON is not of the expected shape; members that are not
known are left out, so that newer servers may add some. All are values: those that are equal have one hash, for which
what is a mapping does not count.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Self

from topicfold.errors import Undecodable


@dataclass(frozen=True, slots=True)
class Written:
    """A change that was applied. `operation` names it for ever, `position` is where it can be read.

    Where there was nothing to write to, and so nothing to do, it is no operation: `operation` and `etag` are "".
    """

    operation: str
    position: str
    etag: str


@dataclass(frozen=True, slots=True)
class Tenant:
    """A tenant as it is set up."""

    name: str
    admin_roles: tuple[str, ...]
    allowed_clusters: tuple[str, ...]
    etag: str

    @classmethod
    def of(cls, name: str, body: Mapping[str, Any], etag: str) -> Self:
        """Return the tenant `name` that `body` describes."""
        return cls(name, tuple(body["adminRoles"]), tuple(body["allowedClusters"]), etag)


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic's record. `partitions` 0 means a plain topic; `kafka_name` None that it follows from `name`.

    `policies` are those set on the topic itself, by name, in the scopes `local` and `global`, a scope None where none
    was ever set; None altogether where who asked may not read them. Then `properties` is None, too, and `kafka_name` is
    not told. Where it `is_undecodable` the server cannot read the record, and all of it seems empty.
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
        return cls(
            name=body["name"],
            labels=dict(body["labels"]),
            partitions=int(body["partitions"]),
            kafka_name=body.get("kafkaName"),
            properties=dict(told) if (told := body.get("properties")) is not None else None,
            etag=body["etag"],
            policies=body.get("policies"),
            is_undecodable=body.get("undecodable", False),
        )

    def readable(self) -> Self:
        """Return this topic.

        Raises:
            Undecodable: it only seems empty, for the server cannot read its record.
        """
        if self.is_undecodable:
            hint = "Ask a node of the newest version; of a record that none can read, topicfold history shows what was."
            raise Undecodable(f"the server cannot read the record of {self.name}", hint=hint, name=self.name)
        return self


@dataclass(frozen=True, slots=True)
class Found:
    """Topics that were found, sorted by name, as they were at `position`.

    `age_seconds` says how long ago the server last knew that it had seen the end of the log; None if it did not say.
    """

    topics: tuple[Topic, ...]
    position: str
    age_seconds: float | None


@dataclass(frozen=True, slots=True)
class Operation:
    """What became of a change. `applied` and `refused` are final, `not_seen` holds as of position `as_of` only.

    `changed` says of one that is applied whether it found anything to change. `code` is that of the refusal.
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
        return cls(
            body["operation"], body["state"], body.get("etag"), body.get("code"), body["asOf"], body.get("changed")
        )


@dataclass(frozen=True, slots=True)
class ServerVersion:
    """The server's version, and all that it says about itself beside."""

    version: str
    details: Mapping[str, Any] = field(hash=False)


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether the server serves, and its own report of each part."""

    is_ready: bool
    report: Mapping[str, Any] = field(hash=False)
