"""Records that nobody should have written: no node stops, all stay equal, the damage is counted."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Sequence
from pathlib import Path

import google_crc32c

from tests import plain_http
from tests.integration.logs import append_raw, entries_in
from tests.integration.node import agree, running
from topicfold.model.events import partition_of

LABELS = "/admin/v2/persistent/public/default/orders/custom-labels"


def test_damaged_records_stop_no_node_and_are_counted(log_options: Sequence[str], tmp_path: Path) -> None:
    partition = partition_of("public/default", 8)
    with running(log_options, tmp_path, 2) as nodes, plain_http.client(timeout=20) as client:
        client.put(nodes[0].url + "/admin/v2/persistent/public/default/orders").raise_for_status()
        for turn in range(50):
            client.post(nodes[0].url + LABELS, json={"labels": {"turn": str(turn)}}).raise_for_status()
        entries = asyncio.run(entries_in(log_options))
        damaged = _damaged([entry.value for entry in entries], random.Random(1))
        end = asyncio.run(append_raw(log_options, partition, damaged))
        for node in nodes:
            _wait_for(lambda node=node: node.digests()[str(partition)][0] >= end)
        assert agree(nodes)
        assert nodes[1].health()["records"]["garbage"] >= len(damaged) // 3
        client.post(nodes[1].url + LABELS, json={"labels": {"turn": "after"}}).raise_for_status()
        assert client.get(nodes[0].url + LABELS).json() == {"turn": "after"}


def _damaged(values: Sequence[bytes], dice: random.Random) -> list[bytes]:
    """Return garbage, truncations, flips with and without a repaired CRC, and exact copies."""
    damaged = [b"", b"x" * 100, dice.randbytes(300)]
    for value in values:
        at, bit = dice.randrange(len(value)), 1 << dice.randrange(8)
        flipped = value[:at] + bytes([value[at] ^ bit]) + value[at + 1 :]
        repaired = flipped[:4] + google_crc32c.value(flipped[8:]).to_bytes(4, "big") + flipped[8:]
        damaged += [flipped, repaired, value[: dice.randrange(len(value))], value]
    return damaged


def _wait_for(condition: object) -> None:
    deadline = time.monotonic() + 60
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline
        time.sleep(0.02)
