"""Bodies as records: a body is checked as a whole, so that all errors are reported at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from itertools import islice
from typing import Any, TypeVar, get_args

from pydantic import ValidationError
from starlette.exceptions import HTTPException

from topicfold.errors import InvalidLabels, InvalidRequest, PolicyUnmet, step
from topicfold.model.grants import check_role, grants_in
from topicfold.model.labels import MAX_VIOLATIONS, LabelRules, check_labels
from topicfold.model.policy.changes import contradicts
from topicfold.model.policy.limits import Limits
from topicfold.model.policy.resolve import broker_level
from topicfold.model.policy.retention import RETENTION_BELOW
from topicfold.model.policy.values import kind_of, whole_number
from topicfold.model.records import MAX_PARTITIONS, NamespaceRecord, TenantRecord, frozen
from topicfold.wire.namespace_document import policies_in_document
from topicfold.wire.resources import Resource, TenantInfo

R = TypeVar("R", bound=Resource)


def labels_in(body: Any, rules: LabelRules) -> Mapping[str, str]:
    """Return the labels of `{"labels": {...}}`.

    Raises:
        InvalidRequest: it has not that shape.
        InvalidLabels: a value is no text; carries what breaks the rules too.
    """
    labels = body.get("labels") if isinstance(body, dict) else None
    if not isinstance(labels, dict):
        raise InvalidRequest(
            'the body must be {"labels": {"key": "value", ...}}', hint="Put the labels into a member called labels."
        )
    others = ((key, value) for key, value in labels.items() if not isinstance(value, str))
    wrong = [
        {"path": f"labels.{step(key)}", "reason": f"the value must be text, not {kind_of(value)}"}
        for key, value in islice(others, MAX_VIOLATIONS)
    ]
    if wrong:
        try:
            check_labels({key: value if isinstance(value, str) else "" for key, value in labels.items()}, rules)
        except InvalidLabels as error:
            wrong += error.values["violations"]
        raise InvalidLabels(wrong)
    return labels


def properties_in(body: Any) -> Mapping[str, str]:
    """Return a map of properties as Pulsar takes it: numbers and booleans become text; no body is no properties.

    Raises:
        InvalidRequest: it is no such map; carries all violations.
    """
    if body is None:
        return frozen({})
    if not isinstance(body, dict):
        raise InvalidRequest("the body must be an object of properties: text by name")
    wrong = [
        {"path": step(key), "reason": f"the value must be text, not {kind_of(value)}"}
        for key, value in body.items()
        if not isinstance(value, (str, int, float))
    ]
    if wrong:
        raise violated(wrong[:MAX_VIOLATIONS])
    return frozen({key: _as_text(value) for key, value in body.items()})


def partitions_in(body: Any) -> tuple[int, Mapping[str, str]]:
    """Return the number of partitions and the properties that a body asks for: a number, or Pulsar's metadata.

    Raises:
        InvalidRequest: it is neither.
        HTTPException: 406, the number is not positive, or too large.
    """
    given, properties = (body.get("partitions"), body.get("properties")) if isinstance(body, dict) else (body, None)
    count = whole_number(given)
    if count is None:
        found = f"{given}" if isinstance(given, float) else kind_of(given)
        raise InvalidRequest(f"the body must be a whole number of partitions, not {found}")
    if count <= 0:
        raise HTTPException(406, "Number of partitions should be more than 0")
    if count > MAX_PARTITIONS:
        raise HTTPException(406, f"Number of partitions should be less than or equal to {MAX_PARTITIONS}")
    return count, properties_in(properties)


def tenant_in_body(body: Any) -> TenantRecord:
    """Return the record of a tenant; no body is an empty one, and an empty name is none.

    Raises:
        InvalidRequest: carries all violations, the first `MAX_VIOLATIONS` of very many.
        PolicyUnmet: the same, where nothing but roles is wrong and one has spaces around its name.
    """
    given = body.get("adminRoles") if isinstance(body, dict) else None
    roles = [each if isinstance(each, str) else None for each in given] if isinstance(given, list) else []
    wrong = list(islice(_wrong_roles(roles), MAX_VIOLATIONS))
    try:
        info = checked(TenantInfo, body)
    except InvalidRequest as error:
        raise violated([*error.values["violations"], *wrong][:MAX_VIOLATIONS]) from None
    if any(role and role != role.strip() for role in roles):
        # As Pulsar, and in its words.
        raise PolicyUnmet("AdminRoles contains whitespace in the beginning or end.", violations=wrong)
    if wrong:
        raise violated(wrong)
    return TenantRecord(_named(info.admin_roles or ()), _named(info.allowed_clusters or ()))


def _wrong_roles(roles: Iterable[str | None]) -> Iterator[dict[str, str]]:
    """Yield what is wrong with the roles at their places; None stands for what is no text, and like "" is no role."""
    for index, role in enumerate(roles):
        try:
            if role:
                check_role(role)
        except InvalidRequest as error:
            yield {"path": f"adminRoles.{index}", "reason": error.reason}


def namespace_in_body(body: Any, limits: Limits) -> NamespaceRecord:
    """Return the record that a namespace's document asks for; no body is an empty one.

    Raises:
        InvalidRequest: it is no object, or its properties or grants are malformed.
        InvalidPolicy, PolicyUnmet, Forbidden: a policy in it may not be set, or two contradict each other.
    """
    document = {} if body is None else body
    if not isinstance(document, dict):
        raise InvalidRequest(f"the body must be an object, not {kind_of(body)}")
    policies = policies_in_document(document, limits)
    if contradicts(policies, broker_level(limits)):
        raise PolicyUnmet(RETENTION_BELOW.replace("topic", "namespace"))
    auth = document.get("auth_policies")
    grants = grants_in(auth.get("namespace_auth") if isinstance(auth, dict) else auth)
    return NamespaceRecord(properties_in(document.get("properties")), policies, grants)


def checked(shape: type[R], body: Any) -> R:
    """Return a body as a shape; no body is an empty object.

    Raises:
        InvalidRequest: carries all violations, the first `MAX_VIOLATIONS` of very many.
    """
    try:
        return shape.model_validate({} if body is None else body, by_name=False, by_alias=True)
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False, include_input=False)[:MAX_VIOLATIONS]
        raise violated([_violation(shape, each["type"], each["loc"], each["msg"]) for each in found]) from None


_NO_OBJECT = ("dict_type", "model_type", "model_attributes_type")
"""What is told otherwise names classes of ours, and calls objects dictionaries."""


def _violation(shape: type[Resource], kind: str, place: tuple[int | str, ...], message: str) -> dict[str, str]:
    path = ".".join(map(step, place))
    if kind == "extra_forbidden":
        known = [field.alias or name for name, field in _inside(shape, place[:-1]).model_fields.items()]
        near = get_close_matches(str(place[-1]), known, n=1)
        return {"path": path, "reason": f"not known here; {f'did you mean {near[0]}?' if near else ', '.join(known)}"}
    if kind in _NO_OBJECT:
        return {"path": path, "reason": "must be an object"}
    return {"path": path, "reason": message[0].lower() + message[1:]}


def _inside(shape: type[Resource], place: tuple[int | str, ...]) -> type[Resource]:
    """Return the shape of what is at `place` in a body of this shape."""
    for member in place:
        field = next(each for name, each in shape.model_fields.items() if member in (name, each.alias))
        annotated = (field.annotation, *get_args(field.annotation))
        shapes = (each for each in annotated if isinstance(each, type) and issubclass(each, Resource))
        shape = next(shapes, shape)
    return shape


def violated(found: list[dict[str, str]]) -> InvalidRequest:
    """Return the error that says all that is wrong with a body."""
    first = "; ".join(f"{each['path'] or 'the body'}: {each['reason']}" for each in found[:5])
    return InvalidRequest(first, violations=found)


def _named(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, texts)))


_EXACT_BELOW = 2.0**53


def _as_text(value: str | float) -> str:
    if isinstance(value, float) and abs(value) >= _EXACT_BELOW:
        raise InvalidRequest(f"the number {value:g} is too large to be kept exactly", hint="Send it as text.")
    return str(value).lower() if isinstance(value, bool) else str(value)
