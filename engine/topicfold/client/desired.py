"""Desired state of namespaces and topics, and how the server's differ: labels, properties and policies.

What is not said of one is left as it is; a part that is said is to be just that. Nothing here talks to a server.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from topicfold.client.answers import Namespace, Topic
from topicfold.errors import Forbidden, InvalidPolicy
from topicfold.model.differences import Difference, Path, part_differences
from topicfold.model.kafka.adoption import stands_for
from topicfold.model.merge_patch import patch_between
from topicfold.model.names import is_topic, parse_topic
from topicfold.model.policy.resolve import Origin
from topicfold.model.policy.values import Value, plain_value
from topicfold.model.policy.whole import read_policies

SCOPES = ("local", "global")
NAMESPACE_POLICIES = "policies"
LEVELS: Mapping[str, Origin] = {
    "local": Origin.TOPIC,
    "global": Origin.GLOBAL,
    NAMESPACE_POLICIES: Origin.NAMESPACE,
}
"""The parts that are policies: those of a topic by scope, and those of a namespace."""


@dataclass(frozen=True, slots=True)
class Desired:
    """What one topic, or the namespace `tenant/namespace`, is to be.

    `parts` are the members that are given, each a mapping by name: `labels`, `properties`, `local` and `global` of a
    topic, `properties` and `policies` of a namespace; policies are canonical. `partitions` (None: none are said) and
    `kafka_name` (None: as the name implies) count where a topic is made; of a topic that is there, others than its own
    are a `Step.problem`.
    """

    name: str
    parts: Mapping[str, Mapping[str, Value]]
    partitions: int | None = None
    kafka_name: str | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """All that has to be done to one topic or namespace, in one update.

    `etag` is the version it was compared with, None where the topic has to be made. `body` is what is sent: a
    new record, or the merge patch of the one that is there. `problem` says why none of it can be done, "" if it can.
    """

    name: str
    etag: str | None
    body: Mapping[str, Any]
    differences: tuple[Difference, ...]
    problem: str = ""


def namespaces_of(desired: Iterable[Desired]) -> list[str]:
    """Return the namespaces that these are, or are in, in order."""
    return sorted({parse_topic(each.name).namespace if is_topic(each.name) else each.name for each in desired})


def steps(desired: Sequence[Desired], actual: Mapping[str, Topic | Namespace]) -> Iterator[Step]:
    """Yield a step for each that is not as it is to be, in their order. `actual` are the server's, by name.

    Of a record that the server cannot read nobody can say that it is.

    Raises:
        Forbidden: policies are to be compared that the server did not show.
    """
    for each in desired:
        there = actual.get(each.name)
        if isinstance(there, Topic) and there.is_undecodable:
            yield Step(each.name, there.etag, {}, (), "the server cannot read its record")
            continue
        by_part = _differences(each, there)
        differences = tuple(chain.from_iterable(by_part.values()))
        if there is None:
            new = {"partitions": each.partitions or 0} | ({"kafkaName": each.kafka_name} if each.kafka_name else {})
            yield Step(each.name, None, _body(each.parts) | new, differences)
        elif isinstance(there, Topic) and (fixed := _fixed(each, there)) is not None:
            old = "none" if fixed.old is None else fixed.old
            problem = f"{fixed.path[0]} is {old}, not {fixed.new}; nothing of this topic was changed"
            yield Step(each.name, there.etag, {}, (fixed, *differences), problem)
        elif differences:
            patch = {part: patch_between(part_of(there, part), each.parts[part]) for part in by_part}
            yield Step(each.name, there.etag, _body(patch), differences)


def pruning(topics: Iterable[Topic], desired: Iterable[Desired]) -> Iterator[Step]:
    """Yield a step for each of `topics` that no file names and that has labels or policies: it takes them off.

    One that the server cannot read seems to have none, and stays as it is.
    """
    named = {each.name for each in desired}
    nothing: Mapping[str, Mapping[str, Value]] = {part: {} for part in ("labels", *SCOPES)}
    for topic in topics:
        if topic.name not in named and not topic.is_undecodable:
            yield from steps([Desired(topic.name, nothing)], {topic.name: topic})


def _differences(desired: Desired, there: Topic | Namespace | None) -> dict[str, tuple[Difference, ...]]:
    """Return the differences of each part that has some."""
    found = {
        part: part_differences(_path(part), {} if there is None else part_of(there, part), wanted)
        for part, wanted in desired.parts.items()
    }
    return {part: differences for part, differences in found.items() if differences}


def part_of(there: Topic | Namespace, part: str) -> Mapping[str, Value]:
    """Return a part of a topic or a namespace, as `Desired.parts` has it; policies are canonical, as files are read.

    Raises:
        Forbidden: the server did not show its properties and policies to who asked.
    """
    if part == "labels" and isinstance(there, Topic):
        return there.labels
    if there.properties is None or there.policies is None:
        raise Forbidden(
            f"the properties and policies of {there.name} may not be read",
            hint="Ask for a grant of read-policies on its namespace or on this topic.",
        )
    if part == "properties":
        return there.properties
    found: Mapping[str, Value] = (there.policies.get(part) or {}) if isinstance(there, Topic) else there.policies
    try:
        return read_policies(found, level=LEVELS[part])
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
