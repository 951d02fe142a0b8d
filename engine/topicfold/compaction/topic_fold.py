"""The topics of one slice through one batch: verdicts, ETags, labels, and where each topic ends up.

Everything is by place: accepted and rejected events of a topic in one life lie side by side, in the log's order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from topicfold.compaction.binaries import ids_of
from topicfold.compaction.chain import Chains, accepted, chains_of, last_before, last_of
from topicfold.compaction.labels import TopicColumns, read_topics
from topicfold.compaction.lives import Candidates
from topicfold.compaction.operations import Operations, operations_of
from topicfold.compaction.prior import places_of
from topicfold.compaction.records import Flags, Records
from topicfold.compaction.spans import Bytes, Numbers
from topicfold.model.events import Kind
from topicfold.state.aggregate import Etag


@dataclass(frozen=True, slots=True)
class TopicFold:
    """Accepted events of topics (`row` in the records), by chain, and what they leave.

    `name` and `life` are the events', by the numbers of the candidates. `before` is the accepted event before, −1 for
    none, and `prior` then the topic's row from before the batch, −1 for none. `old_labels` and `new_labels` are those
    of the record before and after. `is_last` marks the last accepted event of a topic in a life.
    """

    row: Numbers
    name: Numbers
    namespace: Numbers
    life: Numbers
    before: Numbers
    prior: Numbers
    is_put: Flags
    was_live: Flags
    is_last: Flags
    etag_ids: Bytes
    etag_places: Numbers
    old_etag_ids: Bytes
    old_etag_places: Numbers
    operations: Operations
    old_labels: pa.MapArray
    new_labels: pa.MapArray
    topics: TopicColumns

    def etag(self, event: int) -> Etag:
        """Return the record's ETag after an event."""
        return Etag(self.etag_ids[event].tobytes(), int(self.etag_places[event]))


def fold_topics(records: Records, candidates: Candidates, prior: pa.Table) -> TopicFold:
    """Return what became of the candidates among `records`; `prior` has the row of each topic in its first life."""
    lives = int(candidates.life.max(initial=0)) + 1
    chains = chains_of(candidates.name * lives + candidates.life)
    rows = candidates.rows[chains.order]
    first = chains.order[chains.starts]
    prior_of_chain = _prior_of(candidates, first, prior)
    versions = _ids(prior, "version", prior_of_chain)
    is_in = accepted(chains, records.event_ids[candidates.rows], records.bases[candidates.rows], versions)
    return _effects(records, candidates, chains, rows, is_in, prior, prior_of_chain)


def _effects(
    records: Records, candidates: Candidates, all_chains: Chains, rows: Numbers, is_in: Flags, prior: pa.Table,
    prior_of_chain: Numbers,
) -> TopicFold:  # fmt: skip
    """Return what the accepted events, `is_in`, come to."""
    chosen = np.flatnonzero(is_in)
    rows, order = rows[chosen], all_chains.order[chosen]
    group = all_chains.group[chosen]
    chains = chains_of(group)
    everyone = np.ones(len(rows), dtype=bool)
    before = last_before(chains, everyone)
    prior_row = prior_of_chain[group]
    is_put = records.kinds[rows] == Kind.PUT
    prior_live = _flags(prior, "live", prior_row)
    operations = operations_of(records.operations.at(rows))
    changes = operations.last_change > 0
    event_ids = records.event_ids[rows]
    changed_before = last_before(chains, changes)
    old_ids = np.where((changed_before >= 0)[:, None], event_ids[changed_before], _ids(prior, "etag_id", prior_row))
    old_places = np.where(
        changed_before >= 0, operations.last_change[changed_before], _numbers(prior, "etag_place", prior_row)
    )
    topics = read_topics(records.payload_schemas[rows], records.payloads.at(rows), is_put)
    new_labels = topics.labels
    is_last = np.zeros(len(rows), dtype=bool)
    is_last[last_of(chains, everyone)] = True
    return TopicFold(
        rows,
        candidates.name[order],
        candidates.namespace[order],
        candidates.life[order],
        before,
        prior_row,
        is_put,
        np.where(before >= 0, is_put[before], prior_live),
        is_last,
        np.where(changes[:, None], event_ids, old_ids),
        np.where(changes, operations.last_change, old_places),
        old_ids,
        old_places,
        operations,
        _old_labels(new_labels, prior, before, prior_row),
        new_labels,
        topics,
    )


def _prior_of(candidates: Candidates, first: Numbers, prior: pa.Table) -> Numbers:
    """Return for each chain, given its first event, the row of its topic from before the batch, −1 for none."""
    names = candidates.names[candidates.name[first]]
    found = places_of(prior, pa.array(names, pa.string()))
    return np.where(candidates.life[first] == 0, found, -1)


def _old_labels(new: pa.MapArray, prior: pa.Table, before: Numbers, prior_row: Numbers) -> pa.MapArray:
    earlier = prior["labels"].combine_chunks()
    both = pa.concat_arrays([new, earlier])
    places = np.where(before >= 0, before, np.where(prior_row >= 0, prior_row + len(new), -1))
    return both.take(pa.array(places, mask=places < 0))


def _ids(rows: pa.Table, column: str, places: Numbers) -> Bytes:
    """Return sixteen bytes from each of these rows, zeros where the place is −1."""
    return np.concatenate([ids_of(rows[column]), np.zeros((1, 16), np.uint8)])[places]


def _numbers(rows: pa.Table, column: str, places: Numbers) -> Numbers:
    return np.append(rows[column].to_numpy().astype(np.int64), 0)[places]


def _flags(rows: pa.Table, column: str, places: Numbers) -> Flags:
    return np.append(rows[column].to_numpy(), False)[places]
