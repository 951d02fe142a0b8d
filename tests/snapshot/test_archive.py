"""The archive: what it costs to find the newest of many rows."""

from __future__ import annotations

import pyarrow as pa
import pytest

from topicfold.snapshot.archive import _Newest

BATCH, BATCHES, NAMES = 50, 80, 1_000


def test_the_newest_rows_of_many_names_are_found_by_looking_at_each_a_few_times(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked_at, joined = 0, pa.concat_tables

    def counted(parts: list[pa.Table]) -> pa.Table:
        nonlocal looked_at
        both = joined(parts)
        looked_at += both.num_rows
        return both

    monkeypatch.setattr(pa, "concat_tables", counted)
    newest = _Newest()
    for first in range(0, BATCH * BATCHES, BATCH):
        offsets = range(first, first + BATCH)
        newest.add(pa.table({"name": [str(each % NAMES) for each in offsets], "offset": offsets}))
    found = newest.rows()
    assert sorted(found["offset"].to_pylist()) == list(range(BATCH * BATCHES - NAMES, BATCH * BATCHES))
    assert looked_at < 4 * BATCH * BATCHES
    assert _Newest().rows().num_columns == 0
