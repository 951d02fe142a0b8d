"""A node's life: what it makes at the first start, what it refuses to start on, what it finds again."""

from __future__ import annotations

import asyncio

import pytest
from structlog.testing import capture_logs

from tests.builders import NAMESPACE
from tests.memory_log import MemoryStore
from tests.runtime.nodes import ORDERS, Node, WilfulLog, running
from topicfold.clock import wall_clock_ms
from topicfold.errors import LogUnavailable, NotReady, UnsafeLog, WrongLog
from topicfold.log.codec import decode_event, encode_event
from topicfold.log.port import SettingProblem
from topicfold.model.events import AggregateKind, Event, Kind
from topicfold.model.records import TopicRecord
from topicfold.runtime.engine import Engine
from topicfold.runtime.revision import Revision, parse_revision
from topicfold.runtime.watching import window


def events(store: MemoryStore) -> list[Event]:
    """Return all events of the log."""
    return [decode_event(entry.value) for entries in store.entries for entry in entries]


async def test_the_first_start_makes_the_default_tenant_and_namespace(node: Node) -> None:
    assert node.reading.tenants() == ["public"]
    assert node.reading.namespaces("public") == [NAMESPACE]
    assert not node.engine.states[node.engine.partition(NAMESPACE)].topics[NAMESPACE].live


async def test_a_later_start_writes_nothing(store: MemoryStore) -> None:
    async with running(store):
        pass
    before = events(store)
    async with running(store):
        pass
    assert events(store) == before


async def test_what_was_deleted_is_not_made_again_at_the_next_start(store: MemoryStore) -> None:
    async with running(store) as node:
        await node.writing.delete_namespace(NAMESPACE, node.asked())
        await node.writing.delete_tenant("public", node.asked())
    async with running(store) as node:
        assert node.reading.tenants() == []


async def test_topics_are_found_by_the_segments_that_the_node_is_told_of(store: MemoryStore) -> None:
    async with running(store, wildcard_separator=".") as node:
        (table,) = (topics for state in node.engine.states.values() for topics in state.topics.values())
        assert table.names.separator == "."


async def test_of_a_long_log_a_start_keeps_for_streams_what_they_may_go_on_from_and_nothing_before(
    store: MemoryStore,
) -> None:
    async with running(store) as node:
        await node.writing.create_topic(ORDERS, TopicRecord(), node.asked())
        for number in range(30):
            await node.writing.set_labels(ORDERS, {"turn": str(number)}, node.asked())
        partition = node.engine.partition(NAMESPACE)
        end = node.engine.states[partition].position
    packed, pack = [], window._packed
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(window, "_packed", lambda effect, *rest: packed.append(effect.offset) or pack(effect, *rest))
        async with running(store, window_size=10) as node:
            watches = node.engine.watches
            assert watches.window.floor(partition, end) == end - 10
            kept = watches.window.between(partition, end - 10, end, {NAMESPACE})
            assert [effect.offset for effect, _ in kept] == packed
    assert packed == list(range(end - 10, end))


