"""Desired state of topics, and how the server's differ: labels, properties and policies.

What is not said of a topic is left as it is; a part that is said is to be just that. Nothing here talks to a server.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from topicfold.client.answers import Topic
from topicfold.errors import Forbidden, InvalidPolicy
from topicfold.model.differences import Difference, Path, part_differences
from topicfold.model.kafka.adoption import stands_for
from topicfold.model.merge_patch import patch_between
from topicfold.model.names import parse_topic
from topicfold.model.policy.values import Value, plain_value
from topicfold.model.policy.whole import read_policies

GLOBAL_SCOPE = "global"
SCOPES = ("local", GLOBAL_SCOPE)


@dataclass(frozen=True, slots=True)
class Desired:
    """What one topic is to be.

    `parts` are the members that are given: `labels`, `properties`, `local`, `global`, each a mapping by name;
    policies are canonical. `partitions` (None: none are said) and `kafka_name` (None: as the name implies) count where
    the topic is made; of a topic that is there, others than its own are a `Step.problem`.
    """

    name: str
    parts: Mapping[str, Mapping[str, Value]]
    partitions: int | None = None
    kafka_name: str | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """All that has to be done to one topic, in one update.

    `etag` is the version it was compared with, None where the topic has to be made. `body` is what is sent: a
    new record, or the merge patch of the one that is there. `problem` says why none of it can be done, "" if it can.
    """

    topic: str
    etag: str | None
    body: Mapping[str, Any]
    differences: tuple[Difference, ...]
    problem: str = ""


def namespaces_of(desired: Iterable[Desired]) -> list[str]:
    """Return the namespaces whose topics these are, in order."""
    return sorted({parse_topic(each.name).namespace for each in desired})


def steps(desired: Sequence[Desired], actual: Mapping[str, Topic]) -> Iterator[Step]:
    """Yield a step for each topic that is not as it is to be, sorted by name. `actual` are the server's, by name.

    Of a record that the server cannot read nobody can say that it is.

    Raises:
        Forbidden: policies are to be compared that the server did not show.
    """
    for each in desired:
        topic = actual.get(each.name)
        if topic is not None and topic.is_undecodable:
            yield Step(each.name, topic.etag, {}, (), "the server cannot read its record")
            continue
        by_part = _differences(each, topic)
        differences = tuple(chain.from_iterable(by_part.values()))
        if topic is None:
            new = {"partitions": each.partitions or 0} | ({"kafkaName": each.kafka_name} if each.kafka_name else {})
            yield Step(each.name, None, _body(each.parts) | new, differences)
        elif (fixed := _fixed(each, topic)) is not None:
            old = "none" if fixed.old is None else fixed.old
            problem = f"{fixed.path[0]} is {old}, not {fixed.new}; nothing of this topic was changed"
            yield Step(each.name, topic.etag, {}, (fixed, *differences), problem)
        elif differences:
            patch = {part: patch_between(part_of(topic, part), each.parts[part]) for part in by_part}
            yield Step(each.name, topic.etag, _body(patch), differences)


def pruning(topics: Iterable[Topic], desired: Iterable[Desired]) -> Iterator[Step]:
    """Yield a step for each of `topics` that no file names and that has labels or policies: it takes them off.

    One that the server cannot read seems to have none, and stays as it is.
    """
    named = {each.name for each in desired}
    nothing: Mapping[str, Mapping[str, Value]] = {part: {} for part in ("labels", *SCOPES)}
    for topic in topics:
        if topic.name not in named and not topic.is_undecodable:
            yield from steps([Desired(topic.name, nothing)], {topic.name: topic})


def _differences(desired: Desired, topic: Topic | None) -> dict[str, tuple[Difference, ...]]:
    """Return the differences of each part that has some."""
    found = {
        part: part_differences(_path(part), {} if topic is None else part_of(topic, part), wanted)
        for part, wanted in desired.parts.items()
    }
    return {part: differences for part, differences in found.items() if differences}


def part_of(topic: Topic, part: str) -> Mapping[str, Value]:
    """Return a topic's `labels` or `properties`, or its policies of a scope: canonical ones, as files are read.

    Raises:
        Forbidden: the server did not show its properties and policies to who asked.
    """
    if part == "labels":
        return topic.labels
    if topic.properties is None or topic.policies is None:
        raise Forbidden(
            f"the properties and policies of {topic.name} may not be read",
            hint="Ask for a grant of read-policies on its namespace or on this topic.",
        )
    if part == "properties":
        return topic.properties
    found: Mapping[str, Value] = topic.policies.get(part) or {}
    try:
        return read_policies(found, is_global=part == GLOBAL_SCOPE)
    except InvalidPolicy:
        # A newer server's: of it is compared what stands there.
        return found


def _fixed(desired: Desired, topic: Topic) -> Difference | None:
    """Return what differs of a topic and is not changed by an update of its record."""
    if desired.kafka_name:
        old = stands_for(topic.name, topic.kafka_name)
        if old != desired.kafka_name:
            return Difference(("kafkaName",), old, desired.kafka_name)
    if desired.partitions not in (None, topic.partitions):
        return Difference(("partitions",), topic.partitions, desired.partitions)
    return None


def _path(part: str) -> Path:
    """Return where in a topic's record a part is, as its history calls it."""
    return ("policies", part) if part in SCOPES else (part,)


def _body(parts: Mapping[str, Mapping[str, Value]]) -> dict[str, Any]:
    """Return the body that says these parts."""
    body: dict[str, Any] = {part: plain_value(value) for part, value in parts.items() if part not in SCOPES}
    policies = {part: plain_value(value) for part, value in parts.items() if part in SCOPES}
    return body | ({"policies": policies} if policies else {})
