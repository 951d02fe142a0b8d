"""Bytes of one length in columns: as rows of numpy, and as Arrow has them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from topicfold.compaction.spans import Bytes


def binaries(rows: Bytes) -> pa.BinaryArray:
    """Return rows of bytes, all of one length, as a column."""
    count, width = rows.shape
    ends = np.arange(count + 1, dtype=np.int32) * width
    content = np.ascontiguousarray(rows).tobytes()
    return pa.Array.from_buffers(
        pa.binary(), count, [None, pa.py_buffer(ends.astype(np.int32).tobytes()), pa.py_buffer(content)]
    )


def ids_of(column: pa.ChunkedArray, width: int = 16) -> Bytes:
    """Return a column of bytes that are all `width` long, none of them null, as rows."""
    parts = []
    for chunk in column.chunks:
        if len(chunk):
            start = chunk.buffers()[1] and np.frombuffer(chunk.buffers()[1], np.int32, 1, chunk.offset * 4)[0]
            parts.append(np.frombuffer(chunk.buffers()[2], np.uint8, len(chunk) * width, int(start)).reshape(-1, width))
    return np.concatenate(parts) if parts else np.zeros((0, width), np.uint8)
