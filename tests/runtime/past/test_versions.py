"""Records as they once were: by position, by version."""

from __future__ import annotations

import asyncio

import pytest

from tests.builders import NAMESPACE
from tests.memory_log import MemoryStore
from tests.runtime.histories import at, etags, history, target, trim
from tests.runtime.nodes import ORDERS, Node, turns
from topicfold import errors
from topicfold.log.port import Entry
from topicfold.model.records import NamespaceRecord, TopicRecord
from topicfold.runtime.past.versions import find_version, version_at


async def test_a_record_is_read_as_it_was_at_each_position(orders: Node) -> None:
    begin, tiers = orders.engine.states[0].position, ("lead", "gold", "lead")
    for tier in tiers:
        await orders.label(tier=tier)
    found = [(await at(orders, begin + number)).record.labels.get("tier") for number in range(4)]
    assert found == [None, *tiers]
    assert [(await at(orders, begin + number)).etag for number in range(4)] == await etags(orders)


async def test_the_version_at_a_position_is_that_of_the_last_change(orders: Node) -> None:
    await orders.label(team="pay")
    await orders.writing.set_labels(ORDERS, {"team": "pay"}, orders.asked(key="unchanged"))
    found = await at(orders, orders.engine.states[0].position)
    assert (found.etag, found.record.labels) == (orders.reading.topic(ORDERS).etag, {"team": "pay"})


async def test_a_topic_was_not_there_before_it_was_made_and_after_it_ended(orders: Node) -> None:
    born = orders.engine.states[0].position
    await orders.writing.delete_topic(ORDERS, orders.asked())
    for position in (born - 1, born + 1):
        with pytest.raises(errors.TopicNotFound, match=f"at position {position}"):
            await at(orders, position)
    assert (await at(orders, born)).record == TopicRecord()


async def test_of_a_namespace_that_ends_while_its_topic_is_looked_for_it_is_said_that_it_is_gone(
    orders: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = orders.log.read

    async def read_behind_its_end(partition: int, offset: int, limit: int) -> list[Entry]:
        monkeypatch.undo()
        await orders.writing.delete_namespace(NAMESPACE, orders.asked(), force=True)
        return await read(partition, offset, limit)

    monkeypatch.setattr(orders.log, "read", read_behind_its_end)
    with pytest.raises(errors.NamespaceNotFound, match=f"namespace {NAMESPACE} not found"):
        await at(orders, 1)


async def test_a_position_that_is_not_folded_yet_is_waited_for(orders: Node) -> None:
    position = orders.engine.states[0].position + 1
    read = asyncio.create_task(at(orders, position))
    await turns()
    await orders.label(team="pay")
    assert (await read).record.labels == {"team": "pay"}
    with pytest.raises(errors.PositionTimeout):
        await version_at(orders.engine, target(orders), position + 1, orders.asked(0.01).deadline)


async def test_a_position_before_what_the_log_holds_is_an_error_that_says_so(orders: Node, store: MemoryStore) -> None:
    await orders.label(team="pay")
    trim(store, before=4)
    with pytest.raises(errors.Resync, match="at offset 3, the log no longer holds the record"):
        await at(orders, 4)
    assert (await at(orders, 5)).record.labels == {"team": "pay"}


@pytest.mark.parametrize("is_reborn", [True, False])
async def test_a_former_life_of_the_namespace_can_no_longer_be_told(orders: Node, is_reborn: bool) -> None:
    position = orders.engine.states[0].position
    await orders.writing.delete_namespace(NAMESPACE, orders.asked(), force=True)
    await orders.writing.create_namespace(NAMESPACE, NamespaceRecord(), orders.asked())
    if is_reborn:
        await orders.writing.create_topic(ORDERS, TopicRecord(), orders.asked())
    with pytest.raises(errors.Resync, match="was recreated at offset 5"):
        await at(orders, position)


async def test_a_version_is_found_by_etag_id_or_offset(orders: Node) -> None:
    await orders.label(team="pay")
    await orders.label(team="ops")
    middle = (await history(orders)).entries[1].version
    deadline = orders.asked().deadline
    for name in (middle.etag, f'"{middle.etag}"', middle.etag.partition(".")[0], str(middle.offset)):
        assert await find_version(orders.engine, target(orders), name, deadline) == middle


@pytest.mark.parametrize("name", ["", "latest", "12.5.1", "-3", "g" * 32, "1" * 40])
async def test_what_cannot_be_a_version_is_said_to_be_none(orders: Node, name: str) -> None:
    with pytest.raises(errors.InvalidRequest, match="neither an ETag nor an offset"):
        await find_version(orders.engine, target(orders), name, orders.asked().deadline)


async def test_an_unknown_version_is_told_with_those_that_come_nearest(orders: Node) -> None:
    for number in range(7):
        await orders.label(number=str(number))
    known = await etags(orders)
    begun, end = known[2].partition(".")[0], orders.engine.states[0].position
    for name, nearest in (("f" * 32, known[:2:-1]), (f"{begun}.9", [known[2]]), (begun[:-1] + "f", known[:2:-1]),
                          (str(end + 50), [str(end - number) for number in range(1, 6)])):  # fmt: skip
        with pytest.raises(errors.VersionNotFound) as caught:
            await find_version(orders.engine, target(orders), name, orders.asked().deadline)
        assert caught.value.values["nearest"] == nearest


async def test_offsets_that_come_nearest_are_told_in_the_order_of_the_history(orders: Node) -> None:
    offsets = [(await orders.label(number=str(number)), orders.engine.states[0].position - 1)[1] for number in range(7)]
    with pytest.raises(errors.VersionNotFound) as caught:
        await find_version(orders.engine, target(orders), f"0{offsets[-2]}", orders.asked().deadline)
    nearest = caught.value.values["nearest"]
    assert nearest == sorted(nearest, key=int, reverse=True)
    assert str(offsets[-1]) == nearest[0]
