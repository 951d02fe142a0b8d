"""The reader: folds what the log delivers, and notifies others in a fixed order.

For each batch, all records are folded into the state, then the topics that they changed are stored, then the tracker
and then the listeners are told of each change. A record has one exit: folded, or a fault that stops its partition;
nothing is skipped. If folding, storing or notifying fails, for example for want of memory, the state may be changed in
part, or somebody may not have been told; so that partition is stopped and answers nothing any more. The reader runs on
the loop, between awaits, so everybody else on the loop sees one cut of the log.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import structlog

from topicfold.errors import LogGap, OperatorNeeded, TopicfoldError
from topicfold.log.codec import decode_event
from topicfold.log.port import Entry
from topicfold.process.shortage import shortage_in
from topicfold.runtime.tracker import Tracker
from topicfold.state.change import Change, Outcome
from topicfold.state.fold import PartitionState

_log = structlog.get_logger(__name__)

Listener = Callable[[int, Change], None]
"""Takes (partition, change), in log order, after the whole batch is folded. Must not raise or block."""

Withhold = Callable[[int], None]
"""Takes a partition that has stopped, and whose state in memory may be wrong: from now on nobody is to be shown it."""

_TOLD_GARBAGE = frozenset(10**power for power in range(12))
"""Who writes something else to the log may do so without end: the node's own log is not to grow with it."""


class Garbage(NamedTuple):
    """How many records of a partition were garbage since the node started, and the offset of the last one."""

    records: int
    last: int


class Reader:
    """Folds every partition. Everybody may read `states`; only the reader changes them."""

    def __init__(self, states: Mapping[int, PartitionState], tracker: Tracker, withhold: Withhold) -> None:
        self.states = states
        self.faults: dict[int, TopicfoldError] = {}
        self.counts: Counter[Outcome] = Counter()
        self.garbage: dict[int, Garbage] = {}
        self._tracker = tracker
        self._withhold = withhold
        self._listeners: tuple[Listener, ...] = ()

    def listen(self, listener: Listener) -> None:
        """Tell `listener` of every change from now on, after the listeners that were there before."""
        self._listeners = (*self._listeners, listener)

    def leave(self, listener: Listener) -> None:
        """Stop telling `listener`; nothing happens if it does not listen."""
        self._listeners = tuple(each for each in self._listeners if each != listener)

    def deliver(self, entries: Sequence[Entry]) -> None:
        """Fold a batch. Records below the position are repetitions and are dropped; above it there is a gap."""
        changes: list[tuple[int, Change]] = []
        touched: set[int] = set()
        for partition, offset, value in entries:
            if partition in self.faults:
                continue
            state = self.states[partition]
            if offset < state.position:
                continue
            if offset > state.position:
                self.stop(
                    LogGap(
                        f"partition {partition}: expected offset {state.position}, found {offset}",
                        partition=partition,
                        expected=state.position,
                        found=offset,
                        hint="Records are missing. Restore the log, or start from a newer snapshot.",
                    ),
                    partition,
                )
                continue
            try:
                change = state.fold(offset, decode_event(value))
                if change.event is None:
                    self._note_garbage(partition, offset)
                changes.append((partition, change))
                touched.add(partition)
            except TopicfoldError as error:
                self.stop(error, partition)
            except Exception as error:  # noqa: BLE001 -- a record has one exit; a defect must not skip it
                self._fail({partition: f"folding failed at offset {offset}"}, error)
        for partition in touched:
            self._store(partition)
        try:
            self._publish(changes, touched)
        except Exception as error:  # noqa: BLE001 -- nobody would tell of these changes later
            self._fail({each: f"telling of changes failed {self._place(each)}" for each in touched}, error)

    def _store(self, partition: int) -> None:
        try:
            self.states[partition].store()
        except Exception as error:  # noqa: BLE001 -- topics that were folded would not be found
            self._fail({partition: f"storing failed {self._place(partition)}"}, error)

    def _place(self, partition: int) -> str:
        return f"in the batch that ends at offset {self.states[partition].position - 1}"

    def _note_garbage(self, partition: int, offset: int) -> None:
        """Count a record that is garbage, and log it if it is a partition's first, tenth, hundredth and so on."""
        records = self.garbage[partition].records + 1 if partition in self.garbage else 1
        self.garbage[partition] = Garbage(records, offset)
        if records in _TOLD_GARBAGE:
            _log.warning("garbage_in_log", partition=partition, offset=offset, records=records)

    def stop(self, fault: TopicfoldError, partition: int | None) -> None:
        """Stop one partition, or all of them for None. What is folded stays readable."""
        for each in self.states if partition is None else (partition,):
            if each not in self.faults:
                self.faults[each] = fault
                _log.error("partition_stopped", partition=each, reason=fault.reason)

    def _fail(self, failed: Mapping[int, str], error: Exception) -> None:
        """Stop partitions that may be folded only in part, or of which not everybody was told, with what failed."""
        shortage = shortage_in(error)
        remedy = "Let this node have more, and restart it" if shortage else "Restart this node"
        hint = f"{remedy}: it then folds the partition again."
        for partition, what in failed.items():
            self.stop(OperatorNeeded(f"{what}: {shortage or repr(error)}", hint=hint), partition)
            self._withhold(partition)
        _log.error("reader_failed", exc_info=error)

    def _publish(self, changes: Sequence[tuple[int, Change]], touched: set[int]) -> None:
        for partition, change in changes:
            self.counts[change.outcome] += 1
            self._tracker.publish(partition, change)
            for listener in self._listeners:
                listener(partition, change)
        for partition in touched:
            self._tracker.publish_position(partition, self.states[partition].position)
