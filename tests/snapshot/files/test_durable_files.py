"""What a power failure leaves of a snapshot: all that was said to be there."""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.memory_log import MemoryLog, MemoryStore
from tests.snapshot.making import compacted_further
from topicfold.log.identity import establish_identity
from topicfold.snapshot.claims import CLAIMS, Claims
from topicfold.snapshot.commits import MANIFESTS
from topicfold.snapshot.files.durable_files import put_if_absent, replace_durably, write_durably
from topicfold.snapshot.tables import GROWING_TABLES
from topicfold.snapshot.trim_note import NOTE, TrimNote, put_note


class Disk:
    """What was synced: how much of each file, and which names of each directory."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._sizes: dict[int, int] = {}
        self._names: dict[int, set[str]] = {}
        self._really = os.fsync
        monkeypatch.setattr(os, "fsync", self._sync)

    def _sync(self, descriptor: int) -> None:
        found = os.fstat(descriptor)
        if stat.S_ISDIR(found.st_mode):
            self._names[found.st_ino] = set(os.listdir(descriptor))
        else:
            self._sizes[found.st_ino] = found.st_size
        self._really(descriptor)

    def lacks(self, paths: Iterable[Path]) -> list[Path]:
        """Return the paths of which content or name may be gone."""
        return [path for path in paths if not self._has(path)]

    def _has(self, path: Path) -> bool:
        found = path.stat()
        has_content = self._sizes.get(found.st_ino) == found.st_size
        return has_content and path.name in self._names.get(path.parent.stat().st_ino, ())


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


def test_what_cannot_take_the_place_of_what_is_there_is_not_left_beside_it(tmp_path: Path) -> None:
    (tmp_path / NOTE).mkdir()
    with pytest.raises(OSError, match="directory"):
        replace_durably(tmp_path / NOTE, b"content")
    assert os.listdir(tmp_path) == [NOTE]


def test_what_was_put_stays(disk: Disk, tmp_path: Path) -> None:
    assert put_if_absent(tmp_path / "1.json", b"content")
    assert not disk.lacks([tmp_path / "1.json"])


def test_of_two_that_put_a_file_the_first_has_it_and_nothing_else_is_left(tmp_path: Path) -> None:
    assert put_if_absent(tmp_path / "1.json", b"first")
    assert not put_if_absent(tmp_path / "1.json", b"second")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"1.json": b"first"}


def test_a_file_is_handed_to_the_system_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []

    class Recorded(io.FileIO):
        def write(self, piece: Any) -> int:
            sizes.append(memoryview(piece).nbytes)
            # The system may take less than it was given.
            return super().write(piece[:40_000])

    monkeypatch.setattr(os, "fdopen", lambda descriptor, mode, buffering: Recorded(descriptor, mode))
    content = os.urandom(1_000_000)
    write_durably(tmp_path / "large", content)
    assert (tmp_path / "large").read_bytes() == content
    assert max(sizes) <= 65_536


def test_what_is_written_is_for_its_owner_only_and_over_nothing_else(tmp_path: Path) -> None:
    write_durably(tmp_path / "1.json", b"content")
    assert stat.S_IMODE((tmp_path / "1.json").stat().st_mode) == 0o600
    with pytest.raises(FileExistsError):
        write_durably(tmp_path / "1.json", b"other")
    assert (tmp_path / "1.json").read_bytes() == b"content"


def test_what_cannot_be_on_the_disk_is_not_put(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(descriptor: int) -> None:
        raise OSError("the disk does not answer")

    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(OSError, match="does not answer"):
        put_if_absent(tmp_path / "1.json", b"content")
    assert not [*tmp_path.iterdir()]


def test_a_note_of_trimming_stays(disk: Disk, tmp_path: Path) -> None:
    put_note(tmp_path, TrimNote("ab" * 16, (1,), (2,)))
    assert not disk.lacks([tmp_path / NOTE])


def test_a_claim_stays(disk: Disk, tmp_path: Path) -> None:
    assert Claims(tmp_path).take(1, "genesis", (0,))
    assert not disk.lacks((tmp_path / CLAIMS).iterdir())


async def test_a_commit_stays_with_all_its_files_and_what_the_tables_took_from_it(disk: Disk, tmp_path: Path) -> None:
    log = MemoryLog(MemoryStore(2))
    await establish_identity(log, b"L" * 16)
    commit = await compacted_further(log, tmp_path)
    files = [tmp_path / each.path for each in commit.files + commit.added]
    assert files
    entries = [path for table in GROWING_TABLES for path in (tmp_path / table / "_delta_log").glob("*.json")]
    assert entries
    assert not disk.lacks([*(tmp_path / MANIFESTS).iterdir(), *files, *entries])
