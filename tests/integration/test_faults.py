"""A broker that goes away and comes back: nothing acknowledged is lost, nobody restarts anything."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest

from tests import plain_http
from tests.brokers.process import KafkaProcess
from tests.integration.node import Node, agree, running

TOPIC = "/admin/v2/persistent/public/default/orders"
LABELS = f"{TOPIC}/custom-labels"
LOCAL = "/api/v1/topics/public/default/orders"
OUTAGE_SECONDS = 20.0

pytestmark = pytest.mark.kafka


def test_a_broker_killed_for_20_seconds_costs_nothing_that_was_acknowledged(
    own_broker: KafkaProcess, fresh_topic: Callable[[], str], tmp_path: Path
) -> None:
    options = ["--kafka", own_broker.bootstrap, "--kafka-topic", fresh_topic()]
    with running(options, tmp_path, 2) as nodes, plain_http.client(timeout=30) as client:
        client.put(nodes[0].url + TOPIC).raise_for_status()
        client.post(nodes[0].url + LABELS, json={"labels": {"before": "1"}}).raise_for_status()
        assert client.get(nodes[1].url + LABELS).json() == {"before": "1"}
        own_broker.kill()
        killed = time.monotonic()
        verdicts = _write_during_outage(client, nodes, killed + OUTAGE_SECONDS)
        ages = [float(client.get(node.url + LOCAL).headers["X-Log-Age"]) for node in nodes]
        assert min(ages) >= OUTAGE_SECONDS - 3
        assert client.get(nodes[1].url + LABELS).json()["before"] == "1"
        assert client.get(nodes[1].url + "/readyz").status_code == 503
        own_broker.restart()
        for node in nodes:
            node.wait_ready()
        client.post(nodes[1].url + LABELS, json={"labels": {"after": "1"}}).raise_for_status()
        labels = client.get(nodes[0].url + LABELS).json()
        assert labels["before"] == labels["after"] == "1"
        assert not [key for key, status in verdicts.items() if status == 503 and key in labels]
        assert agree(nodes)


def _write_during_outage(client: httpx2.Client, nodes: list[Node], until: float) -> dict[str, int]:
    """Write a new label again and again; return the status of each. Once the outage is known a no comes at once."""
    verdicts: dict[str, int] = {}
    while time.monotonic() < until:
        key = f"outage-{len(verdicts)}"
        began = time.monotonic()
        answer = client.post(nodes[len(verdicts) % 2].url + LABELS, json={"labels": {key: "1"}})
        verdicts[key] = answer.status_code
        assert answer.status_code in (503, 504), answer.text
        assert answer.status_code == 503 or answer.json()["outcome"] == "unknown"
        if len(verdicts) > 2:
            assert time.monotonic() - began < 5
        time.sleep(0.5)
    assert 503 in verdicts.values()
    return verdicts
