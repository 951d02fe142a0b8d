"""The embedded log as a streaming source for Spark, with the log's partitions and offsets.

Executors read the file themselves, so they must be on its machine. Spark 4.0 asks a Python source only for its end, so
the size of a batch is limited by reporting an end that is near enough.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from topicfold.errors import LogUnavailable
from topicfold.log.sqlite.file import SqliteFile

NAME = "topicfold_sqlite"

_COLUMNS = pa.schema({"partition": pa.int32(), "offset": pa.int64(), "value": pa.binary()})
_PAGE = 5_000

Offsets = dict[str, int]
"""Next offset by partition; Spark keeps them as JSON."""


class SqliteSource(DataSource):
    """The source. Options: `path`; `start`, the positions to start at, separated by commas; `rows`, the most that a
    batch may have; `end`, optional, the positions to end at."""

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> str:
        return "partition int, offset bigint, value binary"

    def streamReader(self, schema: Any) -> SqliteReader:  # noqa: N802 - Spark's name
        """Return the reader."""
        end = self.options.get("end")
        return SqliteReader(
            self.options["path"],
            _numbers(self.options["start"]),
            int(self.options["rows"]),
            _numbers(end) if end else None,
        )


class Range(InputPartition):
    """Records of one partition from `start` up to `end`, exclusive."""

    def __init__(self, partition: int, start: int, end: int) -> None:
        self.partition = partition
        self.start = start
        self.end = end


class SqliteReader(DataSourceStreamReader):
    """Reads the file. Reports an end at most `rows` records beyond the last one that it reported."""

    def __init__(self, path: str, start: Sequence[int], rows: int, end: Sequence[int] | None) -> None:
        self._path = path
        self._start = tuple(start)
        self._said = list(start)
        self._rows = rows
        self._end = end

    def initialOffset(self) -> Offsets:  # noqa: N802 - Spark's name
        """Return where to start if there is no checkpoint."""
        return _offsets(self._start)

    def latestOffset(self) -> Offsets:  # noqa: N802 - Spark's name
        """Return where the next batch ends.

        Raises:
            LogUnavailable: the file is gone, or ends before the position up to which it was read.
        """
        ends = self._end or self._ends()
        left = self._rows
        for partition, end in enumerate(ends):
            said = self._said[partition]
            if end < said:
                raise LogUnavailable(
                    f"partition {partition} of the log ends at offset {end}, and was read up to {said}"
                )
            step = min(end - said, left)
            self._said[partition] += step
            left -= step
        return _offsets(self._said)

    def partitions(self, start: Offsets, end: Offsets) -> Sequence[InputPartition]:
        """Return the ranges that executors read for a batch."""
        for partition, position in end.items():
            self._said[int(partition)] = max(self._said[int(partition)], position)
        return [Range(int(each), start.get(each, 0), to) for each, to in end.items() if to > start.get(each, 0)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the records of one range. Runs on an executor.

        Raises:
            LogUnavailable: the file is gone.
        """
        assert isinstance(partition, Range)  # noqa: S101 - Spark gives back what `partitions` made
        with closing(self._open()) as file:
            position = partition.start
            while position < partition.end:
                found = file.read(partition.partition, position, min(_PAGE, partition.end - position))
                if not found:
                    return
                position = found[-1].offset + 1
                columns = zip(*found, strict=True)
                yield pa.RecordBatch.from_arrays(
                    [pa.array(each, field.type) for each, field in zip(columns, _COLUMNS, strict=True)], schema=_COLUMNS
                )

    def _ends(self) -> Sequence[int]:
        with closing(self._open()) as file:
            return [bound.end for bound in file.bounds()]

    def _open(self) -> SqliteFile:
        path = Path(self._path)
        if not path.exists():
            # Opening it would create an empty one.
            raise LogUnavailable(f"there is no log {path} any more")
        return SqliteFile(path, partitions=len(self._said))


def _numbers(text: str) -> list[int]:
    return [int(each) for each in text.split(",")]


def _offsets(positions: Sequence[int]) -> Offsets:
    return {str(partition): position for partition, position in enumerate(positions)}
