"""Which topic events count at all: those written at the current level, in a life of a namespace that is live there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from topicfold.compaction.owners import Life, OwnerFold
from topicfold.compaction.records import Records
from topicfold.compaction.spans import Flags, Numbers
from topicfold.model.events import AggregateKind, Kind
from topicfold.model.names import split_topic

_PLACES = 1 << 44
"""Above any offset: a namespace's number and an offset make one number that sorts by both."""


@dataclass(frozen=True, slots=True)
class TopicEvents:
    """Topic events at the current level, in namespaces that are known; sorted as the records are.

    `rows` are their places in the records. `names` and `namespaces` are given once each; `name` and `namespace` say
    which, by event, and `name_namespace` by name. A namespace is one of one partition: `partitions`.
    """

    rows: Numbers
    name: Numbers
    namespace: Numbers
    names: npt.NDArray[np.object_]
    keys: npt.NDArray[np.object_]
    namespaces: Sequence[str]
    partitions: Sequence[int]
    name_namespace: Numbers


@dataclass(frozen=True, slots=True)
class Candidates(TopicEvents):
    """Those of them that are accepted if their base is the topic's version.

    `life` numbers the namespace's lives in the batch, 0 for the one it had before.
    """

    life: Numbers


def topic_events_of(records: Records, folds: Sequence[OwnerFold]) -> TopicEvents:
    """Return the topic events among `records`, after their owners were folded.

    Records behind a level that this version does not know are none.
    """
    acts = (records.kinds == Kind.PUT) | (records.kinds == Kind.DELETE)
    named = acts & (records.aggregate_kinds == AggregateKind.TOPIC) & records.event_ids.any(axis=1)
    rows = np.flatnonzero(named & _is_at_level(records, folds))
    name, names, owners = _names(records, rows, len(folds))
    places = [split_topic(each) for each in names.tolist()]
    found: dict[tuple[int, str], int] = {}
    name_namespace = np.full(len(names), -1, dtype=np.int64)
    keys = np.empty(len(names), dtype=object)
    for number, (place, owner) in enumerate(zip(places, owners.tolist(), strict=True)):
        if place is not None and place[0] in folds[owner].lives:
            name_namespace[number] = found.setdefault((owner, place[0]), len(found))
            keys[number] = place[1]
    namespace = name_namespace[name]
    is_known = namespace >= 0
    return TopicEvents(
        rows[is_known], name[is_known], namespace[is_known], names, keys,
        [each for _, each in found], [owner for owner, _ in found], name_namespace,
    )  # fmt: skip


def candidates_of(records: Records, events: TopicEvents, folds: Sequence[OwnerFold]) -> Candidates:
    """Return the candidates among `events`."""
    owners = zip(events.partitions, events.namespaces, strict=True)
    lives = [folds[owner].lives[namespace] for owner, namespace in owners]
    life, incarnations = _life_at(lives, events.namespace, records.offsets[events.rows])
    counts = (incarnations == records.namespace_ids[events.rows]).all(axis=1) & incarnations.any(axis=1)
    return Candidates(
        events.rows[counts], events.name[counts], events.namespace[counts], events.names, events.keys,
        events.namespaces, events.partitions, events.name_namespace, life[counts],
    )  # fmt: skip


def _names(records: Records, rows: Numbers, partitions: int) -> tuple[Numbers, npt.NDArray[np.object_], Numbers]:
    """Return for each of `rows` the number of its name; and of all names each one's text and partition.

    A name in the wrong partition is another name: it has no namespace there.
    """
    encoded = records.names.dictionary_encode().combine_chunks()
    words = np.array(encoded.dictionary.to_pylist(), dtype=object)
    name = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)[rows]
    owner = records.partitions[rows]
    owners = np.zeros(len(words), dtype=np.int64)
    owners[name] = owner
    if (owners[name] == owner).all():
        return name, words, owners
    pairs, number = np.unique(name * partitions + owner, return_inverse=True)
    return number, words[pairs // partitions], pairs % partitions


def _is_at_level(records: Records, folds: Sequence[OwnerFold]) -> Flags:
    levels = np.zeros(len(records), dtype=np.int64)
    for fold in folds:
        mine = records.partitions == fold.partition
        for offset, level in fold.levels:
            levels[mine & (records.offsets > offset)] = level
        if fold.stop is not None:
            levels[mine & (records.offsets >= fold.stop)] = -1
    found: Flags = records.levels == levels
    return found


def _life_at(lives: Sequence[Sequence[Life]], namespace: Numbers, offsets: Numbers) -> tuple[Numbers, np.ndarray]:
    """Return the number of the life that each namespace has at that offset, and its incarnation."""
    counts = np.array([len(each) for each in lives], dtype=np.int64)
    if not len(counts):
        return np.zeros(len(offsets), np.int64), np.zeros((len(offsets), 16), np.uint8)
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    turns = np.array([number * _PLACES + each.offset + 1 for number, of in enumerate(lives) for each in of])
    ids = np.frombuffer(b"".join(each.incarnation for of in lives for each in of), np.uint8).reshape(-1, 16)
    found = np.searchsorted(turns, namespace * _PLACES + offsets, side="right") - 1
    return found - starts[namespace], ids[found]
