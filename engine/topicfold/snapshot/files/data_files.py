"""Parquet files of a snapshot: written once, under a unique name, and read back by columns."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from topicfold.snapshot.commits import DataFile
from topicfold.snapshot.files.durable_files import sync_directory, write_durably
from topicfold.snapshot.tables import SCHEMAS

ROW_GROUP = 16_384
"""Rows in a group: few enough that reading one namespace's rows reads little else."""

_REPEATING = {
    "kind", "namespace", "partition", "gone", "live", "labels.key_value.key", "labels.key_value.value",
    "old_labels.key_value.key", "old_labels.key_value.value", "new_labels.key_value.key", "new_labels.key_value.value",
    "incarnation", "operations.list.element.actor", "deletes", "payload_schema",
}  # fmt: skip
"""Columns with few distinct values, in whatever table has them."""

FOUND_BY = ["kind", "route", "partition", "offset", "sequence", "time", "namespace"]
"""Columns with statistics (least and greatest value), so that groups can be skipped."""

_NAMED = 16
"""Digits of a file's SHA-256 in its name."""
_NAME = re.compile(rf"-[0-9a-f]{{16}}-([0-9a-f]{{{_NAMED}}})\.parquet$")


def write_rows(root: Path, table: str, label: str, rows: pa.Table) -> DataFile:
    """Write a new file of `table`, durably, and return its entry for a commit. Its name begins with `label`.

    Texts may be dictionaries, which saves Parquet from searching for distinct values. The name contains part of the
    content's SHA-256, so that files of a growing table can be checked even when the commits that added them are gone.
    """
    sink = pa.BufferOutputStream()
    pq.write_table(
        _as_declared(rows, SCHEMAS[table]),
        sink,
        compression="zstd",
        compression_level=1,
        row_group_size=ROW_GROUP if table.startswith("topics") else 8 * ROW_GROUP,
        use_dictionary=_dictionaries(table),
        write_statistics=FOUND_BY,
        write_page_checksum=True,
        store_schema=False,
    )
    content = memoryview(sink.getvalue())
    sha256 = hashlib.sha256(content).hexdigest()
    name = f"{label}-{secrets.token_hex(8)}-{sha256[:_NAMED]}.parquet"
    directory = root / table
    directory.mkdir(parents=True, exist_ok=True)
    write_durably(directory / name, content)
    sync_directory(directory)
    return DataFile(f"{table}/{name}", len(content), rows.num_rows, sha256)


def is_as_named(path: Path) -> bool:
    """Return whether a file still matches the hash in its name; True if the name has none, as with others' files.

    Raises:
        OSError: it cannot be read.

    Cost: reads all of it; 1 to 2 GB/s.
    """
    named = _NAME.search(path.name)
    if named is None:
        return True
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest().startswith(named[1])


def opened(raw: memoryview | pa.Buffer, schema: pa.Schema) -> pq.ParquetFile:
    """Return a file that was verified, ready to be read, with the columns of `schema` and perhaps others.

    Raises:
        ValueError: a column is missing or of another type, or there are more rows than bytes. No table of a state has
            so many, for each row has a hash or an id; a few repeated values would fill the memory.
    """
    file = pq.ParquetFile(pa.BufferReader(raw))
    if file.metadata.num_rows > len(raw):
        raise ValueError(f"a file of {len(raw)} bytes has {file.metadata.num_rows} rows")
    for field in schema:
        if field.name not in file.schema_arrow.names or file.schema_arrow.field(field.name).type != field.type:
            raise ValueError(f"a file has no column {field.name} of the type {field.type}")
    return file


def read_rows(
    root: Path, files: Sequence[DataFile], table: str, columns: Sequence[str] | None = None, filters: object = None
) -> pa.Table:
    """Return the rows of those `files` that belong to `table`, with only these columns, where `filters` hold."""
    schema = SCHEMAS[table]
    parts = [
        pq.read_table(
            root / each.path, columns=columns, filters=filters, schema=schema, page_checksum_verification=True
        )
        for each in files
        if each.table == table
    ]
    names = list(columns) if columns is not None else schema.names
    wanted = pa.schema([schema.field(name) for name in names])
    return pa.concat_tables([part.select(names) for part in parts]) if parts else wanted.empty_table()


def _as_declared(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return `rows` with the types of `schema`; columns that differ only in being dictionaries are left as they are."""
    columns = {}
    for field in schema:
        column = rows[field.name]
        columns[field.name] = column if _plain(column.type) == field.type else column.cast(field.type)
    return pa.table(columns)


def _plain(kind: pa.DataType) -> pa.DataType:
    """Return a type with dictionaries replaced by their values' types."""
    if pa.types.is_dictionary(kind):
        return kind.value_type
    if pa.types.is_map(kind):
        return pa.map_(_plain(kind.key_type), _plain(kind.item_type))
    return kind


def _dictionaries(table: str) -> list[str]:
    """Return the columns of `table` to write with a dictionary."""
    if table in ("label_index", "label_index_diffs"):
        return ["sequence", "namespace", "key", "value", "change", "actor"]
    return [name for name in _REPEATING if name.partition(".")[0] in SCHEMAS[table].names]
