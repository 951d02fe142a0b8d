"""Whoever asks for a part of a table opens only the files that can have it, and misses nothing."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from deltalake import DeltaTable, Schema

from tests.compaction.job_process import run
from topicfold.clock import wall_clock_ms
from topicfold.compaction.delta.statistics import statistics_of
from topicfold.compaction.delta.tables import opened, write_version
from topicfold.snapshot.files.data_files import write_rows
from topicfold.snapshot.tables import HISTORY, SCHEMAS
from topicfold.text.rfc3339 import moment_of

NOON = moment_of(wall_clock_ms() // 86_400_000 * 86_400_000)


def history(root: Path, *times: Sequence[datetime | None]) -> DeltaTable:
    """Write a table `history` with a file for each of these, an event at each of its times; return it."""
    for sequence, each in enumerate(times, 1):
        events = [{"sequence": sequence, "offset": n, "kind": "topic", "time": time} for n, time in enumerate(each)]
        file = write_rows(root, "history", f"{sequence:012}", pa.Table.from_pylist(events, HISTORY))
        assert write_version(opened(root, "history"), root / "history", [file], set(), 0, sequence)
    return DeltaTable(str(root / "history"))


def opened_by(delta: DeltaTable, wanted: pc.Expression) -> int:
    """Return how many files a query for these rows opens."""
    return len([*delta.to_pyarrow_dataset().get_fragments(wanted)])


def test_a_query_for_some_time_opens_only_files_of_that_time(tmp_path: Path) -> None:
    days = [[NOON + timedelta(days=day), NOON + timedelta(days=day, hours=3)] for day in range(5)]
    delta = history(tmp_path, *days)
    assert opened_by(delta, pc.field("time") >= NOON + timedelta(days=3, hours=3)) == 2
    assert opened_by(delta, pc.field("sequence") == 2) == 1


def test_an_event_whose_time_is_unknown_is_found_among_others(tmp_path: Path) -> None:
    delta = history(tmp_path, [NOON], [None, NOON], [None], [])
    found = delta.to_pyarrow_dataset().to_table(["sequence"], pc.field("time").is_null())
    assert sorted(found["sequence"].to_pylist()) == [2, 3]
    assert opened_by(delta, pc.field("time") == NOON) < 4
    assert delta.to_pyarrow_dataset().to_table(filter=pc.field("time") == NOON).num_rows == 2


@pytest.mark.parametrize("table", ["topics", "topics_tail", "history", "label_index_diffs", "commits"])
def test_no_row_is_missed_whatever_is_asked_for(tmp_path: Path, table: str) -> None:
    run(tmp_path, cuts=1)
    delta = DeltaTable(str(tmp_path / table))
    rows = delta.to_pyarrow_table()
    for name in (field.name for field in SCHEMAS[table] if not pa.types.is_nested(field.type)):
        for value in rows[name].unique().drop_null():
            found = delta.to_pyarrow_dataset().count_rows(pc.field(name) == value)
            assert found == pc.sum(pc.equal(rows[name], value)).as_py()


def test_no_row_is_missed_of_a_table_that_was_made_before_files_had_statistics(tmp_path: Path) -> None:
    DeltaTable.create(str(tmp_path / "history"), Schema.from_arrow(HISTORY))
    delta = history(tmp_path, [NOON], [NOON])
    assert delta.to_pyarrow_dataset().count_rows(pc.field("refused").is_null()) == 2
    assert opened_by(delta, pc.field("sequence") == 2) == 1
    delta.optimize.compact()
    assert delta.to_pyarrow_dataset().count_rows(pc.field("refused").is_null()) == 2


def test_nothing_is_said_of_a_file_that_cannot_be_read_but_its_rows(tmp_path: Path) -> None:
    file = write_rows(tmp_path, "history", "1", HISTORY.empty_table())._replace(rows=7)
    (tmp_path / file.path).write_bytes(b"damaged")
    assert statistics_of(tmp_path / file.path, 7) == {"numRecords": 7}


@pytest.mark.parametrize("year", [-2, 12_000])
def test_no_row_is_missed_beside_a_time_of_an_earlier_version_that_no_calendar_holds(tmp_path: Path, year: int) -> None:
    times = pa.array([(year - 1970) * 31_556_952_000_000, int(NOON.timestamp()) * 1_000_000])
    events = pa.Table.from_pylist([{"sequence": 1, "offset": number, "kind": "topic"} for number in range(2)], HISTORY)
    place = HISTORY.get_field_index("time")
    rows = events.set_column(place, "time", times.cast(HISTORY.field("time").type))
    file = write_rows(tmp_path, "history", "merged", rows)
    assert write_version(opened(tmp_path, "history"), tmp_path / "history", [file], set(), 0, None)
    delta = DeltaTable(str(tmp_path / "history"))
    assert delta.to_pyarrow_dataset().count_rows(pc.field("time") == NOON) == 1
    assert delta.to_pyarrow_dataset().count_rows(pc.field("offset") == 0) == 1
