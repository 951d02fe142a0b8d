"""What the client answers with are values: they can be members of sets, and keys."""

from __future__ import annotations

from typing import Any

import pytest

from topicfold.client import FieldChange, Match, Modified, Page, Readiness, ServerVersion, Topic

MATCH = Match("t", {"team": "pay"}, "v", 0)


@pytest.mark.parametrize(
    "make",
    [
        lambda text: Match("t", {"team": text}, "v", 0),
        lambda text: Topic("t", {}, 0, None, {"doc": text}, "v", {"local": {"retentionPolicies": None}}),
        lambda text: Page((MATCH,), "p", {text: 1}, ""),
        lambda text: Modified("c", MATCH, {"team": text}),
        lambda text: FieldChange(("labels",), {"team": text}, None),
        lambda text: ServerVersion("1", {"commit": text}),
        lambda text: Readiness(True, {"log": text}),
    ],
)
def test_an_answer_is_found_in_a_set_by_what_it_says(make: Any) -> None:
    assert make("pay") in {make("pay")}
    assert make("ship") not in {make("pay")}
