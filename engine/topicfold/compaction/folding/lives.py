"""Which topic events count at all: those written at the current level, in the current life of a live namespace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from topicfold.compaction.folding.owners import Life, OwnerFold
from topicfold.compaction.folding.records import Records
from topicfold.compaction.folding.spans import Flags, Numbers, rows_at
from topicfold.compaction.folding.topic_names import split_topics
from topicfold.model.events import AggregateKind, Kind

_PLACES = 1 << 44
"""More than any offset, so that a namespace's number and an offset can be combined into one sortable number."""


@dataclass(frozen=True, slots=True)
class TopicEvents:
    """Topic events at the current level, in known namespaces, sorted like the records.

    `rows` are their places in the records. `names` and `namespaces` are distinct; `name` and `namespace` are indices
    into them, by event. `keys` has the key of each name, `partitions` the partition of each namespace.
    """

    rows: Numbers
    name: Numbers
    namespace: Numbers
    names: pa.StringArray
    keys: pa.StringArray
    namespaces: Sequence[str]
    partitions: Sequence[int]


@dataclass(frozen=True, slots=True)
class Candidates(TopicEvents):
    """The topic events that are accepted if their base is the topic's version.

    `life` numbers the namespace's lives in the batch; 0 is the one that it had before.
    """

    life: Numbers


def topic_events_of(records: Records, folds: Sequence[OwnerFold]) -> TopicEvents:
    """Return the topic events among `records`; `folds` are their folded owners.

    Records from a level record that this version does not know on are left out.
    """
    acts = (records.kinds == Kind.PUT) | (records.kinds == Kind.DELETE)
    named = acts & (records.aggregate_kinds == AggregateKind.TOPIC) & records.event_ids.any(axis=1)
    rows = np.flatnonzero(named & _is_at_level(records, folds))
    name, names, owners = _names(records, rows, len(folds))
    spaces, keys = split_topics(names)
    name_namespace, found = _known(owners, spaces, folds)
    namespace = name_namespace[name]
    is_known = namespace >= 0
    return TopicEvents(
        rows[is_known], name[is_known], namespace[is_known], names, keys,
        [each for _, each in found], [owner for owner, _ in found],
    )  # fmt: skip


def candidates_of(records: Records, events: TopicEvents, folds: Sequence[OwnerFold]) -> Candidates:
    """Return the candidates among `events`."""
    owners = zip(events.partitions, events.namespaces, strict=True)
    lives = [folds[owner].lives[namespace] for owner, namespace in owners]
    life, incarnations = _life_at(lives, events.namespace, records.offsets[events.rows])
    counts = (incarnations == rows_at(records.namespace_ids, events.rows)).all(axis=1) & incarnations.any(axis=1)
    return Candidates(
        events.rows[counts], events.name[counts], events.namespace[counts], events.names, events.keys,
        events.namespaces, events.partitions, life[counts],
    )  # fmt: skip


def _names(records: Records, rows: Numbers, partitions: int) -> tuple[Numbers, pa.StringArray, Numbers]:
    """Return for each of `rows` the index of its name, and for each name its text and its partition.

    The same text in the wrong partition counts as another name, which has no namespace there.
    """
    encoded = records.names.dictionary_encode().combine_chunks()
    words = encoded.dictionary
    name = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)[rows]
    owner = records.partitions[rows]
    owners = np.zeros(len(words), dtype=np.int64)
    owners[name] = owner
    if (owners[name] == owner).all():
        return name, words, owners
    pairs, number = np.unique(name * partitions + owner, return_inverse=True)
    return number, words.take(pa.array(pairs // partitions)), pairs % partitions


def _known(
    owners: Numbers, spaces: pa.StringArray, folds: Sequence[OwnerFold]
) -> tuple[Numbers, list[tuple[int, str]]]:
    """Return the index of each name's namespace, −1 if its partition knows none; and the namespaces by partition."""
    encoded = spaces.dictionary_encode()
    words, code = encoded.dictionary.to_pylist(), pc.fill_null(encoded.indices, -1).to_numpy()
    places, place = np.unique(np.where(code >= 0, owners * len(words) + code, -1), return_inverse=True)
    numbers = np.full(len(places), -1, dtype=np.int64)
    found: list[tuple[int, str]] = []
    for n, each in enumerate(places.tolist()):
        if each >= 0 and words[each % len(words)] in folds[each // len(words)].lives:
            numbers[n] = len(found)
            found.append((each // len(words), words[each % len(words)]))
    return numbers[place], found


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
    """Return the number of the life that each event's namespace has at its offset, and the life's incarnation."""
    counts = np.array([len(each) for each in lives], dtype=np.int64)
    if not len(counts):
        return np.zeros(len(offsets), np.int64), np.zeros((len(offsets), 16), np.uint8)
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    turns = np.array([number * _PLACES + each.offset + 1 for number, of in enumerate(lives) for each in of])
    ids = np.frombuffer(b"".join(each.incarnation for of in lives for each in of), np.uint8).reshape(-1, 16)
    found = np.searchsorted(turns, namespace * _PLACES + offsets, side="right") - 1
    return found - starts[namespace], rows_at(ids, found)
