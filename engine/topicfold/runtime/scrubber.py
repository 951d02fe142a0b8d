"""The scrubber: checks from time to time whether memory still holds what was put there.

Digests are sums that the fold keeps up to date, so a bit that flips at rest, in a record or an index, changes none of
them. The scrubber compares everything with the records, in slices; `state.invariants` knows what and how.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import NamedTuple

import structlog

from topicfold.runtime.examiner import Doubt, Examiner
from topicfold.runtime.readiness import Readiness
from topicfold.runtime.slices import Slice
from topicfold.state.fold import PartitionState
from topicfold.state.invariants import Flaw, steps

_log = structlog.get_logger(__name__)

_TOLD = 10
"""Of so many things that were found the report tells."""


class ScrubReport(NamedTuple):
    """One pass over everything: when it ended, how many live topics it saw, what it found, the first few in words."""

    at_ms: int
    topics: int
    found: int
    told: tuple[str, ...]


class Scrubber:
    """`report` is of the last whole pass, None before the first; `found` counts all that was ever found."""

    def __init__(
        self,
        states: Mapping[int, PartitionState],
        readiness: Readiness,
        examiner: Examiner,
        *,
        every_seconds: float,
        clock_ms: Callable[[], int],
    ) -> None:
        self.report: ScrubReport | None = None
        self.found = 0
        self._states = states
        self._readiness = readiness
        self._examiner = examiner
        self._every_seconds = every_seconds
        self._clock_ms = clock_ms

    async def run(self) -> None:
        """Make a pass every so many seconds, for ever; none where that is 0."""
        while self._every_seconds:
            await asyncio.sleep(self._every_seconds)
            try:
                await self.scrub()
            except Exception:  # noqa: BLE001 -- a defect in looking must not end the node
                _log.exception("scrub_failed")

    async def scrub(self) -> None:
        """Look at everything once, letting others have their turn. Cost: as `invariants.steps`."""
        topics, told = 0, []
        turn = Slice()
        for partition, state in self._states.items():
            if not self._readiness.is_ready(partition):
                continue
            for is_topic, flaw in steps(state):
                topics += is_topic
                if flaw is not None:
                    told.append(flaw.text)
                    _log.error("scrub_found", partition=partition, position=state.position, what=flaw.text)
                    self._examiner.examine(_doubt(state, flaw))
                await turn.rest()
        self.found += len(told)
        self.report = ScrubReport(self._clock_ms(), topics, len(told), tuple(told[:_TOLD]))


def _doubt(state: PartitionState, flaw: Flaw) -> Doubt:
    """Return the doubt about what `flaw` sees now."""
    mine = flaw.look(state)

    async def is_mine(refolded: PartitionState) -> bool:
        return flaw.look(refolded) == mine

    return Doubt(state.partition, state.position, flaw.text, is_mine)
