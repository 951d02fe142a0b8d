"""What goes away when a namespace's life ends: its topics, their tombstones, and all of their labels."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from topicfold.compaction.folding.labels import Labels
from topicfold.compaction.folding.lives import Candidates
from topicfold.compaction.folding.owners import OwnerFold
from topicfold.compaction.folding.rows import Row
from topicfold.compaction.folding.spans import Numbers
from topicfold.compaction.folding.topic_fold import TopicFold
from topicfold.model.events import GENESIS, AggregateKind
from topicfold.state.aggregate import ABSENT


class End(NamedTuple):
    """The end of a namespace's life at this offset; `life` is its number in the batch."""

    partition: int
    namespace: str
    life: int
    offset: int


class Unlabelled(NamedTuple):
    """Topics that lost their labels because their namespace ended; `end` has, by topic, the index of that end."""

    end: Numbers
    topics: pa.StringArray
    labels: Labels


def ends_of(folds: Sequence[OwnerFold]) -> list[End]:
    """Return the ends of lives in a batch."""
    return [
        End(fold.partition, namespace, number, after.offset)
        for fold in folds
        for namespace, lives in fold.lives.items()
        for number, (life, after) in enumerate(pairwise(lives))
        if life.incarnation != GENESIS
    ]


def gone_rows(ends: Sequence[End], prior: pa.Table, kept: pa.ChunkedArray) -> list[Row]:
    """Return rows that mark topics from before the batch as gone, except for those in `kept`."""
    offsets = {end.namespace: end.offset for end in ends if end.life == 0}
    if not offsets:
        return []
    still_there = set(kept.to_pylist())
    columns = (prior[name].to_pylist() for name in ("name", "namespace", "key", "partition"))
    return [
        Row(AggregateKind.TOPIC, name, namespace, key, partition, ABSENT._replace(offset=offsets[namespace]), True)
        for name, namespace, key, partition in zip(*columns, strict=True)
        if namespace in offsets and name not in still_there
    ]


def unlabelled(ends: Sequence[End], fold: TopicFold, candidates: Candidates, prior: pa.Table) -> Unlabelled:
    """Return the topics that were live when their namespace ended, with their labels, if any."""
    ended = {(end.partition, end.namespace, end.life): number for number, end in enumerate(ends)}
    owners = list(zip(candidates.partitions, candidates.namespaces, strict=True))
    last = np.flatnonzero(fold.is_last & fold.is_put)
    of_events = np.array(
        [
            ended.get((*owners[namespace], life), -1)
            for namespace, life in zip(fold.namespace[last].tolist(), fold.life[last].tolist(), strict=True)
        ],
        dtype=np.int64,
    )
    touched = np.zeros(prior.num_rows, dtype=bool)
    touched[fold.prior[fold.prior >= 0]] = True
    by_namespace = {end.namespace: number for number, end in enumerate(ends) if end.life == 0}
    of_rows = np.array([by_namespace.get(each, -1) for each in prior["namespace"].to_pylist()], dtype=np.int64)
    of_rows[touched | ~prior["live"].to_numpy()] = -1
    events, rows = last[of_events >= 0], np.flatnonzero(of_rows >= 0)
    keys = candidates.keys.take(pa.array(fold.name[events]))
    return Unlabelled(
        np.concatenate([of_events[of_events >= 0], of_rows[rows]]),
        pa.concat_arrays([keys, prior["key"].combine_chunks().take(pa.array(rows))]),
        fold.labels.take(np.concatenate([events, rows + len(fold.row)])),
    )
