"""Watching real nodes, V1 to V11: they are killed and stopped, streams are cut, and clients get what is promised."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from tests import plain_http
from tests.guarantees.watch_clients import NAMESPACES, any_query
from tests.guarantees.watch_history import changes
from tests.guarantees.watch_log import WatchedLog
from tests.guarantees.watch_validators import violations
from tests.integration.logs import entries_in
from tests.integration.node import Node, is_trimmed, running
from tests.integration.watching import PARTITIONS, HttpClient, change, followed
from tests.server.watching import opened

CLIENTS = 50
CHANGES = 900
WINDOW = 100_000
NEEDLESS_RESET = "v7_gone: a RESET inside the window"


async def trouble(nodes: Sequence[Node], random: Random) -> None:
    """Make changes on the first node, while the others are killed, stopped and started again."""
    async with plain_http.async_client(timeout=20) as client:
        for namespace in NAMESPACES:
            (await client.put(f"{nodes[0].url}/admin/v2/namespaces/{namespace}")).raise_for_status()
        for done in range(CHANGES):
            await change(client, nodes[0].url, random)
            if done % (CHANGES // 3) == CHANGES // 6:
                node = random.choice(nodes[1:])
                await asyncio.to_thread(random.choice((node.kill, node.stop)))
                await asyncio.to_thread(node.start)


@pytest.mark.slow
async def test_fifty_clients_receive_what_is_promised_whatever_happens_to_nodes(
    log_options: Sequence[str], tmp_path: Path
) -> None:
    random = Random(5)
    count = 2 if "--log" in log_options else 3
    with running(log_options, tmp_path, count) as nodes:
        clients = [HttpClient(replace(any_query(random), roles=None), Random(n)) for n in range(CLIENTS)]
        await followed(nodes, clients, trouble(nodes, random))
    log = WatchedLog(await entries_in(log_options), PARTITIONS)
    told = [frame for client in clients for stream in client.history.streams for frame in changes(stream.frames)]
    assert len(told) > CHANGES
    wrong = [said for client in clients for said in violations(client.history, log, WINDOW)]
    # A node that starts on a trimmed log cannot go on from below it.
    assert [said for said in wrong if not (is_trimmed() and said.startswith(NEEDLESS_RESET))] == []
    for client in clients:
        last = next(each.last_positions() for each in reversed(client.history.streams) if each.last_positions())
        assert last.keys() == set(client.history.partitions)
        for partition, position in last.items():
            # Digests of nodes, and copies of the log's header, are appended behind what clients read.
            happened = max((step.offset + 1 for step in log.steps[partition]), default=0)
            assert happened <= position <= log.ends[partition]


async def test_a_node_told_to_stop_ends_its_streams_and_itself_within_two_seconds(tmp_path: Path) -> None:
    with running(["--log", str(tmp_path / "log.db")], tmp_path) as (node,):
        async with opened(node.port) as stream, opened(node.port):
            await stream.frame()
            loop = asyncio.get_running_loop()
            begun = loop.time()
            assert await asyncio.to_thread(node.stop) == 0
            took = loop.time() - begun
            await stream.rest()
    assert stream.ended_politely
    assert took < 10


async def test_ten_silent_seconds_bring_a_ping(tmp_path: Path) -> None:
    # A digest would move the log: a bookmark then, and a ping ten seconds later.
    silent = {"digest_within_seconds": "0"}
    with running(["--log", str(tmp_path / "log.db")], tmp_path, settings=silent) as (node,):
        async with opened(node.port) as stream:
            await stream.frame()
            await stream.until(b"\n:\n\n", 35 if is_trimmed() else 25)
