"""What a node tells Prometheus."""

from __future__ import annotations

import asyncio
import re
import time
from pathlib import Path
from typing import Any

import pytest
import uvloop
from starlette.types import Message

from tests.memory_log import MemoryStore
from tests.server.auth.authority import DAY, Authority
from tests.server.rest import NATIVE, RestNode, rest_node
from tests.snapshot.making import commit_to
from topicfold.log.port import SettingProblem
from topicfold.server.connections.exchange import Exchange
from topicfold.snapshot.commits import put_commit


async def test_a_dry_run_is_no_write_that_becomes_visible(orders: RestNode) -> None:
    before = (await orders.send("GET", "/metrics")).text
    answer = await orders.send("PATCH", f"{NATIVE}?dryRun=All", {"labels": {"team": "pay"}})
    assert answer.status_code == 204
    after = (await orders.send("GET", "/metrics")).text
    counted = re.compile(r"^topicfold_write_visible_seconds_count .+", re.MULTILINE)
    assert counted.findall(before) == counted.findall(after) != []


async def test_reads_are_timed_and_probes_refusals_and_changes_not(orders: RestNode) -> None:
    for path in (NATIVE, NATIVE, "/livez", "/readyz", "/metrics", f"{NATIVE}-none"):
        await orders.send("GET", path)
    await orders.send("PATCH", NATIVE, {"labels": {"team": "ship"}})
    text = (await orders.send("GET", "/metrics")).text
    assert "topicfold_read_answered_seconds_count 2.0" in text


async def test_an_answer_is_timed_until_it_begins_however_long_its_client_reads() -> None:
    async def send(message: Message) -> None:
        await asyncio.sleep(0.01)

    exchange = Exchange(asyncio.Event().wait, send)
    began = time.monotonic()
    await exchange.send({"type": "http.response.start", "status": 200, "headers": []})
    exchange.unread_body = False
    await exchange.send({"type": "http.response.body"})
    assert began <= exchange.answered_at <= time.monotonic() - 0.02


def test_reads_of_less_than_a_millisecond_are_told_apart_on_the_loop_that_serves() -> None:
    async def send(message: Message) -> None:
        return

    async def answered_at() -> float:
        exchange = Exchange(asyncio.Event().wait, send)
        await exchange.send({"type": "http.response.start", "status": 200, "headers": []})
        return exchange.answered_at

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        parts = [1000 * runner.run(answered_at()) % 1 for _ in range(10)]
    assert any(0.01 < part < 0.99 for part in parts)


async def test_metrics_count_requests_by_method_and_route_and_never_by_name(orders: RestNode) -> None:
    for method, body in (("GET", None), ("HEAD", None), ("PATCH", {"labels": {"team": "ship"}})):
        await orders.send(method, NATIVE, body)
    text = (await orders.send("GET", "/metrics")).text
    route = "/api/v1/topics/{tenant}/{namespace}/{topic}"
    for method, code, count in (("GET", 200, 2), ("PATCH", 204, 1)):
        assert f'topicfold_http_requests_total{{code="{code}",method="{method}",route="{route}"}} {count}.0' in text
    assert "topicfold_index_topics 1.0" in text
    assert 'topicfold_events_applied_total{outcome="accepted"} 5.0' in text
    assert "topicfold_write_visible_seconds_count 3.0" in text
    assert "orders" not in text


async def test_whatever_is_counted_is_there_from_the_first_scrape_so_that_its_first_rise_is_seen(
    orders: RestNode,
) -> None:
    lines = (await orders.send("GET", "/metrics")).text.splitlines()
    for outcome in ("accepted", "rejected", "no_op", "garbage"):
        assert any(line.startswith(f'topicfold_events_applied_total{{outcome="{outcome}"}} ') for line in lines)
    for result in ("equal", "different"):
        assert f'topicfold_digests_compared_total{{result="{result}"}} 0.0' in lines
    for partition in orders.node.engine.states:
        assert f'topicfold_partition_ready{{partition="{partition}"}} 1.0' in lines
    for cause in ("too_old", "other_rights", "namespace_ended", "cut_off", "invalid_request", "resync"):
        assert f'topicfold_watch_resets_total{{reason="{cause}"}} 0.0' in lines


async def test_what_metrics_show_is_documented_but_for_when_a_documented_one_began(orders: RestNode) -> None:
    page = (Path(__file__).parents[2] / "docs" / "health.md").read_text()
    found = re.findall(r"^\| `(topicfold_\w+)|`(process_\w+)`", page, re.MULTILINE)
    documented = {ours or usual for ours, usual in found}
    shown = set(re.findall(r"^# TYPE (\w+)", (await orders.send("GET", "/metrics")).text, re.MULTILINE))
    assert "as `…_created`" in page
    assert shown - documented == {
        f"topicfold_{name}_created" for name in ("http_requests", "read_answered_seconds", "write_visible_seconds")
    }


async def test_metrics_tell_until_when_the_certificates_are_valid_that_a_node_shows(
    store: MemoryStore, tmp_path: Path
) -> None:
    own, key = Authority(tmp_path).sign("localhost")
    for_brokers, _ = Authority(tmp_path, "kafka").sign("node", ends=2 * DAY)
    settings: dict[str, Any] = {
        "tls_cert_file": own,
        "tls_key_file": key,
        "kafka_settings": {"ssl.certificate.location": str(for_brokers)},
        "cluster_settings": {"ssl.certificate.pem": own.read_text()},
    }
    async with rest_node(store, **settings) as node:
        text = (await node.send("GET", "/metrics")).text
    found = dict(
        re.findall(r'^topicfold_certificate_expiry_timestamp_seconds{setting="(\w+)"} (.+)$', text, re.MULTILINE)
    )
    day = {"tls_cert_file": 86_400, "cluster_settings": 86_400}
    in_seconds = {setting: float(at) - time.time() for setting, at in found.items()}
    assert in_seconds == pytest.approx(day | {"kafka_settings": 2 * 86_400}, abs=60)


async def test_metrics_tell_the_age_of_the_snapshot_where_there_is_to_be_one(
    orders: RestNode, store: MemoryStore, tmp_path: Path
) -> None:
    assert "topicfold_snapshot_age_seconds" not in (await orders.send("GET", "/metrics")).text
    async with rest_node(store, snapshot=tmp_path) as rest:
        assert "\ntopicfold_snapshot_age_seconds +Inf\n" in (await rest.send("GET", "/metrics")).text
        to = tuple(state.position for state in rest.node.engine.states.values())
        put_commit(tmp_path, commit_to(to, time_ms=0))
        rest.node.engine.snapshot_age.look(tmp_path)
        (age,) = re.findall("\ntopicfold_snapshot_age_seconds (.+)\n", (await rest.send("GET", "/metrics")).text)
        assert float(age) < 60


async def test_metrics_count_what_is_wrong_with_the_log_and_no_advice(orders: RestNode) -> None:
    full = SettingProblem("disk", "full", "one with room", False, "make room")
    few = SettingProblem("replication.factor", "1", "3", False, "run 3 brokers", is_advice=True)
    for problems, told in (((), 0), ((few,), 0), ((full, few), 1)):
        orders.node.engine.freshness.problems = problems
        assert f"\ntopicfold_log_problems {told}.0\n" in (await orders.send("GET", "/metrics")).text
