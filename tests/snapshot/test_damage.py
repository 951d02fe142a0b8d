"""Whatever is done to a snapshot's files is seen before anything is built of them, and the commit before is used."""

from __future__ import annotations

import errno
import hashlib
import os
import random
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import islice, pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.builders import an_id, empty_state, namespace_put, operation, topic_put
from tests.compaction.folds import Tables, placed
from topicfold.compaction import batch
from topicfold.errors import LevelUnsupported, SnapshotDamaged, SnapshotUnreadable, WrongSnapshot
from topicfold.snapshot.commits import Commit, DataFile, commit_path, put_commit
from topicfold.snapshot.label_counts import newest_label_counts
from topicfold.snapshot.loading import Loaded, load, require_own
from topicfold.state.fold import PartitionState

FLIPS = int(os.environ.get("TOPICFOLD_TEST_FLIPS", "200"))
"""10,000 in the nightly run."""
TOPICS = 40


@dataclass(frozen=True)
class Snapshot:
    """A snapshot of two commits, the second with a tail behind the first's base."""

    root: Path
    first: Commit
    second: Commit

    def files_of(self, commit: Commit) -> list[Path]:
        """Return the files that a node reads of a commit, the commit itself among them."""
        return [self.manifest(commit), *(self.root / each.path for each in commit.files)]

    def manifest(self, commit: Commit) -> Path:
        return commit_path(self.root, commit.sequence)

    def load(self) -> Loaded:
        found = load(self.root, bytes(16), 1, new_state)
        assert found is not None
        return found

    def require_fallback(self, *hit: Path) -> None:
        """See that the second commit is given up, and the first is used or, where one of its files is hit too, none."""
        if {*hit} & {*self.files_of(self.first)}:
            with pytest.raises(SnapshotDamaged):
                self.load()
            return
        found = self.load()
        assert found.commit.sequence == 1
        assert [each.values["sequence"] for each in found.damaged] == [2]
        assert found.states[0].digest().hex() == self.first.digests[0]


def new_state(partition: int) -> PartitionState:
    return empty_state(partition, 1, client_ring=65_536, server_ring=16_384)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    """A snapshot that is never touched: tests take copies."""
    root = tmp_path_factory.mktemp("snapshot")
    log = [namespace_put(1)] + [
        topic_put(n, an_id(1), name=f"persistent://public/default/t{n % TOPICS}",
                  base=an_id(n - TOPICS) if n > TOPICS + 1 else bytes(16),
                  labels={"team": f"t{n % 3}", "n": str(n)}, operations=(operation(n, by_client=bool(n % 2)),))
        for n in range(2, TOPICS + 20)
    ]  # fmt: skip
    tables = Tables(root, 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch, "_must_rewrite", lambda commit: commit is None)
        tables.take(placed(0, log[:TOPICS]))
        tables.take(placed(0, log[TOPICS:], TOPICS))
    return Snapshot(root, *tables.commits)


@pytest.fixture
def snapshot(made: Snapshot, tmp_path: Path) -> Snapshot:
    """A copy to be damaged."""
    shutil.copytree(made.root, tmp_path / "snapshot")
    return replace(made, root=tmp_path / "snapshot")


def flips(snapshot: Snapshot, seed: int) -> Iterator[tuple[Path, int, int]]:
    """Yield places in files of the second commit, every file alike, and bits to flip there."""
    chance = random.Random(seed)
    files = snapshot.files_of(snapshot.second)
    while True:
        file = chance.choice(files)
        yield file, chance.randrange(file.stat().st_size), 1 << chance.randrange(8)


def test_an_undamaged_snapshot_loads_whole(snapshot: Snapshot) -> None:
    found = snapshot.load()
    assert (found.commit.sequence, found.damaged) == (2, ())
    assert found.states[0].digest().hex() == snapshot.second.digests[0]


def test_any_flipped_bit_is_seen(snapshot: Snapshot) -> None:
    for file, place, bit in islice(flips(snapshot, seed=6), FLIPS):
        whole = file.read_bytes()
        damaged = bytearray(whole)
        damaged[place] ^= bit
        file.write_bytes(damaged)
        snapshot.require_fallback(file)
        file.write_bytes(whole)
    assert snapshot.load().commit.sequence == 2


