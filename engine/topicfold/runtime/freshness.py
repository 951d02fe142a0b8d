"""Freshness: how old the folded state may be, and whether the log accepts writes now.

The age of a partition is the time since it was last known to be folded up to the log's end. Also holds what the last
check of the log's settings found.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter

import structlog

from topicfold.errors import LogUnavailable, NotReady, TopicfoldError, Wait
from topicfold.log.port import Log, LogFull, SettingProblem
from topicfold.state.fold import PartitionState

_log = structlog.get_logger(__name__)

SETTINGS_EVERY_SECONDS = 60.0
PROBLEMS_EVERY_SECONDS = 5.0
REFUSED_FOR_SECONDS = 30.0
"""So long after an append that the log gave up on it is said why, unless the partition takes another before."""


@dataclass(frozen=True, slots=True)
class Unsafe:
    """Why a log takes no writes, and the commands that repair it."""

    reason: str
    repair: str


def why_unsafe(problems: Iterable[SettingProblem]) -> Unsafe | None:
    """Return what all of `problems` that refuse writes come to, None where none does."""
    refusing = [each for each in problems if each.refuses_writes]
    if not refusing:
        return None
    wrong = "; ".join(f"{each.setting} is {each.found}, it must be {each.wanted}" for each in refusing)
    return Unsafe(f"the log is unsafe to write to: {wrong}", "; ".join(each.repair for each in refusing))


class Freshness:
    """What is known of the log beyond what is folded."""

    def __init__(self, log: Log, states: Mapping[int, PartitionState], faults: Mapping[int, TopicfoldError]) -> None:
        self.problems: Sequence[SettingProblem] = ()
        self.why_unreachable = ""
        """What the log said when it did not answer, "" where it answered last."""
        self.what_to_do = ""
        """What would have it answer, where it said so; else ""."""
        self.silent: frozenset[int] = frozenset()
        """Partitions that cannot be reached while others can."""
        self._log = log
        self._states = states
        self._faults = faults
        self._loop = asyncio.get_running_loop()
        self._confirmed = dict.fromkeys(states, -math.inf)
        self._awaited: dict[int, tuple[int, float]] = {}
        self._settings_checked = -math.inf
        self._refusals: dict[int, tuple[TopicfoldError, float]] = {}

    @property
    def is_reachable(self) -> bool:
        """Whether the log answered last."""
        return not self.why_unreachable

    @property
    def refusal(self) -> TopicfoldError | None:
        """Why the log gave up on the last append that it did of late, None where each partition took one since."""
        since = self._loop.time() - REFUSED_FOR_SECONDS
        error, at = max(self._refusals.values(), key=itemgetter(1), default=(None, since))
        return error if at > since else None

    def age_seconds(self, partition: int) -> float:
        """Return how old the state of `partition` may be; infinite where it never caught up, growing once stopped."""
        awaited = self._awaited.get(partition)
        if awaited is not None and self._states[partition].position >= awaited[0]:
            self._confirmed[partition] = max(self._confirmed[partition], awaited[1])
            del self._awaited[partition]
        return max(0.0, self._loop.time() - self._confirmed[partition])

    def on_ends(self, ends: Mapping[int, int], asked: float) -> None:
        """Note an answer to a query for the log's ends that was sent at `asked`."""
        if not self.is_reachable:
            _log.info("log_reachable")
            # It may be another one by now.
            self.look_soon()
        self.why_unreachable = self.what_to_do = ""
        if self.silent or len(ends) < len(self._states):
            self._note_silent(frozenset(self._states.keys() - ends.keys()))
        for partition, end in ends.items():
            self.age_seconds(partition)
            if partition not in self._faults:
                # A log that lost records ends sooner than it said before.
                self._awaited[partition] = min(self._awaited.get(partition, (end, asked)), (end, asked))

    def _note_silent(self, silent: frozenset[int]) -> None:
        if silent and silent != self.silent:
            _log.warning("log_partitions_unavailable", partitions=sorted(silent))
        elif not silent:
            _log.info("log_reachable")
        self.silent = silent

    def on_unavailable(self, error: TopicfoldError) -> None:
        """Note that the log did not answer."""
        if self.is_reachable:
            _log.warning("log_unavailable", reason=error.reason)
        self.silent = frozenset()
        self.why_unreachable = error.reason
        self.what_to_do = "" if error.hint == error.default_hint else error.hint

    def refuses_writes(self, partition: int) -> Wait | None:
        """Return why nothing may be appended to `partition` now, None where all is well."""
        fault = self._faults.get(partition)
        if fault is not None:
            return NotReady(f"partition {partition} has stopped: {fault.reason}", hint=fault.hint, partition=partition)
        if self.what_to_do:
            return LogUnavailable(f"{self.why_unreachable}; the change is not applied", hint=self.what_to_do)
        if not self.is_reachable:
            return LogUnavailable("the log cannot be reached; the change is not applied")
        if partition in self.silent:
            return LogUnavailable(
                f"partition {partition} of the log cannot be reached; the change is not applied", partition=partition
            )
        if not self.problems:
            return None
        if unsafe := why_unsafe(self.problems):
            return LogUnavailable(unsafe.reason, hint=unsafe.repair)
        denying = _denying(self.problems, partition)
        if denying is None:
            return None
        why = f"the log's {denying.setting} is {denying.found}"
        return LogUnavailable(f"{why}; the change is not applied", hint=denying.repair)

    def on_taken(self, partition: int) -> None:
        """Note that an append to `partition` is in the log."""
        if self._refusals:
            self._refusals.pop(partition, None)

    def on_refused(self, partition: int, error: TopicfoldError) -> None:
        """Note that the log gave up on an append, and have its settings looked at; those say that it is full."""
        self.look_soon()
        if isinstance(error, LogFull):
            return
        before = self.refusal
        # What is done about it counts: of one right that is taken away Kafka speaks in two sentences by turns.
        if before is None or before.hint != error.hint:
            _log.warning("log_takes_nothing", reason=error.reason, hint=error.hint)
        self._refusals[partition] = error, self._loop.time()

    def look_soon(self) -> None:
        """Have the next `check_settings` look, however new the last look is."""
        self._settings_checked = -math.inf

    async def check_settings(self) -> None:
        """Look at the log's settings, if the last look is a minute old, or some seconds where something is wrong."""
        is_well = not self.problems and all(self.age_seconds(each) < PROBLEMS_EVERY_SECONDS for each in self._states)
        every_seconds = SETTINGS_EVERY_SECONDS if is_well else PROBLEMS_EVERY_SECONDS
        if self._loop.time() - self._settings_checked < every_seconds:
            return
        # Not afterwards: who wants another look meanwhile is to have it.
        self._settings_checked = self._loop.time()
        try:
            problems = await self._log.check_settings()
        except LogUnavailable as error:
            _log.warning("settings_not_checked", reason=error.reason)
            self.look_soon()
            return
        for problem in [each for each in problems if each not in self.problems]:
            tell = _log.warning if problem.is_advice else _log.error
            tell(
                "log_setting", setting=problem.setting, found=problem.found, wanted=problem.wanted,
                refuses_writes=problem.refuses_writes, repair=problem.repair,
            )  # fmt: skip
        for partition in list(self._refusals):
            if _denying(self.problems, partition) and not _denying(problems, partition):
                del self._refusals[partition]
        for setting in sorted({each.setting for each in self.problems} - {each.setting for each in problems}):
            _log.info("log_setting_right", setting=setting)
        self.problems = problems


def _denying(problems: Iterable[SettingProblem], partition: int) -> SettingProblem | None:
    """Return the first of `problems` for which `partition` takes nothing of ours, None where there is none."""
    denying = (each for each in problems if each.denies_writes)
    return next((each for each in denying if each.partitions is None or partition in each.partitions), None)
