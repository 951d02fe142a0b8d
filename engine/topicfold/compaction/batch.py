"""One batch on the driver: plans the slices' work, combines their results, and writes the driver's own files.

The batch is whatever records the slices are given. Which of them count is decided by the positions of the commit that
the batch continues from, never by the batch's number.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from topicfold.compaction.folded import Folded, PartitionFolded, namespace_rows, owner_table, with_owners, with_topics
from topicfold.compaction.folding.census import Census, census_of
from topicfold.compaction.folding.records import log_places, require_whole
from topicfold.compaction.folding.rings import CAPACITIES, OPERATIONS, PASSED, ring_rows
from topicfold.compaction.folding.spans import Bytes
from topicfold.compaction.plan import Plan, SliceResult
from topicfold.errors import LevelUnsupported
from topicfold.log.port import LogIdentity
from topicfold.model.events import SUPPORTED_LEVEL
from topicfold.snapshot.commits import GENESIS_COMMIT, Commit, DataFile
from topicfold.snapshot.files.data_files import write_rows
from topicfold.snapshot.intact import require_intact
from topicfold.snapshot.tables import GROWING_TABLES

SMALL_ROWS = 50_000
"""Up to this many rows, every batch rewrites `topics`, so that this table alone is the whole state."""

_TAIL_SHARE = 4
_TAIL_COMMITS = 50
_RING_FILES = 16

Fresh = dict[tuple[int, str], Bytes]
"""New operations, by partition and kind of ring."""

Run = Callable[[Plan], Sequence[SliceResult]]
"""Folds every slice of a plan, wherever that runs; it may be called again with a census.

