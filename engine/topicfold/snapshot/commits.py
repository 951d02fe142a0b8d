"""Commits: what a snapshot consists of. Each is one file, put in place atomically and only once.

`PATH/manifests/<sequence>.json` holds one commit and the SHA-256 of its text. It names every data file of its state,
with length and SHA-256, and its predecessor's SHA-256. So a flipped byte, a missing, swapped or truncated file, and an
older commit copied over a newer one are all detected. The Delta tables beside the commits are published from them
(`compaction.delta.publishing`). No state is ever read by way of Delta's logs, only the past (`archive`).
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
from topicfold.snapshot.files.durable_files import put_if_absent
from topicfold.snapshot.files.unreadable import naming_shortage
from topicfold.text.counting import counted
from topicfold.text.json_text import read_json

FORMAT = 1
GENESIS_COMMIT = "genesis"
"""The predecessor of the first commit."""

NO_COMMIT_HINT = (
    "Name the directory with this log's snapshot, or restore it from a backup; if there is none, see docs/recovery.md."
)
"""What to do where there should be a commit, because the log was trimmed, and there is none."""

MANIFESTS = "manifests"

_COUNTED = ("topics", "records", "namespaces", "tenants", "history")
_MOST = (1 << 63) - 1
_FILE = re.compile(r"[a-z_]+/(?!\.)[A-Za-z0-9._=-]+")
"""The paths of data files: in a table's directory, and nowhere else."""

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")
"""How a URL begins after it was turned into a path, which keeps one of its slashes."""


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
    """One state: the one after folding each partition from its beginning up to `to` (the next offset, exclusive).

    - `incarnation`: the log's, in hex.
    - `from_`, `to`, `levels`, `digests` (hex of `PartitionState.digest()`): by partition.
    - `files`: all files of the state tables; `added`: those that this commit adds to the growing tables.
    - `counts`: `topics` (live), `records` (live topics and tombstones), `namespaces`, `tenants` (live), `history`
      (events of all commits so far).
    - `base_sequence`: the last commit that rewrote `topics`, with an empty tail.
    - `after`: the predecessor's number, 0 for none; numbers are skipped where a damaged commit was given up.
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
    """SHA-256 of the text that it was read from or written as; empty before."""

    def files_of(self, table: str) -> list[DataFile]:
        """Return the files of one state table."""
        return [each for each in self.files if each.table == table]

    @property
    def own_files(self) -> list[DataFile]:
        """The files of the state tables that this commit wrote."""
        return [each for each in self.files if each.path.startswith(f"{each.table}/{self.sequence:012}-")]


def require_path(root: Path) -> None:
    """Check that `root` is a path, not a URL; the directory need not exist.

    Raises:
        SnapshotUnreadable: it is a URL.
    """
    if found := _URL.match(str(root)):
        raise SnapshotUnreadable(
            f"{found[1]}://… is a URL, but a snapshot must be in a directory",
            hint="Name a path on a local or mounted file system with hard links and locks. An object store cannot be "
            "used.",
            path=str(root),
        )


def sequences(root: Path) -> list[int]:
    """Return the numbers of the commits under `root`, the newest first; an empty list if there is no snapshot.

    Raises:
        SnapshotUnreadable: they cannot be listed, which is not the same as none; or `root` is a URL.
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
    """Return the path of the commit with that number."""
    return root / MANIFESTS / f"{sequence:012}.json"


def read_commit(root: Path, sequence: int) -> Commit:
    """Return one commit. Its data files are not checked: `require_intact` does that.

    Raises:
        SnapshotDamaged: the text is not what was written, has another commit's number, or is gone.
        SnapshotUnreadable: it cannot be read, for any other reason, so it may be undamaged.
        WrongSnapshot: a newer version wrote it.
    """
    path = commit_path(root, sequence)
    try:
        with naming_shortage(path):
            found = read_json(path.read_bytes())
        text = found["commit"]
        if hashlib.sha256(text.encode()).hexdigest() != found["sha256"]:
            raise ValueError("its SHA-256 does not match")
        fields = read_json(text)
        if fields["sequence"] != sequence:
            raise ValueError(f"it is commit {fields['sequence']}")
        if fields["format"] > FORMAT:
            raise WrongSnapshot(
                f"{path} has format {fields['format']}, this version knows {FORMAT}",
                hint="Install a newer Topicfold here.",
            )
        commit = _commit(fields, found["sha256"])
        _require_form(commit)
        return commit
    except (FileNotFoundError, ValueError, LookupError, TypeError, AttributeError) as error:
        reason = f"{path} is damaged: {error}"
        raise SnapshotDamaged(reason, sequence=sequence, path=str(path)) from error
    except OSError as error:
        raise SnapshotUnreadable(f"{path} cannot be read: {error.strerror}", path=str(path)) from error


