"""Folds a batch on Spark: the JVM distributes records to slices, and Python folds each slice wherever Spark runs it.

The JVM does nothing else with a record's bytes. Each slice writes its own files, so little but sums comes back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession

from topicfold.compaction.folding.routing import IS_FOR_ALL_SQL, ROUTE_SQL, ROUTES
from topicfold.compaction.folding.slices import fold_slice
from topicfold.compaction.plan import Plan, SliceResult

_RESULT = "facts string, owners binary, operations binary, passed binary"
_RESULT_ARROW = pa.schema(
    {"facts": pa.string(), "owners": pa.binary(), "operations": pa.binary(), "passed": pa.binary()}
)


def slice_keys(session: SparkSession, slices: int) -> list[int]:
    """Return for each slice a number that Spark's hash partitioning sends to the partition of that number."""
    found: dict[int, int] = {}
    first = 0
    while len(found) < slices:
        numbers = session.range(first, first + 20 * slices, 1, 1)
        for number, place in numbers.selectExpr("id", f"pmod(hash(id), {slices})").collect():
            found.setdefault(place, number)
        first += 20 * slices
    return [found[place] for place in range(slices)]


def run_on_spark(records: DataFrame, keys: Sequence[int], plan: Plan) -> list[SliceResult]:
    """Fold every slice of `plan`; `records` has the columns `partition`, `offset` and `value`."""
    dealt = _dealt(records, keys)
    # As Arrow: with rows, which Spark pickles, the JVM would hold the operations of a large batch many times over.
    rows = dealt.mapInArrow(partial(_fold_slice, plan), _RESULT).toArrow().to_pylist()
    return [SliceResult.of(**row) for row in rows]


def _dealt(records: DataFrame, keys: Sequence[int]) -> DataFrame:
    """Return the records in partitions, one for each slice, with the columns `records.RECORDS`."""
    slices = len(keys)
    places = ", ".join(f"{key}L" for key in keys)
    return (
        records.selectExpr("partition", "offset", "coalesce(value, X'') AS value")
        .selectExpr(
            "partition", "offset", "value",
            f"cast({ROUTE_SQL} * {slices} div {ROUTES} AS int) AS mine", f"{IS_FOR_ALL_SQL} AS for_all",
        )
        .selectExpr(
            "partition", "offset", "value", "mine",
            f"explode(if(for_all, sequence(0, {slices - 1}), array(mine))) AS slice",
        )
        .selectExpr(
            "partition", "offset", "value", "slice = mine AS is_own", f"element_at(array({places}), slice + 1) AS key"
        )
        .repartition(slices, "key")
        .select("partition", "offset", "value", "is_own")
    )  # fmt: skip


def _fold_slice(plan: Plan, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Fold this task's slice. Runs on an executor."""
    context = TaskContext.get()
    assert context is not None  # noqa: S101 - Spark runs it
    result = fold_slice(plan, context.partitionId(), batches)
    columns = [[result.facts()], [result.owners], [result.operations], [result.passed]]
    yield pa.RecordBatch.from_arrays(
        [pa.array(each, field.type) for each, field in zip(columns, _RESULT_ARROW, strict=True)], schema=_RESULT_ARROW
    )
