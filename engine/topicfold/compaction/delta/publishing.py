"""Publishes a snapshot's commits as Delta tables, for other tools to read. Topicfold itself reads only one of them,
`history`, in `snapshot/archive.py`.

A commit is published after it was put: table by table, with its row in `commits` last. Publishing again changes
nothing, nor does a job that was overtaken: each version names its commit as Delta's application transaction.
"""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pyarrow.parquet as pq
from deltalake import DeltaTable

from topicfold.compaction.delta.alterations import Alteration, alteration_of, files_of, restore_columns
from topicfold.compaction.delta.tables import (
    Part,
    active_files,
    commit_in,
    files_in,
    name_of,
    noted_commit,
    opened,
    parts_among,
    parts_now,
    sync_entry,
    way_out,
    write_version,
)
from topicfold.errors import BadSetting, SnapshotDamaged
from topicfold.snapshot.commits import Commit, DataFile, commits_after, require_path
from topicfold.snapshot.files.data_files import write_rows
from topicfold.snapshot.files.unreadable import naming_shortage
from topicfold.snapshot.intact import is_there
from topicfold.snapshot.tables import COMMITS, GROWING_TABLES, SCHEMAS, STATE_TABLES
from topicfold.text.rfc3339 import moment_of

_UNUSABLE = re.compile(r"%[0-9A-Fa-f]{2}|[\x00-\x1f\x7f\\\ud800-\udfff]")
"""What Delta misreads in a directory's name, or fails on: seen with deltalake 1.6.6."""


def require_usable(root: Path) -> None:
    """Check that this directory can hold Delta tables.

    Raises:
        BadSetting: Delta would not write to a directory whose path, with links resolved, has such a name in it.
        SnapshotUnreadable: it is a URL, not a directory.
    """
    require_path(root)
    path = str(root.resolve())
    if found := _UNUSABLE.search(path):
        raise BadSetting(
            f"no Delta table can lie in {path!r}: Delta's libraries misread {found[0]!r}",
            hint="Name a directory without \\, control characters, and % before two hexadecimal digits.",
        )


def publish(root: Path, newest: Commit) -> Sequence[Alteration]:
    """Bring every table to `newest`, by publishing in order all commits that have not been published.

    Returns what somebody else did to the rows of the tables that grow. It is undone where that is possible.

    If the Delta log of `commits` is gone, the growing tables tell where to begin: all commits before the newest one
    that any of them has were published.

    Raises:
        SnapshotDamaged: one of these commits, the Delta log of a table, or a file that is to be rewritten cannot be
            read; or a table takes no change, because somebody gave it properties that forbid it.
        SnapshotUnreadable: it cannot be seen whether a file is there.
    """
    undone: list[Alteration | None] = []
    for each in reversed([*_unpublished(root, newest)]):
        versions = {table: _bring_state(root, table, each) for table in STATE_TABLES}
        for table in GROWING_TABLES:
            versions[table], alteration = _grow(root, table, each)
            undone.append(alteration)
        for table in GROWING_TABLES:
            sync_entry(root / table, versions[table])
        undone.append(_append_commit(root, each, versions))
    return [each for each in undone if each]


def restore_lost(root: Path, newest: Commit) -> None:
    """Add to growing tables what they lack of commits that are still there, if entries of their Delta logs are lost.

    Otherwise nobody would look for these rows once a later commit was published, or could find them once theirs was
    removed.

    Raises:
        SnapshotDamaged: a Delta log, or a file that is to be rewritten, cannot be read.
        SnapshotUnreadable: it cannot be seen whether a file is there.
    """
    for table in GROWING_TABLES:
        for each, added in reversed([*_lacking(root, newest, table)]):
            if added and all(is_there(root, file) for file in added):
                _grow(root, table, each)


class Lost(NamedTuple):
    """A file, missing or cut short, with rows that growing tables need, the last of them of the commit `last`."""

    path: Path
    last: int


def lost_growth(root: Path, newest: Commit) -> Lost | None:
    """Return a lost file with rows that the growing tables need for the commits up to `newest`; else None.

    It may be a commit that was damaged before it was published, so that nobody knows its files. A copy made while the
    job ran may lack files, whether a table names them or not. Commits that were removed are assumed to have been
    published.

    Raises:
        SnapshotDamaged: a Delta log cannot be read.
        SnapshotUnreadable: it cannot be seen whether a file is there.
    """
    unpublished = _unpublished(root, newest)
    try:
        list(unpublished)
    except SnapshotDamaged as error:
        return Lost(Path(error.values["path"]), 0)
    lost: list[Lost] = []
    for table in GROWING_TABLES:
        gone = (part for part in _gone(root, parts_now(root, table)) if part.first <= newest.sequence)
        lost += (Lost(root / part.file.path, part.last) for part in gone)
        for each, added in _lacking(root, newest, table):
            lost += (Lost(root / file.path, each.sequence) for file in added if not is_there(root, file))
    return max(lost, key=lambda each: each.last, default=None)


