"""Tenants and namespaces in a batch, folded by the engine's own fold: their records, and the namespaces' lives.

Every slice folds all of them, because a topic's verdict depends on its namespace's life. No slice alone can know
whether a namespace is empty: where a delete requires that, all slices contribute to a census, and the batch is folded
again with the result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from topicfold.compaction.folding.census import BEFORE, Census
from topicfold.compaction.folding.records import Records
from topicfold.compaction.folding.spans import Flags
from topicfold.errors import LevelUnsupported
from topicfold.model.events import GENESIS, AggregateKind, Event, Kind
from topicfold.state.aggregate import Aggregate
from topicfold.state.change import Change, NamespaceTurn, Outcome
from topicfold.state.fold import PartitionState


class OwnerRows(NamedTuple):
    """One partition's tenants and namespaces before a batch, and its level."""

    level: int
    tenants: Mapping[str, Aggregate]
    namespaces: Mapping[str, Aggregate]


class Life(NamedTuple):
    """After `offset` the namespace has this incarnation; GENESIS means that it is not live."""

    offset: int
    incarnation: bytes


class OwnerFold(PartitionState):
    """A partition without its topics.

    `lives` has an entry for each known namespace. `levels` are pairs: an offset, and the level after it. `stop` is the
    offset of a record with a level that this version does not know. `asked` are the namespaces that a census is needed
    for but does not cover; the result for these is a guess.
    """

    def __init__(self, partition: int, partitions: int, before: OwnerRows, census: Census) -> None:
        super().__init__(partition, partitions, decode=lambda schema, payload: None)
        self.level = before.level
        self.tenants = dict(before.tenants)
        self.namespaces = dict(before.namespaces)
        self.lives = {name: [Life(BEFORE, each.incarnation)] for name, each in before.namespaces.items()}
        self.levels = [(-1, before.level)]
        self.stop: int | None = None
        self.asked: set[str] = set()
        self.changed: set[tuple[int, str]] = set()
        self._census = census

    def step(self, offset: int, event: Event) -> Change | None:
        """Fold one record; return the result, or None if this version must not go beyond that record."""
        self.position = offset
        try:
            change = self.apply(offset, event)
        except LevelUnsupported:
            self.stop = offset
            return None
        if change.outcome is not Outcome.ACCEPTED:
            return change
        if event.kind == Kind.LEVEL:
            self.levels.append((offset, self.level))
        else:
            self.changed.add((event.aggregate_kind, event.name))
        if isinstance(change.effect, NamespaceTurn):
            incarnation = self.namespaces[event.name].incarnation
            self.lives.setdefault(event.name, [Life(BEFORE, GENESIS)]).append(Life(offset, incarnation))
        return change

    def _turn_over(self, namespace: str, is_live: bool) -> bool:
        """Return False, and do nothing: topics are not kept here, and nobody asks here whether there were any."""
        return False

    def _has_topics(self, namespace: str) -> bool:
        if namespace not in self.namespaces or not self.namespaces[namespace].is_live:
            return False
        since = self.lives[namespace][-1].offset
        live_topics = self._census.live_topics((self.partition, namespace), since, self.position)
        if live_topics is None:
            self.asked.add(namespace)
        return live_topics != 0


class OwnerChange(NamedTuple):
    """An accepted event of a tenant or namespace. `is_refused`: a delete after which the namespace is still live."""

    row: int
    event: Event
    change: Change
    is_refused: bool


def is_owners(records: Records) -> Flags:
    """Return which records an `OwnerFold` must see."""
    acts = np.isin(records.kinds, (Kind.PUT, Kind.DELETE))
    owners = np.isin(records.aggregate_kinds, (AggregateKind.TENANT, AggregateKind.NAMESPACE))
    found: Flags = (acts & owners) | (records.kinds == Kind.LEVEL)
    return found


def fold_owners(
    records: Records, before: Sequence[OwnerRows], census: Census
) -> tuple[list[OwnerFold], list[OwnerChange]]:
    """Return each partition's fold of its owners after `records`, and the owners' accepted events in order of row."""
    folds = [OwnerFold(number, len(before), rows, census) for number, rows in enumerate(before)]
    accepted = []
    for row in np.flatnonzero(is_owners(records)).tolist():
        fold = folds[int(records.partitions[row])]
        if fold.stop is not None:
            continue
        event = records.event(row)
        change = fold.step(int(records.offsets[row]), event)
        if change is not None and change.outcome is Outcome.ACCEPTED and event.kind != Kind.LEVEL:
            deletes_namespace = event.kind == Kind.DELETE and event.aggregate_kind == AggregateKind.NAMESPACE
            still_lives = deletes_namespace and fold.namespaces[event.name].is_live
            accepted.append(OwnerChange(row, event, change, still_lives))
    return folds, accepted
