"""The archive: what it costs to find the newest of many rows, and how much is in memory of large ones."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from tests.builders import TOPIC, an_id, namespace_put, topic_put
from tests.compaction.folding import Tables, placed
from topicfold.model.events import AggregateKind
from topicfold.snapshot import archive
from topicfold.snapshot.archive import Archive, _Newest

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


def test_of_large_events_so_many_are_read_as_there_is_room_for_and_one_at_least(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "MAX_BYTES", 250)
    log = [namespace_put(1), topic_put(2, an_id(1))]
    log += [topic_put(n, an_id(1), an_id(n - 1), payload=bytes(100)) for n in range(3, 9)]
    log.append(topic_put(9, an_id(1), an_id(8), payload=bytes(300)))
    tables = Tables(tmp_path, 1)
    for first in range(0, len(log), 3):
        tables.take(placed(0, log[first : first + 3], first))

    def offsets(up_to: int, most: int = 99) -> list[int]:
        found = Archive(tmp_path, bytes(16), 1).events_of(AggregateKind.TOPIC, TOPIC, 0, up_to, most)
        return [each.offset for each in found]

    assert [offsets(8), offsets(7), offsets(2), offsets(7, 1)] == [[8], [7, 6], [2, 1], [7]]
