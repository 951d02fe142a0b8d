"""What is a snapshot that cannot be written, and what is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from topicfold.errors import SnapshotUnwritable
from topicfold.snapshot.unwritable import naming_unwritable


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
