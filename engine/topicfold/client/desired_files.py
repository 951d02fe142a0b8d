"""Files of desired state: YAML or JSON, read and checked whole, and written from what a server has.

    namespaces:
    - name: public/default
      properties: {owner: ann}
      policies: {retentionPolicies: {retentionTimeInMinutes: 1440, retentionSizeInMB: -1}}
    topics:
    - name: persistent://public/default/orders
      partitions: 12
      kafkaName: shop-orders
      labels: {team: payments, tier: gold}
      properties: {owner: ann}
      policies:
        local: {retentionPolicies: {retentionTimeInMinutes: 10080, retentionSizeInMB: -1}}
        global: {messageTTLInSeconds: 3600}

`kafkaName` is given where it does not follow from the name. No member is given twice. A label or property is the text
that is written, or is refused.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

import yaml

from topicfold.client.answers import Namespace, Topic
from topicfold.client.desired import LEVELS, NAMESPACE_POLICIES, SCOPES, Desired, part_of
from topicfold.client.strict_yaml import WrittenObject, read_documents, text_of, told
from topicfold.client.yaml_text import yaml_of_members
from topicfold.errors import InvalidLabels, InvalidName, InvalidPolicy, InvalidRequest
from topicfold.model.kafka.names import is_kafka_name
from topicfold.model.labels import LabelRules, check_labels
from topicfold.model.names import is_topic, parse_namespace, parse_topic
from topicfold.model.policy.values import Value, kind_of, plain_value
from topicfold.model.policy.whole import read_policies

SUFFIXES = (".yaml", ".yml", ".json")
STDIN = Path("-")
MAX_PROBLEMS = 20
HOW_FILES_LOOK = "topicfold policies apply --help shows how such files look."

_LEVELS = 6
"""So deep are policies, and no deeper: an object of YAML may be in itself."""
_MEMBERS = {
    "namespaces": ("name", "properties", "policies"),
    "topics": ("name", "partitions", "kafkaName", "labels", "properties", "policies"),
}
"""The lists that a file may have, and the members of what is in them."""


def files_under(path: Path) -> list[Path]:
    """Return `path`, or the files under it that may hold desired state, sorted; `STDIN` is one.

    What is hidden below it is passed over, folders too: `.git`, `.venv`. Links are followed, each folder once; one
    that leads nowhere may have been to a folder, so it is among the files whatever its name, which cannot be read then.

    Raises:
        InvalidRequest: it does not exist, there are none, or a folder under it cannot be read.
    """
    # What a shell hands over, as of <(...), is a pipe.
    if path == STDIN or (path.exists() and not path.is_dir()):
        return [path]
    there = _not_hidden(path) if path.is_dir() else ()
    found = sorted(each for each in there if not os.path.exists(each) or (each.suffix in SUFFIXES and each.is_file()))
    if not found:
        raise InvalidRequest(f"{path}: no such file, or no {', '.join(SUFFIXES)} under it")
    return found


def read_files(paths: Iterable[Path]) -> list[Desired]:
    """Return what all these files say, namespaces first, sorted by name, checked whole.

    Raises:
        InvalidRequest: a file cannot be read or an entry is wrong; names every one, up to `MAX_PROBLEMS`.
    """
    problems: list[str] = []
    found: dict[str, Desired] = {}
    places: dict[str, str] = {}
    for path in paths:
        for kind, place, entry in _entries(path, problems):
            desired = _desired(kind, place, entry, problems)
            if desired is not None and desired.name in found:
                noun = kind.removesuffix("s")
                problems.append(f"{place}: all of a {noun} is in one entry, and {places[desired.name]} has it too")
            elif desired is not None:
                found[desired.name], places[desired.name] = desired, place
    if problems:
        more = f"\n… and {len(problems) - MAX_PROBLEMS} more" if len(problems) > MAX_PROBLEMS else ""
        raise InvalidRequest("\n".join(problems[:MAX_PROBLEMS]) + more, hint=HOW_FILES_LOOK, violations=problems)
    return [found[name] for name in sorted(found, key=lambda name: (is_topic(name), name))]


def entries_of(topics: Iterable[Topic], *, is_whole: bool = False) -> Iterator[dict[str, Any]]:
    """Yield what files say of these topics, in JSON's values. What is empty is left out, so that it stays as it is.

    With `is_whole` it is named: to apply that takes away what has come since.

    Raises:
        Forbidden, Undecodable: the server did not show the policies of one, or cannot read its record; a file without
            them would not say so.
    """
    return (_entry(topic.readable(), is_whole) for topic in topics)


def entry_of_namespace(namespace: Namespace) -> dict[str, Any]:
    """Return what files say of a namespace, in JSON's values; what is empty is named, so that it stays so."""
    parts = ("properties", NAMESPACE_POLICIES)
    return {"name": namespace.name, **{part: plain_value(part_of(namespace, part)) for part in parts}}