Without any records the result may be empty: with adaptive planning Spark then leaves slices out.
"""


@dataclass(frozen=True, slots=True)
class Base:
    """What a batch continues from: a commit (None at first) and its state. `sequence` is the next commit's number."""

    commit: Commit | None
    folded: Folded
    sequence: int = 1

    @property
    def predecessor(self) -> str:
        """What the next commit names as its predecessor: the SHA-256 of the commit, or `GENESIS_COMMIT`."""
        return self.commit.sha256 if self.commit else GENESIS_COMMIT

    @property
    def start(self) -> tuple[int, ...]:
        """The positions where it ends, by partition."""
        return tuple(each.position for each in self.folded)


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch that has been folded and written, but not committed.

    `stops` are the offsets, by partition, of records that this version must not pass.
    """

    commit: Commit
    folded: Folded
    stops: Mapping[int, int]
    results: Sequence[SliceResult]


def fold_batch(root: Path, identity: LogIdentity, base: Base, slices: int, run: Run) -> Batch | None:
    """Return the batch that `run` folds onto `base`, or None if it holds nothing new.

    Raises:
        LogGap: offsets are missing between the base and the batch, or in it.
        LevelUnsupported: the first record raises the level beyond what this version knows.
        SnapshotDamaged: `topics` is to be rewritten, and the files that it is rewritten from have changed.
    """
    files = base.commit.files if base.commit else ()
    rewrites = _must_rewrite(base.commit)
    if rewrites and base.commit:
        # Once rewritten under a new SHA-256, damage could no longer be told from the right content.
        require_intact(root, base.commit, ("topics", "topics_tail"))
    plan = Plan(root, base.sequence, slices, base.start, tuple(each.owners for each in base.folded), files, rewrites)
    return _fold_batch(identity, base, plan, run)


def _fold_batch(identity: LogIdentity, base: Base, plan: Plan, run: Run) -> Batch | None:
    results = run(plan)
    if not results:
        return None
    if results[0].asked:
        plan = replace(plan, census=_census(base.folded, results))
        results = run(plan)
    stops = {partition: offset for each in results for partition, offset in each.stops.items()}
    to = require_whole([each.seen for each in results], base.start)
    to = [stops.get(partition, position) for partition, position in enumerate(to)]
    if tuple(to) == base.start:
        require_no_stop(stops)
        return None
    owners = pa.ipc.open_stream(next(each.owners for each in results if each.owners)).read_all()
    turned = with_owners(base.folded, owners, {*results[0].ended})
    folded = with_topics(turned, [each for result in results for each in result.namespaces])
    levels = results[0].levels
    folded = tuple(replace(each, position=to[n], level=levels[n]) for n, each in enumerate(folded))
    operated = _with_operations(folded, results)
    if operated is None:
        return _fold_batch(identity, base, replace(plan, whole_operations=True), run)
    folded, fresh = operated
    written = [
        *(file for result in results for file in result.files),
        *_write_owners(plan, folded, owners),
        write_rows(plan.root, "namespaces", plan.label, namespace_rows(folded)),
        *_write_rings(plan, folded, fresh),
    ]
    return Batch(_commit(identity, base, plan, folded, written, results), folded, stops, results)


def require_no_stop(stops: Mapping[int, int]) -> None:
    """Check that a batch with these `stops` was folded to its end.

    Raises:
        LevelUnsupported: a record raises the level beyond what this version knows.
    """
    for partition, offset in stops.items():
        raise LevelUnsupported(
            f"partition {partition} moves to a higher level at offset {offset}; this version knows {SUPPORTED_LEVEL}",
            hint="Upgrade this job. Everything before that offset is folded.",
            partition=partition,
            offset=offset,
        )


def _must_rewrite(commit: Commit | None) -> bool:
    """Return whether to rewrite `topics`: it is small, or the tail that is read beside it has become large or long."""
    if commit is None:
        return True
    rows = sum(each.rows for each in commit.files_of("topics"))
    tail = sum(each.rows for each in commit.files_of("topics_tail"))
    is_long = commit.sequence - commit.base_sequence >= _TAIL_COMMITS
    return rows <= SMALL_ROWS or tail * _TAIL_SHARE >= rows or is_long


def _census(folded: Folded, results: Sequence[SliceResult]) -> Census:
    """Return the totals of what slices have counted in the namespaces that they ask about."""
    before = {
        (partition, name): folded[partition].sums[name].live_topics if name in folded[partition].sums else 0
        for partition, name in results[0].asked
    }
    return census_of(before, (count for each in results for count in each.counts))


def _with_operations(folded: Folded, results: Sequence[SliceResult]) -> tuple[Folded, Fresh] | None:
    """Return the state after the operations of a batch, and those that were new to each ring and stay in it.

    None if some operations were repeated and the slices have not reported all of them.
    """
    rows = np.frombuffer(b"".join(each.operations for each in results), OPERATIONS)
    # Each slice reports topics' operations in the log's order, then owners': a few long runs, which merge quickly.
    order = np.argsort(log_places(rows["partition"].astype(np.int64), rows["offset"]), kind="stable")
    passed = np.frombuffer(b"".join(each.passed for each in results), PASSED)
    after: list[PartitionFolded] = list(folded)
    fresh: Fresh = {}
    partitions, firsts = np.unique(rows["partition"][order], return_index=True)
    for partition, first, end in zip(partitions.tolist(), firsts, [*firsts[1:], len(order)], strict=False):
        rings, here = dict(folded[partition].rings), order[first:end]
        by_client = rows["by_client"][here]
        for kind, capacity in CAPACITIES.items():
            chosen = rows["entry"][here[by_client == (kind == "client")]]
            before = passed[(passed["partition"] == partition) & (passed["by_client"] == (kind == "client"))]["half"]
            if not len(chosen):
                continue
            if len(before):
                if not rings[kind].are_new(chosen, before):
                    return None
                rings[kind] = rings[kind].with_new(chosen, len(before))
            else:
                rings[kind], chosen = rings[kind].added(chosen)
            fresh[partition, kind] = chosen[-capacity:]
        after[partition] = replace(folded[partition], rings=rings)
    return tuple(after), fresh


def _write_owners(plan: Plan, folded: Folded, changed: pa.Table) -> Iterator[DataFile]:
    """Write the changed tenants and namespaces to the tail, or all of them to `topics`."""
    rows = owner_table(folded) if plan.rewrites else changed
    if rows.num_rows:
        yield write_rows(plan.root, "topics" if plan.rewrites else "topics_tail", plan.label, rows)


def _write_rings(plan: Plan, folded: Folded, fresh: Fresh) -> Iterator[DataFile]:
    """Write the new operations; or, once there are many files, all operations in the rings."""
    if _rings_are_rewritten(plan):
        fresh = {(n, kind): each.rings[kind].rows for n, each in enumerate(folded) for kind in CAPACITIES}
    parts = []
    for (partition, kind), rows in fresh.items():
        number = folded[partition].rings[kind].number
        first = max(number - len(rows), 0)
        parts.append(ring_rows(partition, kind, first, rows))
    if parts and any(part.num_rows for part in parts):
        yield write_rows(plan.root, "rings", plan.label, pa.concat_tables(parts))


def _rings_are_rewritten(plan: Plan) -> bool:
    return sum(each.table == "rings" for each in plan.files) >= _RING_FILES


def _commit(
    identity: LogIdentity, base: Base, plan: Plan, folded: Folded, written: Sequence[DataFile],
    results: Sequence[SliceResult],
) -> Commit:  # fmt: skip
    before = base.commit
    replaced = {"namespaces"}
    if plan.rewrites:
        replaced |= {"topics", "topics_tail", "label_index"}
    if _rings_are_rewritten(plan):
        replaced.add("rings")
    kept = tuple(each for each in plan.files if each.table not in replaced)
    digests = [
        before.digests[n] if before and each.position == before.to[n] else each.digest().hex()
        for n, each in enumerate(folded)
    ]
    return Commit(
        sequence=plan.sequence,
        after=before.sequence if before else 0,
        predecessor=base.predecessor,
        incarnation=identity.incarnation.hex(),
        partitions=identity.partitions,
        from_=base.start,
        to=tuple(each.position for each in folded),
        levels=tuple(each.level for each in folded),
        digests=tuple(digests),
        counts=_counts(folded, (before.counts["history"] if before else 0) + sum(each.accepted for each in results)),
        files=kept + tuple(each for each in written if each.table not in GROWING_TABLES),
        added=tuple(each for each in written if each.table in GROWING_TABLES),
        base_sequence=plan.sequence if plan.rewrites or before is None else before.base_sequence,
        time_ms=int(time.time() * 1000),
    )


def _counts(folded: Folded, history: int) -> dict[str, int]:
    return {
        "topics": sum(sums.live_topics for each in folded for sums in each.sums.values()),
        "records": sum(sums.topics for each in folded for sums in each.sums.values()),
        "namespaces": sum(owner.is_live for each in folded for owner in each.namespaces.values()),
        "tenants": sum(owner.is_live for each in folded for owner in each.tenants.values()),
        "history": history,
    }
