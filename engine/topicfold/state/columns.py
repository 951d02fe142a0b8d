"""The topics of a namespace in columns, from which a table is restored instead of folded."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from pyroaring import BitMap

from topicfold.state.indexes.label_index import LabelIndex
from topicfold.state.pieces import Pieces

ROW = struct.Struct("<16s16sHHq16s")
"""A row's layout: version, event id and place of the ETag, payload schema, offset, hash."""


class Columns(NamedTuple):
    """The topics of a restored table, whose `numbers` are their places in these columns.

    - `rows`: the fixed-size data of each topic, in the layout `ROW`.
    - `labels`: the numbers of each topic's pairs in `label_index`, 4 bytes each.
    - `decoded`: topics whose payload has to be decoded, because it says more than the columns, or something else.
    - `by_length`, `places`: the arguments of `NameIndex.restore`.
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
