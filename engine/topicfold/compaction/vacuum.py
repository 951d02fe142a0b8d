"""Removing what no reader can want any more: files of old commits, and of batches that came to nothing."""

from __future__ import annotations

import time
from pathlib import Path

from topicfold.compaction.publishing import active_files, published_sequence
from topicfold.errors import SnapshotDamaged
from topicfold.snapshot.commits import MANIFESTS, read_commit, sequences
from topicfold.snapshot.tables import GROWING_TABLES, SCHEMAS

KEPT_COMMITS = 10
MIN_AGE_SECONDS = 3600.0
"""Younger files may belong to a batch that is being written, or to a commit that somebody is reading."""


def vacuum(root: Path, *, keep: int = KEPT_COMMITS, min_age_seconds: float = MIN_AGE_SECONDS) -> int:
    """Remove all but the newest `keep` commits, and what no commit that stays and no Delta table names; say how many.

    Rows of `history`, `label_index_diffs` and `commits` stay for ever.
    """
    numbers = sequences(root)
    kept, dropped = numbers[:keep], numbers[keep:]
    wanted: set[str] = set()
    for number in kept:
        try:
            commit = read_commit(root, number)
        except SnapshotDamaged:
            continue
        wanted |= {each.path for each in commit.files + commit.added}
    for table in (*GROWING_TABLES, "commits"):
        wanted |= {f"{table}/{name}" for name in active_files(root, table)}
    published = published_sequence(root)
    removed = 0
    for number in dropped:
        path = root / MANIFESTS / f"{number:012}.json"
        if number < published and _is_older(path, min_age_seconds):
            path.unlink()
            removed += 1
    for table in SCHEMAS:
        for path in (root / table).glob("*.parquet"):
            if f"{table}/{path.name}" not in wanted and _is_older(path, min_age_seconds):
                path.unlink()
                removed += 1
    return removed


def _is_older(path: Path, seconds: float) -> bool:
    return time.time() - path.stat().st_mtime > seconds
