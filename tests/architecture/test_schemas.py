"""The Avro schemas: every field documented, every number ever used still there, none ever changed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from fastavro.schema import fingerprint, to_parsing_canonical_form

from tests.architecture.payload_schema import policies_schema
from topicfold.log.avro import schema_directory
from topicfold.model.events import PAYLOAD_SCHEMA, Verdict

SCHEMAS = {path.stem: json.loads(path.read_text()) for path in sorted(schema_directory().glob("*.avsc"))}
FROZEN = {
    "audit-1": "2172a47d0248a378",
    "namespace-1": "b9f1159c0d22b2e8",
    "namespace-2": "316cecca778d2167",
    "tenant-1": "60b8c651e14f8bff",
    "tenant-2": "f09e28c39ba67329",
    "topic-1": "0744517b2a2aaf10",
    "topic-2": "2839b8301e8b49b0",
}


def undocumented(schema: Any, path: str = "") -> Iterator[str]:
    """Yield the records and fields, at any depth, that have no `doc`."""
    match schema:
        case {"type": "record"}:
            if not schema.get("doc"):
                yield path or "."
            for field in schema["fields"]:
                place = f"{path}.{field['name']}"
                if not field.get("doc"):
                    yield place
                yield from undocumented(field["type"], place)
        case {"items": inner} | {"values": inner} | {"type": inner}:
            yield from undocumented(inner, path)
        case [*branches]:
            for branch in branches:
                yield from undocumented(branch, path)


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_record_and_every_field_is_documented(name: str) -> None:
    assert list(undocumented(SCHEMAS[name])) == []


def test_a_missing_doc_would_be_found() -> None:
    schema = json.loads(json.dumps(SCHEMAS["audit-1"]))
    del schema["fields"][0]["type"]["items"]["fields"][1]["doc"]
    assert list(undocumented(schema)) == [".operations.reason"]


@pytest.mark.parametrize("kind", ["tenant", "namespace", "topic"])
def test_every_number_ever_written_is_there(kind: str) -> None:
    numbers = {int(name.rpartition("-")[2]) for name in SCHEMAS if name.startswith(f"{kind}-")}
    assert numbers == set(range(1, PAYLOAD_SCHEMA + 1))


@pytest.mark.parametrize("name", FROZEN)
def test_a_schema_that_logs_were_written_with_never_changes(name: str) -> None:
    assert fingerprint(to_parsing_canonical_form(SCHEMAS[name]), "CRC-64-AVRO") == FROZEN[name]


def test_every_schema_is_frozen_by_these_tests() -> None:
    assert set(FROZEN) == set(SCHEMAS)


def test_the_newest_schema_says_what_the_table_of_policies_says() -> None:
    topic, namespace = SCHEMAS[f"topic-{PAYLOAD_SCHEMA}"], SCHEMAS[f"namespace-{PAYLOAD_SCHEMA}"]
    wanted = policies_schema(topic["namespace"])
    local = next(field for field in topic["fields"] if field["name"] == "local")
    assert local["type"]["fields"][1]["type"] == ["null", wanted]
    assert next(field for field in namespace["fields"] if field["name"] == "policies")["type"] == wanted


def test_every_verdict_is_documented_with_its_number() -> None:
    page = (schema_directory() / "README.md").read_text()
    paragraph = next(part for part in page.split("\n\n") if part.startswith("An operation's verdict"))
    documented = re.findall(r"(\d+) ([a-z ]+?)(?= ·|\.)", " ".join(paragraph.split()))
    assert documented == [(str(each.value), each.name.lower().replace("_", " ")) for each in Verdict]
