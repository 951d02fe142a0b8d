"""Several nodes on one log, no token sent: PIP-428's promise through REST."""

from __future__ import annotations

import asyncio

from tests.runtime.nodes import turns
from tests.server.rest import LABELS, ORDERS, RestNode
from topicfold.model.events import operation_of
from topicfold.server.auth.principal import ANONYMOUS


async def test_three_changes_in_a_row_each_on_the_next_node_are_all_there(nodes: list[RestNode]) -> None:
    await nodes[0].done("PUT", ORDERS)
    for turn in range(300):
        wanted = {"a": f"{turn}a", "b": f"{turn}b", "c": f"{turn}c"}
        for number, (key, value) in enumerate(wanted.items()):
            await nodes[(turn + number) % 3].done("POST", LABELS, {"labels": {key: value}})
        assert await nodes[turn % 3].get(LABELS) == wanted


async def test_no_change_of_eight_clients_on_three_nodes_is_lost(nodes: list[RestNode]) -> None:
    await nodes[0].done("PUT", ORDERS)

    async def client(number: int) -> set[str]:
        operations = set()
        for turn in range(125):
            body = {"labels": {f"client-{number}": str(turn)}}
            answer = await nodes[(number + turn) % 3].done("POST", LABELS, body)
            operations.add(answer.headers["x-operation-id"])
            assert (await nodes[turn % 3].get(LABELS))[f"client-{number}"] == str(turn)
        return operations

    with nodes[0].node.events() as events:
        acknowledged = set[str]().union(*await asyncio.gather(*map(client, range(8))))
    accepted = {operation.id for event in events for operation in event.operations}
    assert len(acknowledged) == 1_000
    handles = (bytes.fromhex(operation.partition("-")[2]) for operation in acknowledged)
    assert {operation_of(ANONYMOUS, handle) for handle in handles} <= accepted
    assert await nodes[1].get(LABELS) == {f"client-{number}": "124" for number in range(8)}
    for each in nodes:
        await each.node.caught_up()
    assert nodes[0].node.digests() == nodes[1].node.digests() == nodes[2].node.digests()


async def test_a_read_waits_until_what_another_node_had_acknowledged_is_folded(nodes: list[RestNode]) -> None:
    one, other, _ = nodes
    await one.done("PUT", ORDERS)
    await other.node.caught_up()
    other.node.log.pause()
    await one.done("POST", LABELS, {"labels": {"a": "b"}})
    asked = asyncio.create_task(other.get(LABELS))
    await turns()
    assert not asked.done()
    other.node.log.resume()
    assert await asked == {"a": "b"}


async def test_a_deleted_topic_is_gone_on_the_next_node_at_once(nodes: list[RestNode]) -> None:
    for turn in range(50):
        await nodes[turn % 3].done("PUT", ORDERS)
        assert await nodes[(turn + 1) % 3].get(LABELS) == {}
        await nodes[(turn + 2) % 3].done("DELETE", ORDERS)
        assert await nodes[turn % 3].problem("GET", LABELS) == (404, "topic_not_found")
