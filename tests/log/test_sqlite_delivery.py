"""What the thread of a SQLite log hands to the loop: in order, and a batch in each turn of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from tests.turning import counted_turns
from topicfold.errors import OperatorNeeded, TopicfoldError
from topicfold.log.port import Entry
from topicfold.log.sqlite_delivery import Follow, SqliteDelivery


async def test_however_many_batches_wait_each_has_a_turn_of_the_loop_and_faults_come_behind_them() -> None:
    told: list[tuple[int, object]] = []

    def deliver(entries: object) -> None:
        told.append((turns(), entries))

    def fault(error: TopicfoldError, partition: int | None) -> None:
        told.append((turns(), "fault"))

    def post(call: Callable[..., None], *arguments: object) -> None:
        asyncio.get_running_loop().call_soon(call, *arguments)

    delivery = SqliteDelivery(post)
    delivery.begin(Follow({0: 0}, deliver, fault))
    batches = [[Entry(0, offset, b"value")] for offset in range(5)]
    async with counted_turns() as turns:
        for batch in batches:
            delivery.deliver_own(batch)
        delivery.fail(OperatorNeeded("the disk is gone"))
        for _ in range(20):
            await asyncio.sleep(0)
    assert [each for _, each in told] == [*batches, "fault"]
    assert len({at for at, _ in told}) == len(told)
