"""A state that comes from a snapshot is the one that folding comes to, now and after whatever comes next."""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import an_id, namespace_delete, namespace_put, topic_put
from tests.compaction.folds import index_of
from tests.snapshot.loaded import cuts, folded, new_state, rows_of, seeds, snapshot_of, topics
from tests.state.histories import PARTITION, PARTITIONS, Log, logs
from topicfold.compaction import batch
from topicfold.log import payload as payloads
from topicfold.model.records import Pending, Step, TopicRecord, frozen
from topicfold.snapshot import loading
from topicfold.snapshot.loading import NewestEvent, load
from topicfold.snapshot.rows.topic_rows import TopicRows, read_topics
from topicfold.state.fold import PartitionState
from topicfold.state.invariants import check

many = settings(max_examples=60)


@pytest.fixture(autouse=True, scope="module")
def _small_rings() -> Iterator[None]:
    """Rings of a few operations, so that they overflow."""
    with pytest.MonkeyPatch.context() as patch:
        for module in ("folding.rings", "batch", "folded"):
            patch.setattr(f"topicfold.compaction.{module}.CAPACITIES", {"client": 4, "server": 3})
        patch.setattr(batch, "_RING_FILES", 3)
        yield


def loaded(log: Log, cut: Sequence[int] = (), seed: int = 0, rewritten: float = 0.3) -> PartitionState:
    """Return what a node has that starts from the snapshot of `log`."""
    with tempfile.TemporaryDirectory() as root:
        snapshot_of(log, Path(root), cut, seed, rewritten)
        found = load(Path(root), bytes(16), PARTITIONS, new_state)
    assert found is not None
    return found.states[PARTITION]


def assert_same(one: PartitionState, other: PartitionState) -> None:
    """Hold two states against each other, numbers of topics aside."""
    assert check(one) == []
    assert (one.position, one.level, one.tenants, one.namespaces) == (
        other.position, other.level, other.tenants, other.namespaces
    )  # fmt: skip
    assert rows_of(one) == rows_of(other)
    assert index_of(one) == index_of(other)
    assert one.digest() == other.digest()


@given(logs, cuts, seeds)
@many
def test_a_loaded_state_is_the_folded_one(log: Log, cut: list[int], seed: int) -> None:
    assert_same(loaded(log, cut, seed), folded(log))


@given(logs, st.integers(1, 60), cuts, seeds)
@many
def test_whatever_comes_next_is_judged_alike(log: Log, place: int, cut: list[int], seed: int) -> None:
    place = min(place, len(log))
    state, other = loaded(log[:place], cut, seed), folded(log[:place])
    for each in log[place:]:
        mine, theirs = state.apply(state.position, each), other.apply(other.position, each)
        assert (mine.outcome, mine.settled) == (theirs.outcome, theirs.settled)
        assert (mine.effect is None) == (theirs.effect is None)
    assert_same(state, other)


SEVERAL = topics(
    TopicRecord(labels=frozen({"team": "pay"})),
    TopicRecord(labels=frozen({"team": "pay"}), grants=frozen({"ann": ("consume",)})),
    TopicRecord(partitions=4, labels=frozen({"team": "ops"}), pending=Pending(Step.MAKE, "")),
    TopicRecord(kafka_name="elsewhere", labels=frozen({"a": "b"}), local=frozen({"maxProducerPerTopic": 3})),
    TopicRecord(pending=Pending(Step.END, "")),
)
"""Topics that a version which knows of payload schema 1 alone can read, and some that it cannot."""


@contextmanager
def knowing_schemas_to(number: int) -> Iterator[None]:
    """Have payloads of schemas above `number` be of a newer version."""
    with pytest.MonkeyPatch.context() as patch:
        for module in ("log.payload", "snapshot.rows.topic_rows"):
            patch.setattr(f"topicfold.{module}.PAYLOAD_SCHEMA", number)
        payloads.decode_indexed.cache_clear()
        yield
    payloads.decode_indexed.cache_clear()


@pytest.mark.parametrize("cut", [(), (3, 5)])
def test_topics_that_an_older_job_could_not_read_are_read_by_a_node_that_can(cut: Sequence[int]) -> None:
    with tempfile.TemporaryDirectory() as root:
        with knowing_schemas_to(1):
            snapshot_of(SEVERAL, Path(root), cut, rewritten=0)
        found = load(Path(root), bytes(16), PARTITIONS, new_state)
    assert found is not None
    assert_same(found.states[PARTITION], folded(SEVERAL))


