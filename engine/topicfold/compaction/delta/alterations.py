"""What somebody else did to the rows of a table that grows, since the job's last version of it.

The job's versions name their commit, and merging files, whoever does it, says that it changes no data. All else, such
as Delta's DELETE, UPDATE and RESTORE, would leave the table without rows that no commit adds again.

Source: Delta's protocol, "Actions" (`dataChange`) and "Transaction Identifiers".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError, DeltaError

from topicfold.snapshot.commits import DataFile
from topicfold.snapshot.files.delta_files import APPLICATION
from topicfold.snapshot.intact import is_there
from topicfold.text.json_text import read_json

Actions = Sequence[tuple[str, Mapping[str, Any]]]
"""Names and contents."""


class Alteration(NamedTuple):
    """Somebody else changed rows of `table` by `operation`, as Delta names it, after the job's last `version`.

    `before` has the files that the table consisted of before; None if some of them are gone.
    """

    table: str
    operation: str
    version: int
    before: Sequence[DataFile] | None

    def __str__(self) -> str:
        done = f"somebody else changed rows of the table {self.table} ({self.operation})"
        if self.before is None:
            return f"{done}, and removed files that they were in: it has what they left"
        return f"{done}: this is undone. To change anything, change a copy"


def alteration_of(delta: DeltaTable, path: Path) -> Alteration | None:
    """Return what somebody else did to the rows of `delta`, the table at `path`; None if nothing, or if Delta has
    cleared its entries away.

    Cost: reads the entries since the job's last one, which is most often the newest.
    """
    operation = ""
    for version, actions in _newest_first(delta, path):
        if _is_own(actions):
            return Alteration(path.name, operation, version, _files_at(path, version)) if operation else None
        if any(content.get("dataChange") for name, content in actions if name in ("add", "remove")):
            said = (content.get("operation") for name, content in actions if name == "commitInfo")
            operation = next(filter(None, said), "a write")
    return None


def restore_columns(delta: DeltaTable, path: Path, version: int) -> None:
    """Restore a version of the table at `path` if it had other columns. Its files are all there.

    If somebody else restores it at once, as another job does, nothing else is done.
    """
    if DeltaTable(str(path), version=version).schema() != delta.schema():
        with suppress(CommitFailedError):
            delta.restore(version)


def last_own_version(delta: DeltaTable, path: Path) -> int | None:
    """Return the newest version of the table that the job wrote for a commit; None if that is not known any more."""
    return next((version for version, actions in _newest_first(delta, path) if _is_own(actions)), None)


def files_of(delta: DeltaTable, table: str) -> Sequence[DataFile]:
    """Return the files that make up a version of a table, without their hashes."""
    actions = pa.table(delta.get_add_actions(flatten=True)).select(["path", "size_bytes", "num_records"])
    return [
        DataFile(f"{table}/{row['path']}", row["size_bytes"], row["num_records"], "") for row in actions.to_pylist()
    ]


def _newest_first(delta: DeltaTable, path: Path) -> Iterator[tuple[int, Actions]]:
    """Yield the versions of a table with their actions, down to the oldest whose entry is there and can be read."""
    for version in range(delta.version(), -1, -1):
        try:
            lines = (path / "_delta_log" / f"{version:020}.json").read_text().splitlines()
            actions = [each for line in lines for each in read_json(line).items()]
        except (OSError, ValueError):
            return
        yield version, actions


def _is_own(actions: Actions) -> bool:
    return any(content.get("appId") == APPLICATION for name, content in actions if name == "txn")


def _files_at(path: Path, version: int) -> Sequence[DataFile] | None:
    try:
        files = files_of(DeltaTable(str(path), version=version), path.name)
    except DeltaError:
        return None
    return files if all(is_there(path.parent, each) for each in files) else None
