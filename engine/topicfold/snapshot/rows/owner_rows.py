"""Tenants and namespaces, read from verified files. They are few compared with topics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from topicfold.model.events import AggregateKind
from topicfold.snapshot.files.data_files import opened
from topicfold.snapshot.tables import KINDS, TOPICS
from topicfold.state.aggregate import Aggregate, Etag

OWNER_COLUMNS = ["kind", "partition", "name", "offset", "live", "version", "etag_id", "etag_place", "payload_schema",
                 "payload", "incarnation"]  # fmt: skip
"""The columns of `topics` that make up a tenant or namespace."""

_READ = pa.schema([TOPICS.field(name) for name in OWNER_COLUMNS])

_TOPIC = KINDS[AggregateKind.TOPIC]

Owners = list[dict[str, Aggregate]]
"""By partition and name."""


def read_owners(files: Sequence[memoryview], partitions: int) -> tuple[Owners, Owners]:
    """Return tenants and namespaces, deleted ones too, from files of `topics` and `topics_tail`.

    If one has several rows, the newest counts.
    """
    tenants: Owners = [{} for _ in range(partitions)]
    namespaces: Owners = [{} for _ in range(partitions)]
    for raw in files:
        for row in _rows_of_owners(raw):
            owners = tenants if row["kind"] == KINDS[AggregateKind.TENANT] else namespaces
            found = owners[row["partition"]]
            if row["name"] in found and found[row["name"]].offset > row["offset"]:
                continue
            found[row["name"]] = aggregate_of(row)
    return tenants, namespaces


def aggregate_of(row: Mapping[str, Any]) -> Aggregate:
    """Return the aggregate in a row of `topics` with `OWNER_COLUMNS`."""
    return Aggregate(
        row["version"],
        row["live"],
        Etag(row["etag_id"], row["etag_place"]),
        row["payload_schema"],
        row["payload"],
        row["offset"],
        row["incarnation"],
    )


def _rows_of_owners(raw: memoryview) -> Iterator[dict[str, Any]]:
    file = opened(raw, _READ)
    kind = file.schema_arrow.names.index("kind")
    for number in range(file.num_row_groups):
        kept = file.metadata.row_group(number).column(kind).statistics
        # Groups have statistics of their kinds, so all groups that hold only topics are skipped.
        if kept is None or not kept.has_min_max or {kept.min, kept.max} != {_TOPIC}:
            rows = file.read_row_group(number, columns=OWNER_COLUMNS)
            yield from rows.filter(pc.not_equal(rows["kind"], _TOPIC)).to_pylist()
