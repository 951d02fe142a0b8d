"""The files that one slice of a batch writes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from topicfold.compaction.ends import End, Unlabelled
from topicfold.compaction.history import diff_rows, history_rows, trails_of
from topicfold.compaction.lives import Candidates
from topicfold.compaction.operations import operations_of
from topicfold.compaction.owners import OwnerChange
from topicfold.compaction.plan import Plan
from topicfold.compaction.prior import all_rows
from topicfold.compaction.records import Records
from topicfold.compaction.topic_fold import TopicFold
from topicfold.model.events import AggregateKind
from topicfold.snapshot.commits import DataFile
from topicfold.snapshot.data_files import write_rows
from topicfold.snapshot.tables import LABEL_INDEX, LABELS


def write_topics(plan: Plan, routes: tuple[int, int], changed: pa.Table) -> Iterator[DataFile]:
    """Write the changed topics to the tail; or all topics of the slice anew, and the label index with them."""
    if not plan.rewrites:
        if changed.num_rows:
            yield write_rows(plan.root, "topics_tail", plan.label, changed.sort_by("route"))
        return
    before = all_rows(plan.root, plan.files, routes)
    is_changed = pc.is_in(before["name"], value_set=changed["name"].combine_chunks())
    kept = [before.filter(pc.invert(is_changed)), changed.filter(pc.invert(changed["gone"]))]
    after = pa.concat_tables(kept).sort_by("route")
    if after.num_rows:
        yield write_rows(plan.root, "topics", plan.label, after)
    index = label_index(after)
    if index.num_rows:
        yield write_rows(plan.root, "label_index", plan.label, index)


def label_index(topics: pa.Table) -> pa.Table:
    """Return the index of these topics' labels: the topics of each namespace, key and value."""
    labels = topics["labels"].combine_chunks()
    row = pa.array(np.repeat(np.arange(len(labels)), np.diff(labels.offsets.to_numpy())))
    flat = {
        "namespace": topics["namespace"].combine_chunks().take(row),
        "key": labels.keys,
        "value": labels.items,
        "topics": topics["key"].combine_chunks().take(row),
    }
    grouped = pa.table(flat).group_by(["namespace", "key", "value"]).aggregate([("topics", "list")])
    return grouped.rename_columns({"topics_list": "topics"}).select(LABEL_INDEX.names)


def write_changes(
    plan: Plan, records: Records, fold: TopicFold, candidates: Candidates, owners: Sequence[OwnerChange]
) -> Iterator[DataFile]:
    """Write the accepted events of topics and of these owners, and how they changed the labels of topics."""
    trails = trails_of(records.audits.at(fold.row), fold.operations)
    namespaces = pa.array(candidates.namespaces, pa.string()).take(pa.array(fold.namespace))
    of_topics = history_rows(
        plan.sequence, records, fold.row, trails, fold.operations, namespaces=namespaces,
        refused=np.zeros(len(fold.row), dtype=bool), old_labels=fold.old_labels, new_labels=fold.new_labels,
    )  # fmt: skip
    both = pa.concat_tables([of_topics, _owners_history(plan, records, owners)])
    if both.num_rows:
        yield write_rows(plan.root, "history", plan.label, both)
    topics = pa.array(candidates.keys[fold.name], pa.string())
    partitions, offsets = records.partitions[fold.row], records.offsets[fold.row]
    diffs = diff_rows(
        plan.sequence, partitions, offsets, namespaces, topics, trails.actor, fold.old_labels, fold.new_labels
    )
    if diffs.num_rows:
        yield write_rows(plan.root, "label_index_diffs", plan.label, diffs)


def write_ends(
    plan: Plan, records: Records, ends: Sequence[End], found: Unlabelled, owners: Sequence[OwnerChange]
) -> Iterator[DataFile]:
    """Write the labels that went with their namespaces."""
    if not len(found.end):
        return
    rows = {(int(records.partitions[each.row]), int(records.offsets[each.row])): each.row for each in owners}
    of_ends = np.array([rows[end.partition, end.offset] for end in ends], dtype=np.int64)
    trails = trails_of(records.audits.at(of_ends), operations_of(records.operations.at(of_ends)))
    actors = trails.actor.take(pa.array(found.end))
    diffs = diff_rows(
        plan.sequence,
        np.array([end.partition for end in ends])[found.end],
        np.array([end.offset for end in ends])[found.end],
        pa.array([end.namespace for end in ends]).take(pa.array(found.end)),
        found.topics,
        actors,
        found.labels,
        pa.nulls(len(found.end), LABELS),
    )
    if diffs.num_rows:
        yield write_rows(plan.root, "label_index_diffs", plan.label, diffs)


def _owners_history(plan: Plan, records: Records, owners: Sequence[OwnerChange]) -> pa.Table:
    rows = np.array([each.row for each in owners], dtype=np.int64)
    names = [each.event.name if each.event.aggregate_kind == AggregateKind.NAMESPACE else "" for each in owners]
    nothing = pa.nulls(len(owners), LABELS)
    operations = operations_of(records.operations.at(rows))
    return history_rows(
        plan.sequence, records, rows, trails_of(records.audits.at(rows), operations), operations,
        namespaces=pa.array(names, pa.string()), refused=np.array([each.is_refused for each in owners], dtype=bool),
        old_labels=nothing, new_labels=nothing,
    )  # fmt: skip
