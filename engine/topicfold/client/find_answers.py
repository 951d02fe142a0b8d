"""What the client answers with about topics that were found or are watched: read from JSON as in `answers`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from topicfold.model.adoption import stands_for
from topicfold.model.names import is_kafka_name


@dataclass(frozen=True, slots=True)
class Match:
    """A topic that a query matches. `name` is full, `version` its ETag, `partitions` 0 that it is not partitioned.

    `position` is where the version can be read, "" if the server does not say. `kafka_name` is the Kafka topic's where
    that does not follow from the name; `kafka_topic` says it in either case.
    """

    name: str
    labels: Mapping[str, str] = field(hash=False)
    version: str
    partitions: int
    position: str = ""
    kafka_name: str | None = None

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> Self:
        """Return the topic that `body` describes."""
        return cls(
            name=body["name"],
            labels=dict(body["labels"]),
            version=body["version"],
            partitions=int(body["partitions"]),
            position=body.get("position") or "",
            kafka_name=body.get("kafkaName"),
        )

    @property
    def kafka_topic(self) -> str | None:
        """The Kafka topic that it stands for, None where none can be: Kafka allows no such name, or it has none.

        >>> Match("persistent://acme/pay/orders", {}, "v1", 0).kafka_topic
        'acme..pay..orders'
        """
        standing = stands_for(self.name, self.kafka_name)
        return standing if standing is not None and is_kafka_name(standing) else None


@dataclass(frozen=True, slots=True)
class Page:
    """Topics that were found, sorted by name, as they were at `position`.

    `counts` are what the server counted: `matched` of them all. `next` leads to the page after this one, "" at the end.
    """

    topics: tuple[Match, ...]
    position: str
    counts: Mapping[str, int] = field(hash=False)
    next: str

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> Self:
        """Return the page that `body` describes."""
        return cls(
            tuple(map(Match.of, body["items"])),
            body["position"],
            dict(body.get("counts") or {}),
            body.get("continue") or "",
        )


@dataclass(frozen=True, slots=True)
class ExplainedRequirement:
    """One requirement of a selector: how many topics fulfil it by itself, those without the key among them or not."""

    requirement: str
    key: str
    topics: int
    takes_topics_without_key: bool


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a selector means: in its canonical form, and that `matched` of `topics` there are match it.

    `hints` say in words what is likely to be a surprise.
    """

    selector: str
    requirements: tuple[ExplainedRequirement, ...]
    topics: int
    matched: int
    hints: tuple[str, ...]
    position: str

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> Self:
        """Return the explanation that `body` is."""
        requirements = (
            ExplainedRequirement(each["requirement"], each["key"], each["topics"], each["takesTopicsWithoutKey"])
            for each in body["requirements"]
        )
        return cls(
            body["selector"],
            tuple(requirements),
            body["topics"],
            body["matched"],
            tuple(body["hints"]),
            body["position"],
        )
