"""Bodies under `/api/v1` that describe a topic or a namespace as it is to be: all errors are reported at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any, TypeVar

from topicfold.errors import Forbidden, InvalidLabels, InvalidPolicy, InvalidRequest, PolicyUnmet, step
from topicfold.model.desired import NAMESPACE_POLICIES, SCOPES, merge_members, with_members
from topicfold.model.events import Verdict
from topicfold.model.kafka.names import is_kafka_name
from topicfold.model.labels import MAX_VIOLATIONS, LabelRules, check_labels, too_many_after
from topicfold.model.policy.limits import Limits
from topicfold.model.policy.resolve import Origin, Policies, broker_level
from topicfold.model.policy.values import plain_value
from topicfold.model.policy.whole import check_changed, merge_policies, read_policies, read_policies_patch
from topicfold.model.records import EMPTY, NamespaceRecord, Record, TopicRecord, frozen
from topicfold.model.updates import Refuse, Updater, of_namespace, of_topic
from topicfold.server.records import checked, violated
from topicfold.wire.resources import NamespacePatch, NewTopic, Resource, TopicPatch

Violations = list[dict[str, str]]
R = TypeVar("R", bound=Resource)
CheckPolicy = Callable[[str, str, Any], None]
"""Takes a scope, a policy's name and what a body says of it; raises what is wrong with that."""


def new_topic_in(body: Any, rules: LabelRules, limits: Limits) -> TopicRecord:
    """Return the record that a PUT asks for; no body asks for a plain topic.

    Raises:
        InvalidLabels: its labels break the rules, and nothing else is wrong.
        InvalidRequest: carries all violations, the first `MAX_VIOLATIONS` of very many.
    """
    new, wrong, wrong_labels = _read(NewTopic, body, rules)
    wrong += _wrong_policies_in(body, partial(_check_new, limits))
    if new is None or wrong or wrong_labels:
        raise _refusal(wrong, wrong_labels)
    return TopicRecord(
        new.partitions,
        new.kafka_name,
        frozen(new.properties),
        frozen(new.labels),
        _policies(new.policies.local, Origin.TOPIC),
        _policies(new.policies.global_, Origin.GLOBAL),
    )


def patch_in(body: Any, seen: Callable[[], TopicRecord], rules: LabelRules, limits: Limits) -> dict[str, Any]:
    """Return the merge patch of a topic's record that a PATCH is, by member of the record; that of policies canonical.

    Refused is what is wrong whatever it is merged into; what is wrong beside that on the record which is `seen` now is
    told too.

    Raises:
        InvalidLabels: its labels break the rules, and nothing else is wrong.
        InvalidRequest: carries all violations, the first `MAX_VIOLATIONS` of very many.
    """
    patch, wrong, wrong_labels = _read(TopicPatch, body, rules)
    wrong_policies = _wrong_policies_in(body, _check_patch)
    if patch is None or wrong or wrong_policies or wrong_labels:
        merged = _wrong_policies_in(body, partial(_check_scope, seen(), limits))
        raise _refusal([*wrong, *(merged or wrong_policies)], wrong_labels)
    found: dict[str, Any] = {name: getattr(patch, name) for name in patch.model_fields_set - {"policies"}}
    if patch.policies is None:
        return found | dict.fromkeys(SCOPES)
    for scope in patch.policies.model_fields_set:
        said = getattr(patch.policies, scope)
        found[scope] = None if said is None else read_policies_patch(said, level=_level(scope.rstrip("_")))
    return found


def namespace_patch_in(body: Any, seen: Callable[[], NamespaceRecord], limits: Limits) -> dict[str, Any]:
    """Return the merge patch of a namespace's record that a PATCH is, as `patch_in` does of a topic's.

    Raises:
        InvalidRequest: carries all violations, the first `MAX_VIOLATIONS` of very many.
    """
    patch, wrong = _shaped(NamespacePatch, body)
    said = body.get("policies") if isinstance(body, Mapping) else None
    wrong_policies = _first(_wrong_at("policies", said, _check_namespace_patch))
    if patch is None or wrong_policies:
        merged = _first(_wrong_at("policies", said, partial(_check_merged, seen().policies, limits, Origin.NAMESPACE)))
        raise violated([*wrong, *(merged or wrong_policies)][:MAX_VIOLATIONS])
    found: dict[str, Any] = {name: getattr(patch, name) for name in patch.model_fields_set}
    if found.get(NAMESPACE_POLICIES) is not None:
        found[NAMESPACE_POLICIES] = read_policies_patch(found[NAMESPACE_POLICIES], level=Origin.NAMESPACE)
    return found


def scopes_in(body: Any) -> Sequence[str]:
    """Return the scopes of policies that a PATCH is about, whatever else is wrong with its body."""
    policies = body.get("policies", {}) if isinstance(body, Mapping) else {}
    if policies is None:
        return SCOPES
    named = policies if isinstance(policies, Mapping) else {}
    return [scope for scope in SCOPES if scope.rstrip("_") in named]