def write_lists(lists: Mapping[str, Iterable[Mapping[str, Any]]], *, is_ascii: bool = False) -> str:
    """Return lists of entries as the text of a file that `read_files` reads.

    With `is_ascii` other characters are escaped.
    """
    return "".join(_written_list(kind, entries, is_ascii) for kind, entries in lists.items())


def _written_list(kind: str, entries: Iterable[Mapping[str, Any]], is_ascii: bool) -> str:
    written = "".join(yaml_of_members(entries, is_ascii=is_ascii, default_flow_style=None))
    return f"{kind}:\n{written}" if written else f"{kind}: []\n"


def _entry(topic: Topic, is_whole: bool) -> dict[str, Any]:
    return {
        "name": topic.name,
        **({"partitions": topic.partitions} if topic.partitions else {}),
        **({"kafkaName": topic.kafka_name} if topic.kafka_name else {}),
        **{name: plain_value(part) for name in ("labels", "properties") if (part := part_of(topic, name)) or is_whole},
        **_policies(topic, is_whole),
    }


def _not_hidden(root: Path) -> Iterator[Path]:
    seen = {root.resolve()}
    for folder, folders, files in os.walk(root, onerror=_give_up, followlinks=True):
        places = {Path(folder, name).resolve(): name for name in folders if not name.startswith(".")}
        folders[:] = [name for place, name in places.items() if place not in seen]
        seen.update(places)
        yield from (Path(folder, name) for name in files if not name.startswith("."))


def _give_up(error: OSError) -> NoReturn:
    """Refuse to go on without a folder: topics that it names would be taken for unwanted.

    Raises:
        InvalidRequest: in any case.
    """
    raise InvalidRequest(f"{error.filename}: cannot be read: {error.strerror}") from error


def _entries(path: Path, problems: list[str]) -> Iterator[tuple[str, str, Any]]:
    """Yield each entry of a file, with the list that it is in and its place."""
    try:
        text = _stdin() if path == STDIN else path.read_text(encoding="utf-8")
        documents = read_documents(text)
    except (OSError, UnicodeError, RecursionError, yaml.YAMLError) as error:
        problems.append(f"{path}: {_why_unreadable(error)}")
        return
    for document in documents:
        if document is None:
            continue
        if not _has_lists(document):
            problems.append(f"{path}: expected a list of topics as the member topics, or one of namespaces, or both")
            continue
        for kind, entries in document.items():
            for number, entry in enumerate(entries, 1):
                name = entry.get("name") if isinstance(entry, dict) else None
                said = f" ({name})" if name and isinstance(name, str) else ""
                # Written out, a few lines of aliases would take all memory.
                yield kind, f"{path}: {kind.removesuffix('s')} {number}{said}", entry


def _has_lists(document: Any) -> bool:
    if not isinstance(document, dict) or not document or not _MEMBERS.keys() >= document.keys():
        return False
    return all(isinstance(entries, list) for entries in document.values())


def _stdin() -> str:
    """Return what stdin holds, as files are read: in UTF-8, whatever the terminal speaks."""
    piped = getattr(sys.stdin, "buffer", None)
    return sys.stdin.read() if piped is None else str(piped.read(), "utf-8")


def _why_unreadable(error: Exception) -> str:
    match error:
        case yaml.YAMLError():
            return told(error)
        case OSError():
            return f"cannot be read: {error.strerror}"
        case UnicodeError():
            return "not YAML: this is not UTF-8 text"
        case _:
            return "nested too deep to be read"


def _desired(kind: str, place: str, entry: Any, problems: list[str]) -> Desired | None:
    wrong = [f"{place}: {reason}" for reason in _wrong_shape(kind, entry)]
    if wrong:
        problems += wrong
        return None
    parts: dict[str, Mapping[str, Value]] = {}
    before = len(problems)
    for part in ("labels", "properties"):
        if part in entry:
            parts[part] = {key: text_of(value) for key, value in entry[part].items()}
    for part, path, given in _policies_in(kind, entry):
        try:
            parts[part] = read_policies(given, level=LEVELS[part])
        except InvalidPolicy as error:
            wrong = error.values["violations"]
            problems += [f"{place}: {path}.{each['path']}: {each['reason']}" for each in wrong]
    try:
        name = parse_namespace(entry["name"]) if kind == "namespaces" else str(parse_topic(entry["name"]))
        check_labels(parts.get("labels", {}), LabelRules())
    except (InvalidName, InvalidLabels) as error:
        problems.append(f"{place}: {error.reason}")
        return None
    if len(problems) > before:
        return None
    return Desired(name, parts, entry.get("partitions"), entry.get("kafkaName"))


