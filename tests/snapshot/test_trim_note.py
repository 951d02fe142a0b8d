"""The note of trimming says what was noted of this log, or nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from topicfold.errors import SnapshotUnreadable
from topicfold.snapshot.trim_note import NOTE, TrimNote, put_note, read_note

LOG = "ab" * 16
NOTED = TrimNote(LOG, (3, 4), (5, 6), ("c0ffee",), (1, 2), 1_000)
NOTHING = TrimNote(LOG, (0, 0), (-1, -1))


def test_a_note_is_read_back_as_it_was_put(tmp_path: Path) -> None:
    put_note(tmp_path, NOTED)
    assert read_note(tmp_path, LOG, 2) == NOTED


@pytest.mark.parametrize(("log", "partitions"), [("cd" * 16, 2), (LOG, 3)])
def test_the_note_of_another_log_says_nothing(tmp_path: Path, log: str, partitions: int) -> None:
    put_note(tmp_path, NOTED)
    assert read_note(tmp_path, log, partitions) == TrimNote(log, (0,) * partitions, (-1,) * partitions)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"floors": 1}', '{"incarnation": "", "floors": [1e999]}'])
def test_a_damaged_note_says_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / NOTE).write_text(text)
    assert read_note(tmp_path, LOG, 2) == NOTHING


def test_floors_only_rise(tmp_path: Path) -> None:
    put_note(tmp_path, NOTED)
    put_note(tmp_path, TrimNote(LOG, (1, 9), (5, 6)))
    assert read_note(tmp_path, LOG, 2).floors == (3, 9)


def test_who_was_overtaken_takes_nothing_from_the_note_of_who_went_further(tmp_path: Path) -> None:
    put_note(tmp_path, NOTED)
    put_note(tmp_path, TrimNote(LOG, (1, 4), (2, 6), ("0lder",), (1, 3)))
    assert read_note(tmp_path, LOG, 2) == TrimNote(LOG, (3, 4), (5, 6), ("0lder", "c0ffee"), (1, 2, 3), 0)
    put_note(tmp_path, TrimNote(LOG, (4, 4), (7, 6), ("newer",), (4,)))
    assert read_note(tmp_path, LOG, 2) == TrimNote(LOG, (4, 4), (7, 6), ("newer",), (4,))


def test_a_note_that_cannot_be_read_is_not_taken_for_none_and_stays(tmp_path: Path) -> None:
    (tmp_path / NOTE).mkdir()
    with pytest.raises(SnapshotUnreadable, match="Is a directory"):
        read_note(tmp_path, LOG, 2)
    with pytest.raises(SnapshotUnreadable):
        put_note(tmp_path, NOTED)
    assert [each.name for each in tmp_path.iterdir()] == [NOTE]


def test_nothing_is_left_of_a_note_that_could_not_be_put_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError("not here")

    put_note(tmp_path, NOTED)
    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(PermissionError):
        put_note(tmp_path, TrimNote(LOG, (9, 9), (5, 6)))
    assert [each.name for each in tmp_path.iterdir()] == [NOTE]
    assert read_note(tmp_path, LOG, 2) == NOTED
