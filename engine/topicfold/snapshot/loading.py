"""Loading: a commit's state, from its files into the engine's indexes, completely or not at all.

    load(root, log…)           the state of the newest commit; of an earlier one if it is damaged
    restore(root, commit, …)   the state of one commit

Everything is verified: every file's length and SHA-256, the log's incarnation and partitions, the level, the counts,
and the digest of the loaded state. Files are read once, so the bytes that are parsed are those that were hashed. Needs
pyarrow, but neither Spark nor Java. Blocks for seconds; run it in a thread.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from topicfold.errors import LevelUnsupported, SnapshotDamaged
from topicfold.model.events import SUPPORTED_LEVEL
from topicfold.process.collection import no_collection
from topicfold.process.free_pages import give_back_pages
from topicfold.snapshot.commits import Commit, read_commit, require_log, sequences
from topicfold.snapshot.intact import naming_damage, require_file
from topicfold.snapshot.rows.owner_rows import Owners, read_owners
from topicfold.snapshot.rows.ring_rows import read_rings
from topicfold.snapshot.rows.topic_columns import columns_of, newest_row
from topicfold.snapshot.rows.topic_rows import TopicRows, read_topics
from topicfold.snapshot.tables import STATE_TABLES
from topicfold.state.aggregate import Aggregate
from topicfold.state.columns import Columns
from topicfold.state.fold import NewState, PartitionState

Tell = Callable[[int, int], None]
"""Takes the progress: how many of how many rows are done."""


class NewestEvent(NamedTuple):
    """Offset and id of the newest event in a partition's state."""

    offset: int
    event_id: bytes


class Loaded(NamedTuple):
    """The state of `commit`, by partition; `damaged` says what is wrong with newer commits, the newest first.

    `newest` has the newest event in the state of each partition that has any: the log to continue from must hold it.
    """

    commit: Commit
    states: Mapping[int, PartitionState]
    newest: Mapping[int, NewestEvent]
    damaged: tuple[SnapshotDamaged, ...]


def load(
    root: Path,
    incarnation: bytes,
    partitions: int,
    new_state: NewState,
    *,
    only: Collection[int] | None = None,
    not_above: Mapping[int, int] | None = None,
    among: Collection[str] | None = None,
    tell: Tell = lambda done, total: None,
) -> Loaded | None:
    """Return the state of the newest undamaged commit; None if there is no commit to choose from.

    `only` restricts this to some partitions. `not_above` restricts the choice to commits whose positions do not exceed
    these, `among` to those with one of these SHA-256.

    Raises:
        WrongSnapshot: a commit is of another log, or by a newer version.
        LevelUnsupported: a commit is at a level that this version does not know.
        SnapshotDamaged: there are commits to choose from, but all are damaged; says what is wrong with the newest.
        SnapshotUnreadable: the commits cannot be listed or read, or memory, open files or rights do not suffice.
    """
    damaged: list[SnapshotDamaged] = []
    for sequence in sequences(root):
        try:
            commit = read_commit(root, sequence)
            require_own(commit, incarnation, partitions)
            if not_above and any(commit.to[partition] > highest for partition, highest in not_above.items()):
                continue
            if among is not None and commit.sha256 not in among:
                continue
            states, newest = _restored(root, commit, new_state, only, tell)
            return Loaded(commit, states, newest, tuple(damaged))
        except SnapshotDamaged as error:
            damaged.append(error)
    if damaged:
        raise damaged[0]
    return None


def require_own(commit: Commit, incarnation: bytes, partitions: int) -> None:
    """Check that `commit` is of this log, and at a level that is known.

    Raises:
        WrongSnapshot, LevelUnsupported: it is not.
    """
    require_log(commit, incarnation, partitions, "the directory of this log's snapshot")
    require_level(commit)


def require_level(commit: Commit) -> None:
    """Check that the folding rule for what follows `commit` is known.

    Raises:
        LevelUnsupported: it is not.
    """
    if max(commit.levels) > SUPPORTED_LEVEL:
        raise LevelUnsupported(
            f"the snapshot's commit {commit.sequence} is at level {max(commit.levels)}, "
            f"this version knows level {SUPPORTED_LEVEL}"
        )


def restore(
    root: Path,
    commit: Commit,
    new_state: NewState,
    *,
    only: Collection[int] | None = None,
    tell: Tell = lambda done, total: None,
) -> dict[int, PartitionState]:
    """Return the state of `commit`, for all partitions or `only` for some, equal to what folding gives.

    Topics have other numbers than in a folded state, which no answer depends on.

    Raises:
        SnapshotDamaged: a file, or the loaded state, is not what the commit says.
        SnapshotUnreadable: memory, open files or rights do not suffice.

    Cost: 2 µs a topic with five labels, and 1 µs an operation in the rings.
    """
    return _restored(root, commit, new_state, only, tell)[0]