def drop_gone(root: Path, tables: Collection[str], commit: Commit) -> Sequence[Path]:
    """Drop from these tables the files that they name and that are lost: with them nobody can read any row.

    In tables that grow, those stay that have rows of commits after `commit`: once these are folded again, publishing
    drops them. Returns the paths of the others. If somebody else writes a table meanwhile, it stays as it is.

    Raises:
        SnapshotDamaged: a Delta log cannot be read, or takes no change.
        SnapshotUnreadable: it cannot be seen whether a file is there.
    """
    dropped: list[Path] = []
    for table in tables:
        delta = opened(root, table)
        lost = _gone(root, parts_among(delta, files_of(delta, table)))
        gone = [part.file for part in lost if table not in GROWING_TABLES or part.last <= commit.sequence]
        if gone and write_version(delta, root / table, [], [*map(name_of, gone)], int(time.time() * 1000), None):
            sync_entry(root / table, delta.version() + 1)
            dropped += (root / file.path for file in gone)
    return dropped


def _gone(root: Path, parts: Sequence[Part]) -> Sequence[Part]:
    """Return those of `parts` whose files are missing or have another length."""
    return [each for each in parts if not is_there(root, each.file)]


def _lacking(root: Path, newest: Commit, table: str) -> Iterator[tuple[Commit, Sequence[DataFile]]]:
    """Yield the commits up to `newest` that a growing table lacks, with the files that they add to it.

    The newest come first, and none after one that cannot be read.
    """
    with suppress(SnapshotDamaged):
        for each in commits_after(root, newest, noted_commit(root, table)):
            yield each, [file for file in each.added if file.table == table]


def _unpublished(root: Path, newest: Commit) -> Iterator[Commit]:
    """Yield the commits up to `newest` that some table may lack, the newest first.

    Raises:
        SnapshotDamaged: the next one, or the Delta log of a table, cannot be read.
    """
    grown = max(noted_commit(root, table) for table in GROWING_TABLES)
    return commits_after(root, newest, published_sequence(root) or max(grown - 1, 0))


def published_sequence(root: Path) -> int:
    """Return the number of the newest commit that all tables have, 0 for none."""
    return noted_commit(root, "commits")


def named_versions(root: Path, numbers: Collection[int], tables: Collection[str]) -> set[tuple[str, int]]:
    """Return the versions of these tables that the rows of `commits` with these numbers name.

    Empty if `commits` is damaged, so that nobody can learn them.

    Raises:
        SnapshotDamaged: its Delta log cannot be read.
        SnapshotUnreadable: memory, open files or rights do not suffice, or the disk fails.
    """
    paths = [str(root / "commits" / name) for name in sorted(active_files(root, "commits"))]
    try:
        with naming_shortage(root / "commits"):
            rows = pads.dataset(paths, COMMITS).to_table(["versions"], pc.field("sequence").isin([*numbers]))
    except (pa.ArrowException, OSError):
        return set()
    return {each for row in rows["versions"].to_pylist() for each in row if each[0] in tables}


def noted_sequence(root: Path) -> int:
    """Return the highest commit number that any table has recorded, 0 for none; it must not be used again."""
    return max(noted_commit(root, table) for table in SCHEMAS)


def _bring_state(root: Path, table: str, commit: Commit) -> int:
    """Return the version of a table of the state that matches `commit`, created now if there is none."""
    while True:
        delta = opened(root, table)
        if commit_in(delta) >= commit.sequence:
            return delta.version()
        if (version := _written(delta, root / table, commit.files_of(table), commit)) is not None:
            return version


def _grow(root: Path, table: str, commit: Commit) -> tuple[int, Alteration | None]:
    """Return the version of a growing table that matches `commit`, created now if there is none, and what somebody
    else had done to the version before it.
    """
    # A file that is missing, as in a copy, would make the whole table unreadable.
    added = [each for each in commit.added if each.table == table and is_there(root, each)]
    while True:
        delta, alteration = _found(root, table)
        if commit_in(delta) >= commit.sequence:
            return delta.version(), None
        before = _before(delta, table, alteration)
        gone, kept = _given_up(root, delta, commit, before)
        files = [*(each for each in before if name_of(each) not in gone), *added, *kept]
        if (version := _written(delta, root / table, files, commit, alteration)) is not None:
            return version, alteration


