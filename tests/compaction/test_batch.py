"""Whatever a log holds and however it is cut into batches and slices, the tables say what the engine's fold says."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from tests.builders import TOPIC, an_id, empty_state, namespace_delete, namespace_put, topic_delete, topic_put
from tests.compaction.folds import Tables, index_of, placed, run_here
from tests.snapshot.loaded import cuts, folded, seeds, snapshot_of
from tests.state.histories import NAMESPACES, PARTITION, PARTITIONS, Log, logs
from topicfold.compaction import batch
from topicfold.compaction.batch import fold_batch
from topicfold.compaction.folded import Folded, folded_at
from topicfold.compaction.folding import records, rings
from topicfold.compaction.plan import Plan, SliceResult
from topicfold.errors import LogGap
from topicfold.log.payload import decode_indexed
from topicfold.model.events import GENESIS, REQUIRE_EMPTY, AggregateKind, Kind
from topicfold.model.names import topic_of_key
from topicfold.state.change import Outcome
from topicfold.state.fold import PartitionState


@pytest.fixture(autouse=True, scope="module")
def _small() -> Iterator[None]:
    """Rings of a few operations, so that they overflow, and pages of what comes at once, so that there are several."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rings, "CAPACITIES", {"client": 4, "server": 3})
        for module in ("batch", "folded"):
            patch.setattr(f"topicfold.compaction.{module}.CAPACITIES", {"client": 4, "server": 3})
        patch.setattr(batch, "_RING_FILES", 3)
        patch.setattr(records, "_PAGE_BYTES", 1)
        yield


@given(logs, cuts, seeds)
@settings(max_examples=60)
def test_all_that_the_tables_say_is_what_the_engine_folds(log: Log, cut: list[int], seed: int) -> None:
    with tempfile.TemporaryDirectory() as root:
        tables, state = snapshot_of(log, Path(root), cut, seed), folded(log)
        require_digests(tables, log, state)
        require_records(tables.topics(), state)
        assert tables.index() == tables.summed() == index_of(state)
        require_history(tables.history(), log)
        require_folded(tables.base.folded, folded_at(tables.root, tables.commit))
        before = tables.commit
        assert tables.take(placed(PARTITION, log)) is None, "a batch again changed something"
        assert tables.commit is before


def require_digests(tables: Tables, log: Log, state: PartitionState) -> None:
    """Fail unless the last commit names the engine's digests, and where they hold."""
    empty = empty_state(0, PARTITIONS, client_ring=4, server_ring=3)
    assert tables.commit.digests == (empty.digest().hex(), state.digest().hex())
    assert tables.commit.to == (0, len(log))


def require_records(rows: dict[str, dict[str, object]], state: PartitionState) -> None:
    """Fail unless each record is byte for byte that of the engine."""
    expected = {
        topic_of_key(namespace, key): table.get(key) for namespace, table in state.topics.items() for key in table.keys
    }
    assert rows.keys() == expected.keys()
    for name, topic in expected.items():
        row = rows[name]
        assert (row["version"], row["live"], row["etag_id"], row["etag_place"], row["payload_schema"], row["payload"],
                row["offset"]) == (topic.version, topic.is_live, *topic.etag, topic.payload_schema, topic.payload,
                                   topic.offset)  # fmt: skip
        assert row["incarnation"] == state.namespaces[str(row["namespace"])].incarnation


def require_history(found: list[dict[str, Any]], log: Log) -> None:
    """Fail unless the history has each accepted event, with the labels around it."""
    state, expected = empty_state(PARTITION, PARTITIONS), []
    for each in log:
        change = state.apply(state.position, each)
        if change.outcome is Outcome.ACCEPTED:
            expected.append((state.position - 1, each.name, each.event_id, each.payload))
    assert [(row["offset"], row["name"], row["event_id"], row["payload"]) for row in found] == expected
    for row in found:
        indexed = None if row["deletes"] else decode_indexed(row["payload_schema"], row["payload"])
        if row["kind"] == "topic":
            assert row["new_labels"] == ([] if row["deletes"] else indexed and sorted(indexed.labels.items()))


