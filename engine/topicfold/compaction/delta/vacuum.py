"""Removes what no reader can need any more: files of old commits, and of batches that were never committed."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from topicfold.compaction.delta.publishing import named_versions, published_sequence
from topicfold.compaction.delta.tables import active_files, active_files_at, files_as_of
from topicfold.errors import SnapshotDamaged
from topicfold.snapshot.claims import CLAIMS
from topicfold.snapshot.commits import MANIFESTS, Commit, commit_path, not_given_up, read_commit, sequences
from topicfold.snapshot.files.file_clock import now_in
from topicfold.snapshot.files.unfinished import left_unfinished
from topicfold.snapshot.tables import GROWING_TABLES, SCHEMAS
from topicfold.snapshot.trim_note import read_note

KEPT_COMMITS = 10
MIN_AGE_SECONDS = 3600.0
"""Younger files may belong to a batch that is being written, or to a commit that somebody is reading.

Measured by the clock of their file system, as this machine's may differ.
"""


WINDOW = 100_000
"""How many events back, in a partition, watchers may resume: nodes fold these from a commit that is kept for it."""


def vacuum(root: Path, *, keep: int = KEPT_COMMITS, min_age_seconds: float = MIN_AGE_SECONDS) -> int:
    """Remove old commits, and files that no kept commit and no Delta table names; return how many files that were.

    These commits are kept: the newest `keep`, not counting those that were given up; any younger than
    `min_age_seconds`; any not older than the newest published one; the newest that is `WINDOW` events back in every
    partition that has so many; and those noted by trimming. A kept commit keeps all of its files, and those of the
    versions of tables that its row in `commits` names. Rows of `history`, `label_index_diffs` and `commits` are never
    removed.

    Of other files, those stay that are younger than `min_age_seconds`, or that a Delta table named that long ago, as
    somebody may be reading them. Files left unfinished by a process that died are removed too, at that age.

    Raises:
        SnapshotUnreadable: the snapshot, or the note of trimming, cannot be read; nothing was removed.
    """
    commits = _commits(root)
    written_before = now_in(root) - min_age_seconds
    staying = _staying(root, commits, keep, written_before)
    wanted = _wanted(root, [commit for number, commit in commits if commit and number in staying], written_before)
    unnamed = (path for path in _data_files(root) if f"{path.parent.name}/{path.name}" not in wanted)
    going = [commit_path(root, number) for number, _ in commits if number not in staying]
    going += [path for path in (*unnamed, *_unfinished(root)) if _is_older(path, written_before)]
    for path in going:
        path.unlink(missing_ok=True)
    return len(going)


def _staying(
    root: Path, commits: Sequence[tuple[int, Commit | None]], keep: int, written_before: float
) -> Collection[int]:
    """Return the numbers of the commits that stay, as `vacuum` says; one that is not published yet stays, too."""
    published = published_sequence(root)
    readable = [commit for _, commit in commits if commit]
    usable = [*not_given_up(readable)]
    kept = [commit.sequence for commit in usable[:keep]]
    kept += _for_watchers(usable)
    kept += [number for commit in readable[:1] for number in _noted(root, commit)]
    kept += [
        number
        for number, _ in commits
        if number >= published or not _is_older(commit_path(root, number), written_before)
    ]
    return kept


def _wanted(root: Path, staying: Sequence[Commit], written_before: float) -> Collection[str]:
    """Return the paths of the data files that these commits or a Delta table name, or one named at that time."""
    wanted = {file.path for commit in staying for file in commit.files + commit.added}
    old = [each.sequence for each in staying if _is_older(commit_path(root, each.sequence), written_before)]
    # What younger ones name is as young, or was named at that time.
    for table, version in named_versions(root, old, GROWING_TABLES):
        wanted |= {f"{table}/{name}" for name in files_as_of(root, table, version)}
    for table in (*GROWING_TABLES, "commits"):
        wanted |= {f"{table}/{name}" for name in active_files(root, table)}
    for table in SCHEMAS:
        wanted |= {f"{table}/{name}" for name in active_files_at(root, table, written_before)}
    return wanted


def _data_files(root: Path) -> Iterator[Path]:
    for table in SCHEMAS:
        yield from (root / table).glob("*.parquet")


def _unfinished(root: Path) -> Iterator[Path]:
    for directory in (root, root / MANIFESTS, root / CLAIMS):
        yield from left_unfinished(directory)


def _commits(root: Path) -> list[tuple[int, Commit | None]]:
    """Return the commits, the newest first; None for one that is damaged.

    Raises:
        SnapshotUnreadable: one cannot be read at all. It may be undamaged, so its files must stay.
    """
    found: list[tuple[int, Commit | None]] = []
    for number in sequences(root):
        try:
            found.append((number, read_commit(root, number)))
        except SnapshotDamaged:
            found.append((number, None))
    return found


def _for_watchers(commits: Sequence[Commit]) -> list[int]:
    """Return the number of the commit from which nodes fold their windows."""
    for commit in commits:
        pairs = zip(commit.to, commits[0].to, strict=True)
        if all(end <= WINDOW or to <= end - WINDOW for to, end in pairs):
            return [commit.sequence]
    return []


def _noted(root: Path, commit: Commit) -> Sequence[int]:
    """Return the numbers of the commits that trimming noted as needed for the rest of the log."""
    return read_note(root, commit.incarnation, commit.partitions).staying


def _is_older(path: Path, time: float) -> bool:
    """Return whether a file was written before `time`; False if another vacuum has removed it meanwhile."""
    try:
        written_at = path.stat().st_mtime
    except FileNotFoundError:
        return False
    return written_at < time
