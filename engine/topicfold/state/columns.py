"""The topics of a namespace in columns, as a table takes them that is restored and not folded."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from pyroaring import BitMap

from topicfold.state.label_index import LabelIndex
from topicfold.state.pieces import Pieces

ROW = struct.Struct("<16s16sHHq16s")
"""A row: version, event id and place of the ETag, payload schema, offset, hash."""


class Columns(NamedTuple):
    """The topics of a table that is restored, whose `numbers` are their places here.

    `rows` holds of each, in `ROW`'s layout: version, ETag, payload schema, offset, hash; `labels` the numbers, of 4
    bytes, of its pairs in `label_index`. Of the numbers in `decoded` the payload says more than is here, or
    something else. `by_length` and `places` are what `NameIndex.restore` takes.
    """

    keys: list[str]
    numbers: dict[str, int]
    rows: bytearray
    payloads: Pieces
    labels: Pieces
    live: BitMap
    non_persistent: BitMap
    system: BitMap
    partitions: dict[int, int]
    kafka_names: dict[int, str]
    decoded: Sequence[int]
    label_index: LabelIndex
    by_length: Mapping[int, array[int]]
    places: Iterable[tuple[tuple[int, str], array[int]]]
    digest_sum: int
