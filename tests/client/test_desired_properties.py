"""What a server has, written to a file and read again, never differs from what the server has."""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.model.policy.strategies import stored_policies, texts
from topicfold.client.answers import Topic
from topicfold.client.desired import steps
from topicfold.client.desired_files import entries_of, read_files, write_lists
from topicfold.errors import InvalidRequest
from topicfold.model.policy.table import BY_NAME
from topicfold.model.policy.values import plain_value

ORDERS = "persistent://public/default/orders"
keys = st.from_regex(r"[a-z]([a-z0-9._-]{0,8}[a-z0-9])?", fullmatch=True)
labels = st.dictionaries(
    keys, st.text(st.characters(exclude_categories=["Cs"]), max_size=8).filter(str.isprintable), max_size=4
)


def global_only(policies: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in policies.items() if BY_NAME[name].topic.has_global}


@given(stored_policies, stored_policies.map(global_only), labels, st.dictionaries(texts.filter(bool), texts))
def test_an_export_never_differs(
    local: Mapping[str, Any], global_: Mapping[str, Any], labels: Mapping[str, str], properties: Mapping[str, str]
) -> None:
    policies = {"local": plain_value(local), "global": plain_value(global_)}
    there = Topic(ORDERS, labels, 0, None, properties, "e1", policies)
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "topics.yaml"
        for text in (write_lists({"topics": entries_of([there])}), json.dumps({"topics": [*entries_of([there])]})):
            file.write_text(text)
            assert list(steps(read_files([file]), {ORDERS: there})) == []


@given(st.text("0123456789+-._:eExonNyYfaTr~", min_size=1, max_size=9))
def test_a_value_without_quotes_is_taken_as_it_is_written_or_refused(written: str) -> None:
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "topics.yaml"
        file.write_text(f"topics:\n- name: orders\n  properties:\n    p: {written}\n")
        with contextlib.suppress(InvalidRequest):
            assert read_files([file])[0].parts["properties"] == {"p": written}


def test_values_that_unset_a_policy_are_neither_written_nor_compared() -> None:
    none = {"dispatchThrottlingRateInMsg": 0, "dispatchThrottlingRateInByte": -1}
    said = {"schemaCompatibilityStrategy": "UNDEFINED", "subscriptionPolicies": {"sub": {"dispatchRate": none}}}
    there = Topic(ORDERS, {}, 0, None, {}, "e1", {"local": said, "global": None})
    assert [*entries_of([there])] == [{"name": ORDERS}]
