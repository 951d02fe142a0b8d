"""Folding aside: from the snapshot where there is one, the same as the first fold, and in slices."""

from __future__ import annotations

import pytest

from tests.memory_log import MemoryLog
from tests.runtime.nodes import Node
from tests.turning import counted_turns
from topicfold.log.codec import decode_event
from topicfold.log.port import Entry
from topicfold.runtime import slices
from topicfold.runtime.refold import digest_in_slices, lay_out_in_slices, refold


async def test_a_partition_folded_aside_is_the_same_at_every_position(orders: Node) -> None:
    await orders.label(tier="gold")
    state = orders.engine.states[0]
    for position in range(state.position + 1):
        found = await refold(orders.log, orders.engine.new_state(0), position)
        assert found is not None
        assert found.position == position
    assert found.digest() == state.digest()
    assert found is not state


async def test_only_what_lies_after_the_snapshot_is_read(orders: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    await orders.label(tier="gold")
    await orders.label(tier="lead")
    base = orders.engine.new_state(0)
    for _, offset, value in orders.log.store.entries[0][:3]:
        base.apply(offset, decode_event(value))

    async def trimmed(partition: int, offset: int, limit: int) -> list[Entry]:
        return await MemoryLog.read(orders.log, partition, max(offset, 3), limit)

    monkeypatch.setattr(orders.log, "read", trimmed)
    state = orders.engine.states[0]
    for position in (state.position - 1, state.position):
        found = await refold(orders.log, base, position)
        assert found is not None
        assert found.position == position
    assert found.digest() == state.digest()
    assert await refold(orders.log, orders.engine.new_state(0), state.position) is None


async def test_beyond_the_logs_end_nothing_can_be_folded(orders: Node) -> None:
    assert await refold(orders.log, orders.engine.new_state(0), 1_000) is None


async def test_others_have_their_turn_between_two_records(orders: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices, "SLICE_SECONDS", 0.0)
    position = orders.engine.states[0].position
    async with counted_turns() as turns:
        await refold(orders.log, orders.engine.new_state(0), position)
        assert turns() >= position


async def test_others_have_their_turn_while_a_state_is_laid_out_and_hashed(
    orders: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slices, "SLICE_SECONDS", 0.0)
    state = orders.engine.states[0]
    left = iter([True, True, False])
    monkeypatch.setattr(type(state.operations.by_client), "lay_out", lambda _: next(left, False))
    async with counted_turns() as turns:
        await lay_out_in_slices(state)
        assert turns() >= 2
        mark = state.mark()._replace(rings=((b"a", b"b"), (b"c",)))
        assert await digest_in_slices(mark) == mark.digest()
        assert turns() >= 5
