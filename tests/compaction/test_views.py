"""What `docs/compaction.md` says one can ask is right of any snapshot, whatever lies in its tail."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pandas as pd
import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from tests.builders import empty_state
from tests.compaction.folds import Placed, index_of, run_here
from tests.compaction.job_process import IDENTITY, LENGTH, batches, run, the_log
from tests.compaction.tables import rows, whole
from tests.markdown import code_blocks
from tests.state.histories import PARTITION, PARTITIONS
from topicfold.compaction.compactor import Compactor
from topicfold.log.codec import decode_event, encode_audit, encode_event
from topicfold.model.events import Audit, AuditTrail

TABLES = ("topics", "topics_tail", "label_index_diffs", "history", "commits")
MIDNIGHT_MS = int(datetime(2026, 3, 3, tzinfo=UTC).timestamp() * 1000)
DOCUMENT = (Path(__file__).parents[2] / "docs" / "compaction.md").read_text()


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("snapshot")
    run(root, cuts=1)
    return root


def asked(root: Path, statement: str) -> list[tuple[object, ...]]:
    """Return what DuckDB answers, with our tables in the place of its extension's scans."""
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'America/New_York'")
    for name in TABLES:
        connection.register(name, DeltaTable(str(root / name)).to_pyarrow_table())
    return connection.execute(re.sub(r"delta_scan\('snapshot/(\w+)'\)", r"\1", statement)).fetchall()


def test_the_view_of_now_has_each_record_once(root: Path) -> None:
    view = code_blocks(DOCUMENT, "sql")[0].partition("SELECT labels")[0]
    found = asked(root, view + "SELECT kind, name, version FROM now ORDER BY kind, name;")
    expected = [(row["kind"], row["name"], row["version"]) for row in whole(root)["topics"]]
    assert [(kind, name, bytes(version)) for kind, name, version in found] == expected


def test_topics_can_be_counted_by_label(root: Path) -> None:
    expected: dict[object, int] = {}
    for row in whole(root)["topics"]:
        if row["kind"] == "topic" and row["live"]:
            team = dict(row["labels"] or []).get("team")
            expected[team] = expected.get(team, 0) + 1
    assert dict(asked(root, code_blocks(DOCUMENT, "sql")[0])) == expected  # type: ignore[arg-type]


def test_all_diffs_summed_up_are_the_labels_there_are(root: Path) -> None:
    expected = {
        (row["namespace"], key, value, row["key"])
        for row in whole(root)["topics"]
        if row["kind"] == "topic"
        for key, value in row["labels"] or []
    }
    assert set(asked(root, code_blocks(DOCUMENT, "sql")[1])) == expected


def test_pandas_sees_the_same(root: Path) -> None:
    found: dict[str, pd.DataFrame] = {}
    exec(code_blocks(DOCUMENT, "python")[0].replace('"snapshot/', f'"{root}/'), found)
    assert sorted(found["now"]["name"]) == sorted(row["name"] for row in whole(root)["topics"])
    expected = {
        row["name"]: dict(row["labels"] or [])
        for row in whole(root)["topics"]
        if row["kind"] == "topic" and row["live"]
    }
    assert {name: labels or {} for name, labels in found["labels"].items()} == expected


def timed(record: Placed) -> Placed:
    """Return a record as it were if it was written at its offset's minute of the third of March."""
    event = decode_event(record.value)
    if event is None:
        return record
    audits = (Audit("ann", "", ""),) * len(event.operations)
    trail = AuditTrail(audits, MIDNIGHT_MS + record.offset * 60_000, -1)
    return record._replace(value=encode_event(event._replace(audit=encode_audit(trail))))


def run_timed(root: Path) -> None:
    """Take every batch, with such times."""
    job = Compactor(root, IDENTITY)
    for batch in batches(cuts=1):
        job.take(run_here([*map(timed, batch)]), slices=2)
    job.close()


def test_diffs_up_to_a_time_are_the_labels_that_there_were_then(tmp_path: Path) -> None:
    run_timed(tmp_path)
    state = empty_state(PARTITION, PARTITIONS)
    statement = code_blocks(DOCUMENT, "sql")[2].replace("payments", "pay")
    for record in the_log():
        if record.offset % 10 == 0:
            until = statement.replace("03-04 00:00", f"03-03 {record.offset // 60:02}:{record.offset % 60:02}")
            expected = {(topic[0], topic[3]) for topic in index_of(state) if topic[1:3] == ("team", "pay")}
            assert set(asked(tmp_path, until)) == expected
        state.apply(record.offset, decode_event(record.value))


def test_diffs_since_a_time_tell_what_changed_and_who_did_it(tmp_path: Path) -> None:
    run_timed(tmp_path)
    since = LENGTH // 2
    statement = code_blocks(DOCUMENT, "sql")[3].replace("03-04 00:00", f"03-03 {since // 60:02}:{since % 60:02}")
    diffs = (row for row in rows(tmp_path, "label_index_diffs") if row["offset"] >= since)
    changed = ("namespace", "topic", "change", "key", "value")
    found = [(moment.timestamp(), *row) for moment, *row in asked(tmp_path, statement)]
    assert sorted(found) == sorted(
        (MIDNIGHT_MS / 1000 + row["offset"] * 60, "ann", *(row[name] for name in changed)) for row in diffs
    )
    assert found


def test_diffs_by_commit_are_how_many_topics_had_an_owner(root: Path) -> None:
    state = empty_state(PARTITION, PARTITIONS)
    ends = {row["to"][PARTITION]: row for row in rows(root, "commits")}
    expected = set()
    for record in the_log():
        state.apply(record.offset, decode_event(record.value))
        if commit := ends.get(record.offset + 1):
            owned = {(topic[0], topic[3]) for topic in index_of(state) if topic[1] == "team"}
            expected.add((commit["sequence"], commit["time"], dict(commit["counts"])["topics"], len(owned)))
    assert {*asked(root, code_blocks(DOCUMENT, "sql")[4])} == expected
    assert len(expected) == len(ends)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_spark_takes_what_is_asked_of_duckdb(root: Path, spark: dict[str, str]) -> None:
    session = SparkSession.builder.getOrCreate()
    for name in TABLES:
        session.createDataFrame(DeltaTable(str(root / name)).to_pyarrow_table()).createOrReplaceTempView(name)
    for block in code_blocks(DOCUMENT, "sql"):
        *views, question = block.strip().rstrip(";").split(";")
        for view in views:
            session.sql(_for_spark(view)).collect()
        assert {*map(_zoned, session.sql(_for_spark(question)).collect())} == {*map(_zoned, asked(root, block))}


def _zoned(row: Sequence[object]) -> tuple[object, ...]:
    """Return a row with its times in UTC: Spark gives them without a zone, as here."""
    return tuple(each.astimezone(UTC) if isinstance(each, datetime) else each for each in row)


def _for_spark(statement: str) -> str:
    known = statement.replace("CREATE VIEW", "CREATE OR REPLACE TEMPORARY VIEW").replace("TIMESTAMPTZ", "TIMESTAMP")
    return re.sub(r"delta_scan\('snapshot/(\w+)'\)", r"\1", known)
