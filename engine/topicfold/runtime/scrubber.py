"""The scrubber: looks every now and then whether what lies in memory is still what was put there.

Digests are sums kept up to date by the fold, so a bit that flips in a record at rest changes none of them. The scrubber
computes each record's hash anew, reads its labels anew, and compares with what is stored; in slices.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import NamedTuple

import structlog

from topicfold.model.events import AggregateKind
from topicfold.model.names import split_topic, topic_of_key
from topicfold.runtime.examiner import Doubt, Examiner
from topicfold.runtime.readiness import Readiness
from topicfold.runtime.slices import Slice
from topicfold.state.aggregate import Aggregate, add_hashes, hash_of
from topicfold.state.fold import PartitionState

_log = structlog.get_logger(__name__)

_TOLD = 10
"""Of so many things that were found the report tells."""


class ScrubReport(NamedTuple):
    """One pass over everything: when it ended, how many topics it saw, what it found, the first few in words."""

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
        """Look at everything once, letting others have their turn. Cost: 6 µs a topic with five labels."""
        topics, told = 0, []
        turn = Slice()
        for partition, state in self._states.items():
            if not self._readiness.is_ready(partition):
                continue
            for is_topic, found in _steps(state):
                topics += is_topic
                if found is not None:
                    told.append(found.text)
                    _log.error("scrub_found", partition=partition, position=found.position, what=found.text)
                    self._examiner.examine(found)
                await turn.rest()
        self.found += len(told)
        self.report = ScrubReport(self._clock_ms(), topics, len(told), tuple(told[:_TOLD]))


def _steps(state: PartitionState) -> Iterator[tuple[bool, Doubt | None]]:
    """Yield, after each aggregate, whether it was a topic, and what is wrong. The fold may go on between two steps."""
    since, total = state.accepted_to, 0
    for kind, owners in ((AggregateKind.TENANT, state.tenants), (AggregateKind.NAMESPACE, state.namespaces)):
        for name in list(owners):
            total = add_hashes(total, hash_of(kind, name, owners[name]))
            yield False, None
    if state.accepted_to == since and total != state.own_digest_sum:
        yield False, _doubt(state, "the sum of tenants and namespaces is not that of its parts", _owners)
    for namespace in list(state.topics):
        yield from _topic_steps(state, namespace)


def _topic_steps(state: PartitionState, namespace: str) -> Iterator[tuple[bool, Doubt | None]]:
    table = state.topics.get(namespace)
    if table is None:
        return
    since, total = state.accepted_to, 0
    for number in range(len(table.keys)):
        name = topic_of_key(namespace, table.keys[number])
        total = add_hashes(total, table.stored_hash(number))
        is_sound = table.is_sound(number, name)
        yield True, None if is_sound else _topic_doubt(state, name)
    if state.accepted_to == since and total != table.digest_sum:
        text = f"the sum of {namespace} is not that of its topics"
        yield False, _doubt(state, text, lambda each: _table_sum(each, namespace))


def _topic_doubt(state: PartitionState, name: str) -> Doubt:
    return _doubt(state, f"what is stored of {name} does not fit its record", lambda each: _stored(each, name))


def _doubt(state: PartitionState, text: str, look: Callable[[PartitionState], Hashable]) -> Doubt:
    """Return the doubt about what `look` sees now."""
    mine = look(state)

    async def is_mine(refolded: PartitionState) -> bool:
        return look(refolded) == mine

    return Doubt(state.partition, state.position, text, is_mine)


def _owners(state: PartitionState) -> Hashable:
    aggregates = (*sorted(state.tenants.items()), *sorted(state.namespaces.items()))
    return state.own_digest_sum, tuple([(name, _content(each)) for name, each in aggregates])


def _table_sum(state: PartitionState, namespace: str) -> Hashable:
    table = state.topics.get(namespace)
    return None if table is None else table.digest_sum


def _stored(state: PartitionState, name: str) -> Hashable:
    """Return everything about one topic that is stored, and that two folds of one log must agree about."""
    namespace, key = split_topic(name) or ("", "")
    table = state.topics.get(namespace)
    number = None if table is None else table.numbers.get(key)
    if table is None or number is None:
        return None
    borne = tuple(sorted(table.labels(number).items()))
    listed = tuple([number in (table.index.having(*pair) or ()) for pair in borne])
    return _content(table.row(number)), table.stored_hash(number), borne, listed


def _content(aggregate: Aggregate) -> Aggregate:
    """Return an aggregate without where its event lies, which no digest covers."""
    return aggregate._replace(offset=0)
