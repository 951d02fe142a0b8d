"""The plainest matcher of patterns, written from the specification, and names and patterns to try it on."""

from __future__ import annotations

import json
import os
from itertools import product
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parents[2] / "cases" / "wildcard_cases.json").read_text())[
    "cases"
]
EXAMPLES = int(os.environ.get("MATCHER_CASES", "5000"))

_pieces = st.sampled_from(["a", "b", "a_", "_b", "*", "**", "", "é"])
names = st.lists(_pieces, min_size=1, max_size=5).map("__".join) | st.text("ab_*", max_size=9)
patterns = st.builds(
    lambda segments, end: "__".join([*segments, *end]),
    st.lists(st.sampled_from(["a", "b", "_b", "*", "é"]), min_size=1, max_size=4),
    st.sampled_from([[], ["**"]]),
) | st.just("**")

SMALL_PATTERNS = [
    "__".join(segments)
    for length in (1, 2, 3)
    for segments in product("ab*", repeat=length)
] + ["__".join([*segments, "**"]) for length in (0, 1, 2) for segments in product("ab*", repeat=length)]  # fmt: skip
SMALL_NAMES = ["__".join(segments) for length in (1, 2, 3, 4) for segments in product(["a", "b", ""], repeat=length)]


def naive_matches(pattern: str, name: str, separator: str = "__") -> bool:
    """Return whether `name` matches a valid pattern."""
    segments = name.split(separator)
    return all(segments) and _walk(pattern.split(separator), segments)


def _walk(pattern: list[str], segments: list[str]) -> bool:
    if not pattern or not segments:
        return pattern == segments
    if pattern[0] == "**":
        return True
    return pattern[0] in ("*", segments[0]) and _walk(pattern[1:], segments[1:])