def require_folded(in_hand: Sequence[Folded], read_back: Sequence[Folded]) -> None:
    """Fail unless what is read back from the tables is what the job had in hand."""
    for here, there in zip(in_hand, read_back, strict=True):
        assert (here.position, here.level, here.tenants, here.namespaces, here.sums) == (
            there.position, there.level, there.tenants, there.namespaces, there.sums
        )  # fmt: skip
        for kind, ring in here.rings.items():
            assert np.array_equal(ring.rows, there.rings[kind].rows)
            assert not len(ring.rows) or ring.number == there.rings[kind].number
        assert here.digest() == there.digest()


def test_a_batch_of_which_no_slice_tells_holds_nothing_new(tmp_path: Path) -> None:
    tables = Tables(tmp_path, PARTITIONS)
    assert fold_batch(tmp_path, tables.identity, tables.base, 2, lambda plan: []) is None


@pytest.mark.parametrize("is_empty", [True, False])
def test_however_many_deletes_require_an_empty_namespace_a_batch_is_folded_twice(
    tmp_path: Path, is_empty: bool
) -> None:
    log: Log = []
    for number in range(10, 200, 10):
        put = namespace_put(number, log[-1].event_id if log else GENESIS)  # type: ignore[union-attr]
        life = put.event_id if is_empty else an_id(10)
        log += [put, topic_put(number + 1, life, name=f"{TOPIC}{number}")]
        if is_empty:
            log.append(topic_delete(number + 2, life, an_id(number + 1), name=f"{TOPIC}{number}"))
        log.append(namespace_delete(number + 3, put.event_id, flags=REQUIRE_EMPTY))
    plans: list[Plan] = []
    fold = run_here(placed(PARTITION, log))

    def run(plan: Plan) -> Sequence[SliceResult]:
        plans.append(plan)
        return fold(plan)

    tables = Tables(tmp_path, PARTITIONS)
    found = fold_batch(tmp_path, tables.identity, tables.base, 2, run)
    assert found is not None
    assert len(plans) == 2
    assert found.commit.digests[PARTITION] == folded(log).digest().hex()


def test_topics_are_gone_with_their_namespace_until_they_come_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch, "_must_rewrite", lambda commit: commit is None)
    name, topic = NAMESPACES[1], f"persistent://{NAMESPACES[1]}/a"
    log: Log = [
        namespace_put(1, name=name), topic_put(2, an_id(1), name=topic, labels={"team": "pay"}),
        namespace_delete(3, an_id(1), name=name),
        namespace_put(4, an_id(3), name=name), topic_put(5, an_id(4), name=topic),
    ]  # fmt: skip
    tables, found = Tables(tmp_path, PARTITIONS), []
    for start, end in pairwise([0, 2, 3, 5]):
        tables.take(placed(PARTITION, log[start:end], start))
        found.append(([*tables.topics()], tables.commit.counts["records"]))
        assert tables.commit.digests[PARTITION] == folded(log[:end]).digest().hex()
    assert found == [([topic], 1), ([], 0), ([topic], 1)]


@pytest.mark.parametrize("cuts", [[0, 3, 9], [0, 9], [0, 3, 4, 7, 9], [*range(10)]])
def test_each_life_of_a_namespace_takes_the_labels_of_its_own_topics_with_it(tmp_path: Path, cuts: list[int]) -> None:
    name = NAMESPACES[1]
    a, b = (f"persistent://{name}/{key}" for key in "ab")
    log: Log = [
        namespace_put(1, name=name),
        topic_put(2, an_id(1), name=a, labels={"team": "pay"}), topic_put(3, an_id(1), name=b, labels={"tier": "gold"}),
        namespace_delete(4, an_id(1), name=name),
        namespace_put(5, an_id(4), name=name),
        topic_put(6, an_id(5), name=a, labels={"team": "pay"}),
        namespace_delete(7, an_id(5), name=name),
        namespace_put(8, an_id(7), name=name),
        topic_put(9, an_id(8), name=a, labels={"team": "ship"}),
    ]  # fmt: skip
    tables = Tables(tmp_path, PARTITIONS)
    for start, end in pairwise(cuts):
        tables.take(placed(PARTITION, log[start:end], start))
    changes = {(row["offset"], row["topic"], row["value"], row["change"]) for row in tables.diffs()}
    assert changes == {
        (1, "a", "pay", "added"), (2, "b", "gold", "added"),
        (3, "a", "pay", "removed"), (3, "b", "gold", "removed"),
        (5, "a", "pay", "added"), (6, "a", "pay", "removed"), (8, "a", "ship", "added"),
    }  # fmt: skip
    assert len(tables.diffs()) == 7
    assert tables.commit.digests[PARTITION] == folded(log).digest().hex()


