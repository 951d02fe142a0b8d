"""Commits: what makes a snapshot, one file each, put in place whole and never twice.

`PATH/manifests/<sequence>.json` holds one commit and the SHA-256 of its text. It names every data file that makes up
the state after it, with length and SHA-256, and its predecessor by that one's SHA-256. So a flipped byte, a file
missing, swapped or cut short, and an older commit laid on top are all found by looking. The Delta tables beside it are
published from commits (`compaction.publishing`); no state is ever read from their logs, only the past (`archive`).
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from topicfold.errors import SnapshotDamaged, SnapshotUnreadable, WrongSnapshot
from topicfold.json_text import read_json
from topicfold.snapshot.durable_files import put_if_absent
from topicfold.snapshot.shortage import naming_shortage

FORMAT = 1
GENESIS_COMMIT = "genesis"
"""The predecessor of the first commit."""

MANIFESTS = "manifests"

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
"""How one begins, once a path is made of it."""


class DataFile(NamedTuple):
    """One Parquet file; `path` is relative to the snapshot's directory, its first part the table's name."""

    path: str
    size: int
    rows: int
    sha256: str

    @property
    def table(self) -> str:
        """The table that it belongs to."""
        return self.path.partition("/")[0]


@dataclass(frozen=True, slots=True)
class Commit:
    """One state: that after folding each partition from its start up to `to` (the next offset, exclusive).

    `incarnation` is the log's, in hex. `from_`, `to`, `levels` and `digests` (hex of `PartitionState.digest()`) are
    by partition. `files` are all files of the state tables; `added` those that this commit adds to the growing
    tables. `counts`: `topics` (live), `records` (tombstones too), `namespaces`, `tenants` (live), `history` (of all
    commits so far). `base_sequence` is the commit that wrote `topics` last, with an empty tail. `after` is the number
    of the predecessor, 0 for none: numbers are left out where a damaged commit was given up.
    """

    sequence: int
    after: int
    predecessor: str
    incarnation: str
    partitions: int
    from_: tuple[int, ...]
    to: tuple[int, ...]
    levels: tuple[int, ...]
    digests: tuple[str, ...]
    counts: Mapping[str, int]
    files: tuple[DataFile, ...]
    added: tuple[DataFile, ...]
    base_sequence: int
    time_ms: int
    format: int = FORMAT
    sha256: str = field(default="", compare=False)
    """Of the text it was read from or put as; empty before."""

    def files_of(self, table: str) -> list[DataFile]:
        """Return the files of one state table."""
        return [each for each in self.files if each.table == table]

    @property
    def own_files(self) -> list[DataFile]:
        """The files of the state tables that this commit wrote."""
        return [each for each in self.files if each.path.startswith(f"{each.table}/{self.sequence:012}-")]


def require_path(root: Path) -> None:
    """Return if `root` is the path of a directory, which need not be there.

    Raises:
        SnapshotUnreadable: it is a URL.
    """
    if _URL.match(str(root)):
        raise SnapshotUnreadable(
            f"{root} is a URL, and a snapshot lies in a directory",
            hint="Name its path. An object store has to be mounted, as a file system that keeps POSIX's promises.",
            path=str(root),
        )


def sequences(root: Path) -> list[int]:
    """Return the numbers of the commits under `root`, the newest first; none where there is no snapshot.

    Raises:
        SnapshotUnreadable: they cannot be listed; that is not to be taken for none. Nor is a URL.
    """
    require_path(root)
    try:
        names = [Path(each) for each in os.listdir(root / MANIFESTS)]
    except FileNotFoundError:
        return []
    except OSError as error:
        reason = f"the snapshot {root} cannot be read: {error.filename}: {error.strerror}"
        raise SnapshotUnreadable(reason, path=str(root)) from error
    return sorted((int(each.stem) for each in names if each.suffix == ".json" and each.stem.isdecimal()), reverse=True)


def commit_path(root: Path, sequence: int) -> Path:
    """Return where the commit of that number lies."""
    return root / MANIFESTS / f"{sequence:012}.json"


def read_commit(root: Path, sequence: int) -> Commit:
    """Return one commit, as it was put. Its files are not looked at: `require_intact` does that.

    Raises:
        SnapshotDamaged: the text is not what was put, or was put under another number, or is gone since it was listed.
        SnapshotUnreadable: it cannot be read, whatever the reason: it may be whole.
        WrongSnapshot: a newer version wrote it.
    """
    path = commit_path(root, sequence)
    try:
        with naming_shortage(path):
            found = read_json(path.read_bytes())
        text = found["commit"]
        if hashlib.sha256(text.encode()).hexdigest() != found["sha256"]:
            raise ValueError("its SHA-256 is another")
        fields = read_json(text)
        if fields["sequence"] != sequence:
            raise ValueError(f"it is commit {fields['sequence']}")
    except (FileNotFoundError, ValueError, KeyError, TypeError, AttributeError) as error:
        reason = f"{path} is damaged: {error}"
        raise SnapshotDamaged(reason, sequence=sequence, path=str(path)) from error
    except OSError as error:
        raise SnapshotUnreadable(f"{path} cannot be read: {error.strerror}", path=str(path)) from error
    if fields["format"] > FORMAT:
        raise WrongSnapshot(
            f"{path} has format {fields['format']}, this version knows {FORMAT}", hint="Install a newer Topicfold here."
        )
    return _commit(fields, found["sha256"])


def readable_commits(root: Path, on_damaged: Callable[[SnapshotDamaged], None] = lambda _: None) -> Iterator[Commit]:
    """Yield the commits under `root` that can be read, the newest first; others are told to `on_damaged`.

    Raises:
        SnapshotUnreadable: they cannot be listed, or one cannot be read.
        WrongSnapshot: a newer version wrote one.
    """
    for sequence in sequences(root):
        try:
            commit = read_commit(root, sequence)
        except SnapshotDamaged as error:
            on_damaged(error)
            continue
        yield commit


def not_given_up(commits: Iterable[Commit]) -> Iterator[Commit]:
    """Yield those of `commits`, the newest first, that no later one went past: what is damaged is, and stays there."""
    before: int | None = None
    for commit in commits:
        if before is None or commit.sequence <= before:
            before = commit.after
            yield commit


def put_commit(root: Path, commit: Commit) -> Commit | None:
    """Put `commit` in its place, whole and durable, and return it with its SHA-256; None if there is one already."""
    text = json.dumps(_fields(commit), sort_keys=True, separators=(",", ":"))
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    path = commit_path(root, commit.sequence)
    path.parent.mkdir(parents=True, exist_ok=True)
    if not put_if_absent(path, json.dumps({"sha256": sha256, "commit": text}).encode()):
        return None
    return _commit(json.loads(text), sha256)


def require_log(commit: Commit, incarnation: bytes, partitions: int, directory: str) -> None:
    """Return if `commit` is of this log; a hint names `directory`, which the user is to give instead.

    Raises:
        WrongSnapshot: it is of another.
    """
    if (commit.incarnation, commit.partitions) != (incarnation.hex(), partitions):
        raise WrongSnapshot(
            f"the snapshot is of the log {commit.incarnation} with {commit.partitions} partitions, "
            f"this one is {incarnation.hex()} with {partitions}",
            hint=f"Name {directory}, or the log that this one is of.",
        )


def _fields(commit: Commit) -> dict[str, Any]:
    fields = asdict(commit)
    del fields["sha256"]
    fields["files"] = [list(each) for each in commit.files]
    fields["added"] = [list(each) for each in commit.added]
    fields["counts"] = dict(commit.counts)
    return fields


def _commit(fields: dict[str, Any], sha256: str) -> Commit:
    known = {name: fields[name] for name in Commit.__dataclass_fields__ if name in fields}
    for name in ("from_", "to", "levels", "digests"):
        known[name] = tuple(known[name])
    for name in ("files", "added"):
        known[name] = tuple(DataFile(*each) for each in known[name])
    return Commit(**known, sha256=sha256)