async def test_nodes_that_start_at_once_agree_on_one_log(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore(partitions=4)
    engines = await asyncio.gather(*(Engine.start(WilfulLog(store)) for _ in range(3)))
    for engine in engines:
        await engine.readiness.wait(engine.states, 5.0)
    for engine in engines:
        await engine.barriers.wait(engine.states, asyncio.get_running_loop().time() + 5)
    assert len({engine.identity for engine in engines}) == 1
    assert len({tuple(state.digest() for state in engine.states.values()) for engine in engines}) == 1
    for engine in engines:
        await engine.stop()


async def test_every_partition_begins_with_the_same_header(node: Node) -> None:
    store = MemoryStore(partitions=4)
    async with running(store):
        headers = [decode_event(entries[0].value) for entries in store.entries]
    assert len(set(headers)) == 1
    assert (headers[0].kind, headers[0].partition_count, headers[0].name) == (Kind.HEADER, 4, "sha256-be32")


async def test_a_log_of_another_number_of_partitions_is_refused(store: MemoryStore) -> None:
    async with running(store):
        pass
    wider = MemoryStore(partitions=2)
    for entry in store.entries[0]:
        wider.append(0, entry.value)
    with pytest.raises(WrongLog, match="made with 1 partition and now has 2"):
        await Engine.start(WilfulLog(wider))


async def test_a_log_without_a_header_is_refused(store: MemoryStore) -> None:
    store.append(0, b"somebody else's record")
    with pytest.raises(WrongLog, match="has no header"):
        await Engine.start(WilfulLog(store))


async def test_a_log_of_another_hash_is_refused(store: MemoryStore) -> None:
    async with running(store):
        pass
    header = decode_event(store.entries[0][0].value)
    other = MemoryStore(partitions=1)
    other.append(0, encode_event(header._replace(name="murmur2")))
    with pytest.raises(WrongLog, match="murmur2"):
        await Engine.start(WilfulLog(other))


async def test_a_log_whose_beginning_was_deleted_is_refused(store: MemoryStore) -> None:
    async with running(store):
        pass
    log = WilfulLog(store)

    async def trimmed() -> dict[int, int]:
        return {0: 2}

    log.known_start_offsets = trimmed
    with pytest.raises((UnsafeLog, WrongLog)):
        await Engine.start(log)


async def test_a_node_started_again_holds_what_it_held(store: MemoryStore) -> None:
    async with running(store, client_ring=3, server_ring=2) as node:
        await node.writing.create_topic(ORDERS, TopicRecord(), node.asked())
        for number in range(10):
            await node.label(**{f"k{number}": "v"})
        before = node.digests()
    async with running(store, client_ring=3, server_ring=2) as node:
        assert node.digests() == before
        assert len(node.labels()) == 10


async def test_a_stopped_node_keeps_nothing_of_the_past(store: MemoryStore) -> None:
    async with running(store) as node:
        past = node.engine.past
        await past.namespaces([(NAMESPACE, node.engine.states[0].position)], node.asked().deadline)
        assert past._kept
    assert not past._kept


async def test_a_stopped_node_answers_nobody(store: MemoryStore) -> None:
    async with running(store) as node:
        await node.engine.stop()
        with pytest.raises(NotReady):
            await node.engine.tracker.wait_for(0, 99, 0, None)
        with pytest.raises(LogUnavailable):
            await node.engine.barriers.ends()


async def test_a_revision_means_the_same_on_every_node(orders: Node, store: MemoryStore) -> None:
    written = await orders.writing.set_labels(ORDERS, {"team": "pay"}, orders.asked())
    async with running(store) as other:
        token = parse_revision(str(written.revision), other.engine.identity.incarnation, 1)
        await other.reading.settle([0], other.asked(minimum=token))
        assert other.labels() == {"team": "pay"}
        assert token == Revision(orders.engine.identity.incarnation, {0: len(store.entries[0])})


async def test_each_name_has_its_partition_and_topics_that_of_their_namespace() -> None:
    async with running(MemoryStore(partitions=8)) as node:
        engine = node.engine
        assert engine.target(AggregateKind.TENANT, "public").partition == 5
        assert engine.target(AggregateKind.NAMESPACE, NAMESPACE).partition == 3
        topic = engine.target(AggregateKind.TOPIC, str(ORDERS), NAMESPACE)
        assert (topic.partition, topic.namespace) == (3, NAMESPACE)


async def test_each_second_the_age_is_confirmed_and_the_settings_looked_at(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("topicfold.runtime.engine.TICK_SECONDS", 0.005)
    async with running(store) as node, asyncio.timeout(10):
        node.log.queries = 0
        while node.log.queries < 2:  # noqa: ASYNC110 -- a number
            await asyncio.sleep(0.005)
        assert node.engine.freshness.age_seconds(0) < 10.0
        node.log.is_cut = True
        while node.engine.freshness.is_reachable:  # noqa: ASYNC110 -- nobody is told
            await asyncio.sleep(0.005)


async def test_a_clock_that_is_set_back_is_told_of_and_one_that_is_set_forward_or_goes_wrong_slowly_is_not(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("topicfold.runtime.engine.TICK_SECONDS", 0.01)
    ahead_ms = [0]
    async with running(store, clock_ms=lambda: wall_clock_ms() + ahead_ms[-1]) as node:
        with capture_logs() as lines:
            for each in (3_600_000, 3_599_000, -1_000):
                ahead_ms.append(each)
                node.log.queries = 0
                # Between two there is a look at the clock.
                while node.log.queries < 2:  # noqa: ASYNC110 -- a number
                    await asyncio.sleep(0.005)
        told = [round(line["seconds"]) for line in lines if line["event"] == "clock_set_back"]
        assert round(node.engine.clock_set_back_seconds) == 3600
        node.engine._forget_clock(node.engine.clock_set_back_seconds)
        assert node.engine.clock_set_back_seconds == 0
    assert told == [3600]


async def test_a_clock_that_is_set_back_twice_is_told_of_until_both_have_passed(store: MemoryStore) -> None:
    async with running(store) as node:
        node.engine._note_clock(3_600)
        node.engine._note_clock(0.01)
        await asyncio.sleep(0.02)
        assert node.engine.clock_set_back_seconds == 3_600.01


async def test_the_age_is_confirmed_while_the_log_is_slow_to_tell_its_settings(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("topicfold.runtime.engine.TICK_SECONDS", 0.005)
    async with running(store) as node, asyncio.timeout(10):
        asked = asyncio.Event()

        async def never_told() -> tuple[SettingProblem, ...]:
            asked.set()
            return await asyncio.get_running_loop().create_future()

        monkeypatch.setattr(node.log, "check_settings", never_told)
        node.engine.freshness.look_soon()
        await asked.wait()
        node.log.queries = 0
        while node.log.queries < 3:  # noqa: ASYNC110 -- a number
            await asyncio.sleep(0.005)


async def test_a_node_whose_part_has_failed_stops_and_closes_its_log(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(store) as node:
        monkeypatch.setattr(node.engine.updates, "tick", lambda: 1 / 0)
        await asyncio.wait(node.engine._tasks, return_when=asyncio.FIRST_EXCEPTION)
        await asyncio.sleep(0)
        assert "ZeroDivisionError" in node.engine.reader.faults[0].reason
        await node.engine.stop()
        with pytest.raises(LogUnavailable):
            node.engine.log.append(0, b"late", print)