def test_what_lies_in_another_partition_or_behind_an_unknown_level_or_has_no_id_counts_for_nothing(
    tmp_path: Path,
) -> None:
    name, topic = NAMESPACES[1], f"persistent://{NAMESPACES[1]}/a"
    log: Log = [namespace_put(1, name=name), topic_put(2, an_id(1), name=topic, labels={"team": "pay"})]
    log.append(topic_put(0, an_id(1), an_id(2), name=topic))
    level = namespace_put(3, name=name)._replace(kind=Kind.LEVEL, aggregate_kind=AggregateKind.NONE)
    behind = topic_put(4, an_id(1), an_id(2), name=topic, labels={"team": "ship"})
    elsewhere: Log = [namespace_put(1, name=name), None, topic_put(5, an_id(1), name=topic)]
    tables = Tables(tmp_path, PARTITIONS)
    found = tables.take([*placed(1 - PARTITION, elsewhere), *placed(PARTITION, [*log, level, behind])])
    assert found is not None
    assert found.stops == {PARTITION: 3}
    assert tables.commit.to == (3, 3)
    empty = empty_state(1 - PARTITION, PARTITIONS)
    assert tables.commit.digests == (empty.digest().hex(), folded(log).digest().hex())
    assert [row["event_id"] for row in tables.history()] == [an_id(1), an_id(2)]


@pytest.mark.parametrize("cut", [[], [2]])
def test_a_namespace_that_begins_again_under_the_same_id_has_none_of_its_former_topics(
    tmp_path: Path, cut: list[int]
) -> None:
    name = NAMESPACES[1]
    log: Log = [
        namespace_put(1, name=name),
        topic_put(2, an_id(1), name=f"persistent://{name}/a"),
        namespace_delete(3, an_id(1), name=name),
        namespace_put(1, an_id(3), name=name),
        namespace_delete(4, an_id(1), name=name, flags=REQUIRE_EMPTY),
    ]
    commit = snapshot_of(log, tmp_path, cut, 0).commit
    assert commit.digests[PARTITION] == folded(log).digest().hex()
    assert commit.counts["records"] == 0


@pytest.mark.parametrize("missing", [0, 1, 2])
def test_a_batch_that_lacks_a_record_is_refused_with_what_may_have_taken_it(tmp_path: Path, missing: int) -> None:
    whole = placed(PARTITION, [namespace_put(number) for number in range(1, 5)])
    tables = Tables(tmp_path, PARTITIONS)
    with pytest.raises(LogGap) as caught:
        tables.take(whole[:missing] + whole[missing + 1 :])
    assert "Run it again" in caught.value.hint
    assert "transactions" in caught.value.hint
    assert not tables.commits


@pytest.mark.parametrize("cuts", [[0, 7], [0, 2, 7], [0, 3, 7], [0, 4, 7]])
def test_a_namespace_that_was_not_empty_at_one_delete_may_be_at_the_next(tmp_path: Path, cuts: list[int]) -> None:
    log: Log = [
        namespace_put(1),
        topic_put(2, an_id(1)),
        namespace_delete(3, an_id(1), flags=REQUIRE_EMPTY),
        topic_delete(4, an_id(1), an_id(2)),
        namespace_delete(5, an_id(3), flags=REQUIRE_EMPTY),
        namespace_put(6, an_id(5)),
        topic_put(7, an_id(6)),
    ]
    tables = Tables(tmp_path, PARTITIONS)
    for start, end in pairwise(cuts):
        tables.take(placed(PARTITION, log[start:end], start))
        assert tables.commit.digests[PARTITION] == folded(log[:end]).digest().hex()
    deletes = [row for row in tables.history() if row["deletes"] and row["kind"] == "namespace"]
    assert [(row["offset"], row["refused"]) for row in deletes] == [(2, True), (4, False)]