def test_a_file_that_is_gone_or_cut_short_anywhere_is_seen(snapshot: Snapshot) -> None:
    chance = random.Random(7)
    for file in snapshot.files_of(snapshot.second):
        whole = file.read_bytes()
        for length in (0, 1, len(whole) - 1, *(chance.randrange(len(whole)) for _ in range(5))):
            file.write_bytes(whole[:length])
            snapshot.require_fallback(file)
        file.write_bytes(whole + b"\0")
        snapshot.require_fallback(file)
        file.write_bytes(whole)
    for file in snapshot.files_of(snapshot.second)[1:]:
        whole = file.read_bytes()
        file.unlink()
        snapshot.require_fallback(file)
        file.write_bytes(whole)


def test_files_that_were_swapped_are_seen(snapshot: Snapshot) -> None:
    files = [snapshot.root / each.path for each in snapshot.second.files]
    for one, other in pairwise(files):
        contents = one.read_bytes(), other.read_bytes()
        one.write_bytes(contents[1])
        other.write_bytes(contents[0])
        snapshot.require_fallback(one, other)
        one.write_bytes(contents[0])
        other.write_bytes(contents[1])


def test_an_older_commit_on_top_is_seen(snapshot: Snapshot) -> None:
    snapshot.manifest(snapshot.second).write_bytes(snapshot.manifest(snapshot.first).read_bytes())
    snapshot.require_fallback()
    assert snapshot.load().commit.sequence == 1


def test_what_nobody_reads_of_a_newer_commit_harms_no_older_one(snapshot: Snapshot) -> None:
    snapshot.manifest(snapshot.second).unlink()
    assert snapshot.load().damaged == ()


@pytest.mark.parametrize(
    ("forged", "says"),
    [
        (lambda commit: {"digests": ("00" * 16,)}, "another digest in partition 0"),
        (lambda commit: {"counts": {**commit.counts, "topics": 1}}, f"holds {TOPICS} topics, not 1"),
        (lambda commit: {"counts": {**commit.counts, "records": 1}}, "records, not 1"),
        (lambda commit: {"files": commit.files[1:]}, "of the snapshot"),
        (lambda commit: {"files": (*commit.files, DataFile("grants/1.parquet", 1, 1, "00" * 32))}, "grants/1.parquet"),
        (lambda commit: {"files": (commit.files[0]._replace(size=10**6), *commit.files[1:])}, "its length"),
        (lambda commit: {"files": (commit.files[0]._replace(size=10**14), *commit.files[1:])}, "its length"),
        (lambda commit: {"levels": (0,)}, "another digest"),
        (lambda commit: {"to": (commit.to[0] - 1,)}, "an event behind its position"),
    ],
)
def test_a_commit_that_does_not_say_what_its_files_hold_is_given_up(
    snapshot: Snapshot, forged: Callable[[Commit], dict[str, object]], says: str
) -> None:
    put_commit(snapshot.root, replace(snapshot.second, sequence=3, after=2, **forged(snapshot.second)))
    found = snapshot.load()
    assert found.commit.sequence == 2
    assert says in found.damaged[0].reason


@pytest.mark.parametrize(("written", "table"), [
    ("topics", "rings"), ("topics_tail", "topics"), ("namespaces", "topics"),
])  # fmt: skip
def test_a_commit_whose_files_were_written_wrong_is_given_up(snapshot: Snapshot, written: str, table: str) -> None:
    file = snapshot.second.files_of(written)[-1]
    shutil.copy(snapshot.root / file.path, snapshot.root / table / "wrong.parquet")
    others = (each for each in snapshot.second.files if each.table != table)
    files = (*others, file._replace(path=f"{table}/wrong.parquet"))
    put_commit(snapshot.root, replace(snapshot.second, sequence=3, after=2, files=files))
    found = snapshot.load()
    assert found.commit.sequence == 2
    assert "cannot be read" in found.damaged[0].reason


def _many_rows(rows: pa.Table) -> pa.Table:
    return rows.take(pa.array([0] * 200_000))


def _other_type(rows: pa.Table) -> pa.Table:
    return rows.set_column(5, "partition", pa.array([Decimal(2**62)] * len(rows)))


