"""What a log must have for a job to go on from a snapshot."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from topicfold.compaction.log_facts import LogFacts, require_beginning, require_overlap
from topicfold.errors import WrongLog, WrongSnapshot
from topicfold.log.port import LogIdentity


def test_a_log_that_lost_records_or_was_trimmed_beyond_the_snapshot_is_refused(tmp_path: Path) -> None:
    facts = LogFacts(LogIdentity(b"L" * 16, 2, "sha256-be32"), (0, 10), (5, 50))
    require_overlap(facts, (5, 10))
    with pytest.raises(WrongLog, match="partition 0 of the log ends at offset 5, the snapshot at 6"):
        require_overlap(facts, (6, 10))
    with pytest.raises(WrongSnapshot, match="partition 1 of the log begins at offset 10, the snapshot ends at 9"):
        require_overlap(replace(facts), (5, 9))
    require_beginning(replace(facts, start=(0, 0)), tmp_path)
    with pytest.raises(WrongSnapshot, match="holds no commit, and partition 1 of the log begins at offset 10") as told:
        require_beginning(facts, tmp_path)
    assert "from a backup" in told.value.hint
