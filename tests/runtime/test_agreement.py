"""Digest records: logged when something new can be said, compared by everybody, believed by nobody."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.memory_log import MemoryLog, MemoryStore
from tests.runtime.agreeing import agreeing, foreign_record, look, make_orders, misfold, place, said
from tests.runtime.nodes import Node, running
from tests.runtime.watching.watchers import Watching
from tests.simulation.virtual_loop import VirtualLoop
from tests.snapshot.making import compacted_further, miscompacted
from topicfold.compaction.trim import Trimming
from topicfold.errors import LogUnavailable, NotReady
from topicfold.log.codec import decode_event, encode_event
from topicfold.log.digest_record import statements_in
from topicfold.log.port import Entry
from topicfold.model.events import Kind
from topicfold.model.names import parse_topic
from topicfold.model.records import NamespaceRecord, TopicRecord
from topicfold.runtime import agreement, examiner
from topicfold.runtime.agreement import AgreementReport, Compared
from topicfold.runtime.engine import EngineOptions
from topicfold.runtime.examiner import Conclusion
from topicfold.runtime.refold import lay_out_in_slices
from topicfold.settings import Settings
from topicfold.snapshot.commits import commit_path
from topicfold.snapshot.trim_note import NOTE
from topicfold.state.digest import DigestMark


@pytest.fixture
async def node(store: MemoryStore) -> AsyncIterator[Node]:
    async with agreeing(store, "one") as made:
        await make_orders(made)
        await look(made)
        yield made


def differences(node: Node, partition: int = 0) -> dict[str, int]:
    """Return with whom a node found a difference, and how often."""
    return dict(node.engine.agreement.reports[partition].differences)


async def test_after_a_change_one_node_says_its_digest_and_the_others_compare(store: MemoryStore) -> None:
    async with agreeing(store, "one") as one, agreeing(store, "two") as two:
        await make_orders(one)
        with one.events() as events:
            await look(one, two)
        assert [name for name, _ in said(events)] == ["one"]
        last = two.engine.agreement.reports[0].last
        assert last is not None
        assert last._replace(at_ms=0) == Compared(len(store.entries[0]) - 1, "one", True, 0)
        assert one.engine.agreement.reports[0].last is None


async def test_an_idle_log_grows_by_nothing(store: MemoryStore) -> None:
    async with agreeing(store, "one") as one, agreeing(store, "two") as two:
        await look(one, two)
        with one.events() as events:
            for _ in range(5):
                await look(one, two)
            store.append(0, b"garbage")
            await look(one, two)
        assert said(events) == []
    async with agreeing(store, "three") as three:
        with three.events() as events:
            await look(three)
        assert said(events) == []


async def test_what_changes_nothing_needs_no_digest_record(store: MemoryStore) -> None:
    async with agreeing(store, "one") as one:
        await look(one)
        with one.events() as events:
            await one.engine.barriers.wait_linearizable([0], one.asked().deadline)
            await look(one)
        assert [event.kind for event in events] == [Kind.BARRIER]


async def test_a_record_that_events_overtook_is_compared_at_the_next(store: MemoryStore) -> None:
    async with agreeing(store, "one") as one, agreeing(store, "two") as two:
        await make_orders(one)
        await look(one, two)
        for step in range(2):
            await one.label(step=f"{step}a")
            await two.engine.agreement.look()
            two.log.fate = two.log.hold
            await two.engine.agreement.look()
            two.log.fate = two.log.take
            await one.label(step=f"{step}b")
            two.log.release()
            await one.caught_up()
            await one.engine.agreement.look()
            if step == 0:
                assert one.engine.agreement.reports[0].last is None
        last = one.engine.agreement.reports[0].last
        assert last is not None
        assert (last.node, last.is_equal) == ("two", True)


async def test_nobody_speaks_who_was_forestalled(store: MemoryStore) -> None:
    async with agreeing(store, "one") as one, agreeing(store, "two") as two:
        await make_orders(one)
        for node in (one, two):
            await node.caught_up()
            await node.engine.agreement.look()
        with one.events() as events:
            await one.engine.agreement.look()
            await two.caught_up()
            await two.engine.agreement.look()
            await two.engine.agreement.look()
        assert [name for name, _ in said(events)] == ["one"]


async def test_who_waits_begins_anew_when_another_speaks_even_of_what_has_passed(store: MemoryStore) -> None:
    async with agreeing(store, "one") as one:
        await make_orders(one)
        await one.engine.agreement.look()
        spoken, digest = one.engine.states[0].position, one.engine.states[0].digest()
        await one.label(step="a")
        store.append(0, foreign_record(spoken, digest))
        await one.caught_up()
        await one.engine.agreement.look()
        assert one.engine.agreement.logged == 0
        await one.engine.agreement.look()
        assert one.engine.agreement.logged == 1


async def test_nobody_speaks_while_the_log_takes_no_changes(store: MemoryStore) -> None:
    async with agreeing(store, "one") as one:
        await make_orders(one)
        one.engine.freshness.on_unavailable(LogUnavailable("away"))
        for _ in range(3):
            await one.engine.agreement.look()
        assert one.engine.agreement.logged == 0


async def test_nobody_speaks_who_was_forestalled_while_hashing(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with agreeing(store, "one") as one:
        await make_orders(one)
        await one.engine.agreement.look()

        async def forestalled(mark: DigestMark) -> bytes:
            store.append(0, foreign_record(mark.position, mark.digest()))
            await one.caught_up()
            return mark.digest()

        monkeypatch.setattr(agreement, "digest_in_slices", forestalled)
        await one.engine.agreement.look()
        assert one.engine.agreement.logged == 0


@pytest.mark.parametrize(("share", "seconds"), [(0.0, 2.5), (0.999, 5.0)])
def test_the_wait_is_random_up_to_five_seconds_and_at_least_half_of_that(share: float, seconds: float) -> None:
    loop, store = VirtualLoop(), MemoryStore(partitions=1)

    async def waited() -> float:
        told = {"random_share": lambda: share, "digest_within_seconds": EngineOptions().digest_within_seconds}
        async with running(store, **told) as node:
            await make_orders(node)
            began, logged = loop.time(), loop.create_future()
            node.log.fate = lambda *_: logged.set_result(loop.time())
            return float(await asyncio.wait_for(logged, 60)) - began

    assert seconds - 0.1 <= loop.run_until_complete(waited()) <= seconds + 1.1
    loop.close()


async def test_told_not_to_a_node_says_nothing_and_compares_all_the_same(store: MemoryStore) -> None:
    async with agreeing(store, "one") as one, agreeing(store, "two", digest_within_seconds=0) as two:
        await make_orders(two)
        with one.events() as events:
            await look(two)
            assert said(events) == []
        await look(one, two)
        assert two.engine.agreement.reports[0].compared == 1


async def test_who_folded_wrongly_stops_and_who_is_accused_of_it_counts_and_goes_on() -> None:
    store = MemoryStore(partitions=8)
    async with agreeing(store, "right") as right, agreeing(store, "wrong") as wrong:
        await make_orders(right)
        await wrong.caught_up()
        misfold(wrong)
        await look(wrong, right)
        partition = place(right)[0].partition
        assert differences(right, partition) == {"wrong": 1}
        assert right.engine.examiner.conclusions == {Conclusion.MEMORY_RIGHT: 1}
        assert right.engine.reader.faults == {}
        assert wrong.engine.reader.faults == {}
        with right.events() as events:
            await look(right, wrong)
        assert [name for name, _ in said(events)] == ["right"], "nobody told the one that was wrong"
        assert list(wrong.engine.reader.faults) == [partition]
        position = wrong.engine.states[partition].position
        reason = wrong.engine.readiness.reason(partition)
        assert "partition 3 has stopped" in reason
        assert f"up to offset {position - 1}: node right has another digest" in reason
        assert [each for each in wrong.engine.states if not wrong.engine.readiness.is_ready(each)] == [partition]
        with pytest.raises(NotReady, match="in memory does not agree with the log"):
            await wrong.engine.readiness.wait([partition], 1.0)
        await wrong.engine.readiness.wait([(partition + 1) % 8], 1.0)
        assert right.labels()["team"] == "pay"


async def test_who_watches_a_partition_that_is_found_wrong_is_told_so_and_nobody_else() -> None:
    store = MemoryStore(partitions=8)
    async with agreeing(store, "wrong") as wrong:
        await make_orders(wrong)
        await wrong.writing.create_namespace("public/other", NamespaceRecord(), wrong.asked())
        watching, behind, elsewhere = Watching(wrong), Watching(wrong, reads=False), Watching(wrong, "", "public/other")
        await watching.up_to_date()
        await elsewhere.up_to_date()
        misfold(wrong)
        partition = place(wrong)[0].partition
        store.append(partition, foreign_record(len(store.entries[partition]), bytes(16), partition=partition))
        await look(wrong)
        assert list(wrong.engine.reader.faults) == [partition]
        for each in (watching, behind):
            with pytest.raises(NotReady, match="in memory does not agree with the log"):
                await asyncio.wait_for(each.task, 5)
        assert wrong.engine.watches.watchers == {elsewhere.watcher}
        assert (await elsewhere.ended())[-1] == "BOOKMARK"


async def test_a_wrong_commit_stops_who_started_from_it_and_nobody_else(store: MemoryStore, tmp_path: Path) -> None:
    root = tmp_path / "snapshot"
    async with agreeing(store, "right", snapshot=root) as right:
        await make_orders(right)
        await miscompacted(store, root, b"pay", b"pax")
        async with agreeing(store, "wrong", snapshot=root) as wrong:
            assert wrong.labels() == {"team": "pax"}
            await right.writing.create_topic(parse_topic("other"), TopicRecord(), right.asked())
            await look(wrong, right)
            await look(right, wrong)
            assert right.engine.examiner.conclusions == {Conclusion.MEMORY_RIGHT: 1}
            assert right.engine.reader.faults == {}
            assert wrong.engine.examiner.conclusions == {Conclusion.MEMORY_WRONG: 1}


async def test_where_the_log_was_trimmed_a_partition_is_folded_from_a_verified_commit(
    store: MemoryStore, tmp_path: Path
) -> None:
    root = tmp_path / "snapshot"
    async with agreeing(store, "one", snapshot=root) as node:
        await make_orders(node)
        await compacted_further(node.log, root)
        await node.writing.create_topic(parse_topic("other"), TopicRecord(), node.asked())
        verified = await compacted_further(node.log, root)
        trimming = Trimming(node.log, node.engine.identity, root, Settings(), lambda text: None)
        await trimming.carry_out(await trimming.plan(None))
        store.append(0, foreign_record(len(store.entries[0]), bytes(16)))
        await look(node)
        assert node.engine.examiner.conclusions == {Conclusion.MEMORY_RIGHT: 1}
        commit_path(root, verified.sequence).unlink()
        (root / NOTE).unlink()
        store.append(0, foreign_record(len(store.entries[0]), bytes(16), "other"))
        await look(node)
        assert node.engine.examiner.conclusions[Conclusion.NOT_EXAMINED] == 1
        assert node.engine.reader.faults == {}


async def test_a_node_that_accuses_wrongly_is_examined_once_and_then_only_counted(node: Node) -> None:
    for times in range(1, 4):
        position = len(node.log.store.entries[0])
        node.log.store.append(0, foreign_record(position, bytes(16)))
        await look(node)
        assert differences(node)["liar"] == times
    assert node.engine.examiner.conclusions == {Conclusion.MEMORY_RIGHT: 1}
    assert node.engine.agreement.logged == 2, "it is answered once"
    node.log.store.append(0, foreign_record(len(node.log.store.entries[0]), bytes(16), "other"))
    await look(node)
    assert node.engine.examiner.conclusions == {Conclusion.MEMORY_RIGHT: 2}
    assert node.engine.reader.faults == {}


async def test_of_nodes_that_accused_wrongly_only_those_are_remembered_that_are_not_believed_yet(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(examiner, "REEXAMINE_AFTER_SECONDS", 0.0)
    for number in range(3):
        node.log.store.append(0, foreign_record(len(node.log.store.entries[0]), bytes(16), f"liar-{number}"))
        await look(node)
    assert node.engine.examiner.conclusions == {Conclusion.MEMORY_RIGHT: 3}
    assert [accuser for _, accuser in node.engine.examiner.disbelieved] == ["liar-2"]


@pytest.mark.parametrize("payload", [b"", b"\0", b"\0\0", b"\0\0x", b"\0\1" + bytes(24), b"\0\0" + bytes(72)])
async def test_a_record_of_another_partition_or_none_at_all_says_nothing(node: Node, payload: bytes) -> None:
    model = decode_event(foreign_record(0, bytes(16)))
    assert model is not None
    node.log.store.append(0, encode_event(model._replace(payload=payload)))
    await look(node)
    assert node.engine.agreement.reports[0].compared == 0


@pytest.mark.parametrize("position", [0, 3, 1 << 63])
async def test_a_record_of_a_position_that_nobody_remembers_says_nothing(node: Node, position: int) -> None:
    node.log.store.append(0, foreign_record(position, bytes(16)))
    await look(node)
    assert node.engine.agreement.reports[0].compared == 0
    with node.events() as events:
        await node.label(tier="gold")
        await look(node)
    assert len(said(events)) == 1, "a record from the future silenced everybody"


async def test_of_what_lies_before_the_snapshot_nothing_is_compared_and_nothing_said(node: Node) -> None:
    state = node.engine.states[0]
    # What a state that was loaded knows of the last accepted event.
    state.accepted_to = 0
    node.engine.agreement.begin({0: state.position})
    node.log.store.append(0, foreign_record(state.position - 1, bytes(16)))
    with node.events() as events:
        await look(node)
    assert node.engine.agreement.reports[0].compared == 0
    assert said(events) == []


async def test_a_record_of_another_level_says_nothing(node: Node) -> None:
    model = decode_event(foreign_record(len(node.log.store.entries[0]), bytes(16)))
    assert model is not None
    node.log.store.append(0, encode_event(model._replace(level=2)))
    await look(node)
    assert node.engine.agreement.reports[0].compared == 0


async def test_without_what_it_takes_to_fold_anew_nothing_is_stopped(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def trimmed(partition: int, offset: int, limit: int) -> list[Entry]:
        return await MemoryLog.read(node.log, partition, offset + 2, limit)

    monkeypatch.setattr(node.log, "read", trimmed)
    misfold(node)
    node.log.store.append(0, foreign_record(len(node.log.store.entries[0]), bytes(16)))
    await look(node)
    assert node.engine.examiner.conclusions == {Conclusion.NOT_EXAMINED: 1}
    assert node.engine.reader.faults == {}


async def test_a_log_that_does_not_answer_is_asked_again_at_the_next_difference(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(partition: int, offset: int, limit: int) -> list[Entry]:
        raise LogUnavailable("away")

    for patched, conclusion in ((away, Conclusion.NOT_EXAMINED), (node.log.read, Conclusion.MEMORY_RIGHT)):
        monkeypatch.setattr(node.log, "read", patched)
        node.log.store.append(0, foreign_record(len(node.log.store.entries[0]), bytes(16)))
        await look(node)
        assert node.engine.examiner.conclusions[conclusion] == 1


async def test_marks_are_hashed_to_what_the_state_says(node: Node) -> None:
    state = node.engine.states[0]
    await lay_out_in_slices(state)
    assert state.mark().digest() == state.digest()
    assert statements_in(state.digest_records[-1].event, 0)[-1].digest == state.digest()


def test_a_report_says_who_differed_how_often_and_what_came_last() -> None:
    report = AgreementReport()
    for position, (node, is_equal) in enumerate([("a", True), ("b", False), ("b", False), ("a", True)]):
        report.add(Compared(position, node, is_equal, 0))
    assert (report.compared, report.differences, report.last) == (4, {"b": 2}, Compared(3, "a", True, 0))


def test_a_report_keeps_few_names_however_many_call_themselves_nodes() -> None:
    report = AgreementReport()
    for number in range(500):
        report.add(Compared(number, f"node {number}", False, 0))
    assert report.compared == 500
    assert len(report.by_node) == len(report.differences) == 100
    assert report.last == Compared(499, "node 499", False, 0)