def _restored(
    root: Path, commit: Commit, new_state: NewState, only: Collection[int] | None, tell: Tell
) -> tuple[dict[int, PartitionState], dict[int, NewestEvent]]:
    chosen = sorted(only) if only is not None else list(range(commit.partitions))
    total = 2 * sum(each.rows for each in commit.files_of("topics") + commit.files_of("topics_tail"))
    progress = _Progress(tell, total)
    with no_collection():
        states = {partition: new_state(partition) for partition in chosen}
        with naming_damage(root, commit):
            newest = _fill(root, commit, states, progress)
        _require_same(commit, states, newest)
    # Of a million topics, both keep 150 MB of what was read, beside 830 of the state.
    pa.default_memory_pool().release_unused()
    give_back_pages()
    return states, newest


def _fill(
    root: Path, commit: Commit, states: Mapping[int, PartitionState], progress: _Progress
) -> dict[int, NewestEvent]:
    rows, tenants, namespaces = _read(root, commit, states, progress)
    topics: dict[int, dict[str, Columns]] = {partition: {} for partition in states}
    newest = {partition: _newest_of(tenants[partition], namespaces[partition]) for partition in states}
    for partition, namespace, columns in columns_of(rows, next(iter(states.values())).separator):
        topics[partition][namespace] = columns
        newest[partition] = max(newest[partition], NewestEvent(*newest_row(columns)))
    for partition, state in states.items():
        state.restore(
            commit.to[partition],
            commit.levels[partition],
            tenants[partition],
            namespaces[partition],
            topics.pop(partition),
        )
        progress.add(sum(len(table.keys) for table in state.topics.values()))
    progress.end()
    return {partition: event for partition, event in newest.items() if event.offset >= 0}


def _read(
    root: Path, commit: Commit, states: Mapping[int, PartitionState], progress: _Progress
) -> tuple[TopicRows, Owners, Owners]:
    """Verify all files; return the rows of topics, the tenants and the namespaces, and fill the rings of `states`."""
    capacities = {partition: _capacities(state) for partition, state in states.items()}
    with ThreadPoolExecutor() as pool:
        verifying = {
            table: [(file, pool.submit(require_file, root, commit.sequence, file)) for file in commit.files_of(table)]
            for table in {*STATE_TABLES, *(file.table for file in commit.files)}
        }

        def verified(table: str) -> Iterator[memoryview]:
            for file, content in verifying.pop(table):
                yield content.result()
                if table.startswith("topics"):
                    progress.add(file.rows)

        def restore_rings() -> None:
            for partition, rings in read_rings(list(verified("rings")), capacities).items():
                states[partition].operations.restore(*rings)

        # All small parts are built while topics are verified and read, which hardly needs the interpreter.
        restoring_rings = pool.submit(restore_rings)
        base, tail = list(verified("topics")), list(verified("topics_tail"))
        reading_owners = pool.submit(read_owners, [*base, *tail], commit.partitions)
        rows = read_topics(base, tail, list(states))
        tenants, namespaces = reading_owners.result()
        restoring_rings.result()
        # Files that are not parsed here must be undamaged too.
        for table in list(verifying):
            list(verified(table))
    return rows, tenants, namespaces


def _newest_of(*owners: Mapping[str, Aggregate]) -> NewestEvent:
    events = (NewestEvent(each.offset, each.version) for some in owners for each in some.values())
    return max(events, default=NewestEvent(-1, b""))


def _capacities(state: PartitionState) -> tuple[int, int]:
    return state.operations.by_client.capacity, state.operations.by_server.capacity


def _require_same(commit: Commit, states: Mapping[int, PartitionState], newest: Mapping[int, NewestEvent]) -> None:
    """Check that the loaded states have the digests and, if all were loaded, the counts that the commit says.

    The digest says nothing of the position, behind which there can be no event.
    """
    for partition, state in states.items():
        if partition in newest and newest[partition].offset >= commit.to[partition]:
            raise _damaged(commit, f"holds an event behind its position in partition {partition}")
        if state.digest().hex() != commit.digests[partition]:
            raise _damaged(commit, f"gives another digest in partition {partition}")
    if len(states) < commit.partitions:
        return
    tables = [table for state in states.values() for table in state.topics.values()]
    found = {
        "topics": sum(map(len, tables)),
        "records": sum(len(table.keys) for table in tables),
        "namespaces": len(tables),
        "tenants": sum(tenant.is_live for state in states.values() for tenant in state.tenants.values()),
    }
    for name, count in found.items():
        if commit.counts[name] != count:
            raise _damaged(commit, f"holds {count} {name}, not {commit.counts[name]}")


def _damaged(commit: Commit, what: str) -> SnapshotDamaged:
    return SnapshotDamaged(f"commit {commit.sequence} of the snapshot {what}", sequence=commit.sequence, path="")


class _Progress:
    """How far a load has come."""

    def __init__(self, tell: Tell, total: int) -> None:
        self._tell, self._total, self._done = tell, total, 0

    def add(self, rows: int) -> None:
        self._done = min(self._done + rows, self._total)
        self._tell(self._done, self._total)

    def end(self) -> None:
        self._tell(self._total, self._total)
