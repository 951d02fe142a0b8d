"""Labels counted in columns are those that an engine has: of live topics that are nobody's system topics."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.snapshot.loaded import cuts, folded, seeds, snapshot_of, topics
from tests.state.histories import Log, logs
from topicfold.errors import NamespaceNotFound, SnapshotDamaged, WrongSnapshot
from topicfold.model.events import AggregateKind
from topicfold.model.label_report import LabelCounts, count_labels
from topicfold.model.namespaces import parse_namespaces
from topicfold.model.records import TopicRecord, frozen
from topicfold.snapshot.commits import MANIFESTS
from topicfold.snapshot.label_counts import newest_label_counts

BOTH = ["acme/a", "public/default"]


def counts_in(log: Log) -> LabelCounts:
    """Return the counts that the engine's own fold gives."""
    return count_labels(
        (namespace, table.labels(number))
        for namespace, table in folded(log).topics.items()
        for number in table.live - table.system
    )


@given(logs, cuts, seeds)
@settings(max_examples=40)
def test_counts_are_those_of_the_fold(log: Log, cut: list[int], seed: int) -> None:
    with tempfile.TemporaryDirectory() as root:
        snapshot_of(log, Path(root), cut, seed)
        assert newest_label_counts(Path(root), None).counts == counts_in(log)


@given(logs, st.sampled_from([*BOTH, "no/where"]))
@settings(max_examples=20)
def test_namespaces_that_are_not_asked_for_do_not_count_and_one_that_is_not_there_is_said(
    log: Log, namespace: str
) -> None:
    whole = counts_in(log)
    with tempfile.TemporaryDirectory() as root:
        snapshot_of(log, Path(root))
        if not folded(log).current(AggregateKind.NAMESPACE, namespace).is_live:
            with pytest.raises(NamespaceNotFound, match=namespace):
                newest_label_counts(Path(root), parse_namespaces([namespace]))
            return
        for texts in ([namespace], [f"{namespace[:-1]}*"]):
            found = newest_label_counts(Path(root), parse_namespaces(texts)).counts
            assert found.topics == {name: number for name, number in whole.topics.items() if name == namespace}
            assert found.bearing == {pair: number for pair, number in whole.bearing.items() if pair[0] == namespace}


def test_pulsars_own_topics_do_not_count(tmp_path: Path) -> None:
    record = TopicRecord(labels=frozen({"team": "pay"}))
    snapshot_of(topics(record, record, names=["orders", "__change_events"]), tmp_path)
    found = newest_label_counts(tmp_path, None).counts
    assert found == LabelCounts(Counter({"acme/a": 1}), Counter({("acme/a", "team", "pay"): 1}))


def test_a_damaged_commit_is_passed_over_and_without_a_whole_one_that_is_said(tmp_path: Path) -> None:
    log = topics(*(TopicRecord() for _ in range(4)))
    snapshot_of(log, tmp_path, [3])
    (tmp_path / MANIFESTS / "000000000002.json").write_bytes(b"{}")
    newest = newest_label_counts(tmp_path, None)
    assert newest.counts == counts_in(log[:3])
    assert [error.values["sequence"] for error in newest.damaged] == [newest.commit.sequence + 1]
    for path in (tmp_path / "topics").glob("*.parquet"):
        path.write_bytes(b"")
    with pytest.raises(SnapshotDamaged, match="000000000002"):
        newest_label_counts(tmp_path, None)
    with pytest.raises(WrongSnapshot, match="holds no commit"):
        newest_label_counts(tmp_path / "nothing", None)
