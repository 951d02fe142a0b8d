"""Reads selectors as Kubernetes writes them in documents: `matchLabels` and `matchExpressions`.

Unlike in a text, a list of values must not be empty, and there is no greater or less. The values of `matchLabels` may
be anything that a label may be; those of expressions keep the grammar of texts, as in Kubernetes.

Source: Kubernetes apimachinery `pkg/apis/meta/v1/helpers.go`, `LabelSelectorAsSelector`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from topicfold.errors import InvalidSelector
from topicfold.model.labels import MAX_VALUE_LENGTH, broken_key_rule
from topicfold.model.selector import (
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

MAX_VALUES = 512
"""Of one expression: as many as the longest text can hold."""

_DOCUMENT = frozenset({"matchLabels", "matchExpressions"})
_MEMBERS = frozenset({"key", "operator", "values"})
_HALVES = re.compile("[\ud800-\udfff]")
"""JSON can escape each by itself; no answer could say it, for UTF-8 has none."""


def document_in(text: str) -> object:
    """Return what the JSON in `text` holds, None where it is none: no selector's text begins with a brace.

    Raises:
        InvalidSelector: it begins with one and is no JSON, at this `column`; or it is JSON that not all read alike: a
            member named twice or by half a surrogate pair, a number of thousands of digits.
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
    """Return the `matchLabels` and the `matchExpressions` of a document, None for what it has not.

    Raises:
        InvalidSelector: it is no object, or has other members.
    """
    if not isinstance(document, Mapping) or not document.keys() <= _DOCUMENT:
        raise InvalidSelector(
            "label selector: an object of matchLabels and matchExpressions should stand here",
            hint='Labels go inside, as in {"matchLabels": {"team": "pay"}}.',
        )
    return document.get("matchLabels"), document.get("matchExpressions")


def parse_document(document: object, *, max_value_length: int = MAX_VALUE_LENGTH) -> Selector:
    """Return the selector that a document is, `{"matchLabels": …, "matchExpressions": …}`.

    Raises:
        InvalidSelector: as `parts_of` and `parse_structured`.
    """
    return parse_structured(*parts_of(document), max_value_length=max_value_length)


def parse_structured(
    match_labels: object, match_expressions: object, *, max_value_length: int = MAX_VALUE_LENGTH
) -> Selector:
    """Return the selector of topics that bear all of `match_labels` and fulfil all of `match_expressions`.

    Takes what JSON has there, None where it has nothing. An expression has `key`, `operator` (In, NotIn, Exists or
    DoesNotExist) and, for the first two, `values`. Neither labels nor expressions make the empty selector, which
    matches everything; where the whole selector is null, which matches nothing, there is nothing to read.

    >>> str(parse_structured({"team": "pay"}, [{"key": "tier", "operator": "NotIn", "values": ["lead"]}]))
    'team=pay,tier notin (lead)'

    Raises:
        InvalidSelector: carries the `path` of what is wrong, say `matchExpressions[0].operator`.
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
