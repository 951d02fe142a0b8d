"""One slice of a batch, from records to files. Apart from the files that it reads and writes, it is pure.

Any slice may be folded anywhere, at any time and more than once: its files have unique names, and count only once a
commit names them.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from topicfold.compaction.comparison import stated_last
from topicfold.compaction.folding.changed import Changed, changed_topics, sums_of
from topicfold.compaction.folding.counting import counts_of
from topicfold.compaction.folding.ends import ends_of, gone_rows, unlabelled
from topicfold.compaction.folding.lives import Candidates, candidates_of, topic_events_of
from topicfold.compaction.folding.operations import joined_operations
from topicfold.compaction.folding.outputs import write_changes, write_ends, write_topics
from topicfold.compaction.folding.owners import OwnerChange, OwnerFold, fold_owners
from topicfold.compaction.folding.prior import rows_of
from topicfold.compaction.folding.records import Records, read_records
from topicfold.compaction.folding.rings import OPERATIONS, latest_of, passed_over
from topicfold.compaction.folding.routing import range_of
from topicfold.compaction.folding.rows import Row, topic_rows
from topicfold.compaction.folding.spans import Flags
from topicfold.compaction.folding.topic_fold import TopicFold, fold_topics
from topicfold.compaction.plan import NamespaceDelta, Plan, SliceResult
from topicfold.model.events import AggregateKind
from topicfold.snapshot.rows.ring_rows import entries
from topicfold.snapshot.rows.topic_rows import ids_of
from topicfold.state.aggregate import add_hashes


def fold_slice(plan: Plan, number: int, batches: Iterable[pa.RecordBatch]) -> SliceResult:
    """Fold slice `number` of a batch, whose records are in `batches`, with the columns `records.RECORDS`.

    Writes files, unless a census is needed first; see `SliceResult.asked`.
    """
    stopwatch = _Stopwatch()
    records, seen = read_records(stopwatch.waiting(batches), plan.start)
    stopwatch.lap("decoding")
    folds, owners = fold_owners(records, plan.owners, plan.census)
    events = topic_events_of(records, folds)
    candidates = candidates_of(records, events, folds)
    ends = ends_of(folds)
    first = np.unique(candidates.name[candidates.life == 0])
    routes = range_of(number, plan.slices)
    ended = sorted({end.namespace for end in ends if end.life == 0})
    prior = rows_of(plan.root, plan.files, routes, candidates.names.take(pa.array(first)), ended)
    stopwatch.lap("looking_up")
    stops = {each.partition: each.stop for each in folds if each.stop is not None}
    levels = tuple(each.level for each in folds)
    asked = tuple((each.partition, namespace) for each in folds for namespace in sorted(each.asked))
    if asked:
        counts = tuple(counts_of(records, events, prior, folds))
        stopwatch.lap("folding")
        return SliceResult(seen, stops, levels, asked, counts, seconds=stopwatch.seconds)
    fold = fold_topics(records, candidates, prior)
    stopwatch.lap("folding")
    is_final = _final(fold, candidates, folds)
    changed = changed_topics(records, fold, candidates, folds, is_final)
    gone = gone_rows(ends, prior, changed.rows["name"])
    stopwatch.lap("hashing")
    mine = [each for each in owners if records.is_own[each.row]]
    files = [
        *write_topics(plan, routes, pa.concat_tables([changed.rows, topic_rows(gone)])),
        *write_changes(plan, records, fold, candidates, mine),
        *(write_ends(plan, records, ends, unlabelled(ends, fold, candidates, prior), owners) if ends else ()),
    ]
    operations, passed = _topic_operations(records, fold, whole=plan.whole_operations)
    stopwatch.lap("writing")
    return SliceResult(
        seen,
        stops,
        levels,
        ended=tuple((end.partition, end.namespace) for end in ends if end.life == 0),
        namespaces=tuple(_deltas(fold, candidates, changed, prior, is_final)),
        files=tuple(files),
        owners=_stream(topic_rows(_owner_rows(folds))) if number == 0 else b"",
        operations=operations + _owner_operations(records, mine),
        passed=passed,
        accepted=len(fold.row) + len(mine),
        stated=tuple(stated_last(records, seen)),
        seconds=stopwatch.seconds,
    )


def _final(fold: TopicFold, candidates: Candidates, folds: Sequence[OwnerFold]) -> Flags:
    """Return which events are in the last life that their namespace has in the batch."""
    owners = zip(candidates.partitions, candidates.namespaces, strict=True)
    last = np.array([len(folds[owner].lives[name]) - 1 for owner, name in owners], dtype=np.int64)
    found: Flags = fold.life == last[fold.namespace]
    return found


def _deltas(
    fold: TopicFold, candidates: Candidates, changed: Changed, prior: pa.Table, is_final: Flags
) -> Iterator[NamespaceDelta]:
    """Yield what the slice adds to each namespace that has changed topics."""
    count = len(candidates.namespaces)
    earlier, owners = fold.prior[changed.events], fold.namespace[changed.events]
    new = sums_of(changed.hashes, owners)
    old = sums_of(ids_of(prior["hash"])[earlier[earlier >= 0]], owners[earlier >= 0])
    grown = fold.is_put[is_final].astype(np.int64) - fold.was_live[is_final]
    live = np.bincount(fold.namespace[is_final], grown, count)
    is_new = is_final & (fold.before < 0) & (fold.prior < 0)
    fresh = np.bincount(fold.namespace[is_new], minlength=count)
    for owner, total in new.items():
        place = (candidates.partitions[owner], candidates.namespaces[owner])
        yield NamespaceDelta(*place, int(live[owner]), int(fresh[owner]), add_hashes(0, total, old.get(owner, 0)))


def _owner_rows(folds: Sequence[OwnerFold]) -> list[Row]:
    """Return the rows of tenants and namespaces that changed."""
    rows = []
    for fold in folds:
        for kind, name in sorted(fold.changed):
            is_tenant = kind == AggregateKind.TENANT
            aggregate = (fold.tenants if is_tenant else fold.namespaces)[name]
            rows.append(Row(kind, name, "" if is_tenant else name, "", fold.partition, aggregate))
    return rows


def _topic_operations(records: Records, fold: TopicFold, *, whole: bool) -> tuple[bytes, bytes]:
    """Return the operations of topics' accepted events, each with its ETag, and those passed: see `SliceResult`."""
    found = joined_operations([(each.operations, each.first) for each in fold.pages])
    row = fold.row[found.event]
    partitions, offsets = records.partitions[row], records.offsets[row]
    chosen = np.arange(len(row)) if whole else latest_of(partitions, found.by_client)
    passed = np.ones(len(row), dtype=bool)
    passed[chosen] = False
    event, place = found.event[chosen], found.change_up_to()[chosen]
    etag_ids, etag_places = fold.etags_before(event)
    changes = place > 0
    etag_ids[changes], etag_places[changes] = fold.event_ids[event[changes]], place[changes]
    rows = np.zeros(len(chosen), OPERATIONS)
    rows["partition"], rows["offset"] = partitions[chosen], offsets[chosen]
    rows["by_client"] = found.by_client[chosen]
    rows["entry"] = entries(
        found.ids[chosen], found.verdicts[chosen], etag_ids, etag_places, found.body_hashes[chosen]
    )  # fmt: skip
    return rows.tobytes(), passed_over(partitions[passed], found.by_client[passed], found.ids[passed]).tobytes()


