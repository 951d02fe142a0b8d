"""A snapshot's directory as Delta tables: which files make them up, and how another version is written.

Of two writers of the same version Delta lets one through.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Schema, Transaction
from deltalake.exceptions import CommitFailedError, DeltaError
from deltalake.transaction import AddAction, RemoveAction

from topicfold.compaction.delta.alterations import files_of, last_own_version
from topicfold.compaction.delta.statistics import statistics_of
from topicfold.errors import SnapshotDamaged
from topicfold.snapshot.commits import DataFile
from topicfold.snapshot.files.data_files import FOUND_BY
from topicfold.snapshot.files.delta_files import APPLICATION
from topicfold.snapshot.files.durable_files import sync_directory, sync_file
from topicfold.snapshot.tables import GROWING_TABLES, SCHEMAS

_TOLD_OF = "delta.dataSkippingStatsColumns"
"""Where a table does not say of which columns its files have statistics, deltalake 1.6.6 takes all others to be null:
whoever asked for a name through Arrow or pandas was told that there is no such row."""


class Part(NamedTuple):
    """A file of a table that grows, and the first and the last commit that it has rows of."""

    file: DataFile
    first: int
    last: int


def opened(root: Path, table: str) -> DeltaTable:
    """Return the newest version of `table`, which is created if there is none.

    It says of which columns its files have statistics. Older tables, which do not say so yet, get another version.

    Raises:
        SnapshotDamaged: its Delta log cannot be read, or takes no change.
    """
    path = root / table
    path.mkdir(parents=True, exist_ok=True)
    told = {_TOLD_OF: ",".join(name for name in SCHEMAS[table].names if name in FOUND_BY)}
    if not DeltaTable.is_deltatable(str(path)):
        delta = DeltaTable.create(str(path), Schema.from_arrow(SCHEMAS[table]), mode="ignore", configuration=told)
        sync_entry(path, 0)
        return delta
    delta = _delta(path)
    _require_plain(delta, path)
    while _TOLD_OF not in delta.metadata().configuration:
        before = delta.version()
        try:
            delta.alter.set_table_properties(told)
        except DeltaError as error:
            if _delta(path).version() == before:
                raise _takes_no_change(delta, path, error) from error
        else:
            sync_entry(path, delta.version())
        delta = _delta(path)
    return delta


def _require_plain(delta: DeltaTable, path: Path) -> None:
    """Check that every reader of Delta can read the table.

    Raises:
        SnapshotDamaged: somebody gave it one of Delta's features for readers. Of a table with deletion vectors,
            deltalake 1.6.6 reads no row, but writes it as if they were not there.
    """
    if features := delta.protocol().reader_features:
        raise _takes_no_change(delta, path, f"somebody gave the table Delta's {', '.join(map(str, features))}")


def _takes_no_change(delta: DeltaTable, path: Path, why: object) -> SnapshotDamaged:
    """Return the error that the table at `path`, as `delta` is, takes no change.

    The way out is to go back to the job's last version, if others have changed what the table demands since.
    """
    hint = way_out(path.name)
    with suppress(DeltaError):
        own = last_own_version(delta, path)
        before = None if own is None else DeltaTable(str(path), version=own)
        if before and not before.protocol().reader_features and _demands(before) != _demands(delta):
            hint = f"Remove the entries and checkpoints above version {own} from it, which others wrote, "
            hint += "and _last_checkpoint."
    return _unusable(path, f"takes no change: {_first_line(why)}", hint)


def _demands(delta: DeltaTable) -> object:
    """Return what a version of a table demands of who writes it."""
    return delta.protocol(), delta.metadata().configuration


def noted_commit(root: Path, table: str) -> int:
    """Return the number of the newest commit that `table` has recorded, 0 for none.

    Raises:
        SnapshotDamaged: its Delta log cannot be read.
    """
    path = root / table
    return commit_in(_delta(path)) if DeltaTable.is_deltatable(str(path)) else 0


def commit_in(delta: DeltaTable) -> int:
    """Return the number of the newest commit that this version of a table has recorded, 0 for none."""
    return delta.transaction_version(APPLICATION) or 0


def files_in(delta: DeltaTable) -> set[str]:
    """Return the names of the files that make up this version of a table."""
    return set(pa.table(delta.get_add_actions(flatten=True))["path"].to_pylist())


def parts_among(delta: DeltaTable, files: Sequence[DataFile]) -> Sequence[Part]:
    """Return `files` of a table that grows as parts, sorted by name; `delta` is a version of the table.

    The names of the job's files begin with their commit. Of merged ones Delta's statistics tell the commits; where
    these are missing, as somebody else merged files, they may be any that the table has recorded.
    """
    actions = pa.table(delta.get_add_actions(flatten=True)).to_pylist()
    told = {row["path"]: (row.get("min.sequence"), row.get("max.sequence")) for row in actions}
    recorded = commit_in(delta)
    parts = []
    for file in sorted(files):
        number = name_of(file).partition("-")[0]
        first, last = (int(number),) * 2 if number.isdecimal() else told.get(name_of(file), (None, None))
        parts.append(Part(file, 0, recorded) if first is None or last is None else Part(file, first, last))
    return parts


def parts_now(root: Path, table: str) -> Sequence[Part]:
    """Return the parts of a table that grows, as it is now; none if there is no such table.

    Raises:
        SnapshotDamaged: its Delta log cannot be read.
    """
    if not DeltaTable.is_deltatable(str(root / table)):
        return []
    delta = _delta(root / table)
    return parts_among(delta, files_of(delta, table))


def active_files(root: Path, table: str) -> set[str]:
    """Return the names of the files that make up a Delta table now."""
    if not DeltaTable.is_deltatable(str(root / table)):
        return set()
    return files_in(_delta(root / table))


def active_files_at(root: Path, table: str, time: float) -> set[str]:
    """Return the names of the files that made up a Delta table at `time`, in seconds by the clock of its file system.

    Empty if its log does not go back that far, or if that version cannot be opened, so that nobody can be reading it.
    """
    log = root / table / "_delta_log"
    with suppress(FileNotFoundError):
        for entry in sorted(log.glob("*.json"), reverse=True):
            if entry.stem.isdecimal() and entry.stat().st_mtime < time:
                return files_as_of(root, table, int(entry.stem))
    return set()


def files_as_of(root: Path, table: str, version: int) -> set[str]:
    """Return the names of the files that make up a version of a Delta table; empty if it cannot be opened."""
    with suppress(DeltaError, FileNotFoundError):
        return files_in(DeltaTable(str(root / table), version=version))
    return set()


def write_version(
    delta: DeltaTable, path: Path, new: Sequence[DataFile], gone: Collection[str], time_ms: int, commit: int | None
) -> bool:
    """Write the next version of `delta`, the table at `path`; return False if somebody else wrote that version first.

    It has the files `new`, and no longer those in `gone`. `commit` is the number of the commit whose rows it brings;
    None if its rows are those of the version before, so that nobody who follows the table reads them again.

    Raises:
        SnapshotDamaged: the table takes no change.
    """
    has_changed = commit is not None
    actions: list[AddAction | RemoveAction] = []
    for each in new:
        statistics = json.dumps(statistics_of(path / name_of(each), each.rows))
        actions.append(AddAction(name_of(each), each.size, {}, time_ms, has_changed, statistics))
    actions += [
        RemoveAction(path=name, data_change=has_changed, deletion_timestamp=time_ms, partition_values={})
        for name in sorted(gone)
    ]
    transactions = [] if commit is None else [Transaction(APPLICATION, commit)]
    properties = CommitProperties(app_transactions=transactions, max_commit_retries=0)
    try:
        delta.create_write_transaction(
            actions, "append", Schema.from_arrow(SCHEMAS[path.name]), commit_properties=properties
        )
    except CommitFailedError as error:
        if _delta(path).version() > delta.version():
            return False
        raise _takes_no_change(delta, path, error) from error
    return True


def sync_entry(path: Path, version: int) -> None:
    """Sync an entry of a Delta log, and its directory, to disk, as Delta does not. The entry may be gone already.

    Otherwise a power failure could leave a row in `commits`, but not what that commit added to the table.
    """
    log = path / "_delta_log"
    with suppress(FileNotFoundError):
        sync_file(log / f"{version:020}.json")
    sync_directory(log)


def name_of(file: DataFile) -> str:
    """Return a file's name inside its table's directory."""
    return file.path.partition("/")[2]


def way_out(table: str) -> str:
    """Return the hint for a damaged file of a table."""
    other_way = "compact into a new directory" if table in GROWING_TABLES else "remove it, and it is made again"
    return f"Restore it, or {other_way}. Nodes do not need it."


def _delta(path: Path) -> DeltaTable:
    try:
        return DeltaTable(str(path))
    except DeltaError as error:
        raise _unusable(path, f"is damaged: {_first_line(error)}", way_out(path.name)) from error


def _unusable(path: Path, how: str, hint: str) -> SnapshotDamaged:
    """Return the error that says what is wrong with the Delta log of the table at `path`."""
    return SnapshotDamaged(f"{path / '_delta_log'} {how}", hint=hint, sequence=0, path=str(path))


def _first_line(why: object) -> str:
    return str(why).splitlines()[0][:200]