def _policies_in(kind: str, entry: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """Yield the policies that an entry gives, by part, with their path."""
    if kind == "topics":
        yield from ((scope, f"policies.{scope}", given) for scope, given in entry.get("policies", {}).items())
    elif "policies" in entry:
        yield NAMESPACE_POLICIES, "policies", entry["policies"]


def _wrong_shape(kind: str, entry: Any) -> Iterator[str]:
    if not isinstance(entry, dict) or entry.get("name") is None:
        yield "expected an object with a name"
        return
    if not isinstance(entry["name"], str):
        yield f"name must be text, not {_kind(entry['name'])}; put it in quotes"
    for member in entry:
        if member not in _MEMBERS[kind]:
            yield f"{member} is not known here; expected one of {', '.join(_MEMBERS[kind])}"
    for member in ("labels", "properties", "policies"):
        if not isinstance(entry.get(member, {}), dict):
            yield _no_object(member, entry[member])
            return
    for member in ("labels", "properties"):
        for key, value in entry.get(member, {}).items():
            yield from _wrong_pair(f"{member}.{key}", key, value, entry[member].written.get(key))
    for part, path, given in _policies_in(kind, entry):
        if kind == "topics" and part not in SCOPES:
            yield f"{path}: expected local or global"
        elif not isinstance(given, dict):
            yield _no_object(path, given)
    numbers = {name: entry[name] for name in ("partitions", "policies") if name in entry}
    yield from _other_numbers("", numbers, _written(entry), set())
    partitions = entry.get("partitions", 0)
    if not isinstance(partitions, int) or isinstance(partitions, bool) or partitions < 0:
        yield "partitions must be 0 or a positive number"
    kafka_name = entry.get("kafkaName")
    if kafka_name is not None and not (isinstance(kafka_name, str) and is_kafka_name(kafka_name)):
        yield "kafkaName: 1 to 249 of A-Z a-z 0-9 . _ - are allowed"


def _other_numbers(
    place: str, value: Any, written: Mapping[Any, str], seen: set[int], levels: int = _LEVELS
) -> Iterator[str]:
    """Yield the numbers in `value` that are others, or none, to YAML 1.2 and to people than to YAML 1.1, which we read.

    Those are octals, `010`, and numbers of base 60, `1:30`. An object that aliases put in many places is looked at in
    the first alone: a few lines could name it a billion times. `seen` are the ids of such, which `value` keeps alive.
    """
    if not isinstance(value, dict) or not levels or id(value) in seen:
        return
    seen.add(id(value))
    for key, each in value.items():
        digits = written.get(key, "").lstrip("+-").replace("_", "")
        if digits.isdecimal() and int(digits) != abs(each):
            yield f"{place}{key}: {written[key]} would be taken for {each}; write it without the 0 in front"
        elif ":" in digits:
            yield f"{place}{key}: {written[key]} would be taken for {each}; write the number that you mean"
        yield from _other_numbers(f"{place}{key}.", each, _written(each), seen, levels - 1)


def _written(value: Any) -> Mapping[Any, str]:
    return value.written if isinstance(value, WrittenObject) else {}


def _no_object(place: str, value: Any) -> str:
    if value is None:
        return f"{place} is empty: write {{}} to have none, or leave it out to keep what there is"
    return f"{place} must be an object, not {kind_of(value)}"


def _wrong_pair(place: str, key: Any, value: Any, written: str | None) -> Iterator[str]:
    """Yield what is wrong with a label or property, before its text is looked at.

    `written` is how its value is written, if its text would be another.
    """
    if not isinstance(key, str):
        yield f"{place}: a name must be text, not {_kind(key)}; put it in quotes"
    if not isinstance(value, str | int | float) or (isinstance(value, float) and not math.isfinite(value)):
        yield f"{place}: must be text, a number, true or false, not {_kind(value)}"
    elif written is not None:
        yield f"{place}: {written} would be taken for {text_of(value)}; put it in quotes"


def _kind(value: Any) -> str:
    """Return in words what kind of value YAML made; it knows infinities, JSON does not."""
    return "an infinite number" if isinstance(value, float) and not math.isfinite(value) else kind_of(value)


def _policies(topic: Topic, is_whole: bool) -> dict[str, Any]:
    found = {scope: plain_value(part) for scope in SCOPES if (part := part_of(topic, scope)) or is_whole}
    return {"policies": found} if found else {}
