"""A node that is killed in the middle of writes comes back to the same state."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import httpx2

from tests import plain_http
from tests.integration.node import Node, agree, running

TOPIC = "/admin/v2/persistent/public/default/orders"
LABELS = f"{TOPIC}/custom-labels"


def test_a_killed_node_comes_back_to_the_same_digest_with_every_acknowledged_write(
    log_options: Sequence[str], tmp_path: Path
) -> None:
    with running(log_options, tmp_path, 2) as (victim, witness):
        plain_http.put(victim.url + TOPIC, timeout=10).raise_for_status()
        acknowledged: dict[str, int] = {}
        writers = [threading.Thread(target=_write_until_cut, args=(victim, n, acknowledged)) for n in range(4)]
        for writer in writers:
            writer.start()
        while sum(acknowledged.values()) < 200:
            assert any(writer.is_alive() for writer in writers)
        victim.kill()
        for writer in writers:
            writer.join()
        victim.start()
        labels = plain_http.get(victim.url + LABELS, timeout=10).json()
        assert all(int(labels[key]) in (count, count + 1) for key, count in acknowledged.items())
        assert labels == plain_http.get(witness.url + LABELS, timeout=10).json()
        assert agree([victim, witness])


def test_a_request_retried_on_another_node_after_a_kill_has_one_effect(
    log_options: Sequence[str], tmp_path: Path
) -> None:
    with running(log_options, tmp_path, 2) as (first, second):
        plain_http.put(first.url + TOPIC, timeout=10).raise_for_status()
        headers = {"Idempotency-Key": "only-once"}
        before = plain_http.post(first.url + LABELS, json={"labels": {"a": "1"}}, headers=headers, timeout=10)
        first.kill()
        plain_http.post(second.url + LABELS, json={"labels": {"a": "2"}}, timeout=10).raise_for_status()
        again = plain_http.post(second.url + LABELS, json={"labels": {"a": "1"}}, headers=headers, timeout=10)
        assert (again.status_code, again.headers["ETag"]) == (204, before.headers["ETag"])
        assert plain_http.get(second.url + LABELS, timeout=10).json() == {"a": "2"}


def _write_until_cut(node: Node, number: int, acknowledged: dict[str, int]) -> None:
    """Count up one label until the node is gone; note the last value that was acknowledged."""
    key = f"writer-{number}"
    with plain_http.client(timeout=20) as client:
        for turn in range(1, 100_000):
            try:
                answer = client.post(node.url + LABELS, json={"labels": {key: str(turn)}})
            except httpx2.TransportError:
                return
            assert answer.status_code == 204, answer.text
            acknowledged[key] = turn
