"""Three nodes on one log: no update is lost, no call needs a token."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests import plain_http
from tests.integration.logs import as_folded, operations_in
from tests.integration.node import Node, agree, running

TOPIC = "/admin/v2/persistent/public/default/orders"
LABELS = f"{TOPIC}/custom-labels"


def test_three_different_updates_in_a_row_are_all_there_300_times(log_options: Sequence[str], tmp_path: Path) -> None:
    """PIP-428's example, each call to the next node, no token sent, no sleep."""
    with running(log_options, tmp_path, 3) as nodes, plain_http.client(timeout=20) as client:
        call = 0

        def next_url() -> str:
            nonlocal call
            call += 1
            return nodes[call % 3].url

        assert client.put(next_url() + TOPIC).status_code == 204
        for turn in range(300):
            labels = {f"policy-{number}": str(turn) for number in range(3)}
            for key, value in labels.items():
                assert client.post(next_url() + LABELS, json={"labels": {key: value}}).status_code == 204
            assert client.get(next_url() + LABELS).json() == labels


def test_1000_updates_of_one_topic_from_8_clients_on_3_nodes_all_take_effect_once(
    log_options: Sequence[str], tmp_path: Path
) -> None:
    with running(log_options, tmp_path, 3) as nodes:
        acknowledged = asyncio.run(_write(nodes, clients=8, each=125))
        last = {f"client-{number}": "124" for number in range(8)}
        for node in nodes:
            assert plain_http.get(node.url + LABELS, timeout=20).json() == last
        applied = Counter(asyncio.run(operations_in(log_options)))
        assert len(acknowledged) == 1_000
        folded = [as_folded(operation) for operation in acknowledged]
        assert {operation: applied[operation] for operation in folded} == dict.fromkeys(folded, 1)
        assert agree(nodes)


async def _write(nodes: Sequence[Node], clients: int, each: int) -> list[str]:
    """Return the operation ids of all acknowledged updates."""
    acknowledged: list[str] = []

    async def client(number: int) -> None:
        for turn in range(each):
            url = nodes[(number + turn) % len(nodes)].url
            answer = await http.post(url + LABELS, json={"labels": {f"client-{number}": str(turn)}})
            assert answer.status_code == 204, answer.text
            acknowledged.append(answer.headers["X-Operation-Id"])

    async with plain_http.async_client(timeout=30) as http:
        assert (await http.put(nodes[0].url + TOPIC)).status_code == 204
        await asyncio.gather(*(client(number) for number in range(clients)))
    return acknowledged
