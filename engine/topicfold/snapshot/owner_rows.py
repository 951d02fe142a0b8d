"""Tenants, namespaces and rings of operations, read from verified files. Few beside topics, but for the rings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from topicfold.model.events import AggregateKind
from topicfold.snapshot.tables import KINDS, RINGS
from topicfold.snapshot.topic_rows import Ids, ids_of
from topicfold.state.aggregate import Aggregate, Etag

_COLUMNS = ["kind", "partition", "name", "offset", "live", "version", "etag_id", "etag_place", "payload_schema",
            "payload", "incarnation"]  # fmt: skip
_RING_ROW = 43
_TOPIC = KINDS[AggregateKind.TOPIC]

Owners = list[dict[str, Aggregate]]
"""By partition and name."""


def read_owners(files: Sequence[bytes], partitions: int) -> tuple[Owners, Owners]:
    """Return tenants and namespaces, dead ones too, from files of `topics` and `topics_tail`.

    Of several rows of one the newest counts.
    """
    tenants: Owners = [{} for _ in range(partitions)]
    namespaces: Owners = [{} for _ in range(partitions)]
    for raw in files:
        for row in _rows_of_owners(raw):
            owners = tenants if row["kind"] == KINDS[AggregateKind.TENANT] else namespaces
            found = owners[row["partition"]]
            if row["name"] in found and found[row["name"]].offset > row["offset"]:
                continue
            found[row["name"]] = Aggregate(
                row["version"],
                row["live"],
                Etag(row["etag_id"], row["etag_place"]),
                row["payload_schema"],
                row["payload"],
                row["offset"],
                row["incarnation"],
            )
    return tenants, namespaces


def _rows_of_owners(raw: bytes) -> Iterator[dict[str, Any]]:
    file = pq.ParquetFile(pa.BufferReader(raw))
    kind = file.schema_arrow.names.index("kind")
    for number in range(file.num_row_groups):
        kept = file.metadata.row_group(number).column(kind).statistics
        # Kinds are kept in order with their least and greatest values, so all but a few groups are passed over.
        if kept is None or not kept.has_min_max or {kept.min, kept.max} != {_TOPIC}:
            rows = file.read_row_group(number, columns=_COLUMNS)
            yield from rows.filter(pc.not_equal(rows["kind"], _TOPIC)).to_pylist()


def read_rings(files: Sequence[bytes], capacities: Mapping[int, tuple[int, int]]) -> dict[int, tuple[bytes, bytes]]:
    """Return of each partition in `capacities` its rings, by client and by server, as `OperationRing.restore` wants.

    Files may hold operations that have fallen out of the rings, which hold so many each.
    """
    parts = [pq.read_table(pa.BufferReader(raw), schema=RINGS) for raw in files]
    rows = pa.concat_tables(parts) if parts else RINGS.empty_table()
    content = _rows(rows)
    partitions, numbers = rows["partition"].to_numpy(), rows["number"].to_numpy()
    is_client = pc.equal(rows["ring"], "client").to_numpy()
    found = {}
    for partition, sizes in capacities.items():
        of_clients, of_server = (
            _last(np.flatnonzero((partitions == partition) & (is_client == by_client)), numbers, capacity)
            for by_client, capacity in zip((True, False), sizes, strict=True)
        )
        found[partition] = content[of_clients].tobytes(), content[of_server].tobytes()
    return found


def _last(places: np.ndarray, numbers: np.ndarray, capacity: int) -> np.ndarray:
    return places[np.argsort(numbers[places], kind="stable")][-capacity:]


def _rows(rows: pa.Table) -> Ids:
    """Return the operations as digests hash them: id, verdict, ETag, hash of the request's body."""
    places = rows["etag_place"].to_numpy()
    content = np.empty((len(places), _RING_ROW), np.uint8)
    content[:, :16] = ids_of(rows["operation"])
    content[:, 16] = rows["verdict"].to_numpy()
    content[:, 17:33] = ids_of(rows["etag_id"])
    content[:, 33] = places >> 8
    content[:, 34] = places & 0xFF
    content[:, 35:] = ids_of(rows["body_hash"], 8)
    return content
