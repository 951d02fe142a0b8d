"""What Delta is told of a file's columns, so that whoever asks for a week or a namespace opens only the files that can
have it.

Source: Delta's protocol, "Per-file Statistics".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from topicfold.text.rfc3339 import time_ms_of, time_text


def statistics_of(path: Path, rows: int) -> Mapping[str, Any]:
    """Return Delta's statistics of a file with so many rows: of the columns that its footer has statistics of.

    Only the number of rows if the footer cannot be read: whoever reads the table then opens the file, and learns why.

    Cost: reads the footer.
    """
    try:
        footer = pq.read_metadata(path)
        columns = {
            footer.row_group(0).column(number).path_in_schema: [
                footer.row_group(group).column(number).statistics for group in range(footer.num_row_groups)
            ]
            for number in range(footer.num_columns)
            if footer.num_row_groups
        }
    except (pa.ArrowException, OSError):
        return {"numRecords": rows}
    known = {name: parts for name, parts in columns.items() if all(part is not None for part in parts)}
    return {
        "numRecords": rows,
        "minValues": {name: _text(min(values)) for name, parts in known.items() if (values := _values(parts, "min"))},
        "maxValues": {name: _text(max(values)) for name, parts in known.items() if (values := _values(parts, "max"))},
        "nullCount": {name: sum(part.null_count for part in parts) for name, parts in known.items()},
    }


def _values(parts: Sequence[pq.Statistics], which: str) -> Sequence[Any]:
    """Return the values of the groups of rows that have any.

    Earlier versions wrote times that no calendar holds. All that it does hold lie within what is said of such a column:
    if nothing was said, deltalake 1.6.6 would take every time in the file to be null.
    """
    try:
        return [getattr(part, which) for part in parts if part.has_min_max]
    except OverflowError:
        return [getattr(datetime, which).replace(tzinfo=UTC)]


def _text(value: object) -> object:
    """Return a value as Delta's statistics have it. All of our times are whole milliseconds, as theirs are."""
    return time_text(time_ms_of(value)) if isinstance(value, datetime) else value
