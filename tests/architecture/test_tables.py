"""`schemas/tables.md` documents every column of every table, and no other."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pyarrow as pa
import pytest

from topicfold.snapshot.commits import Commit
from topicfold.snapshot.tables import COMMITS, SCHEMAS

PAGE = (Path(__file__).parents[2] / "schemas" / "tables.md").read_text()
TYPES = {
    pa.string(): "string", pa.int64(): "long", pa.int32(): "int", pa.bool_(): "boolean", pa.binary(): "binary",
    pa.timestamp("us", "UTC"): "timestamp",
}  # fmt: skip


def spelt(kind: pa.DataType) -> str:
    if pa.types.is_map(kind):
        return f"map<{spelt(kind.key_type)}, {spelt(kind.item_type)}>"
    if pa.types.is_list(kind):
        return f"array<{spelt(kind.value_type)}>"
    return "struct" if pa.types.is_struct(kind) else TYPES[kind]


def documented(table: str) -> list[tuple[str, str]]:
    section = next(part for part in PAGE.split("\n## ")[1:] if table in re.split(r"[,\n ]+", part.splitlines()[0]))
    rows = [line.split("|") for line in section.splitlines() if line.startswith("| ")]
    return [(row[1].strip(), row[2].strip()) for row in rows[1:]]


@pytest.mark.parametrize("table", SCHEMAS)
def test_every_column_is_documented_with_its_type(table: str) -> None:
    assert documented(table) == [(column.name, spelt(column.type)) for column in SCHEMAS[table]]


def test_every_field_of_a_manifest_is_documented() -> None:
    section = next(part for part in PAGE.split("\n## ")[1:] if part.startswith("manifests/"))
    documented = {*COMMITS.names, *re.findall(r"`(\w+)`", section)}
    assert {each.name for each in fields(Commit)} - documented == set()
