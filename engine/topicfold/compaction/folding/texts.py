"""Bytes that should be texts, a column at a time: a damaged value is detected and does not affect the others."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from topicfold.compaction.folding.spans import Flags


def texts_of(raw: pa.BinaryArray) -> tuple[pa.StringArray, Flags]:
    """Return the values as texts, and which of them are UTF-8; the others become empty."""
    try:
        return raw.cast(pa.string()), np.ones(len(raw), dtype=bool)
    except pa.ArrowInvalid:
        found = [_text(each) for each in raw.to_pylist()]
        is_text = np.array([each is not None for each in found], dtype=bool)
        return pa.array([each or "" for each in found], pa.string()), is_text


def _text(raw: bytes) -> str | None:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return None
