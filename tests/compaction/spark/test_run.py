"""What Spark gives to the workers that fold slices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from topicfold.compaction.spark.run import _dealt, slice_keys

RECORD_BYTES = 900_000


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.usefixtures("spark")
def test_large_records_reach_a_worker_in_batches_that_java_has_room_for() -> None:
    def sizes(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield pa.RecordBatch.from_pydict({"bytes": pa.array([each.nbytes for each in batches], pa.int64())})

    session = SparkSession.active()
    columns = ("1 AS partition", "id AS offset", f"cast(repeat('x', {RECORD_BYTES}) AS binary) AS value")
    records = session.range(80).selectExpr(*columns)
    dealt = _dealt(records, slice_keys(session, 1)).mapInArrow(sizes, "bytes bigint").collect()
    assert sum(size for (size,) in dealt) > 80 * RECORD_BYTES
    assert max(size for (size,) in dealt) < (64 << 20) + 2 * RECORD_BYTES
