"""The examiner: finds out whether this node's memory is wrong if there is doubt about a partition's state.

It folds the partition separately, from a verified snapshot or the log's beginning, and compares the result with memory.
It stops the partition only if its own fold differs. Otherwise the node that raised the doubt may be wrong, and is
counted and named. An unverified commit may be wrong, too: the one that this node loaded, or the other node.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import NamedTuple

import structlog

from topicfold.errors import StateDiverged, TopicfoldError
from topicfold.log.port import Log
from topicfold.runtime.reader import Reader, Withhold
from topicfold.runtime.refold import Base, refold
from topicfold.runtime.task_end import end_tasks
from topicfold.state.fold import NewState, PartitionState

_log = structlog.get_logger(__name__)

REEXAMINE_AFTER_SECONDS = 600.0
"""For so long a node that accused wrongly is not believed again: examining costs as much as folding."""


class Conclusion(StrEnum):
    """The result of an examination."""

    MEMORY_WRONG = "memory_wrong"
    MEMORY_RIGHT = "memory_right"
    NOT_EXAMINED = "not_examined"


class Doubt(NamedTuple):
    """What speaks against the state of `partition` at `position`.

    `is_mine` tells of a state folded aside up to there whether memory was the same. `accuser` is the node that doubts,
    "" for this one itself.
    """

    partition: int
    position: int
    text: str
    is_mine: Callable[[PartitionState], Awaitable[bool]]
    accuser: str = ""


class Examiner:
    """At most one examination of a partition goes on at a time; what is doubted meanwhile is not examined.

    `to_answer` are partitions that another node doubted wrongly, and does not know it yet. `disbelieved` says until
    when no notice is taken of a node, by partition and name; whoever may write to the log may call themselves anything.
    """

    def __init__(
        self,
        log: Log,
        reader: Reader,
        new_state: NewState,
        base: Base,
        withhold: Withhold,
    ) -> None:
        self.conclusions: Counter[Conclusion] = Counter()
        self.last: dict[int, tuple[Doubt, Conclusion]] = {}
        self.to_answer: set[int] = set()
        self._log = log
        self._reader = reader
        self._new_state = new_state
        self._base = base
        self._withhold = withhold
        self._running: dict[int, asyncio.Task[None]] = {}
        self.disbelieved: dict[tuple[int, str], float] = {}

    def examine(self, doubt: Doubt) -> None:
        """Begin to find out about `doubt`.

        Nothing happens where the partition is being examined or has stopped, or the accuser was wrong not long ago.
        """
        if doubt.partition in self._running or doubt.partition in self._reader.faults:
            return
        if self.disbelieved.get((doubt.partition, doubt.accuser), -math.inf) > asyncio.get_running_loop().time():
            return
        task = self._running[doubt.partition] = asyncio.create_task(self._examine(doubt))
        task.add_done_callback(lambda _: self._running.pop(doubt.partition, None))

    async def idle(self) -> None:
        """Return once nothing is being examined."""
        while self._running:
            await asyncio.wait(self._running.values())

    async def close(self) -> None:
        """Give up what goes on."""
        await end_tasks(self._running.values())

    async def _examine(self, doubt: Doubt) -> None:
        told = {"partition": doubt.partition, "position": doubt.position, "doubt": doubt.text, "node": doubt.accuser}
        try:
            base = await self._base(doubt.partition, doubt.position) or self._new_state(doubt.partition)
            refolded = await refold(self._log, base, doubt.position)
            is_mine = None if refolded is None else await doubt.is_mine(refolded)
        except TopicfoldError as error:
            is_mine = None
            told["reason"] = error.reason
        except Exception:  # noqa: BLE001 -- a defect here says nothing about the state, and must not stop it
            _log.exception("examination_failed", **told)
            is_mine = None
        if is_mine is None:
            conclusion = Conclusion.NOT_EXAMINED
            _log.warning("state_not_examined", **told)
        elif is_mine:
            conclusion = Conclusion.MEMORY_RIGHT
            _log.warning("state_is_right", **told)
            if doubt.accuser:
                self._disbelieve(doubt)
                self.to_answer.add(doubt.partition)
        else:
            conclusion = Conclusion.MEMORY_WRONG
            self._stop(doubt)
        self.conclusions[conclusion] += 1
        self.last[doubt.partition] = doubt, conclusion

    def _disbelieve(self, doubt: Doubt) -> None:
        """Take no notice of who raised `doubt` for a while; forget those of whom notice is taken again."""
        now = asyncio.get_running_loop().time()
        self.disbelieved = {accuser: until for accuser, until in self.disbelieved.items() if until > now}
        self.disbelieved[doubt.partition, doubt.accuser] = now + REEXAMINE_AFTER_SECONDS

    def _stop(self, doubt: Doubt) -> None:
        self._reader.stop(
            StateDiverged(
                f"its state in memory does not agree with the log up to offset {doubt.position}: {doubt.text}",
                partition=doubt.partition,
                offset=doubt.position,
            ),
            doubt.partition,
        )
        self._withhold(doubt.partition)
