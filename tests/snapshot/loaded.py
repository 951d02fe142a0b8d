"""Snapshots of any history that is folded up to any place."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import strategies as st

from tests.builders import an_id, empty_state, namespace_put, topic_put
from tests.compaction.folds import Tables, placed
from tests.state.histories import PARTITION, PARTITIONS, Log
from topicfold.compaction import batch
from topicfold.log.payload import encode_record, payload_schema_of
from topicfold.model.events import Event
from topicfold.model.records import TopicRecord
from topicfold.state.fold import PartitionState

cuts = st.lists(st.integers(0, 60), max_size=6)
seeds = st.integers(0, 1_000_000)


def new_state(partition: int) -> PartitionState:
    """Return a partition with such rings, that has folded nothing."""
    return empty_state(partition, PARTITIONS, client_ring=4, server_ring=3)


def snapshot_of(log: Log, root: Path, cut: Sequence[int] = (), seed: int = 0, rewritten: float = 0.3) -> Tables:
    """Return the tables after `log`, in batches cut at these places; `topics` is rewritten with this chance."""
    chance = random.Random(seed)
    tables = Tables(root, PARTITIONS)
    places = sorted({0, *(each for each in cut if each < len(log)), len(log)})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch, "_must_rewrite", lambda commit: commit is None or chance.random() < rewritten)
        for start, end in pairwise(places):
            tables.take(placed(PARTITION, log[start:end], start), slices=chance.choice((1, 2, 3)))
    return tables


def folded(log: Log) -> PartitionState:
    """Return what a node has that folds all of `log`."""
    state = new_state(PARTITION)
    for each in log:
        state.apply(state.position, each)
    return state


def rows_of(state: PartitionState) -> dict[str, object]:
    """Return every topic's record and labels, by namespace and key, with all that is indexed of it."""
    return {
        f"{namespace}/{key}": (
            table.get(key), table.labels(number), table.shown(number), table.stored_hash(number),
            number in table.undecodable, number in table.pending, number in table.ending,
        )
        for namespace, table in state.topics.items()
        for key, number in table.numbers.items()
    }  # fmt: skip


def topics(*records: TopicRecord, names: Sequence[str] = ()) -> Log:
    """Return a log that makes a topic of each of `records`, in the default namespace."""
    names = names or [f"t{n}" for n in range(len(records))]
    made: list[Event | None] = [namespace_put(1, name="acme/a")]
    for n, (name, record) in enumerate(zip(names, records, strict=True)):
        domain, _, local = name.rpartition("://")
        full = f"{domain or 'persistent'}://acme/a/{local}"
        put = topic_put(n + 2, an_id(1), name=full)
        made.append(put._replace(payload=encode_record(record), payload_schema=payload_schema_of(record)))
    return made
