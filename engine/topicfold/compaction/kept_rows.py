"""Checks, before the log is trimmed, that the tables that grow have kept what is going to be deleted from it.

Until then the job can fold the rows of a damaged file again; afterwards nobody can. Needs neither Spark nor Delta's
library.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from topicfold.errors import SnapshotDamaged, TrimRefused
from topicfold.snapshot.commits import Commit
from topicfold.snapshot.files.data_files import is_as_named
from topicfold.snapshot.files.delta_files import active_files
from topicfold.snapshot.files.unreadable import naming_shortage
from topicfold.snapshot.tables import GROWING_TABLES

_ANY = (0, (1 << 63) - 1)


def require_kept(root: Path, after: int, up_to: Commit, compact: str) -> None:
    """Check that the tables that grow have the rows of all commits above `after` up to `up_to`, as they were written.

    `compact` is the command that folds rows again, for the hint.

    Raises:
        TrimRefused: a file with such rows is missing or damaged, or a table's Delta log cannot be read or lacks some.
        SnapshotUnreadable: memory, open files or rights do not suffice, or the disk fails.

    Cost: reads the files that have such rows, at 1 to 2 GB/s, and the footers of merged ones.
    """
    for table in GROWING_TABLES:
        try:
            paths, noted = active_files(root, table)
        except SnapshotDamaged as error:
            raise TrimRefused(error.reason, hint="Restore it, or compact into a new directory.") from error
        if noted < up_to.sequence and any(file.table == table for file in up_to.added):
            raise TrimRefused(
                f"the table {root / table} lacks rows of commit {up_to.sequence}, which the log still has",
                hint=f"{compact} adds them.",
            )
        for path in (root / each for each in paths):
            if wrong := _wrong_with(path, after, up_to.sequence):
                raise TrimRefused(
                    f"{path} {wrong}, and the log still has what it held",
                    hint=f"Restore it. If there is no copy, remove it: {compact} folds its rows again.",
                )


def _wrong_with(path: Path, after: int, up_to: int) -> str:
    """Return what is wrong with a file that may have rows of these commits; "" for nothing."""
    try:
        with naming_shortage(path):
            has_some = any(after < last and first <= up_to for first, last in _commits_in(path))
            return "" if not has_some or is_as_named(path) else "is not what was written"
    except FileNotFoundError:
        return "is gone"
    except (pa.ArrowException, OSError) as error:
        return f"cannot be read ({error})"


def _commits_in(path: Path) -> Iterator[tuple[int, int]]:
    """Yield the first and the last commit of each group of a file's rows; its name says it, unless it was merged.

    Raises:
        ArrowException, OSError: its footer cannot be read.
    """
    number = path.name.partition("-")[0]
    if number.isdecimal():
        yield int(number), int(number)
        return
    footer = pq.read_metadata(path)
    column = footer.schema.names.index("sequence")
    for group in map(footer.row_group, range(footer.num_row_groups)):
        told = group.column(column).statistics
        yield (told.min, told.max) if told is not None and told.has_min_max else _ANY
