"""Folds the topics of one slice through one batch: verdicts, ETags, labels, and each topic's last event.

Accepted events are numbered in the log's order. Payloads are read page by page.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from topicfold.compaction.folding.chain import Chains, accepted, chains_of, last_up_to
from topicfold.compaction.folding.labels import Labels, TopicColumns, joined_labels, labels_of_column, read_topics
from topicfold.compaction.folding.lives import Candidates
from topicfold.compaction.folding.operations import Operations, operations_of
from topicfold.compaction.folding.prior import flags_at, ids_at, numbers_at, places_of
from topicfold.compaction.folding.records import Page, Records
from topicfold.compaction.folding.spans import Bytes, Flags, Numbers, rows_at
from topicfold.model.events import Kind


@dataclass(frozen=True, slots=True)
class PageEvents:
    """The accepted events in one page: `rows` are their places in it, `first` is the number of the first one."""

    page: Page
    rows: Numbers
    first: int
    operations: Operations
    topics: TopicColumns

    @property
    def end(self) -> int:
        """The number after that of the last one."""
        return self.first + len(self.rows)


@dataclass(frozen=True, slots=True)
class TopicFold:
    """Accepted events of topics, in columns by event, and their effects.

    - `row`: the event's place in the records, rising.
    - `name`, `namespace`, `life`: the event's, numbered as in the candidates.
    - `before`: the topic's previous accepted event in this life, −1 for none.
    - `prior`: the topic's row from before the batch, −1 for none or in another life.
    - `change`: the last event of the topic, up to this one, that changed the record; −1 if it was before the batch.
    - `last_changes`: the place of the event's last operation that changed the record, 0 if none did.
    - `is_last`: whether this is the topic's last event in this life.
    """

    row: Numbers
    name: Numbers
    namespace: Numbers
    life: Numbers
    before: Numbers
    prior: Numbers
    change: Numbers
    is_put: Flags
    was_live: Flags
    is_last: Flags
    event_ids: Bytes
    last_changes: Numbers
    prior_rows: pa.Table
    pages: list[PageEvents]
    labels: Labels
    """The labels of the events, followed by those of the rows from before the batch."""

    def etags(self, events: Numbers) -> tuple[Bytes, Numbers]:
        """Return the ETag's event id and place after each of `events`."""
        return self._etags(self.change[events], self.prior[events])

    def etags_before(self, events: Numbers) -> tuple[Bytes, Numbers]:
        """Return the ETag's event id and place before each of `events`."""
        before = self.before[events]
        return self._etags(np.where(before >= 0, self.change[before], -1), self.prior[events])

    def old_labels(self, start: int, end: int) -> Labels:
        """Return the labels of the records before the events of a range."""
        before, prior = self.before[start:end], self.prior[start:end]
        behind = np.where(prior >= 0, prior + len(self.row), -1)
        return self.labels.take(np.where(before >= 0, before, behind))

    def _etags(self, change: Numbers, prior: Numbers) -> tuple[Bytes, Numbers]:
        is_here = change >= 0
        ids, places = ids_at(self.prior_rows, "etag_id", prior), numbers_at(self.prior_rows, "etag_place", prior)
        ids[is_here], places[is_here] = self.event_ids[change[is_here]], self.last_changes[change[is_here]]
        return ids, places


def fold_topics(records: Records, candidates: Candidates, prior: pa.Table) -> TopicFold:
    """Return the fold of the candidates among `records`; `prior` has the topics' rows from before the batch."""
    lives = int(candidates.life.max(initial=0)) + 1
    chains = chains_of(candidates.name * lives + candidates.life)
    prior_of_chain = _prior_of(candidates, chains.order[chains.starts], prior)
    versions = ids_at(prior, "version", prior_of_chain)
    event_ids, bases = rows_at(records.event_ids, candidates.rows), rows_at(records.bases, candidates.rows)
    is_in = accepted(chains, event_ids, bases, versions)
    chosen = np.flatnonzero(is_in)
    return _effects(records, candidates, chains.at(chosen), prior, prior_of_chain[chains.group[chosen]])


def _effects(
    records: Records, candidates: Candidates, chains: Chains, prior: pa.Table, prior_in_chain: Numbers
) -> TopicFold:
    """Return the effects of the accepted events, which are all that `chains` holds."""
    count = len(chains.order)
    of_candidate = np.zeros(len(candidates.rows), dtype=np.int64)
    of_candidate[chains.order] = 1
    chosen = np.flatnonzero(of_candidate)
    # By place in the chains: the number of the event at that place.
    event = (np.cumsum(of_candidate) - 1)[chains.order]
    row = candidates.rows[chosen]
    before, prior_row, change = (np.empty(count, dtype=np.int64) for _ in range(3))
    is_first, is_last = np.zeros(count, dtype=bool), np.zeros(count, dtype=bool)
    is_first[chains.starts] = True
    is_last[event] = np.append(is_first[1:], True)[:count]
    before[event] = np.where(is_first, -1, np.roll(event, 1))
    prior_row[event] = prior_in_chain
    pages = list(_read_pages(records, row))
    last_changes = np.concatenate([np.zeros(0, np.int64), *(each.operations.last_change for each in pages)])
    last = last_up_to(chains, (last_changes > 0)[event])
    change[event] = np.where(last >= 0, event[last], -1) if count else last
    is_put = records.kinds[row] == Kind.PUT
    was_live = flags_at(prior, "live", prior_row)
    was_live[before >= 0] = is_put[before[before >= 0]]
    labels = joined_labels([*(each.topics.labels for each in pages), _labels(prior)])
    return TopicFold(
        row, candidates.name[chosen], candidates.namespace[chosen], candidates.life[chosen], before, prior_row, change,
        is_put, was_live, is_last, rows_at(records.event_ids, row), last_changes, prior, pages, labels,
    )  # fmt: skip


def _read_pages(records: Records, rows: Numbers) -> Iterator[PageEvents]:
    """Yield the content of the events at `rows`, page by page."""
    first = 0
    for page, places in records.by_page(rows):
        is_put = page.kinds[places] == Kind.PUT
        topics = read_topics(page.payload_schemas[places], page.payloads.at(places), is_put)
        yield PageEvents(page, places, first, operations_of(page.operations.at(places)), topics)
        first += len(places)


def _prior_of(candidates: Candidates, first: Numbers, prior: pa.Table) -> Numbers:
    """Return for each chain, given its first event, its topic's row from before the batch, −1 for none."""
    if not prior.num_rows:
        return np.full(len(first), -1, dtype=np.int64)
    names = candidates.names.take(pa.array(candidates.name[first]))
    found = places_of(prior, names)
    return np.where(candidates.life[first] == 0, found, -1)


def _labels(prior: pa.Table) -> Labels:
    column: pa.MapArray = prior["labels"].combine_chunks()
    return labels_of_column(column)
