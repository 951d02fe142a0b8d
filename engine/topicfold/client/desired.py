"""Desired state of topics, and how the server's differ: labels, properties and policies.

What is not said of a topic is left as it is; what is said is replaced whole. Nothing here talks to a server.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from topicfold.client.answers import Topic
from topicfold.errors import Forbidden
from topicfold.model.names import kafka_name, parse_topic
from topicfold.model.policy.table import BY_NAME
from topicfold.model.policy.values import Value, plain_value, read_value, shown_value

SCOPES = ("local", "global")


@dataclass(frozen=True, slots=True)
class Desired:
    """What one topic is to be.

    `parts` are the members that are given: `labels`, `properties`, `local`, `global`, each a mapping by name;
    policies are canonical. `partitions` and `kafka_name` (None: as the name implies) count where the topic is made;
    of a topic that is there, others than its own are a `Step.problem`.
    """

    name: str
    parts: Mapping[str, Mapping[str, Value]]
    partitions: int = 0
    kafka_name: str | None = None


@dataclass(frozen=True, slots=True)
class Difference:
    """One field that differs. `old` or `new` None: there is none. A topic that is missing has the field ""."""

    topic: str
    field: str
    old: Value
    new: Value


@dataclass(frozen=True, slots=True)
class Step:
    """All that has to be done to one topic, in one update.

    `etag` is the version it was compared with, None where the topic has to be made. `body` is what is sent. `problem`
    says why none of it can be done, "" if it can.
    """

    topic: str
    etag: str | None
    body: Mapping[str, Any]
    differences: tuple[Difference, ...]
    problem: str = ""


def steps(desired: Sequence[Desired], actual: Mapping[str, Topic]) -> Iterator[Step]:
    """Yield a step for each topic that is not as it is to be, sorted by name. `actual` are the server's, by name.

    Raises:
        Forbidden: policies are to be compared that the server did not show.
    """
    for each in desired:
        topic = actual.get(each.name)
        differences = tuple(_differences(each, topic))
        if topic is None:
            made = Difference(each.name, "", None, "a new topic")
            new = {"partitions": each.partitions} | ({"kafka_name": each.kafka_name} if each.kafka_name else {})
            yield Step(each.name, None, _body(each.parts) | new, (made, *differences))
        elif (fixed := _fixed(each, topic)) is not None:
            problem = f"{fixed.field} is {fixed.old}, not {fixed.new}; nothing of this topic was changed"
            yield Step(each.name, topic.etag, {}, (fixed, *differences), problem)
        elif differences:
            changed = {difference.field.split(".")[0] for difference in differences}
            body = _body({part: value for part, value in each.parts.items() if part in changed})
            yield Step(each.name, topic.etag, body, differences)


def pruning(topics: Iterable[Topic], desired: Iterable[Desired]) -> Iterator[Step]:
    """Yield a step for each of `topics` that no file names and that has labels or policies: it takes them off."""
    named = {each.name for each in desired}
    nothing: Mapping[str, Mapping[str, Value]] = {part: {} for part in ("labels", *SCOPES)}
    for topic in topics:
        if topic.name not in named:
            yield from steps([Desired(topic.name, nothing)], {topic.name: topic})


def _differences(desired: Desired, topic: Topic | None) -> Iterator[Difference]:
    for part, wanted in desired.parts.items():
        found = {} if topic is None else part_of(topic, part)
        for name in sorted({*wanted, *found}):
            old, new = _shown(part, name, found.get(name)), _shown(part, name, wanted.get(name))
            if old != new:
                yield Difference(desired.name, f"{part}.{name}", old, new)


def part_of(topic: Topic, part: str) -> Mapping[str, Value]:
    """Return a topic's `labels` or `properties`, or its policies of a scope.

    Raises:
        Forbidden: the server did not show its policies to who asked.
    """
    if part not in SCOPES:
        found: Mapping[str, Value] = topic.labels if part == "labels" else topic.properties
        return found
    if topic.policies is None:
        raise Forbidden(
            f"the policies of {topic.name} may not be read",
            hint="Have read-policies granted on its namespace, or on this topic.",
        )
    return topic.policies.get(part) or {}


def _fixed(desired: Desired, topic: Topic) -> Difference | None:
    """Return what differs of a topic and is not changed by an update of its record."""
    old, new = (each.kafka_name or kafka_name(parse_topic(topic.name)) for each in (topic, desired))
    if desired.kafka_name and old != new:
        return Difference(topic.name, "kafkaName", old, new)
    if desired.partitions and desired.partitions != topic.partitions:
        return Difference(topic.name, "partitions", topic.partitions, desired.partitions)
    return None


def _shown(part: str, name: str, value: Value) -> Value:
    """Return a value for comparing and showing: of a policy as the server shows it, defaults filled in."""
    policy = BY_NAME.get(name) if part in SCOPES else None
    if value is None or policy is None:
        return value
    return shown_value(policy.kind, read_value(policy.kind, value, name))


def _body(parts: Mapping[str, Mapping[str, Value]]) -> dict[str, Any]:
    """Return the body that replaces these parts."""
    body: dict[str, Any] = {part: plain_value(value) for part, value in parts.items() if part not in SCOPES}
    policies = {part: plain_value(value) for part, value in parts.items() if part in SCOPES}
    return body | ({"policies": policies} if policies else {})
