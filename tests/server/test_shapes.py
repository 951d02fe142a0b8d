"""What generators of clients read: every shape once under its name, and nothing that they stumble over."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.server.document import DOCUMENT
from topicfold.server.shapes import tidied

SAID: dict[str, Any] = json.loads(DOCUMENT.read_text())
NAMED = SAID["components"]["schemas"]
NAP = {"type": "object", "title": "Nap", "properties": {"minutes": {"type": "integer", "title": "Minutes"}}}


def parts(of: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield all objects in a document, each with where it is."""
    if isinstance(of, dict):
        yield path, of
        for name, each in of.items():
            yield from parts(each, f"{path}/{name}")
    if isinstance(of, list):
        for number, each in enumerate(of):
            yield from parts(each, f"{path}/{number}")


def types_of(schema: dict[str, Any]) -> list[Any]:
    """Return the types that a schema names."""
    types = schema.get("type", [])
    return types if isinstance(types, list) else [types]


def test_a_named_shape_is_referred_to_wherever_it_stands() -> None:
    once = {"description": "Short.", **NAP}
    named, paths = tidied({"Day": {"type": "object", "properties": {"nap": once}}}, {"/nap": {"schema": NAP}})
    ref = {"$ref": "#/components/schemas/Nap"}
    assert named["Nap"] == {"type": "object", "properties": {"minutes": {"type": "integer"}}}
    assert named["Day"]["properties"]["nap"] == ref | {"description": "Short."}
    assert paths == {"/nap": {"schema": ref}}


def test_a_named_shape_that_may_be_null_in_one_place_is_the_same_shape_in_another() -> None:
    named, paths = tidied({}, {"/nap": NAP, "/may": NAP | {"type": ["object", "null"], "description": "Or none."}})
    ref = {"$ref": "#/components/schemas/Nap"}
    assert paths == {"/nap": ref, "/may": {"anyOf": [ref, {"type": "null"}], "description": "Or none."}}
    assert named["Nap"]["type"] == "object"


def test_a_body_is_of_one_shape_by_its_media_type() -> None:
    path = SAID["paths"]["/admin/v2/{domain}/{tenant}/{namespace}/{topic}/partitions"]
    for method in ("put", "post"):
        assert path[method]["requestBody"]["content"] == {
            "application/json": {"schema": {"type": "integer", "format": "int32", "minimum": 1}},
            "application/vnd.partitioned-topic-metadata+json": {
                "schema": {"$ref": "#/components/schemas/PartitionMetadata"}
            },
        }


def test_two_shapes_of_one_name_are_refused() -> None:
    other = NAP | {"properties": {}}
    with pytest.raises(ValueError, match="two shapes are called Nap"):
        tidied({}, {"/nap": NAP, "/other": other})


def test_what_may_be_null_is_so_by_its_type() -> None:
    either = {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}], "default": None, "description": "A."}
    assert tidied({"A": either}, {})[0]["A"] == {"type": ["string", "null"], "enum": ["a", None], "description": "A."}


def test_policies_have_pulsars_names_for_their_shapes() -> None:
    answer = SAID["paths"]["/admin/v2/{domain}/{tenant}/{namespace}/{topic}/retention"]["get"]["responses"]["200"]
    assert answer["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/RetentionPolicies"}
    assert {"DispatchRate", "BacklogQuota", "PersistencePolicies", "OffloadPolicies"} <= {*NAMED}


def test_no_object_with_members_stands_anywhere_without_a_name() -> None:
    found = [
        path
        for path, part in parts(SAID)
        if isinstance(part.get("properties"), dict) and "type" in part and path.count("/") != 3
    ]
    assert found == []


def test_every_list_says_of_what() -> None:
    assert [path for path, part in parts(SAID) if part.get("type") == "array" and "items" not in part] == []


def test_every_operation_has_a_name_of_its_own_that_is_one_of_a_method() -> None:
    names = [operation["operationId"] for path in SAID["paths"].values() for operation in path.values()]
    assert len({each.lower() for each in names}) == len(names)
    assert [each for each in names if not re.fullmatch("[a-z]+([A-Z]+[a-z]*)*", each)] == []


def test_every_error_is_answered_with_a_problem() -> None:
    problem = {"$ref": "#/components/schemas/Problem"}
    for path in SAID["paths"].values():
        for operation in path.values():
            errors = {status: each for status, each in operation["responses"].items() if status[0] in "45d"}
            assert "default" in errors
            assert [each["content"]["application/problem+json"]["schema"] for each in errors.values()] == [
                problem for _ in errors
            ]


def test_every_integer_says_how_large_it_gets() -> None:
    integers = [(path, part) for path, part in parts(SAID) if "integer" in types_of(part)]
    assert integers
    assert [path for path, part in integers if part.get("format") not in ("int32", "int64")] == []


def test_constants_that_may_stand_in_several_places_stand_once_and_have_a_name() -> None:
    places: dict[tuple[str, ...], list[str]] = {}
    for path, part in parts(SAID):
        if isinstance(part.get("enum"), list):
            places.setdefault(tuple(part["enum"]), []).append(path)
    assert [found for found in places.values() if len(found) > 1] == []
    assert {"Domain", "Level", "SchemaCompatibilityStrategy", "SubscriptionType"} <= {*NAMED}


def test_a_member_that_must_be_there_is_not_null() -> None:
    found = [
        f"{path}: {name}"
        for path, part in parts(SAID)
        if isinstance(part.get("required"), list)
        for name in part["required"]
        if "null" in {kind for _, each in parts(part["properties"][name]) for kind in types_of(each)}
    ]
    assert found == []


def test_what_a_newer_server_adds_to_an_answer_is_no_error() -> None:
    assert [path for path, part in parts(SAID) if part.get("additionalProperties") is False] == []


def test_nothing_is_null_by_default_and_no_member_has_a_title() -> None:
    assert [path for path, part in parts(SAID) if part.get("default", ...) is None] == []
    assert [path for path, part in parts(SAID["components"]) if isinstance(part.get("title"), str)] == []


def test_every_operation_is_in_one_group_that_is_described() -> None:
    described = {each["name"] for each in SAID["tags"]}
    groups = [operation["tags"] for path in SAID["paths"].values() for operation in path.values()]
    assert {len(each) for each in groups} == {1}
    assert {each[0] for each in groups} == described
