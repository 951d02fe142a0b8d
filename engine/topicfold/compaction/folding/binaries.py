"""Bytes of one length: from numpy's rows to an Arrow column."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from topicfold.compaction.folding.spans import Bytes


def binaries(rows: Bytes) -> pa.BinaryArray:
    """Return rows of bytes, all of one length, as a column."""
    count, width = rows.shape
    ends = np.arange(count + 1, dtype=np.int32) * width
    return pa.Array.from_buffers(pa.binary(), count, [None, pa.py_buffer(ends), pa.py_buffer(rows.tobytes())])
