"""The operations that accepted events carry, in columns, each with the ETag it left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from topicfold.compaction.folding.envelopes import OPERATION_BYTES
from topicfold.compaction.folding.spans import Bytes, Flags, Numbers, Spans, spans_of
from topicfold.model.events import Verdict


@dataclass(frozen=True, slots=True)
class Operations:
    """The operations of some events, in the events' order.

    By operation: `event` is the index of its event, `place` its place in that event, from 1. By event: `starts` is the
    index of its first operation here, `last_change` the place of its last operation that changed the record, 0 if none
    did.
    """

    event: Numbers
    place: Numbers
    starts: Numbers
    ids: Bytes
    verdicts: Numbers
    by_client: Flags
    body_hashes: Bytes
    last_change: Numbers

    def change_up_to(self) -> Numbers:
        """Return, by operation, the place of its event's last one, up to itself, that changed the record; else 0."""
        here = np.arange(len(self.event))
        last = np.maximum.accumulate(np.where(self.verdicts == Verdict.CHANGED, here, -1)) if len(here) else here
        first = self.starts[self.event]
        return np.where(last >= first, last - first + 1, 0)


def operations_of(raw: Spans) -> Operations:
    """Return the operations of events, given the operations' part of their envelopes."""
    counts = raw.lengths // OPERATION_BYTES
    starts = np.cumsum(counts) - counts
    event = np.repeat(np.arange(len(raw)), counts)
    place = np.arange(len(event)) - starts[event] + 1
    table = Spans(raw.data, raw.starts[event] + (place - 1) * OPERATION_BYTES, raw.lengths[event]).windows(
        OPERATION_BYTES
    )
    verdicts = (table[:, 16] & 0x7F).astype(np.int64)
    last_change = np.zeros(len(raw), dtype=np.int64)
    np.maximum.at(last_change, event, np.where(verdicts == Verdict.CHANGED, place, 0))
    return Operations(
        event, place, starts, table[:, :16], verdicts, table[:, 16] >= 0x80, table[:, 17:25], last_change
    )  # fmt: skip


def joined_operations(parts: Sequence[tuple[Operations, int]]) -> Operations:
    """Return all operations of `parts`, each given with the number of its first event."""
    nothing = operations_of(spans_of(np.zeros(0, np.uint8), *[np.zeros(0, np.int64)] * 2))
    whole = [(nothing, 0), *parts]
    ends = np.cumsum([0, *(len(each.event) for each, _ in whole)])
    return Operations(
        np.concatenate([each.event + first for each, first in whole]),
        np.concatenate([each.place for each, _ in whole]),
        np.concatenate([each.starts + end for (each, _), end in zip(whole, ends[:-1], strict=True)]),
        np.concatenate([each.ids for each, _ in whole]),
        np.concatenate([each.verdicts for each, _ in whole]),
        np.concatenate([each.by_client for each, _ in whole]),
        np.concatenate([each.body_hashes for each, _ in whole]),
        np.concatenate([each.last_change for each, _ in whole]),
    )