def _owner_operations(records: Records, owners: Sequence[OwnerChange]) -> bytes:
    """Return the operations of these accepted events, in the form of `rings.OPERATIONS`."""
    rows = []
    for row, event, change, _ in owners:
        for operation, (_, (verdict, etag, body_hash)) in zip(event.operations, change.settled, strict=True):
            entry = operation.id + bytes([verdict]) + etag.event_id + etag.place.to_bytes(2, "big") + body_hash
            at = (int(records.partitions[row]), int(records.offsets[row]), operation.by_client)
            rows.append((*at, np.frombuffer(entry, np.uint8)))
    return np.array(rows, OPERATIONS).tobytes()


def _stream(rows: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as stream:
        stream.write_table(rows)
    content: bytes = sink.getvalue().to_pybytes()
    return content


class _Stopwatch:
    """How long each part of a slice took."""

    def __init__(self) -> None:
        self.seconds = {"reading": 0.0}
        self._since = time.perf_counter()

    def waiting(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield `batches`, counting the time spent waiting for each as reading."""
        source = iter(batches)
        while True:
            since = time.perf_counter()
            batch = next(source, None)
            waited = time.perf_counter() - since
            self.seconds["reading"] += waited
            self._since += waited
            if batch is None:
                return
            yield batch

    def lap(self, part: str) -> None:
        """Count the time since the last lap for `part`."""
        now = time.perf_counter()
        self.seconds[part] = now - self._since
        self._since = now
