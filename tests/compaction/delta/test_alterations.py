"""What others do to the rows of tables that grow is undone by the next batch, and told."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, TableFeatures, write_deltalake

from tests.compaction.folds import Placed, run_here
from tests.compaction.job_process import IDENTITY, run
from tests.compaction.tables import rows, three_commits, whole
from topicfold.compaction import compactor
from topicfold.compaction.compactor import Compactor
from topicfold.compaction.delta import tables as delta_tables
from topicfold.compaction.delta.alterations import Alteration
from topicfold.errors import SnapshotDamaged
from topicfold.snapshot.tables import GROWING_TABLES

GROWN = (*GROWING_TABLES, "commits")
ALTERATIONS: dict[str, Callable[[DeltaTable], object]] = {
    "DELETE": lambda table: table.delete("sequence = 2"),
    "UPDATE": lambda table: table.update(updates={"sequence": "77"}, predicate="sequence = 1"),
    "RESTORE": lambda table: table.restore(2),
    "WRITE": lambda table: write_deltalake(table, pa.table({"x": [1]}), mode="overwrite", schema_mode="overwrite"),
}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("undisturbed")
    run(root, cuts=1)
    return root


def delete_by_vector(root: Path, table: str) -> None:
    """Delete rows of a table as Spark does where it may: the file stays, and a vector says which rows it lacks."""
    delta = DeltaTable(str(root / table))
    path = pa.table(delta.get_add_actions(flatten=True))["path"][0].as_py()
    features = {"readerFeatures": ["deletionVectors"], "writerFeatures": ["deletionVectors"]}
    vector = {"storageType": "i", "pathOrInlineDv": "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L"}
    size = {"size": (root / table / path).stat().st_size, "modificationTime": 0, "partitionValues": {}}
    actions = [
        {"commitInfo": {"operation": "DELETE", "timestamp": 1}},
        {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, **features}},
        {
            "add": {
                "path": path,
                "dataChange": True,
                **size,
                "deletionVector": {**vector, "sizeInBytes": 40, "cardinality": 6},
            }
        },
        {"remove": {"path": path, "dataChange": True, "deletionTimestamp": 1}},
    ]
    entry = root / table / "_delta_log" / f"{delta.version() + 1:020}.json"
    entry.write_text("\n".join(map(json.dumps, actions)))


def add_entry(log: Path, *actions: dict[str, Any]) -> None:
    """Add an entry to a Delta log."""
    (log / f"{len([*log.glob('*.json')]):020}.json").write_text("\n".join(map(json.dumps, actions)))


def told(root: Path, batches: Sequence[Sequence[Placed]]) -> list[Alteration]:
    """Take these batches; return what the job tells of others."""
    job = Compactor(root, IDENTITY)
    done = [job.take(run_here(each), slices=2) for each in batches]
    job.close()
    return [*job.altered, *(alteration for each in done if each for alteration in each.altered)]


@pytest.mark.parametrize(
    ("operation", "is_optimized"), [("DELETE", False), ("UPDATE", True), ("RESTORE", False), ("WRITE", False)]
)
def test_what_others_did_to_rows_is_undone_and_told_once(
    undisturbed: Path, tmp_path: Path, operation: str, is_optimized: bool
) -> None:
    batches = three_commits(tmp_path)[2:]
    for table in GROWN:
        ALTERATIONS[operation](DeltaTable(str(tmp_path / table)))
        if is_optimized:
            DeltaTable(str(tmp_path / table)).optimize.compact()
    found = told(tmp_path, batches)
    assert [str(each) for each in found] == [
        f"somebody else changed rows of the table {table} ({operation}): this is undone. To change anything, change a "
        "copy"
        for table in GROWN
    ]
    assert whole(tmp_path) == whole(undisturbed)
    assert sorted(row["sequence"] for row in rows(tmp_path, "commits")) == [1, 2, 3, 4, 5, 6]


def test_what_was_done_before_a_commit_is_published_late_is_told_at_the_start(tmp_path: Path) -> None:
    batches = three_commits(tmp_path)[2:]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compactor, "publish", lambda root, commit: ())
        told(tmp_path, batches[:1])
    DeltaTable(str(tmp_path / "history")).delete()
    assert [(each.table, each.operation) for each in told(tmp_path, [])] == [("history", "DELETE")]
    assert told(tmp_path, batches[1:]) == []


def test_what_cannot_be_undone_is_told_and_the_job_goes_on_with_what_is_left(tmp_path: Path) -> None:
    batches = three_commits(tmp_path)[2:]
    for name in GROWING_TABLES:
        table = DeltaTable(str(tmp_path / name))
        table.delete("sequence = 2")
        table.vacuum(0, enforce_retention_duration=False, dry_run=False)
    assert [str(each) for each in told(tmp_path, batches)] == [
        f"somebody else changed rows of the table {name} (DELETE), and removed files that they were in: it has what "
        "they left"
        for name in GROWING_TABLES
    ]
    assert {row["sequence"] for row in rows(tmp_path, "history")} == {1, 3, 4, 5, 6}


@pytest.mark.parametrize("table", ["history", "topics"])
def test_a_table_with_deletion_vectors_is_refused_until_what_others_added_to_its_log_is_removed(
    undisturbed: Path, tmp_path: Path, table: str
) -> None:
    batches = three_commits(tmp_path)[2:]
    own = DeltaTable(str(tmp_path / table)).version()
    delete_by_vector(tmp_path, table)
    with pytest.raises(SnapshotDamaged, match=f"{table}/_delta_log takes no change: .* deletionVectors") as caught:
        told(tmp_path, batches)
    assert f"above version {own} from it" in caught.value.hint
    (tmp_path / table / "_delta_log" / f"{own + 1:020}.json").unlink()
    run(tmp_path, cuts=1)
    assert whole(tmp_path) == whole(undisturbed)


@pytest.mark.parametrize("feature", [TableFeatures.RowTracking, TableFeatures.DomainMetadata])
def test_a_table_with_a_feature_for_writers_is_refused_until_what_others_added_to_its_log_is_removed(
    undisturbed: Path, tmp_path: Path, feature: TableFeatures
) -> None:
    batches = three_commits(tmp_path)[2:]
    own = DeltaTable(str(tmp_path / "history")).version()
    DeltaTable(str(tmp_path / "history")).alter.add_feature(feature, allow_protocol_versions_increase=True)
    with pytest.raises(SnapshotDamaged, match="takes no change: Unsupported table features required") as caught:
        told(tmp_path, batches)
    assert f"above version {own} from it" in caught.value.hint
    (tmp_path / "history" / "_delta_log" / f"{own + 1:020}.json").unlink()
    run(tmp_path, cuts=1)
    assert whole(tmp_path) == whole(undisturbed)


def test_going_back_is_not_proposed_where_the_job_s_last_version_has_the_feature_too(tmp_path: Path) -> None:
    batches = three_commits(tmp_path)[2:]
    features = {"readerFeatures": ["deletionVectors"], "writerFeatures": ["deletionVectors"]}
    log = tmp_path / "history" / "_delta_log"
    add_entry(log, {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, **features}})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delta_tables, "_require_plain", lambda *_: None)
        told(tmp_path, batches[:1])
    with pytest.raises(SnapshotDamaged, match="takes no change") as caught:
        told(tmp_path, batches[1:])
    assert caught.value.hint == "Restore it, or compact into a new directory. Nodes do not need it."


def test_an_operation_is_named_as_far_as_it_is_said(tmp_path: Path) -> None:
    batches = three_commits(tmp_path)[2:]
    added = DeltaTable(str(tmp_path / "history")).get_add_actions(flatten=True)
    remove = {"path": pa.table(added)["path"][0].as_py(), "dataChange": True}
    add_entry(tmp_path / "history" / "_delta_log", {"commitInfo": {}}, {"commitInfo": {}}, {"remove": remove})
    assert [each.operation for each in told(tmp_path, batches)] == ["a write"]


def test_an_entry_that_delta_does_not_read_any_more_may_be_damaged(tmp_path: Path) -> None:
    batches = three_commits(tmp_path)[2:]
    DeltaTable(str(tmp_path / "history")).create_checkpoint()
    max((tmp_path / "history" / "_delta_log").glob("*.json")).write_text('{"add":')
    assert told(tmp_path, batches) == []


def test_neither_merging_files_nor_a_property_is_told(tmp_path: Path) -> None:
    batches = three_commits(tmp_path)[2:]
    for table in GROWN:
        delta = DeltaTable(str(tmp_path / table))
        delta.optimize.compact()
        delta.alter.set_table_properties({"delta.logRetentionDuration": "interval 9 days"})
    assert told(tmp_path, batches) == []


def test_nothing_is_told_of_what_delta_has_cleared_away(tmp_path: Path) -> None:
    batches = three_commits(tmp_path)[2:]
    DeltaTable(str(tmp_path / "history")).delete("sequence = 2")
    DeltaTable(str(tmp_path / "history")).create_checkpoint()
    for entry in sorted((tmp_path / "history" / "_delta_log").glob("*.json"))[:-1]:
        entry.unlink()
    assert told(tmp_path, batches) == []
