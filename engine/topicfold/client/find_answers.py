"""The values that a client returns about topics that were found or are watched, read from JSON as in `answers`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from topicfold.client.answer_shape import EXPLANATION, MATCH, require_shape
from topicfold.model.kafka.adoption import stands_for
from topicfold.model.kafka.names import is_kafka_name


@dataclass(frozen=True, slots=True)
class Match:
    """A topic that matches a query. `name` is its full name and `version` its ETag.

    `partitions` is 0 if the topic is not partitioned. From `position` on the version can be read; "" if the server
    does not say. `kafka_name` is None if the Kafka topic has the default name; `kafka_topic` is its name in any case.
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
        require_shape(body, MATCH)
        require_shape(body.get("kafkaName"), str | None)
        return cls(
            name=body["name"],
            labels=dict(body["labels"]),
            version=body["version"],
            partitions=body["partitions"],
            position=body.get("position") or "",
            kafka_name=body.get("kafkaName"),
        )

    @property
    def kafka_topic(self) -> str | None:
        """The name of its Kafka topic; None if it can have none, for instance because Kafka does not allow the name.

        >>> Match("persistent://acme/pay/orders", {}, "v1", 0).kafka_topic
        'acme..pay..orders'
        """
        standing = stands_for(self.name, self.kafka_name)
        return standing if standing is not None and is_kafka_name(standing) else None


@dataclass(frozen=True, slots=True)
class Page:
    """Topics that were found, sorted by name, as they were at `position`.

    `counts["matched"]` is how many topics match on all pages. `next` leads to the next page; "" on the last one.
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
    """One requirement of a selector: how many topics meet it alone, and whether topics without the key meet it."""

    requirement: str
    key: str
    topics: int
    takes_topics_without_key: bool


@dataclass(frozen=True, slots=True)
class Explanation:
    """How a selector is understood: its canonical form, and how many (`matched`) of all `topics` it matches.

    `hints` tell in words which results may be surprising.
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
        require_shape(body, EXPLANATION)
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
