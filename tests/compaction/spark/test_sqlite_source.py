"""What the embedded log is to Spark where the job's own tests do not look."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.compaction.logs import append, random_values, settings_of
from topicfold.compaction.spark.sqlite_source import Range, SqliteReader
from topicfold.errors import LogUnavailable


def test_a_log_that_was_moved_away_is_said_to_be_gone_and_none_is_made_in_its_place(tmp_path: Path) -> None:
    reader = SqliteReader(str(tmp_path / "log.db"), [0, 0], 10, None)
    with pytest.raises(LogUnavailable, match=r"there is no log .*/log\.db any more"):
        reader.latestOffset()
    with pytest.raises(LogUnavailable, match=r"there is no log .*/log\.db any more"):
        next(reader.read(Range(0, 0, 1)))
    assert not list(tmp_path.iterdir())


def test_a_log_that_became_shorter_than_what_was_read_of_it_is_said_to_be(tmp_path: Path) -> None:
    log = settings_of(log_file=tmp_path / "log.db")
    append(log, random_values(4, 5))
    reader = SqliteReader(str(log.log_file), [0, 9], 10, None)
    with pytest.raises(LogUnavailable, match="partition 1 of the log ends at offset 6, and was read up to 9"):
        reader.latestOffset()


def test_a_batch_ends_after_so_many_records_and_none_beyond_the_end_that_was_given(tmp_path: Path) -> None:
    log = settings_of(log_file=tmp_path / "log.db")
    append(log, random_values(4, 9))
    reader = SqliteReader(str(log.log_file), [0, 0], 3, [0, 5])
    assert [reader.latestOffset()["1"] for _ in range(3)] == [3, 5, 5]
