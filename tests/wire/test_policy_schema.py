"""JSON schemas of policies say what is read and what is shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from topicfold.model.policy.shapes import BACKLOG_QUOTA, INT
from topicfold.model.policy.table import POLICIES
from topicfold.model.policy.values import Choice, Decimal, Flag, Kind, ListOf, MapOf, Number, Text, shown_value
from topicfold.wire.policy_schema import patch_schema, schema_of, schema_of_all


@pytest.mark.parametrize(
    ("kind", "schema"),
    [
        (Number(64), {"type": "integer", "format": "int64"}),
        (Decimal(), {"type": "number"}),
        (Flag(), {"type": "boolean"}),
        (Text(), {"type": "string", "maxLength": 1024}),
        (Choice(("a", "b"), "Letter"), {"type": "string", "title": "Letter", "enum": ["a", "b"]}),
        (ListOf(Flag()), {"type": "array", "items": {"type": "boolean"}, "maxItems": 256}),
        (MapOf(INT, ("a",)), {"type": "object", "properties": {"a": schema_of(INT)}, "additionalProperties": False}),
    ],
)
def test_each_kind_has_its_schema(kind: Kind, schema: Any) -> None:
    assert schema_of(kind) == schema


def test_both_names_of_a_member_are_described_and_its_default_is_named() -> None:
    members = schema_of(BACKLOG_QUOTA)["properties"]
    assert set(members) == {"limit", "limitSize", "limitTime", "policy"}
    assert members["limitTime"]["default"] == 0
    assert "default" not in members["policy"]


def test_neither_name_of_a_member_that_has_two_has_a_default_that_clients_send_beside_the_other() -> None:
    members = schema_of(BACKLOG_QUOTA)["properties"]
    assert not {"default"} & {*members["limit"], *members["limitSize"]}
    assert (members["limit"]["deprecated"], "deprecated" in members["limitSize"]) == (True, False)


WITH_MEMBERS = [policy for policy in POLICIES if isinstance(policy.default, Mapping)]


@pytest.mark.parametrize("policy", WITH_MEMBERS, ids=lambda policy: policy.name)
def test_what_is_shown_of_a_policy_has_no_member_that_its_schema_lacks(policy: Any) -> None:
    shown = shown_value(policy.kind, policy.default)
    assert shown
    assert set(shown) <= set(schema_of(policy.kind)["properties"])


def test_all_policies_of_a_scope_have_one_schema() -> None:
    assert list(schema_of_all()["properties"]) == [policy.name for policy in POLICIES]


def test_of_a_patch_every_member_may_be_null_at_any_depth_and_none_has_a_default() -> None:
    kind = MapOf(BACKLOG_QUOTA)
    patch = patch_schema(schema_of(kind))
    entry = patch["additionalProperties"]
    assert (patch["type"], "maxProperties" in patch, entry["type"]) == ("object", False, ["object", "null"])
    assert entry["properties"]["limitTime"]["type"] == ["integer", "null"]
    assert entry["properties"]["policy"]["enum"][-1] is None
    assert not any("default" in member for member in entry["properties"].values())
    assert schema_of(kind)["additionalProperties"]["type"] == "object"
