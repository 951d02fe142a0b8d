"""One slice's part in a census: how many of its topics are live, in each life that their namespace may have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from topicfold.compaction.folding.census import BEFORE, Count, Place
from topicfold.compaction.folding.chain import accepted, chains_of
from topicfold.compaction.folding.lives import TopicEvents
from topicfold.compaction.folding.owners import OwnerFold
from topicfold.compaction.folding.prior import flags_at, ids_at, places_of
from topicfold.compaction.folding.records import Records
from topicfold.compaction.folding.spans import Numbers, binaries
from topicfold.model.events import GENESIS, AggregateKind, Kind


def counts_of(records: Records, events: TopicEvents, prior: pa.Table, folds: Sequence[OwnerFold]) -> Iterator[Count]:
    """Yield the counts for the namespaces that `folds` ask about; `prior` has the topics' rows from before the batch.

    Cost: folds the events in these namespaces once more, and scans all events once for each such namespace.
    """
    owners = list(zip(events.partitions, events.namespaces, strict=True))
    asked = [number for number, (partition, name) in enumerate(owners) if name in folds[partition].asked]
    if not asked:
        return
    begins, deletes = _turns(records, folds)
    for number in asked:
        places = np.flatnonzero(events.namespace == number)
        by_life = _by_life(records, events, places)
        for since, incarnation in begins[owners[number]]:
            mine = by_life.get(incarnation, places[:0])
            mine = mine[records.offsets[events.rows[mine]] > since]
            for offset, more in _changes(records, events, mine, prior, since, deletes[owners[number]]):
                yield Count(*owners[number], since, offset, more)


def _turns(
    records: Records, folds: Sequence[OwnerFold]
) -> tuple[dict[Place, list[tuple[int, bytes]]], dict[Place, list[int]]]:
    """Return, for each namespace asked about, where lives may begin, with their incarnations; and its deletes."""
    places = [(fold.partition, name) for fold in folds for name in fold.asked]
    first = {(partition, name): folds[partition].lives[name][0].incarnation for partition, name in places}
    begins = {place: [(BEFORE, first[place])] if first[place] != GENESIS else [] for place in places}
    deletes: dict[Place, list[int]] = {place: [] for place in places}
    page = records.at(np.flatnonzero(records.aggregate_kinds == AggregateKind.NAMESPACE))
    columns = (page.partitions.tolist(), page.names.to_pylist(), page.kinds.tolist(), page.offsets.tolist())
    for row, (partition, name, kind, offset) in enumerate(zip(*columns, strict=True)):
        if (partition, name) not in begins:
            continue
        if kind == Kind.PUT:
            begins[partition, name].append((offset, page.event_ids[row].tobytes()))
        elif kind == Kind.DELETE:
            deletes[partition, name].append(offset)
    return begins, deletes


def _by_life(records: Records, events: TopicEvents, places: Numbers) -> dict[bytes, Numbers]:
    """Return these events, grouped by the incarnation that they name."""
    if not len(places):
        return {}
    encoded = binaries(records.namespace_ids[events.rows[places]]).dictionary_encode()
    codes = encoded.indices.to_numpy(zero_copy_only=False)
    in_order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[in_order], np.arange(1, len(encoded.dictionary)))
    return dict(zip(encoded.dictionary.to_pylist(), np.split(places[in_order], starts), strict=True))


def _changes(
    records: Records, events: TopicEvents, places: Numbers, prior: pa.Table, since: int, deletes: Sequence[int]
) -> Iterator[tuple[int, int]]:
    """Yield, for each delete, how many more topics are live there than at the one before, given events at `places`."""
    rows, name = events.rows[places], events.name[places]
    chains = chains_of(name)
    before = np.full(len(chains.starts), -1, dtype=np.int64)
    if since == BEFORE and prior.num_rows:
        before = places_of(prior, events.names.take(pa.array(name[chains.order[chains.starts]])))
    is_in = accepted(chains, records.event_ids[rows], records.bases[rows], ids_at(prior, "version", before))
    chosen = np.flatnonzero(is_in)
    if not len(chosen):
        return
    kept = chains.at(chosen)
    is_put = records.kinds[rows[kept.order]] == Kind.PUT
    was_live = np.roll(is_put, 1)
    was_live[kept.starts] = flags_at(prior, "live", before[chains.group[chosen[kept.starts]]])
    place = np.searchsorted(deletes, records.offsets[rows[kept.order]])
    totals = np.bincount(place, is_put.astype(np.int64) - was_live, len(deletes) + 1)
    for number in np.flatnonzero(totals[:-1]).tolist():
        yield deletes[number], int(totals[number])