@pytest.mark.parametrize("forge", [_many_rows, _other_type])
def test_a_file_of_other_types_or_more_rows_than_bytes_is_not_read(
    snapshot: Snapshot, forge: Callable[[pa.Table], pa.Table]
) -> None:
    file = snapshot.second.files_of("topics")[0]
    path = snapshot.root / "topics" / "forged.parquet"
    pq.write_table(forge(pq.read_table(snapshot.root / file.path)), path)
    content = path.read_bytes()
    forged = DataFile("topics/forged.parquet", len(content), 1, hashlib.sha256(content).hexdigest())
    files = tuple(forged if each == file else each for each in snapshot.second.files)
    put_commit(snapshot.root, replace(snapshot.second, sequence=3, after=2, files=files))
    found = snapshot.load()
    assert found.commit.sequence == 2
    assert "a file " in found.damaged[0].reason
    assert newest_label_counts(snapshot.root, None).commit.sequence == 2


@pytest.mark.parametrize(("fields", "error"), [
    ({"incarnation": "ab" * 16}, WrongSnapshot), ({"format": 9}, WrongSnapshot), ({"levels": (2,)}, LevelUnsupported),
    ({"partitions": 2, "from_": (0, 0), "to": (9, 9), "levels": (1, 1), "digests": ("", "")}, WrongSnapshot),
])  # fmt: skip
def test_a_snapshot_of_another_log_or_a_newer_version_is_refused(
    snapshot: Snapshot, fields: dict[str, object], error: type[Exception]
) -> None:
    put_commit(snapshot.root, replace(snapshot.second, sequence=3, after=2, **fields))
    with pytest.raises(error):
        snapshot.load()


def test_one_partition_at_a_newer_level_is_enough_to_refuse(snapshot: Snapshot) -> None:
    with pytest.raises(LevelUnsupported, match="at level 2") as refused:
        require_own(replace(snapshot.second, partitions=2, levels=(2, 1)), bytes(16), 2)
    assert refused.value.hint == "Install a newer Topicfold here."


def test_the_newest_commit_at_or_below_a_position_is_chosen(snapshot: Snapshot) -> None:
    (first,) = snapshot.first.to
    for position, sequence in ((first + 1, 1), (first, 1), (snapshot.second.to[0], 2)):
        found = load(snapshot.root, bytes(16), 1, new_state, not_above={0: position})
        assert found is not None
        assert found.commit.sequence == sequence
    assert load(snapshot.root, bytes(16), 1, new_state, not_above={0: first - 1}) is None


def test_of_commits_with_certain_hashes_the_newest_is_chosen(snapshot: Snapshot) -> None:
    hashes = {snapshot.first.sha256: 1, snapshot.second.sha256: 2}
    for sha256, sequence in hashes.items():
        found = load(snapshot.root, bytes(16), 1, new_state, among={sha256})
        assert found is not None
        assert found.commit.sequence == sequence
    assert load(snapshot.root, bytes(16), 1, new_state, among=()) is None


def test_a_directory_without_a_snapshot_is_said_to_have_none(tmp_path: Path) -> None:
    assert load(tmp_path / "nowhere", bytes(16), 1, new_state) is None


SHORT = (
    MemoryError(), pa.ArrowMemoryError("malloc"), OSError(errno.EMFILE, "Too many open files"),
    RuntimeError("can't start new thread"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("hindered", "said"),
    [
        *((each, "cannot be read now") for each in SHORT),
        (PermissionError(errno.EACCES, "Permission denied"), "may not be"),
        (OSError(errno.EIO, "Input/output error"), "cannot be read: Input/output error"),
        (OSError(errno.ESTALE, "Stale file handle"), "cannot be read: Stale file handle"),
    ],
)
@pytest.mark.parametrize(
    "reader",
    ["pathlib.Path.read_bytes", "topicfold.snapshot.intact._content", "topicfold.snapshot.loading.read_topics"],
)
def test_where_something_does_not_suffice_or_the_disk_fails_no_commit_is_taken_for_damaged(
    snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch, reader: str, hindered: Exception, said: str
) -> None:
    def stop(*_: object) -> None:
        raise hindered

    monkeypatch.setattr(reader, stop)
    with pytest.raises(SnapshotUnreadable, match=said):
        snapshot.load()
