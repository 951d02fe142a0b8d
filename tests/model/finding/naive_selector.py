"""The plainest reader of selectors, one expression a form, and texts and labels to try it on."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parents[2] / "cases" / "selector_cases.json").read_text())[
    "cases"
]
EXAMPLES = int(os.environ.get("MATCHER_CASES", "5000"))

Test = Callable[[Mapping[str, str]], bool]

_WORD = "[^ \t\r\n=!(),<>]+"
_KEY = re.compile(
    r"(?=.{1,253}/|[^/]*\Z)([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
    r"(?=.{1,63}\Z)[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?"
)
_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
_BLANKS = "[ \t\r\n]"
_ABSENT = re.compile(f"!{_BLANKS}*({_WORD})")
_PRESENT = re.compile(f"({_WORD})")
_COMPARED = re.compile(f"({_WORD}){_BLANKS}*(==|=|!=|>|<){_BLANKS}*((?:{_WORD})?)")
_LISTED = re.compile(rf"({_WORD}){_BLANKS}+(in|notin){_BLANKS}*\((.*)\)", re.DOTALL)


def naive_tests(text: str) -> list[Test] | None:
    """Return what Kubernetes demands of labels by `text`, None where it is no selector."""
    if not text.strip(" \t\r\n"):
        return []
    tests = [_test(piece.strip(" \t\r\n")) for piece in _pieces(text)]
    return None if None in tests else [test for test in tests if test is not None]


def _pieces(text: str) -> list[str]:
    """Return the parts between those commas that stand outside of parentheses."""
    pieces, depth = [""], 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and not depth:
            pieces.append("")
        else:
            pieces[-1] += letter
    return pieces


def _test(piece: str) -> Test | None:
    absent, present = _ABSENT.fullmatch(piece), _PRESENT.fullmatch(piece)
    compared, listed = _COMPARED.fullmatch(piece), _LISTED.fullmatch(piece)
    found = absent or present or compared or listed
    if found is None or not _KEY.fullmatch(found[1]):
        return None
    key = found[1]
    if absent:
        return lambda labels: key not in labels
    if present:
        return lambda labels: key in labels
    values = [found[3]] if compared else [each.strip(" \t\r\n") for each in found[3].split(",")]
    if not all(map(_VALUE.fullmatch, values)):
        return None
    match found[2]:
        case "!=" | "notin":
            return lambda labels: key not in labels or labels[key] not in values
        case ">" | "<" as sign:
            bound = _integer(values[0])
            if bound is None:
                return None
            return lambda labels: _lies(sign, _integer(labels.get(key, "")), bound)
    return lambda labels: key in labels and labels[key] in values


def _lies(sign: str, number: int | None, bound: int) -> bool:
    return number is not None and (number > bound if sign == ">" else number < bound)


def _integer(value: str) -> int | None:
    is_integer = value and all(each in "0123456789" for each in value[value[0] in "+-" :]) and value not in "+-"
    return int(value) if is_integer and abs(2 * int(value) + 1) < 2**64 else None


_keys = st.sampled_from(["a", "b", "in", "notin", "a.b/c"])
_values = st.sampled_from(["", "a", "b", "in", "1", "5", "07", "A-_.9"])
_blanks = st.sampled_from(["", "", "", " ", "\t\n "])
_lists = st.lists(st.tuples(_blanks, _values, _blanks).map("".join), max_size=4).map(",".join)
_requirements = st.one_of(
    _keys,
    st.tuples(st.just("!"), _blanks, _keys),
    st.tuples(_keys, _blanks, st.sampled_from(["=", "==", "!="]), _blanks, _values),
    st.tuples(_keys, _blanks, st.sampled_from("><"), _blanks, st.sampled_from(["1", "5", "07", str(2**63 - 1)])),
    st.tuples(_keys, st.sampled_from([" in", "\tnotin "]), _blanks, st.just("("), _lists, st.just(")")),
).map("".join)
_tokens = st.sampled_from(
    ["a", "b", "in", "notin", "1", "-1", "a/b", "A/b", "a-", "é", "\xa0", "'a'", " ", "\t", str(2**63), *",,,()=!><"]
)

selectors = st.lists(_requirements, max_size=5).map(",".join)
"""Texts that are selectors."""

near_selectors = st.lists(_requirements | _tokens, max_size=7).map("".join) | st.builds(
    lambda text, at, token: text[:at] + token + text[at + 1 :], selectors, st.integers(0, 30), _tokens
)
"""Texts that nearly are selectors, and some that are."""

label_sets = st.dictionaries(
    _keys, _values | st.sampled_from(["-3", "+7", "1_0", " 1", "٣", "9" * 19, "08", "a b,c=d"]), max_size=4
)
