"""A commit's data files, as the disk gives them."""

from __future__ import annotations

import hashlib
import io
from pathlib import Path
from typing import Any

import pytest

from topicfold.snapshot.commits import DataFile
from topicfold.snapshot.intact import require_file

CONTENT = bytes(range(256))
FILE = DataFile("topics/1.parquet", len(CONTENT), 1, hashlib.sha256(CONTENT).hexdigest())


def test_a_file_that_comes_in_pieces_is_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system gives 2 GB at once at most, and a network's file system may give less."""

    class InPieces(io.FileIO):
        def readinto(self, room: Any) -> int:
            return super().readinto(memoryview(room)[:100])

    path = tmp_path / FILE.path
    path.parent.mkdir()
    path.write_bytes(CONTENT)
    monkeypatch.setattr(Path, "open", lambda path, *_, **__: InPieces(path))
    assert require_file(tmp_path, 1, FILE) == CONTENT