def test_topics_that_a_newer_job_could_read_are_unreadable_where_they_cannot_be_read() -> None:
    with tempfile.TemporaryDirectory() as root:
        snapshot_of(SEVERAL, Path(root))
        with knowing_schemas_to(1):
            found = load(Path(root), bytes(16), PARTITIONS, new_state)
            assert found is not None
            assert_same(found.states[PARTITION], folded(SEVERAL))
    (table,) = found.states[PARTITION].topics.values()
    assert len(table.undecodable) == 4


def test_what_only_some_topics_have_comes_with_them() -> None:
    log = topics(
        TopicRecord(partitions=4, labels=frozen({"team": "pay"})),
        TopicRecord(kafka_name="elsewhere"),
        TopicRecord(pending=Pending(Step.END, "")),
        TopicRecord(grants=frozen({"ann": ("consume",)})),
        TopicRecord(),
        TopicRecord(),
        names=["a", "b", "c", "d", "non-persistent://e", "__change_events"],
    )
    state = loaded(log)
    (table,) = state.topics.values()
    assert_same(state, folded(log))
    assert (len(table.partitions), len(table.kafka_names), len(table.ending), len(table.grants)) == (1, 1, 1, 1)
    assert (len(table.non_persistent), len(table.system)) == (1, 1)
    assert [table.keys[number] for number in table.named.of("elsewhere")] == ["b"]


def test_names_of_many_segments_are_found_as_in_a_folded_state() -> None:
    names = [f"eu__pay__{n}" for n in range(40)] + ["__odd", "eu____gap", "a__b", "a__" * 40 + "z"]
    log = topics(*[TopicRecord()] * len(names), names=names)
    assert_same(loaded(log), folded(log))


def test_labels_that_hundreds_bear_are_found_as_in_a_folded_state() -> None:
    log = topics(*[TopicRecord(labels=frozen({"team": f"t{n % 3}", "n": str(n)})) for n in range(300)])
    assert_same(loaded(log), folded(log))


@pytest.mark.parametrize("rewritten", [0.0, 1.0])
def test_topics_that_went_with_their_namespace_do_not_come_back_with_its_next_life(rewritten: float) -> None:
    log = topics(TopicRecord(), TopicRecord(), TopicRecord())
    made = len(log)
    log += [namespace_delete(50, an_id(1), name="acme/a"), namespace_put(51, an_id(50), name="acme/a")]
    log += [topic_put(52, an_id(51), name="persistent://acme/a/t1", labels={"team": "pay"})]
    for cut in ((made,), (made, made + 1), (made, made + 2), (made - 1, made + 1)):
        state = loaded(log, cut, rewritten=rewritten)
        assert_same(state, folded(log))
        assert state.topics["acme/a"].keys == ["t1"]


def test_of_a_topics_rows_in_base_and_tail_the_newest_counts() -> None:
    log = topics(TopicRecord(), TopicRecord())
    log += [topic_put(60 + n, an_id(1), an_id(60 + n - 1) if n else an_id(2), name="persistent://acme/a/t0",
                      labels={"n": str(n)}) for n in range(4)]  # fmt: skip
    assert_same(loaded(log, (3, 4, 5, 6), rewritten=0), folded(log))


def test_a_commit_that_goes_beyond_one_of_several_positions_is_passed_over(tmp_path: Path) -> None:
    commit = snapshot_of(topics(TopicRecord()), tmp_path).commit
    assert commit is not None
    ends = dict(enumerate(commit.to))
    for beyond, is_found in ((ends, True), ({**ends, PARTITION: ends[PARTITION] - 1}, False)):
        found = load(tmp_path, bytes(16), PARTITIONS, new_state, only=tuple(ends), not_above=beyond)
        assert (found is not None) == is_found


@pytest.mark.parametrize("last", ["topic", "namespace"])
def test_the_newest_event_of_a_partition_is_told_whatever_it_was_about(tmp_path: Path, last: str) -> None:
    log = topics(TopicRecord())
    log.append(
        namespace_put(9, an_id(1), name="acme/a")
        if last == "namespace"
        else topic_put(9, an_id(1), an_id(2), name="persistent://acme/a/t0")
    )
    snapshot_of(log, tmp_path)
    found = load(tmp_path, bytes(16), PARTITIONS, new_state)
    assert found is not None
    assert found.newest == {PARTITION: NewestEvent(len(log) - 1, an_id(9))}


def test_what_was_only_read_is_gone_before_free_memory_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[weakref.ref[object]] = []
    given_back: list[list[object]] = []

    def noted(*arguments: Any) -> TopicRows:
        rows = read_topics(*arguments)
        read.append(weakref.ref(rows.packed))
        return rows

    monkeypatch.setattr(loading, "read_topics", noted)
    monkeypatch.setattr(loading, "give_back_pages", lambda: given_back.append([each() for each in read]))
    loaded(topics(TopicRecord()))
    assert given_back == [[None]]