def meaning_of(patch: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a merge patch means, for telling one request from another."""
    return {name: plain_value(value) for name, value in patch.items()}


def merging(
    name: str, patch: Mapping[str, Any], rules: LabelRules, limits: Limits, below: Callable[[], Policies]
) -> Updater:
    """Return the update that merges a patch, as `patch_in` returns it, into a topic's record as that then is.

    What it changes is checked as if it were set anew; what stays as it is may stay. `below` is as `replace_members`
    has it.

    Raises:
        InvalidRequest: when it is run; carries all that is wrong with what is merged.
    """
    policies = {scope.rstrip("_"): patch.get(scope) for scope in SCOPES}

    def change(old: TopicRecord) -> Record | Refuse | None:
        wrong = _first(_wrong_policies(policies, partial(_check_scope, old, limits)))
        if wrong:
            raise violated(wrong)
        members = merge_members(old, patch)
        refused = too_many_after(name, len(old.labels), len(members.get("labels", ())), rules)
        if refused:
            return Refuse(Verdict.TOO_MANY_LABELS, refused)
        return with_members(old, members, below)

    return of_topic(name, change)


def merging_namespace(name: str, patch: Mapping[str, Any], limits: Limits) -> Updater:
    """Return the update that merges a patch, as `namespace_patch_in` returns it, as `merging` does for a topic.

    Raises:
        InvalidRequest: when it is run; carries all that is wrong with what is merged.
    """
    said = patch.get(NAMESPACE_POLICIES)

    def change(old: NamespaceRecord) -> Record | Refuse:
        wrong = _first(_wrong_at("policies", said, partial(_check_merged, old.policies, limits, Origin.NAMESPACE)))
        if wrong:
            raise violated(wrong)
        return with_members(old, merge_members(old, patch), lambda: broker_level(limits))

    return of_namespace(name, change)


def _read(shape: type[R], body: Any, rules: LabelRules) -> tuple[R | None, Violations, Violations]:
    """Return a body as a shape, None where it has not that, with what else is wrong than policies, and with labels."""
    found, wrong = _shaped(shape, body)
    given = body if isinstance(body, dict) else {}
    kafka_name = given.get("kafkaName")
    if isinstance(kafka_name, str) and not is_kafka_name(kafka_name):
        wrong.append({"path": "kafkaName", "reason": "1 to 249 of A-Z a-z 0-9 . _ - are allowed"})
    return found, wrong, _wrong_labels(given.get("labels"), rules)


def _shaped(shape: type[R], body: Any) -> tuple[R | None, Violations]:
    try:
        return checked(shape, body), []
    except InvalidRequest as error:
        return None, error.values["violations"]


def _first(found: Iterator[dict[str, str]]) -> Violations:
    return list(islice(found, MAX_VIOLATIONS))


def _refusal(wrong: Violations, wrong_labels: Violations) -> InvalidLabels | InvalidRequest:
    return violated([*wrong, *wrong_labels][:MAX_VIOLATIONS]) if wrong else InvalidLabels(wrong_labels)


def _wrong_policies_in(body: Any, check: CheckPolicy) -> Violations:
    given = body.get("policies") if isinstance(body, dict) else None
    return _first(_wrong_policies(given, check))


def _wrong_labels(given: Any, rules: LabelRules) -> Violations:
    texts = {key: value for key, value in given.items() if isinstance(value, str)} if isinstance(given, dict) else {}
    try:
        check_labels(texts, rules)
    except InvalidLabels as error:
        found: Violations = error.values["violations"]
        return found
    return []


def _wrong_policies(given: Any, check: CheckPolicy) -> Iterator[dict[str, str]]:
    for scope, policies in given.items() if isinstance(given, Mapping) else ():
        yield from _wrong_at(f"policies.{step(scope)}", policies, partial(check, scope))


def _wrong_at(place: str, policies: Any, check: Callable[[str, Any], None]) -> Iterator[dict[str, str]]:
    """Yield what is wrong with the policies of one level, which stand at `place`."""
    for name, value in policies.items() if isinstance(policies, Mapping) else ():
        path = f"{place}.{step(name)}"
        try:
            check(name, value)
        except InvalidPolicy as error:
            for each in error.values["violations"]:
                inside = each["path"].removeprefix(step(name)).lstrip(".")
                yield {"path": f"{path}.{inside}".rstrip("."), "reason": each["reason"]}
        except (PolicyUnmet, Forbidden) as error:
            yield {"path": path, "reason": error.reason}


def _check_new(limits: Limits, scope: str, name: str, value: Any) -> None:
    """Check one policy that is set where nothing was.

    Raises:
        InvalidPolicy, PolicyUnmet, Forbidden: it may not be.
    """
    check_changed(EMPTY, read_policies({name: value}, level=_level(scope)), limits)


def _check_patch(scope: str, name: str, value: Any) -> None:
    """Check the merge patch of one policy for what is wrong whatever it is merged into.

    Raises:
        InvalidPolicy: something is.
    """
    read_policies_patch({name: value}, level=_level(scope))


def _check_namespace_patch(name: str, value: Any) -> None:
    """Check the same of a namespace.

    Raises:
        InvalidPolicy: something is.
    """
    read_policies_patch({name: value}, level=Origin.NAMESPACE)


def _check_scope(old: TopicRecord, limits: Limits, scope: str, name: str, value: Any) -> None:
    """Check what one policy of a topic becomes by a merge patch.

    Raises:
        InvalidPolicy, PolicyUnmet, Forbidden: it is wrong, or may not be set.
    """
    level = _level(scope)
    _check_merged((old.global_ if level is Origin.GLOBAL else old.local) or EMPTY, limits, level, name, value)


def _check_merged(before: Policies, limits: Limits, level: Origin, name: str, value: Any) -> None:
    """Check what one policy of `before` becomes by a merge patch.

    Raises:
        InvalidPolicy, PolicyUnmet, Forbidden: it is wrong, or may not be set.
    """
    patch = read_policies_patch({name: value}, level=level)
    check_changed(before, merge_policies(before, patch, level=level), limits)


def _level(scope: str) -> Origin:
    """Return the level that a scope is, as bodies name it; what is no scope is refused elsewhere."""
    return Origin.GLOBAL if scope == "global" else Origin.TOPIC


def _policies(given: dict[str, Any] | None, level: Origin) -> Policies | None:
    return None if given is None else read_policies(given, level=level)
