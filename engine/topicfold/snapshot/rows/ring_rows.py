"""The rings of operations: one row of 43 bytes for each operation, in the layout that digests hash."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from topicfold.snapshot.files.data_files import opened
from topicfold.snapshot.rows.topic_rows import Ids, ids_of
from topicfold.snapshot.tables import RINGS


def entries(
    ids: Ids, verdicts: npt.NDArray[np.integer], etag_ids: Ids, etag_places: npt.NDArray[np.integer], body_hashes: Ids
) -> Ids:
    """Return operations as rings keep them: id, verdict, the ETag's event id and place, hash of the request's body."""
    places = etag_places.astype(">u2").view(np.uint8).reshape(-1, 2)
    return np.concatenate([ids, verdicts.astype(np.uint8)[:, None], etag_ids, places, body_hashes], axis=1)


def ring_content(rows: pa.Table) -> Ids:
    """Return the operations in rows of the table `rings`, as rings keep them.

    Raises:
        ValueError: an id has a wrong length.
    """
    return entries(
        ids_of(rows["operation"]), rows["verdict"].to_numpy(), ids_of(rows["etag_id"]), rows["etag_place"].to_numpy(),
        ids_of(rows["body_hash"], 8),
    )  # fmt: skip


def read_rings(
    files: Sequence[memoryview], capacities: Mapping[int, tuple[int, int]]
) -> dict[int, tuple[bytes, bytes]]:
    """Return, for each partition in `capacities`, its rings by client and by server, as `OperationRing.restore` takes.

    `capacities` has the capacities of both rings. Files may also hold operations that the rings have dropped since.
    """
    parts = [opened(raw, RINGS).read(RINGS.names) for raw in files]
    rows = pa.concat_tables(parts) if parts else RINGS.empty_table()
    content = ring_content(rows)
    partitions, numbers = rows["partition"].to_numpy(), rows["number"].to_numpy()
    is_client = pc.equal(rows["ring"], "client").to_numpy()
    found = {}
    for partition, sizes in capacities.items():
        of_clients, of_server = (
            last_places(np.flatnonzero((partitions == partition) & (is_client == by_client)), numbers, capacity)
            for by_client, capacity in zip((True, False), sizes, strict=True)
        )
        found[partition] = content[of_clients].tobytes(), content[of_server].tobytes()
    return found


def last_places(places: npt.NDArray[np.int64], numbers: npt.NDArray[np.int64], most: int) -> npt.NDArray[np.int64]:
    """Return those of `places` with the `most` highest `numbers`, lowest first."""
    return places[np.argsort(numbers[places], kind="stable")][-most:]
