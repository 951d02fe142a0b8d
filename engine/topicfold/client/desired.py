"""Desired state: labels, properties and policies of topics as files say them, and how the server's differ.

A file is YAML:

    topics:
    - name: persistent://public/default/orders
      partitions: 12
      labels: {team: payments, tier: gold}
      properties: {owner: ann}
      policies:
        local: {retentionPolicies: {retentionTimeInMinutes: 10080, retentionSizeInMB: -1}}
        global: {messageTTLInSeconds: 3600}

What a topic's entry leaves out is left as it is; what it names is replaced whole. Nothing here talks to a server.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from topicfold.client.answers import Topic
from topicfold.errors import InvalidLabels, InvalidName, InvalidPolicy, InvalidRequest
from topicfold.model.labels import LabelRules, check_labels
from topicfold.model.names import parse_topic
from topicfold.model.policy.table import BY_NAME
from topicfold.model.policy.values import Value, plain_value, read_value, shown_value

SUFFIXES = (".yaml", ".yml", ".json")
MAX_PROBLEMS = 20

_MEMBERS = ("name", "partitions", "labels", "properties", "policies")
_SCOPES = ("local", "global")
# libyaml's, where PyYAML was built with it, is ten times as fast.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


@dataclass(frozen=True, slots=True)
class Desired:
    """What one topic is to be.

    `parts` are the members that are given: `labels`, `properties`, `local`, `global`, each a mapping by name;
    policies are canonical. `partitions` matters only where the topic is made.
    """

    name: str
    parts: Mapping[str, Mapping[str, Value]]
    partitions: int = 0


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

    `etag` is the version it was compared with, None where the topic has to be made. `body` is what is sent.
    """

    topic: str
    etag: str | None
    body: Mapping[str, Any]
    differences: tuple[Difference, ...]


def files_under(path: Path) -> list[Path]:
    """Return `path`, or the files under it that may hold desired state, sorted.

    Raises:
        InvalidRequest: it does not exist, or there are none.
    """
    if path.is_file():
        return [path]
    found = sorted(each for each in path.rglob("*") if each.suffix in SUFFIXES and each.is_file())
    if not found:
        raise InvalidRequest(f"{path}: no such file, or no {', '.join(SUFFIXES)} under it")
    return found


def read_files(paths: Iterable[Path]) -> list[Desired]:
    """Return what all these files say, sorted by name, checked whole.

    Raises:
        InvalidRequest: a file cannot be read or an entry is wrong; names every one, up to `MAX_PROBLEMS`.
    """
    problems: list[str] = []
    found: dict[str, Desired] = {}
    for path in paths:
        for place, entry in _entries(path, problems):
            desired = _desired(place, entry, problems)
            if desired is not None and desired.name in found:
                problems.append(f"{place}: {desired.name} is given twice")
            elif desired is not None:
                found[desired.name] = desired
    if problems:
        more = f"\n… and {len(problems) - MAX_PROBLEMS} more" if len(problems) > MAX_PROBLEMS else ""
        raise InvalidRequest("\n".join(problems[:MAX_PROBLEMS]) + more, violations=problems)
    return [found[name] for name in sorted(found)]


def write_topics(topics: Iterable[Topic]) -> str:
    """Return these topics as a file that `read_files` reads. What is empty is left out."""
    entries = [
        {
            "name": topic.name,
            **({"partitions": topic.partitions} if topic.partitions else {}),
            **{name: plain_value(part) for name in ("labels", "properties") if (part := _part(topic, name))},
            **_policies(topic),
        }
        for topic in topics
    ]
    return yaml.dump({"topics": entries}, Dumper=_DUMPER, sort_keys=False, allow_unicode=True, default_flow_style=None)


def steps(desired: Sequence[Desired], actual: Mapping[str, Topic]) -> Iterator[Step]:
    """Yield a step for each topic that is not as it is to be, sorted by name. `actual` are the server's, by name."""
    for each in desired:
        topic = actual.get(each.name)
        differences = tuple(_differences(each, topic))
        if topic is None:
            made = Difference(each.name, "", None, "a new topic")
            yield Step(each.name, None, _body(each.parts) | {"partitions": each.partitions}, (made, *differences))
        elif differences:
            changed = {difference.field.split(".")[0] for difference in differences}
            body = _body({part: value for part, value in each.parts.items() if part in changed})
            yield Step(each.name, topic.etag, body, differences)


def pruning(topics: Iterable[Topic], desired: Iterable[Desired]) -> Iterator[Step]:
    """Yield a step for each of `topics` that no file names and that has labels or policies: it takes them off."""
    named = {each.name for each in desired}
    nothing: Mapping[str, Mapping[str, Value]] = {part: {} for part in ("labels", *_SCOPES)}
    for topic in topics:
        if topic.name not in named:
            yield from steps([Desired(topic.name, nothing)], {topic.name: topic})


