"""S3: the log is trimmed under running nodes. Nobody notices but those who slept too long, and they are told so."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from random import Random

import httpx2
import pytest

from tests import plain_http
from tests.guarantees.watch_clients import NAMESPACES, any_query
from tests.guarantees.watch_history import changes
from tests.guarantees.watch_log import WatchedLog
from tests.guarantees.watch_validators import violations
from tests.integration.command import topicfold
from tests.integration.logs import entries_in
from tests.integration.node import Node, agree, running
from tests.integration.topics import create, watched
from tests.integration.trims import compact, trims_beside
from tests.integration.watching import PARTITIONS, HttpClient, change, followed

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("untrimmed")]
CLIENTS = 12
CHANGES = 250
WINDOW = 100_000
LABELS = "/admin/v2/persistent/public/default/kept/custom-labels"


def trim(options: Sequence[str], root: Path, *more: str) -> subprocess.CompletedProcess[str]:
    return topicfold("trim", *options, "--snapshot", str(root), "--grace", "0", *more)


def forget(options: Sequence[str], root: Path, node: Node) -> None:
    """Have the log begin behind all that there is now."""
    for name in ("one", "two"):
        asyncio.run(compact(options, root))
        create(node, f"forgetting-{name}")
    asyncio.run(compact(options, root))
    run = trim(options, root)
    assert run.returncode == 0, run.stderr


def wait_for(node: Node, text: str) -> str:
    """Return why a node is not ready, once it says `text`."""
    deadline = time.monotonic() + 120
    said = ""
    while time.monotonic() < deadline:
        said = json.dumps(node.health())
        if text in said:
            return said
        time.sleep(0.1)
    raise AssertionError(f"it says {said}; its output:\n{node.output.read_text()}")


def test_the_command_says_what_goes_and_why(log_options: Sequence[str], tmp_path: Path) -> None:
    root = tmp_path / "snapshot"
    with running(log_options, tmp_path) as (node,):
        create(node, "a")
        refused = trim(log_options, root)
        assert (refused.returncode, refused.stdout) == (1, "")
        assert "error: two verified commits are needed" in refused.stderr
        assert "hint: topicfold compact --once --" in refused.stderr
        asyncio.run(compact(log_options, root))
        create(node, "b")
        asyncio.run(compact(log_options, root))
        shown = trim(log_options, root, "--dry-run", "-o", "json")
        dry = json.loads(shown.stdout)
        assert dry["deleted"] is False
        done = json.loads(trim(log_options, root, "-o", "json").stdout)
        # Digest records may have come meanwhile.
        assert [(each["from"], each["to"]) for each in done["partitions"]] == [
            (each["from"], each["to"]) for each in dry["partitions"]
        ]
        assert {**done, "partitions": None} == {**dry, "deleted": True, "partitions": None}
        assert sum(each["to"] - each["from"] for each in done["partitions"]) > PARTITIONS
        again = trim(log_options, root)
        assert again.returncode == 0
        assert "0 records" in again.stderr
        young = topicfold("trim", *log_options, "--snapshot", str(root), "-o", "json")
        assert all(each["to"] == each["from"] for each in json.loads(young.stdout)["partitions"])
        create(node, "c")
    refused = topicfold("serve", *log_options, "--port", "0")
    assert refused.returncode == 1
    assert "no snapshot is named" in refused.stderr
    assert "hint: Start from a snapshot: --snapshot DIR" in refused.stderr


def test_a_node_that_slept_through_a_trim_starts_anew_from_the_snapshot(
    log_options: Sequence[str], tmp_path: Path
) -> None:
    root = tmp_path / "snapshot"
    with running([*log_options, "--snapshot", str(root)], tmp_path, 2) as (waking, sleeper):
        create(waking, "a")
        assert agree([waking, sleeper])
        assert sleeper.process is not None
        sleeper.process.send_signal(signal.SIGSTOP)
        create(waking, "b")
        forget(log_options, root, waking)
        sleeper.process.send_signal(signal.SIGCONT)
        while "starting_anew" not in sleeper.output.read_text():
            time.sleep(0.05)
        sleeper.wait_ready()
        assert agree([waking, sleeper])
        create(sleeper, "c")
        assert agree([waking, sleeper])
        assert sleeper.stop() == 0


def test_a_change_that_came_while_a_node_slept_through_a_trim_does_not_keep_it_from_starting_anew(
    log_options: Sequence[str], tmp_path: Path
) -> None:
    root = tmp_path / "snapshot"
    with (
        running([*log_options, "--snapshot", str(root)], tmp_path, 2, settings={"request_timeout_seconds": "30"}) as (
            waking,
            sleeper,
        ),
        ThreadPoolExecutor() as threads,
    ):
        create(waking, "kept")
        assert agree([waking, sleeper])
        assert sleeper.process is not None
        sleeper.process.send_signal(signal.SIGSTOP)
        forget(log_options, root, waking)
        change = threads.submit(httpx2.post, sleeper.url + LABELS, json={"labels": {"team": "pay"}}, timeout=60)
        time.sleep(0.5)
        sleeper.process.send_signal(signal.SIGCONT)
        begun = time.monotonic()
        while "starting_anew" not in sleeper.output.read_text():
            time.sleep(0.05)
        assert time.monotonic() - begun < 25
        # 204 where the node heard of it only after it had started anew.
        assert change.result().status_code in (204, 503, 504)
        sleeper.wait_ready()
        assert agree([waking, sleeper])


def test_a_node_without_a_snapshot_that_slept_through_a_trim_is_not_ready_and_says_what_to_do(
    log_options: Sequence[str], tmp_path: Path
) -> None:
    root = tmp_path / "snapshot"
    with running(log_options, tmp_path, 2) as (waking, sleeper):
        create(waking, "a")
        assert agree([waking, sleeper])
        assert sleeper.process is not None
        sleeper.process.send_signal(signal.SIGSTOP)
        forget(log_options, root, waking)
        sleeper.process.send_signal(signal.SIGCONT)
        said = wait_for(sleeper, "were trimmed")
        assert "restart this node with --snapshot DIR" in said
        assert plain_http.get(f"{sleeper.url}/readyz", timeout=10).status_code == 503
        assert plain_http.get(f"{waking.url}/readyz", timeout=10).status_code == 200


def test_who_watches_from_below_the_log_is_told_so_by_a_node_that_started_since(
    log_options: Sequence[str], tmp_path: Path
) -> None:
    root = tmp_path / "snapshot"
    with running(log_options, tmp_path) as (node,):
        create(node, "a")
        before = str(watched(node)[-1]["cursor"])
        create(node, "b")
        forget(log_options, root, node)
        # What a node has folded itself it still knows.
        told = watched(node, before)
        after = str(told[-1]["cursor"])
        assert [each["type"] for each in told].count("ADDED") >= 3
        with running([*log_options, "--snapshot", str(root)], root, 1) as (started,):
            query = {"namespace": "public/default", "since": before, "timeoutSeconds": "1"}
            gone = plain_http.get(
                f"{started.url}/api/v1/watch", params=query, headers={"Accept": "application/x-ndjson"}, timeout=60
            )
            assert gone.status_code == 410
            stream = plain_http.get(f"{started.url}/api/v1/watch", params=query, timeout=60).text
            assert stream.index("event: RESET") < stream.index("event: ADDED")
            create(node, "c")
            assert [each["type"] for each in watched(started, after)].count("RESET") == 0


async def written(nodes: Sequence[Node], random: Random) -> dict[str, str]:
    """Make changes on every node in turn; return the labels of one topic whose changes all were acknowledged."""
    kept: dict[str, str] = {}
    async with plain_http.async_client(timeout=60) as client:
        for namespace in NAMESPACES:
            await client.put(f"{nodes[0].url}/admin/v2/namespaces/{namespace}")
        (await client.put(nodes[0].url + LABELS.removesuffix("/custom-labels"))).raise_for_status()
        for number in range(CHANGES):
            url = nodes[number % len(nodes)].url
            kept[f"key{number % 20}"] = str(number)
            answer = await client.post(url + LABELS, json={"labels": {f"key{number % 20}": str(number)}})
            assert answer.status_code == 204, answer.text
            await change(client, url, random)
    return kept


async def test_with_a_trim_behind_every_commit_nothing_is_lost_and_no_watcher_notices(
    log_options: Sequence[str], tmp_path: Path
) -> None:
    random, root = Random(6), tmp_path / "snapshot"
    options = [*log_options, "--snapshot", str(root)]
    with running(options, tmp_path, 2) as nodes, trims_beside(log_options, root) as trims:
        clients = [HttpClient(replace(any_query(random), roles=None), Random(n)) for n in range(CLIENTS)]
        kept = await followed(nodes, clients, written(nodes, random))
        assert await asyncio.to_thread(agree, nodes)
        # A node that starts now has the same.
        await asyncio.to_thread(nodes[1].kill)
        await asyncio.to_thread(nodes[1].start)
        assert await asyncio.to_thread(agree, nodes)
        async with plain_http.async_client(timeout=60) as http:
            assert [(await http.get(node.url + LABELS)).json() for node in nodes] == [kept, kept]
    assert trims.rounds > 3
    assert trims.deleted > CHANGES
    log = WatchedLog(await entries_in(log_options), PARTITIONS)
    assert sum(len(changes(stream.frames)) for client in clients for stream in client.history.streams) > CHANGES // 3
    assert [said for client in clients for said in violations(client.history, log, WINDOW)] == []
    assert all("starting_anew" not in node.output.read_text() for node in nodes)
