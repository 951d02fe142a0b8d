"""Parses selectors in Kubernetes' structured form: `matchLabels` and `matchExpressions`.

Unlike in the text form, a list of values must not be empty, and there is no greater or less. The values of
`matchLabels` may be anything that a label's value may be; those of expressions follow the grammar of texts, as in
Kubernetes.

Source: Kubernetes apimachinery `pkg/apis/meta/v1/helpers.go`, `LabelSelectorAsSelector`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from topicfold.errors import InvalidSelector
from topicfold.model.finding.selector import (
    MAX_REQUIREMENTS,
    DoesNotExist,
    Exists,
    In,
    Labels,
    NotIn,
    Requirement,
    Selector,
    equalities,
    is_word,
    word_rule,
)
from topicfold.model.labels import MAX_VALUE_LENGTH, broken_key_rule

MAX_VALUES = 512
"""The most values in one expression: as many as the longest text can have."""

_DOCUMENT = frozenset({"matchLabels", "matchExpressions"})
_MEMBERS = frozenset({"key", "operator", "values"})
_HALVES = re.compile("[\ud800-\udfff]")
"""Halves of surrogate pairs. JSON can escape a single one, but no answer could contain it: UTF-8 cannot encode it."""


def document_in(text: str) -> object:
    """Return the JSON value in `text`, None if it is not JSON; a selector's text never begins with a brace.

    Raises:
        InvalidSelector: it begins with a brace but is not JSON; carries the `column`. Or it is JSON that parsers do not
            agree about: a repeated member, one named by half a surrogate pair, a number of thousands of digits.
    """
    if not text.lstrip().startswith("{"):
        return None
    try:
        return json.loads(text, object_pairs_hook=_without_twins)
    except json.JSONDecodeError as error:
        column = error.pos + 1
        raise InvalidSelector(f"label selector, column {column}: no JSON: {error.msg}", column=column) from None
    except RecursionError:
        raise InvalidSelector("label selector: nested too deep") from None
    except ValueError:
        raise InvalidSelector("label selector: it holds a number that is too long") from None


def parts_of(document: object) -> tuple[object, object]:
    """Return the `matchLabels` and the `matchExpressions` of a document, each None if missing.

    Raises:
        InvalidSelector: it is not an object, or has other members.
    """
    if not isinstance(document, Mapping) or not document.keys() <= _DOCUMENT:
        raise InvalidSelector(
            "label selector: an object of matchLabels and matchExpressions should stand here",
            hint='Labels go inside, as in {"matchLabels": {"team": "pay"}}.',
        )
    return document.get("matchLabels"), document.get("matchExpressions")


def parse_document(document: object, *, max_value_length: int = MAX_VALUE_LENGTH) -> Selector:
    """Return the selector in a document, `{"matchLabels": …, "matchExpressions": …}`.

    Raises:
        InvalidSelector: as `parts_of` and `parse_structured`.
    """
    return parse_structured(*parts_of(document), max_value_length=max_value_length)


def parse_structured(
    match_labels: object, match_expressions: object, *, max_value_length: int = MAX_VALUE_LENGTH
) -> Selector:
    """Return the selector of topics that have all of `match_labels` and fulfil all of `match_expressions`.

    Both are JSON values, or None if missing. An expression has `key`, `operator` (In, NotIn, Exists or DoesNotExist)
    and, for the first two, `values`. Without labels and expressions it is the empty selector, which matches everything.
    (A null instead of a whole selector matches nothing in Kubernetes; that is for the caller to handle.)

    >>> str(parse_structured({"team": "pay"}, [{"key": "tier", "operator": "NotIn", "values": ["lead"]}]))
    'team=pay,tier notin (lead)'

    Raises:
        InvalidSelector: carries the `path` of what is wrong, such as `matchExpressions[0].operator`.
    """
    labels, expressions = _labels(match_labels), _expressions(match_expressions)
    count = len(labels) + len(expressions)
    if count > MAX_REQUIREMENTS:
        raise _invalid("matchExpressions", f"{count} requirements, at most {MAX_REQUIREMENTS} are allowed")
    read = [
        _requirement(f"matchExpressions[{index}]", each, max_value_length) for index, each in enumerate(expressions)
    ]
    return Selector((*equalities(labels, "matchLabels", max_value_length), *read))


def _labels(given: object) -> Labels:
    if given is None:
        return {}
    if not isinstance(given, Mapping) or not all(isinstance(value, str) for value in given.values()):
        raise _invalid("matchLabels", "an object whose values are texts should stand here")
    return given


def _expressions(given: object) -> Sequence[object]:
    if given is None:
        return ()
    if not isinstance(given, list | tuple):
        raise _invalid("matchExpressions", "a list should stand here")
    return given


def _requirement(path: str, expression: object, max_value_length: int) -> Requirement:
    if not isinstance(expression, Mapping) or not expression.keys() <= _MEMBERS:
        raise _invalid(path, "an object of key, operator and values, and nothing else, should stand here")
    key, operator, values = expression.get("key"), expression.get("operator"), expression.get("values")
    if not isinstance(key, str):
        raise _invalid(f"{path}.key", "a text should stand here")
    broken = broken_key_rule(key)
    if broken is not None:
        raise _invalid(f"{path}.key", broken)
    match operator:
        case "In":
            return In(key, _values(f"{path}.values", values, max_value_length))
        case "NotIn":
            return NotIn(key, _values(f"{path}.values", values, max_value_length))
        case "Exists" | "DoesNotExist":
            if values:
                raise _invalid(f"{path}.values", f"{operator} takes no values")
            return Exists(key) if operator == "Exists" else DoesNotExist(key)
        case _:
            raise _invalid(f"{path}.operator", "one of In, NotIn, Exists, DoesNotExist should stand here")


def _values(path: str, values: object, max_value_length: int) -> frozenset[str]:
    if not isinstance(values, list | tuple) or not values:
        raise _invalid(path, "a list of at least one value should stand here")
    if len(values) > MAX_VALUES:
        raise _invalid(path, f"{len(values)} values, at most {MAX_VALUES} are allowed")
    for index, value in enumerate(values):
        if not isinstance(value, str) or not is_word(value, max_value_length):
            raise _invalid(f"{path}[{index}]", word_rule(max_value_length))
    return frozenset(values)


def _invalid(path: str, what: str) -> InvalidSelector:
    return InvalidSelector(f"label selector, {path}: {what}", path=path)


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for name, value in pairs:
        if _HALVES.search(name):
            raise InvalidSelector(f"label selector: {name!r:.80} holds half a surrogate pair")
        if name in members:
            raise InvalidSelector(f"label selector: {name!r:.80} stands twice in one object", path=name[:80])
        members[name] = value
    return members