def _entries(path: Path, problems: list[str]) -> Iterator[tuple[str, Any]]:
    try:
        documents = list(yaml.load_all(path.read_text(), Loader=_LOADER))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        problems.append(f"{path}: {' '.join(str(error).split())}")
        return
    for document in documents:
        if document is None:
            continue
        if not isinstance(document, dict) or set(document) != {"topics"} or not isinstance(document["topics"], list):
            problems.append(f"{path}: expected one member, topics, with a list of topics")
            continue
        for number, entry in enumerate(document["topics"], 1):
            name = entry.get("name") if isinstance(entry, dict) else None
            yield f"{path}: topic {number}" + (f" ({name})" if name else ""), entry


def _desired(place: str, entry: Any, problems: list[str]) -> Desired | None:
    wrong = [f"{place}: {reason}" for reason in _wrong_shape(entry)]
    if wrong:
        problems += wrong
        return None
    parts: dict[str, Mapping[str, Value]] = {}
    before = len(problems)
    for part in ("labels", "properties"):
        if part in entry:
            parts[part] = {key: _text(value) for key, value in (entry[part] or {}).items()}
    for scope, given in (entry.get("policies") or {}).items():
        parts[scope] = dict(_read_policies(f"{place}: policies.{scope}", given or {}, problems))
    try:
        name = str(parse_topic(entry["name"]))
        check_labels(parts.get("labels", {}), LabelRules())
    except (InvalidName, InvalidLabels) as error:
        problems.append(f"{place}: {error.reason}")
        return None
    return Desired(name, parts, entry.get("partitions", 0)) if len(problems) == before else None


def _wrong_shape(entry: Any) -> Iterator[str]:
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
        yield "expected an object with a name"
        return
    for member in entry:
        if member not in _MEMBERS:
            yield f"{member} is not known here; known are {', '.join(_MEMBERS)}"
    for member in ("labels", "properties", "policies"):
        if not isinstance(entry.get(member) or {}, dict):
            yield f"{member} must be an object"
            return
    for scope, given in (entry.get("policies") or {}).items():
        if scope not in _SCOPES or not isinstance(given or {}, dict):
            yield f"policies.{scope}: expected local or global, each an object"
    partitions = entry.get("partitions", 0)
    if not isinstance(partitions, int) or isinstance(partitions, bool) or partitions < 0:
        yield "partitions must be 0 or a positive number"


def _read_policies(place: str, given: Mapping[str, Any], problems: list[str]) -> Iterator[tuple[str, Value]]:
    for name, value in given.items():
        policy = BY_NAME.get(name)
        if policy is None:
            problems.append(f"{place}.{name}: no such policy; known are {', '.join(BY_NAME)}")
            continue
        try:
            yield name, read_value(policy.kind, value, f"{place}.{name}", refuses_unknown=True)
        except InvalidPolicy as error:
            problems.append(error.reason)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _differences(desired: Desired, topic: Topic | None) -> Iterator[Difference]:
    for part, wanted in desired.parts.items():
        found = {} if topic is None else _part(topic, part)
        for name in sorted({*wanted, *found}):
            old, new = _shown(part, name, found.get(name)), _shown(part, name, wanted.get(name))
            if old != new:
                yield Difference(desired.name, f"{part}.{name}", old, new)


def _part(topic: Topic, part: str) -> Mapping[str, Value]:
    if part not in _SCOPES:
        found: Mapping[str, Value] = topic.labels if part == "labels" else topic.properties
        return found
    return (topic.policies or {}).get(part) or {}


def _shown(part: str, name: str, value: Value) -> Value:
    """Return a value for comparing and showing: of a policy as the server shows it, defaults filled in."""
    policy = BY_NAME.get(name) if part in _SCOPES else None
    if value is None or policy is None:
        return value
    return shown_value(policy.kind, read_value(policy.kind, value, name))


def _policies(topic: Topic) -> dict[str, Any]:
    found = {scope: plain_value(part) for scope in _SCOPES if (part := _part(topic, scope))}
    return {"policies": found} if found else {}


def _body(parts: Mapping[str, Mapping[str, Value]]) -> dict[str, Any]:
    """Return the body that replaces these parts."""
    body: dict[str, Any] = {part: plain_value(value) for part, value in parts.items() if part not in _SCOPES}
    policies = {part: plain_value(value) for part, value in parts.items() if part in _SCOPES}
    return body | ({"policies": policies} if policies else {})
