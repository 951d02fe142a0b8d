"""What a slice is given is read as it is, however Spark lays it out."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tests.compaction.folds import dealt, placed
from tests.state.histories import Step, log_of
from topicfold.compaction.folding import records as reading
from topicfold.compaction.folding.records import RECORDS, read_records

LARGE = RECORDS.set(RECORDS.get_field_index("value"), pa.field("value", pa.large_binary()))


@pytest.mark.parametrize("layout", [RECORDS, LARGE], ids=["plain", "large"])
def test_no_record_is_taken_for_garbage_because_spark_was_told_to_lay_out_bytes_otherwise(layout: pa.Schema) -> None:
    log = placed(0, log_of([Step("put topic", 0, 0, 0, each) for each in range(4)]))
    (batch,) = dealt(log, 1)
    records, seen = read_records([batch.cast(layout)], [0])
    assert [records.event(row).event_id for row in range(len(records))] == [each.value[12:28] for each in log]
    assert seen[0].records == len(log)


@pytest.mark.parametrize(("page_bytes", "pages"), [(1 << 26, 1), (1, 5)])
def test_small_batches_are_read_together_but_no_more_bytes_than_fit(
    monkeypatch: pytest.MonkeyPatch, page_bytes: int, pages: int
) -> None:
    monkeypatch.setattr(reading, "_PAGE_BYTES", page_bytes)
    log = placed(0, log_of([Step("put topic", 0, 0, 0, each) for each in range(4)]))
    (batch,) = dealt(log, 1)
    records, _ = read_records([batch.slice(row, 1) for row in range(len(log))], [0])
    assert [records.event(row).event_id for row in range(len(records))] == [each.value[12:28] for each in log]
    assert len(records.pages) == pages
