"""Pieces of a buffer, kept as starts and lengths for a million pieces at once, and copied only where needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from topicfold.errors import TooLarge

Bytes = npt.NDArray[np.uint8]
Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

SMALLER_HINT = "Give the job smaller batches or more slices: --batch-rows, --slices."
"""The hint for a slice that is too large."""

_INLINE = 12
_MAX_BYTES = (1 << 31) - 1
_PADDING = 128
_FILLED = 64
_FIRST_EIGHT = np.array([(1 << 8 * min(length, 8)) - 1 for length in range(9)], dtype=np.uint64)
_NEXT_FOUR = np.array([(1 << 8 * max(length - 8, 0)) - 1 for length in range(_INLINE + 1)], dtype=np.uint32)
"""By a piece's length: masks for those of its first eight and next four bytes that belong to it."""


@dataclass(frozen=True, slots=True)
class Spans:
    """Pieces of `data`, which is padded after the last piece, so that reading a little too far does no harm."""

    data: Bytes
    starts: Numbers
    lengths: Numbers

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, number: int) -> bytes:
        start = int(self.starts[number])
        return self.data[start : start + int(self.lengths[number])].tobytes()

    def at(self, rows: npt.NDArray[np.int64] | npt.NDArray[np.bool_]) -> Spans:
        """Return only these pieces."""
        return Spans(self.data, self.starts[rows], self.lengths[rows])

    def cut(self) -> pa.BinaryArray:
        """Return the pieces as a column. Cost: 0.2 µs a piece.

        This builds Arrow's string views (length, first four bytes, buffer, offset; or up to twelve bytes in place),
        which Arrow itself then casts to a plain column.
        """
        first_eight = _words(self.data, np.dtype(np.uint64))[self.starts] & _FIRST_EIGHT[np.minimum(self.lengths, 8)]
        next_four = (
            _words(self.data, np.dtype(np.uint32))[self.starts + 8] & _NEXT_FOUR[np.minimum(self.lengths, _INLINE)]
        )
        is_short = self.lengths <= _INLINE
        views = np.empty((len(self), 4), dtype=np.uint32)
        views[:, 0] = self.lengths
        views[:, 1] = first_eight & 0xFFFFFFFF
        views[:, 2] = np.where(is_short, first_eight >> 32, 0)
        views[:, 3] = np.where(is_short, next_four, self.starts)
        buffers = [None, pa.py_buffer(views), pa.py_buffer(self.data)]
        return pa.Array.from_buffers(pa.binary_view(), len(self), buffers).cast(pa.binary())

    def windows(self, width: int) -> Bytes:
        """Return `width` bytes from the start of each piece, as rows; they may extend beyond the piece."""
        rows: Bytes = _words(self.data, np.dtype((np.void, width)))[self.starts].view(np.uint8).reshape(-1, width)
        return rows


def rows_at(rows: Bytes, places: Numbers) -> Bytes:
    """Return these `rows` of bytes. Cost: a seventh of what indexing takes, if the places are consecutive."""
    return rows.take(places, axis=0)


def spans_of_column(column: pa.BinaryArray) -> Spans:
    """Return the values of a column without nulls as pieces."""
    _, ends, content = column.buffers()
    bounds = np.frombuffer(ends, np.int32, column.offset + len(column) + 1)[column.offset :].astype(np.int64)
    data = np.frombuffer(content, np.uint8) if content is not None else np.zeros(0, np.uint8)
    data = data[bounds[0] : bounds[-1]]
    return spans_of(data, bounds[:-1] - bounds[0], np.diff(bounds))


def joined_spans(parts: Sequence[Spans]) -> Spans:
    """Return all pieces of `parts` as pieces of one new buffer, without what was between them."""
    return spans_of_column(pa.concat_arrays([each.cut() for each in parts]))


def different(pieces: Spans) -> tuple[Numbers, Spans]:
    """Return the distinct pieces, and for each piece its index among them. Pieces must contain their own lengths.

    Cost: 0.03 µs a piece if none has more than 64 bytes: all are padded to one length, because Arrow compares columns
    of fixed width fastest.
    """
    width = int(pieces.lengths.max(initial=1))
    if width > _FILLED:
        encoded = pieces.cut().dictionary_encode()
        return codes_of(encoded), spans_of_column(encoded.dictionary)
    rows = pieces.windows(width)
    rows *= np.arange(width) < pieces.lengths[:, None]
    encoded = pa.Array.from_buffers(pa.binary(width), len(rows), [None, pa.py_buffer(rows)]).dictionary_encode()
    count = len(encoded.dictionary)
    data = np.frombuffer(encoded.dictionary.buffers()[1], np.uint8, count * width)
    return codes_of(encoded), spans_of(data, np.arange(count) * width, np.full(count, width))


def codes_of(encoded: pa.DictionaryArray) -> Numbers:
    """Return for each value of a column its index in the dictionary."""
    codes: Numbers = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return codes


def spans_of(data: Bytes, starts: Numbers, lengths: Numbers) -> Spans:
    """Return pieces of a padded copy of `data`.

    Raises:
        TooLarge: `data` is larger than what one column can hold.
    """
    if len(data) > _MAX_BYTES - _PADDING:
        raise TooLarge(
            f"a slice of the batch has {len(data)} bytes, at most {_MAX_BYTES} are possible",
            hint=SMALLER_HINT,
        )
    return Spans(np.concatenate([data, np.zeros(_PADDING, np.uint8)]), starts, lengths)


def _words(data: Bytes, kind: np.dtype[Any]) -> npt.NDArray[Any]:
    """Return a view of the value of this kind that begins at each byte; numbers are little-endian."""
    return np.ndarray((len(data) - kind.itemsize + 1,), kind.newbyteorder("<"), data.data, 0, (1,))


def binaries(rows: Bytes) -> pa.BinaryArray:
    """Return rows of bytes, all of one length, as a column."""
    count, width = rows.shape
    ends = np.arange(count + 1, dtype=np.int32) * width
    return pa.Array.from_buffers(pa.binary(), count, [None, pa.py_buffer(ends), pa.py_buffer(rows.tobytes())])
