"""What is a snapshot that cannot be written, and what is not."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from topicfold.errors import SnapshotUnwritable
from topicfold.snapshot.claims import Claims
from topicfold.snapshot.files.unwritable import naming_unwritable


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with (
        pytest.raises(SnapshotUnwritable, match="nowhere/file: No such file"),
        naming_unwritable(tmp_path),
    ):
        (tmp_path / "nowhere" / "file").write_text("")


@pytest.mark.parametrize("error", [TimeoutError(), ConnectionResetError()], ids=repr)
def test_who_does_not_answer_is_no_file(error: OSError, tmp_path: Path) -> None:
    with pytest.raises(type(error)), naming_unwritable(tmp_path):
        raise error


@pytest.mark.parametrize(
    ("function", "number"),
    [
        ("os.link", errno.EPERM),
        ("os.link", errno.EOPNOTSUPP),
        ("fcntl.flock", errno.ENOLCK),
        ("os.fsync", errno.EINVAL),
    ],
)
def test_of_a_file_system_that_cannot_do_it_nobody_is_told_to_make_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str, number: int
) -> None:
    def refuse(*places: object) -> None:
        of_link = (str(places[0]), None, str(places[1])) if function == "os.link" else ()
        raise OSError(number, os.strerror(number), *of_link)

    monkeypatch.setattr(function, refuse)
    with pytest.raises(SnapshotUnwritable) as caught, naming_unwritable(tmp_path):
        Claims(tmp_path).take(1, "genesis", (0,))
    assert "makes hard links and locks" in caught.value.hint


def test_where_a_right_is_missing_it_is_to_be_given(tmp_path: Path) -> None:
    with pytest.raises(SnapshotUnwritable) as caught, naming_unwritable(tmp_path):
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), str(tmp_path))
    assert "grant write permission" in caught.value.hint
