"""Bodies under `/api/v1` that say what a topic is to be: read and checked whole, all that is wrong said at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, TypeVar

from topicfold.errors import Forbidden, InvalidLabels, InvalidPolicy, InvalidRequest, PolicyUnmet
from topicfold.model.desired import SCOPES
from topicfold.model.labels import LabelRules, check_labels
from topicfold.model.names import is_kafka_name
from topicfold.model.policy.limits import Limits
from topicfold.model.policy.resolve import Policies
from topicfold.model.policy.table import BY_NAME
from topicfold.model.policy.values import plain_value
from topicfold.model.policy.whole import read_policies
from topicfold.model.records import TopicRecord, frozen
from topicfold.server.records import MAX_VIOLATIONS, checked, violated
from topicfold.wire.resources import NewTopic, Resource, TopicPatch

Violations = list[dict[str, str]]
R = TypeVar("R", bound=Resource)


def new_topic_in(body: Any, rules: LabelRules, limits: Limits) -> TopicRecord:
    """Return the record that a PUT asks for; no body asks for a plain topic.

    Raises:
        InvalidLabels: its labels break the rules, and nothing else is wrong.
        InvalidRequest: carries all violations, the first `MAX_VIOLATIONS` of very many.
    """
    new = _read(NewTopic, body, rules, limits)
    return TopicRecord(
        new.partitions,
        new.kafka_name,
        frozen(new.properties),
        frozen(new.labels),
        _policies(new.policies.local, is_global=False),
        _policies(new.policies.global_, is_global=True),
    )


def members_in(body: Any, rules: LabelRules, limits: Limits) -> dict[str, Any]:
    """Return the members of a topic's record that a PATCH replaces, with their values.

    Raises:
        InvalidLabels: its labels break the rules, and nothing else is wrong.
        InvalidRequest: carries all violations, the first `MAX_VIOLATIONS` of very many.
    """
    patch = _read(TopicPatch, body, rules, limits)
    found: dict[str, Any] = {name: frozen(getattr(patch, name)) for name in patch.model_fields_set - {"policies"}}
    scopes = patch.policies.model_fields_set
    return found | {scope: _policies(getattr(patch.policies, scope), is_global=scope == SCOPES[1]) for scope in scopes}


def meaning_of(members: Mapping[str, Any]) -> dict[str, Any]:
    """Return what replacing `members` means, for telling one request from another."""
    return {name: plain_value(value) for name, value in members.items()}


def _read(shape: type[R], body: Any, rules: LabelRules, limits: Limits) -> R:
    wrong: Violations = []
    try:
        found = checked(shape, body)
    except InvalidRequest as error:
        wrong += error.values["violations"]
    given = body if isinstance(body, dict) else {}
    wrong += islice(_wrong_policies(given.get("policies"), limits), MAX_VIOLATIONS)
    kafka_name = given.get("kafkaName")
    if isinstance(kafka_name, str) and not is_kafka_name(kafka_name):
        wrong.append({"path": "kafkaName", "reason": "1 to 249 of A-Z a-z 0-9 . _ - are allowed"})
    wrong_labels = _wrong_labels(given.get("labels"), rules)
    if wrong:
        raise violated([*wrong, *wrong_labels][:MAX_VIOLATIONS])
    if wrong_labels:
        raise InvalidLabels(wrong_labels)
    return found


def _wrong_labels(given: Any, rules: LabelRules) -> Violations:
    texts = {key: value for key, value in given.items() if isinstance(value, str)} if isinstance(given, dict) else {}
    try:
        check_labels(texts, rules)
    except InvalidLabels as error:
        found: Violations = error.values["violations"]
        return found
    return []


def _wrong_policies(given: Any, limits: Limits) -> Iterator[dict[str, str]]:
    for scope, policies in given.items() if isinstance(given, dict) else ():
        for name, value in policies.items() if isinstance(policies, dict) else ():
            place = f"policies.{scope}.{name}"
            try:
                for each in read_policies({name: value}, is_global=scope == "global").values():
                    BY_NAME[name].check(each, limits)
            except InvalidPolicy as error:
                for each in error.values["violations"]:
                    inside = each["path"].removeprefix(name).lstrip(".")
                    yield {"path": f"{place}.{inside}".rstrip("."), "reason": each["reason"]}
            except (PolicyUnmet, Forbidden) as error:
                yield {"path": place, "reason": error.reason}


def _policies(given: dict[str, Any] | None, *, is_global: bool) -> Policies | None:
    return None if given is None else read_policies(given, is_global=is_global)
