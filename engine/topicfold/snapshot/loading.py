"""Loading: the state that a commit left, from its files into the engine's indexes, or not at all.

    load(root, log…)           the newest commit that is whole, with its state; commits before it where it is not
    restore(root, commit, …)   the state of one commit

Nothing is taken on trust: every file's length and SHA-256, the log's incarnation and partitions, the level, the counts,
and the digest of what was built. Files are read once, and what was hashed is what is parsed. Needs pyarrow, and neither
Spark nor Java. Blocks for seconds; run it in a thread.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from topicfold.collection import no_collection
from topicfold.errors import LevelUnsupported, SnapshotDamaged
from topicfold.model.events import SUPPORTED_LEVEL
from topicfold.snapshot.commits import Commit, read_commit, require_log, sequences
from topicfold.snapshot.intact import require_file
from topicfold.snapshot.owner_rows import read_owners
from topicfold.snapshot.ring_rows import read_rings
from topicfold.snapshot.shortage import naming_shortage
from topicfold.snapshot.tables import STATE_TABLES
from topicfold.snapshot.topic_columns import columns_of, newest_row
from topicfold.snapshot.topic_rows import read_topics
from topicfold.state.aggregate import Aggregate
from topicfold.state.columns import Columns
from topicfold.state.fold import NewState, PartitionState

Tell = Callable[[int, int], None]
"""Takes how many of how many rows are done."""


class NewestEvent(NamedTuple):
    """The newest of the events that aggregates of a partition come from: where it lies, and its id."""

    offset: int
    event_id: bytes


class Loaded(NamedTuple):
    """The state that `commit` left, by partition; `damaged` says what is wrong with the newer commits, newest first.

    `newest` has the last accepted event of each partition that has folded any: the log it goes on from must hold it.
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
    """Return the state of the newest commit that is whole; None where there is no commit to choose from.

    With `only`, that of these partitions alone. With `not_above`, of the newest commit whose positions do not exceed
    these; with `among`, of the newest that has one of these SHA-256.

    Raises:
        WrongSnapshot: it is of another log than this, or of a newer version.
        LevelUnsupported: it is at a level that this version does not know.
        SnapshotDamaged: there are commits to choose from, and none is whole; says what is wrong with the newest.
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
    """Return if `commit` is of this log, and of a level that is known.

    Raises:
        WrongSnapshot, LevelUnsupported: it is not.
    """
    require_log(commit, incarnation, partitions, "the directory of this log's snapshot")
    require_level(commit)


def require_level(commit: Commit) -> None:
    """Return if what comes behind `commit` is folded by a rule that is known.

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
    """Return the state that `commit` left, of all partitions or `only` of these, equal to what folding comes to.

    Topics have other numbers than where they were folded.

    Raises:
        SnapshotDamaged: a file is not what the commit says, or what was built of them all is not.
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
        try:
            with naming_shortage(root):
                newest = _fill(root, commit, states, progress)
        except (pa.ArrowException, ValueError, LookupError, TypeError) as error:
            # What was hashed is what was written: so it was written wrong, or by a version that knows more.
            raise _damaged(commit, f"cannot be read: {error}") from error
        _require_same(commit, states)
    return states, newest


def _fill(
    root: Path, commit: Commit, states: Mapping[int, PartitionState], progress: _Progress
) -> dict[int, NewestEvent]:
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

        # All that is little is made while topics are verified and read, which hardly needs the interpreter.
        restoring_rings = pool.submit(restore_rings)
        base, tail = list(verified("topics")), list(verified("topics_tail"))
        reading_owners = pool.submit(read_owners, [*base, *tail], commit.partitions)
        rows = read_topics(base, tail, list(states))
        tenants, namespaces = reading_owners.result()
        restoring_rings.result()
        # What nobody reads here has to be whole, too.
        for table in list(verifying):
            list(verified(table))
    del base, tail
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


def _newest_of(*owners: Mapping[str, Aggregate]) -> NewestEvent:
    events = (NewestEvent(each.offset, each.version) for some in owners for each in some.values())
    return max(events, default=NewestEvent(-1, b""))


def _capacities(state: PartitionState) -> tuple[int, int]:
    return state.operations.by_client.capacity, state.operations.by_server.capacity


def _require_same(commit: Commit, states: Mapping[int, PartitionState]) -> None:
    """Return if what was built has the digests and, if it is everything, the counts that the commit says."""
    for partition, state in states.items():
        if state.digest().hex() != commit.digests[partition]:
            raise _damaged(commit, f"comes to another digest in partition {partition}")
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
    """How far a load is."""

    def __init__(self, tell: Tell, total: int) -> None:
        self._tell, self._total, self._done = tell, total, 0

    def add(self, rows: int) -> None:
        self._done = min(self._done + rows, self._total)
        self._tell(self._done, self._total)

    def end(self) -> None:
        self._tell(self._total, self._total)
