"""Rows of `history` can be read by every tool, whatever events say."""

from __future__ import annotations

from pathlib import Path

from tests.builders import an_id, namespace_put, operation, topic_put
from tests.compaction.folds import Tables, placed
from topicfold.log.codec import encode_audit
from topicfold.model.events import LAST_TIME_MS, Audit, AuditTrail
from topicfold.text.rfc3339 import moment_of


def test_a_time_that_no_calendar_holds_is_null_and_what_else_the_event_says_is_not(tmp_path: Path) -> None:
    times = [0, 1, LAST_TIME_MS, LAST_TIME_MS + 1, -1, 2**62, -(2**62)]
    log = [namespace_put(1)]
    for number, time_ms in enumerate(times, 2):
        audit = encode_audit(AuditTrail((Audit("ann", "why", "r1"),), time_ms, number - 2))
        base = an_id(number - 1) if number > 2 else bytes(16)
        log.append(topic_put(number, an_id(1), base, operations=(operation(number),), audit=audit))
    tables = Tables(tmp_path, 1)
    tables.take(placed(0, log))
    rows = tables.history()[1:]
    assert [row["time"] for row in rows] == [*map(moment_of, times[:3]), *[None] * 4]
    assert {(row["operations"][0]["actor"], row["previous_offset"]) for row in rows} == {("ann", n) for n in range(7)}