def _found(root: Path, table: str) -> tuple[DeltaTable, Alteration | None]:
    """Return a table that grows, with the columns that the job gave it, and what somebody else did to its rows."""
    delta = opened(root, table)
    alteration = alteration_of(delta, root / table)
    if alteration is None or alteration.before is None:
        return delta, alteration
    restore_columns(delta, root / table, alteration.version)
    delta = opened(root, table)
    return delta, alteration_of(delta, root / table)


def _before(delta: DeltaTable, table: str, alteration: Alteration | None) -> Sequence[DataFile]:
    """Return the files of a table that grows, as they were before somebody else changed rows, if that can be undone."""
    return files_of(delta, table) if alteration is None or alteration.before is None else alteration.before


def _written(
    delta: DeltaTable, path: Path, files: Sequence[DataFile], commit: Commit, alteration: Alteration | None = None
) -> int | None:
    """Return the version of the table at `path` that consists of `files`; None if somebody else wrote the next one.

    What somebody else did is followed by a version of the job's even if that changes nothing: else it would be told of
    again.
    """
    active = files_in(delta)
    new = [each for each in files if name_of(each) not in active]
    gone = active - {name_of(each) for each in files}
    if not new and not gone and alteration is None:
        return delta.version()
    return delta.version() + 1 if write_version(delta, path, new, gone, commit.time_ms, commit.sequence) else None


def _given_up(
    root: Path, delta: DeltaTable, commit: Commit, files: Sequence[DataFile]
) -> tuple[set[str], list[DataFile]]:
    """Return a growing table's files that have rows of commits given up by `commit`, and files with their other rows.

    A damaged commit that was given up may have been published, and somebody may have merged its files with others
    (`optimize`). Then the other rows of such a file are written to a new file, which may be merged again.

    Raises:
        SnapshotDamaged: a merged file cannot be read.

    Cost: only if `commit` gives up others, reads one column of each merged file that may have rows of both.
    """
    if commit.after == commit.sequence - 1:
        return set(), []
    gone: set[str] = set()
    kept: list[DataFile] = []
    for file, first, last in parts_among(delta, files):
        if first >= commit.sequence or last <= commit.after:
            continue
        if (commit.after < first and last < commit.sequence) or not is_there(root, file):
            gone.add(name_of(file))
        elif (others := _other_rows(root / file.path, file.table, commit)) is not None:
            gone.add(name_of(file))
            if others.num_rows:
                kept.append(write_rows(root, file.table, "kept", others))
    return gone, kept


def _other_rows(path: Path, table: str, commit: Commit) -> pa.Table | None:
    """Return a merged file's rows without those of commits that `commit` gave up; None if it has none of these."""
    given_up = (pc.field("sequence") > commit.after) & (pc.field("sequence") < commit.sequence)
    schema = SCHEMAS[table]
    try:
        if not pq.read_table(path, schema=schema, columns=["sequence"], filters=given_up).num_rows:
            return None
        return pq.read_table(path, schema=schema, filters=~given_up)
    except (pa.ArrowException, OSError) as error:
        reason = f"{path}, a file of the table {table}, cannot be read: {error}"
        raise SnapshotDamaged(reason, hint=way_out(table), sequence=0, path=str(path)) from error


def _append_commit(root: Path, commit: Commit, versions: dict[str, int]) -> Alteration | None:
    """Add the row of `commit` to the table `commits`, unless it is there. Return what somebody else had done to it."""
    row = {
        "sequence": commit.sequence,
        "time": moment_of(commit.time_ms),
        "incarnation": commit.incarnation,
        "predecessor": commit.predecessor,
        "sha256": commit.sha256,
        "from": commit.from_,
        "to": commit.to,
        "levels": commit.levels,
        "digests": commit.digests,
        "counts": list(commit.counts.items()),
        "versions": list(versions.items()),
    }
    rows = pa.Table.from_pylist([row], COMMITS)
    file: DataFile | None = None
    while True:
        delta, alteration = _found(root, "commits")
        if commit_in(delta) >= commit.sequence:
            return None
        file = file or write_rows(root, "commits", f"{commit.sequence:012}", rows)
        files = [*_before(delta, "commits", alteration), file]
        if _written(delta, root / "commits", files, commit, alteration) is not None:
            return alteration
