"""What `docs/compaction.md` says one can ask is right of any snapshot, whatever lies in its tail."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import pandas as pd
import pytest
from deltalake import DeltaTable

from tests.compaction.job_process import run
from tests.compaction.tables import whole
from tests.markdown import code_blocks

DOCUMENT = (Path(__file__).parents[2] / "docs" / "compaction.md").read_text()


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("snapshot")
    run(root, cuts=1)
    return root


def asked(root: Path, statement: str) -> list[tuple[object, ...]]:
    """Return what DuckDB answers, with our tables in the place of its extension's scans."""
    connection = duckdb.connect()
    for name in ("topics", "topics_tail", "label_index_diffs"):
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