def readable_commits(root: Path, on_damaged: Callable[[SnapshotDamaged], None] = lambda _: None) -> Iterator[Commit]:
    """Yield the commits under `root` that can be read, the newest first; call `on_damaged` for damaged ones.

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


def commits_after(root: Path, newest: Commit, sequence: int) -> Iterator[Commit]:
    """Yield `newest` and those that it was made from, one after another, as long as their number is above `sequence`.

    Raises:
        SnapshotDamaged: the next one cannot be read, so nobody knows which one it was made from.
        SnapshotUnreadable, WrongSnapshot: as `read_commit`.
    """
    commit = newest
    while commit.sequence > sequence:
        yield commit
        if commit.after <= sequence:
            return
        commit = read_commit(root, commit.after)


def not_given_up(commits: Iterable[Commit]) -> Iterator[Commit]:
    """Yield `commits`, the newest first, without those that were given up: damaged ones that a later one skipped."""
    before: int | None = None
    for commit in commits:
        if before is None or commit.sequence <= before:
            before = commit.after
            yield commit


def put_commit(root: Path, commit: Commit) -> Commit | None:
    """Put `commit` in its place, atomically and durably; return it with its SHA-256, or None if the number is taken."""
    fields = {name: value for name, value in asdict(commit).items() if name != "sha256"}
    text = json.dumps(fields, sort_keys=True, separators=(",", ":"))
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    path = commit_path(root, commit.sequence)
    path.parent.mkdir(parents=True, exist_ok=True)
    if not put_if_absent(path, json.dumps({"sha256": sha256, "commit": text}).encode()):
        return None
    # As whoever reads it has it: the tables say the same of it, in the same order, whoever publishes it.
    return _commit(json.loads(text), sha256)


def require_log(commit: Commit, incarnation: bytes, partitions: int, directory: str) -> None:
    """Check that `commit` is of this log. `directory` describes, for the hint, what the user should name instead.

    Raises:
        WrongSnapshot: it is of another log.
    """
    if (commit.incarnation, commit.partitions) != (incarnation.hex(), partitions):
        raise WrongSnapshot(
            f"the snapshot is of the log {commit.incarnation} with {counted(commit.partitions, 'partition')}, "
            f"this one is {incarnation.hex()} with {partitions}",
            hint=f"Name {directory}, or the log that this one is of.",
        )


def _commit(fields: Mapping[str, Any], sha256: str) -> Commit:
    known = {name: fields[name] for name in Commit.__dataclass_fields__ if name in fields}
    for name in ("from_", "to", "levels", "digests"):
        known[name] = tuple(known[name])
    for name in ("files", "added"):
        known[name] = tuple(DataFile(*each) for each in known[name])
    return Commit(**known, sha256=sha256)


def _require_form(commit: Commit) -> None:
    """Check that a commit says what it has to, in the types that it declares, whoever wrote it.

    Raises:
        ValueError, KeyError, TypeError: it does not.
    """
    by_partition = (commit.from_, commit.to, commit.levels, commit.digests)
    files = (*commit.files, *commit.added)
    numbers = (
        commit.sequence, commit.after, commit.partitions, commit.base_sequence, commit.time_ms, *commit.from_,
        *commit.to, *commit.levels, *(commit.counts[name] for name in _COUNTED),
        *(number for each in files for number in (each.size, each.rows)),
    )  # fmt: skip
    texts = (commit.predecessor, commit.incarnation, *commit.digests, *(each.sha256 for each in files))
    if not all(type(each) is int and 0 <= each <= _MOST for each in numbers):
        raise ValueError("it has something else where it has whole numbers")
    if not all(isinstance(each, str) for each in texts):
        raise ValueError("it has something else where it has texts")
    if {len(each) for each in by_partition} != {commit.partitions} or not commit.partitions:
        raise ValueError("it does not say each thing of each partition")
    for each in files:
        if not _FILE.fullmatch(each.path):
            raise ValueError(f"it names the file {each.path!a}")
