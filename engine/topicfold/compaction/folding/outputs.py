"""The files that one slice of a batch writes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from topicfold.compaction.folding.ends import End, Unlabelled
from topicfold.compaction.folding.history import diff_rows, history_rows, trails_of
from topicfold.compaction.folding.labels import key_column, labels_of_column, no_labels, value_column
from topicfold.compaction.folding.lives import Candidates
from topicfold.compaction.folding.operations import operations_of
from topicfold.compaction.folding.owners import OwnerChange
from topicfold.compaction.folding.prior import all_rows
from topicfold.compaction.folding.records import Records
from topicfold.compaction.folding.spans import codes_of
from topicfold.compaction.folding.topic_fold import TopicFold
from topicfold.compaction.plan import Plan
from topicfold.model.events import AggregateKind
from topicfold.snapshot.commits import DataFile
from topicfold.snapshot.files.data_files import write_rows
from topicfold.snapshot.rows.groups import grouped, ranked
from topicfold.snapshot.tables import LABEL_INDEX

_ORDER = [("namespace", "ascending"), ("route", "ascending")]
"""The order of topics in a file. A query for one namespace reads little else, and a node loads one namespace after
another, which takes a fifth less time than gathering each namespace's topics from the whole file."""


def write_topics(plan: Plan, routes: tuple[int, int], changed: pa.Table) -> Iterator[DataFile]:
    """Write the changed topics to the tail; or, if the plan says so, rewrite the slice's topics and label index."""
    if not plan.rewrites:
        if changed.num_rows:
            yield write_rows(plan.root, "topics_tail", plan.label, changed.sort_by(_ORDER))
        return
    before = all_rows(plan.root, plan.files, routes)
    is_changed = pc.is_in(before["name"], value_set=changed["name"].combine_chunks())
    kept = [before.filter(pc.invert(is_changed)), changed.filter(pc.invert(changed["gone"]))]
    after = pa.concat_tables(kept).sort_by(_ORDER)
    if after.num_rows:
        yield write_rows(plan.root, "topics", plan.label, after)
    index = label_index(after)
    if index.num_rows:
        yield write_rows(plan.root, "label_index", plan.label, index)


def label_index(topics: pa.Table) -> pa.Table:
    """Return the label index of these topics: the topics for each namespace, key and value.

    Cost: 0.1 µs a label, however many namespaces there are.
    """
    labels, spaces = labels_of_column(topics["labels"].combine_chunks()), topics["namespace"].combine_chunks()
    encoded, row = spaces.dictionary_encode(), labels.row
    of_pair, pairs = ranked(labels.pairs)
    found = grouped(*ranked(codes_of(encoded)[row] * (len(pairs) or 1) + of_pair), row.astype(np.uint32))
    space, pair = np.divmod(found.codes, len(pairs) or 1)
    ends = pa.array(np.append(0, found.ends).astype(np.int32))
    columns = {
        "namespace": pa.DictionaryArray.from_arrays(pa.array(space.astype(np.int32)), encoded.dictionary),
        "key": key_column(pairs[pair], labels.words),
        "value": value_column(pairs[pair], labels.words),
        "topics": pa.ListArray.from_arrays(ends, topics["key"].combine_chunks().take(pa.array(found.members))),
    }
    return pa.table({each.name: columns[each.name] for each in LABEL_INDEX})


def write_changes(
    plan: Plan, records: Records, fold: TopicFold, candidates: Candidates, owners: Sequence[OwnerChange]
) -> Iterator[DataFile]:
    """Write the accepted events of topics and of these owners, and the changes of topics' labels."""
    names = pa.array(candidates.namespaces, pa.string())
    history, diffs = [], []
    for page in fold.pages:
        events = slice(page.first, page.end)
        if page.first == page.end:
            continue
        old, new = fold.old_labels(page.first, page.end), fold.labels.slice(page.first, page.end)
        trails = trails_of(page.page.audits.at(page.rows), page.operations)
        namespaces = pa.DictionaryArray.from_arrays(pa.array(fold.namespace[events].astype(np.int32)), names)
        history.append(history_rows(
            plan.sequence, page.page, page.rows, trails, page.operations, namespaces=namespaces,
            refused=np.zeros(len(page.rows), dtype=bool), old_labels=old.column(), new_labels=new.column(),
        ))  # fmt: skip
        row = fold.row[events]
        topics = candidates.keys.take(pa.array(fold.name[events]))
        diffs.append(diff_rows(
            plan.sequence, records.partitions[row], records.offsets[row], namespaces, topics, trails.actor, old, new,
        ))  # fmt: skip
    yield from _written(plan, "history", [*history, _owners_history(plan, records, owners)])
    yield from _written(plan, "label_index_diffs", diffs)


def _written(plan: Plan, table: str, parts: Sequence[pa.Table]) -> Iterator[DataFile]:
    filled = [each for each in parts if each.num_rows]
    if filled:
        yield write_rows(plan.root, table, plan.label, pa.concat_tables(filled))


def write_ends(
    plan: Plan, records: Records, ends: Sequence[End], found: Unlabelled, owners: Sequence[OwnerChange]
) -> Iterator[DataFile]:
    """Write the labels that were removed by the end of their namespaces."""
    if not len(found.end):
        return
    rows = {(int(records.partitions[each.row]), int(records.offsets[each.row])): each.row for each in owners}
    of_ends = np.array([rows[end.partition, end.offset] for end in ends], dtype=np.int64)
    in_order = np.argsort(of_ends)
    page = records.at(of_ends[in_order])
    trails = trails_of(page.audits, operations_of(page.operations))
    actors = trails.actor.take(pa.array(np.argsort(in_order)[found.end]))
    diffs = diff_rows(
        plan.sequence,
        np.array([end.partition for end in ends])[found.end],
        np.array([end.offset for end in ends])[found.end],
        pa.array([end.namespace for end in ends]).take(pa.array(found.end)),
        found.topics,
        actors,
        found.labels,
        no_labels(len(found.end)),
    )
    yield from _written(plan, "label_index_diffs", [diffs])


def _owners_history(plan: Plan, records: Records, owners: Sequence[OwnerChange]) -> pa.Table:
    rows = np.array([each.row for each in owners], dtype=np.int64)
    page = records.at(rows)
    spaces = [each.event.name if each.event.aggregate_kind == AggregateKind.NAMESPACE else "" for each in owners]
    nothing = no_labels(len(owners)).column()
    operations = operations_of(page.operations)
    names = pa.array(spaces, pa.string()).dictionary_encode()
    refused = np.array([each.is_refused for each in owners], dtype=bool)
    return history_rows(
        plan.sequence, page, np.arange(len(owners)), trails_of(page.audits, operations), operations,
        namespaces=names, refused=refused, old_labels=nothing, new_labels=nothing,
    )  # fmt: skip
