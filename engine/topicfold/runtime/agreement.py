"""Agreement: nodes write digests of their states to the log, and each compares them with its own.

A digest record states the digest at the writer's position. If the log is quiet, the record lands exactly there, and
every node compares at once. If other events come in between, every node remembers its own state at that record, and
the next digest record states what the writer's was there. So nothing is kept per event, and the fold never waits:
records are examined some moments after they are folded.

Source: etcd's periodic hash check; KIP-595's and VoltDB's comparison of replicas.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import structlog

from topicfold.errors import TopicfoldError, Wait
from topicfold.log.digest_record import Statement, digest_value, statements_in
from topicfold.log.port import Log
from topicfold.runtime.examiner import Doubt, Examiner
from topicfold.runtime.readiness import Readiness
from topicfold.runtime.refold import digest_in_slices, lay_out_in_slices
from topicfold.state.digest import DigestMark, DigestRecord
from topicfold.state.fold import PartitionState

_log = structlog.get_logger(__name__)

LOOK_EVERY_SECONDS = 0.5
_OWN_REMEMBERED = 64
_MAX_NODES = 100
"""Names of nodes that a report keeps; whoever may write to the log may call themselves anything."""


class Compared(NamedTuple):
    """One comparison of the state at `position` with what `node` stated, at `at_ms` by the wall clock."""

    position: int
    node: str
    is_equal: bool
    at_ms: int


@dataclass(slots=True)
class AgreementReport:
    """The comparisons of one partition: how many there were, and how many differed, by node.

    `by_node` is the last with each node, the newest at the end.
    """

    compared: int = 0
    differences: Counter[str] = field(default_factory=Counter)
    by_node: dict[str, Compared] = field(default_factory=dict)

    @property
    def last(self) -> Compared | None:
        """The newest comparison, None before the first."""
        return next(reversed(self.by_node.values()), None)

    def add(self, compared: Compared) -> None:
        """Count one more comparison."""
        self.compared += 1
        self.by_node.pop(compared.node, None)
        self.by_node[compared.node] = compared
        if not compared.is_equal:
            self.differences[compared.node] += 1
        if len(self.by_node) > _MAX_NODES:
            oldest = next(iter(self.by_node))
            del self.by_node[oldest]
            self.differences.pop(oldest, None)


@dataclass(slots=True)
class _Progress:
    """Where one partition is. `spoken_to` is the newest position that any digest record speaks of."""

    begun: int
    heard_to: int
    spoken_to: int
    due: float | None = None


class Agreement:
    """One node's side of the agreement; `run` never returns.

    A record is logged if an event was accepted since what the last one speaks of: after a random wait of up to
    `within_seconds` and at least half of that, begun anew when another node's arrives. One is an answer, and needs no
    such event: to a node that said otherwise and was wrong, so that it hears of it where nothing else happens. With 0
    none is logged, and all are compared.
    """

    def __init__(
        self,
        log: Log,
        states: Mapping[int, PartitionState],
        readiness: Readiness,
        examiner: Examiner,
        refuses_writes: Callable[[int], Wait | None],
        *,
        node: str,
        within_seconds: float,
        new_id: Callable[[], bytes],
        random_share: Callable[[], float],
        clock_ms: Callable[[], int],
    ) -> None:
        self.node = node
        self.logged = 0
        self.reports = {partition: AgreementReport() for partition in states}
        self._log = log
        self._states = states
        self._readiness = readiness
        self._examiner = examiner
        self._refuses_writes = refuses_writes
        self._within_seconds = within_seconds
        self._new_id = new_id
        self._random_share = random_share
        self._clock_ms = clock_ms
        self._loop = asyncio.get_running_loop()
        self._progress: Mapping[int, _Progress] = {}
        self._own: deque[bytes] = deque(maxlen=_OWN_REMEMBERED)

    def begin(self, positions: Mapping[int, int]) -> None:
        """Note where the fold begins: nothing before that can be compared, or has to be stated."""
        self._progress = {partition: _Progress(at, at, at) for partition, at in positions.items()}

    async def run(self) -> None:
        """Look at all partitions, again and again."""
        while True:
            try:
                await self.look()
            except Exception:  # noqa: BLE001 -- a defect in comparing must not end the node
                _log.exception("agreement_failed")
            await asyncio.sleep(LOOK_EVERY_SECONDS)

    async def look(self) -> None:
        """Compare what other nodes have said since the last look, and say what is due."""
        for partition, state in self._states.items():
            if self._readiness.is_ready(partition):
                await lay_out_in_slices(state)
                await self._hear(state, self._progress[partition])
                await self._speak(state, self._progress[partition])

    async def _hear(self, state: PartitionState, progress: _Progress) -> None:
        records = [*state.digest_records]
        for record in records:
            if record.offset < progress.heard_to:
                continue
            progress.heard_to = record.offset + 1
            statements = statements_in(record.event, state.partition)
            if not statements:
                continue
            progress.due = None
            for statement in statements:
                progress.spoken_to = max(progress.spoken_to, min(statement.position, record.offset))
                mark = _mark_at(records, statement.position)
                if mark and statement.position >= progress.begun and record.event.event_id not in self._own:
                    await self._compare(state.partition, mark, statement, record.event.name)

    async def _compare(self, partition: int, mark: DigestMark, theirs: Statement, node: str) -> None:
        mine = await digest_in_slices(mark)
        is_equal = mine == theirs.digest
        self.reports[partition].add(Compared(theirs.position, node, is_equal, self._clock_ms()))
        if is_equal:
            self._examiner.to_answer.discard(partition)
            return
        _log.warning("digest_differs", partition=partition, position=theirs.position, node=node)
        self._examiner.examine(
            Doubt(
                partition,
                mark.position,
                f"node {node} has another digest at {theirs.position}",
                lambda refolded: _has_digest(refolded, mine),
                node,
            )
        )

    async def _speak(self, state: PartitionState, progress: _Progress) -> None:
        """Log a record if one is due; draw when it will be if it has just become needed."""
        is_answer = state.partition in self._examiner.to_answer
        if not self._within_seconds or (state.accepted_to <= progress.spoken_to and not is_answer):
            progress.due = None
            return
        now = self._loop.time()
        if progress.due is None:
            progress.due = now + self._within_seconds * (0.5 + self._random_share() / 2)
        if now < progress.due or self._refuses_writes(state.partition):
            return
        progress.due = None
        marks = [record.mark for record in state.digest_records if record.mark]
        unspoken = [mark for mark in marks[-1:] if mark.since > progress.spoken_to]
        told = [*unspoken, state.mark()]
        statements = tuple([Statement(each.position, await digest_in_slices(each)) for each in told])
        if state.digest_records and state.digest_records[-1].offset >= progress.heard_to:
            return
        event_id = self._new_id()
        self._own.append(event_id)
        try:
            value = digest_value(state.level, event_id, self.node, state.partition, statements)
            self._log.append(state.partition, value, _let_go)
        except TopicfoldError as error:
            _log.debug("digest_not_logged", partition=state.partition, reason=error.reason)
        else:
            self.logged += 1
            self._examiner.to_answer.discard(state.partition)


def _mark_at(records: Iterable[DigestRecord], position: int) -> DigestMark | None:
    """Return a mark of the state at `position`, None where none was kept."""
    return next((record.mark for record in records if record.mark and record.mark.speaks_of(position)), None)


async def _has_digest(state: PartitionState, digest: bytes) -> bool:
    await lay_out_in_slices(state)
    return await digest_in_slices(state.mark()) == digest


def _let_go(error: TopicfoldError) -> None:
    """Ignore the outcome of a digest record: if it is lost, another is due soon."""
