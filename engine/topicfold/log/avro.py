"""Avro: encodes one datum to bytes and decodes it, with the schemas that ship in `schemas/`.

Bytes that are not exactly one datum cannot be decoded, even if they begin with one.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import fastavro


def schema_directory() -> Traversable:
    """Return where the Avro schemas are: in the installed package, which may be an archive, or at a checkout's root."""
    inside = files("topicfold") / "schemas"
    return inside if inside.is_dir() else Path(__file__).parents[3] / "schemas"


@cache
def schema_called(name: str) -> Any:
    """Return the schema in the file `NAME.avsc`, parsed once."""
    return fastavro.parse_schema(json.loads((schema_directory() / f"{name}.avsc").read_text()))


def read_schemas() -> None:
    """Read every schema that ships, because later no open file may be left, or another version may be installed there.

    Raises:
        OSError: one cannot be read, or there is none.
    """
    for file in schema_directory().iterdir():
        if file.name.endswith(".avsc"):
            schema_called(file.name.removesuffix(".avsc"))


def write(schema: Any, fields: Mapping[str, Any]) -> bytes:
    """Return one datum of `schema`."""
    out = io.BytesIO()
    fastavro.schemaless_writer(out, schema, fields)
    return out.getvalue()


def read(schema: Any, datum: bytes) -> dict[str, Any] | None:
    """Return the fields if `datum` is exactly one datum of `schema`, else None, whatever the bytes are.

    Raises:
        MemoryError: there is none left, which says nothing about the bytes.
    """
    stream = io.BytesIO(datum)
    try:
        fields = fastavro.schemaless_reader(stream, schema, None)
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001 -- damaged bytes make fastavro raise anything; the datum counts as unreadable
        return None
    return fields if isinstance(fields, dict) and stream.tell() == len(datum) else None
