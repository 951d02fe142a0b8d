"""What monitoring sees."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest

from tests.runtime.nodes import WilfulLog, turns
from tests.server.rest import LABELS, NATIVE, RestNode, problem_in, rest_node
from tests.snapshot.test_commits import COMMIT
from topicfold import __version__
from topicfold.build import build_id
from topicfold.errors import OperatorNeeded
from topicfold.log.memory import MemoryStore
from topicfold.log.payload import decode_indexed
from topicfold.log.port import SettingProblem
from topicfold.runtime import slices, topic_counts
from topicfold.runtime.engine import Engine, EngineOptions
from topicfold.server.app import create_app
from topicfold.settings import Settings
from topicfold.snapshot.commits import put_commit
from topicfold.state.topic_table import TopicTable


async def test_a_ready_node_says_so(orders: RestNode) -> None:
    for path in ("/livez", "/readyz"):
        assert (await orders.send("GET", path)).text == "ok\n"


async def test_the_version_names_software_and_log(rest: RestNode) -> None:
    log = rest.node.engine.identity.incarnation.hex()
    assert await rest.get("/version") == {"version": __version__, "build": build_id(), "name": "topicfold", "log": log}


async def test_a_stopped_partition_makes_the_node_not_ready_and_leaves_it_alive(orders: RestNode) -> None:
    orders.node.engine.reader.stop(OperatorNeeded("it broke"), 3)
    answer = await orders.send("GET", "/readyz")
    assert problem_in(answer.status_code, answer.headers, answer.content) == (503, "not_ready")
    assert "it broke" in answer.json()["reason"]
    assert answer.headers["retry-after"]
    assert (await orders.send("GET", "/livez")).status_code == 200
    assert (await orders.get(NATIVE))["labels"]["team"] == "pay"
    assert await orders.problem("POST", LABELS, {"labels": {}}) == (503, "not_ready")


async def test_the_report_has_every_partition_and_every_kind_of_record(orders: RestNode, store: MemoryStore) -> None:
    for value in (b"garbage", b""):
        store.append(5, value)
    await orders.node.caught_up()
    report = await orders.get("/readyz?verbose")
    assert report["ready"] is True
    assert report["records"] == {"accepted": 4, "rejected": 0, "no_op": 8, "garbage": 2}
    assert report["partitions"]["3"] | {"ageSeconds": 0} == {
        "ready": True, "reason": "", "position": 4, "level": 1, "ageSeconds": 0, "topics": 1, "undecodableTopics": 0,
        "endingTopics": 0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("accept", "media_type"),
    [("application/json", "application/json"), ("application/json;q=0.9, application/problem+json", "application/json"),
     ("application/json, text/plain, */*", "text/plain"), ("*/*", "text/plain"), ("", "text/plain")],
)  # fmt: skip
async def test_who_takes_nothing_but_json_is_answered_with_json_whether_the_node_is_ready(
    orders: RestNode, accept: str, media_type: str
) -> None:
    answer = await orders.send("GET", "/readyz", accept=accept)
    assert (answer.status_code, answer.headers["content-type"].partition(";")[0]) == (200, media_type)
    assert media_type == "text/plain" or answer.json()["ready"] is True


async def test_ages_are_told_in_milliseconds_as_those_of_reads(
    orders: RestNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(orders.node.engine.freshness, "age_seconds", lambda partition: 0.07999999999992724)
    report = await orders.get("/readyz?verbose")
    assert {each["ageSeconds"] for each in report["partitions"].values()} == {0.08}


async def test_the_report_of_a_node_that_is_not_ready_is_503(orders: RestNode) -> None:
    orders.node.engine.reader.stop(OperatorNeeded("it broke"), 3)
    answer = await orders.send("GET", "/readyz?verbose")
    assert (answer.status_code, answer.json()["ready"]) == (503, False)
    assert not answer.json()["partitions"]["3"]["ready"]
    assert answer.json()["partitions"]["2"]["ready"]


async def test_settings_of_the_log_that_lose_events_are_shown_and_refuse_writes(orders: RestNode) -> None:
    problem = SettingProblem("cleanup.policy", "compact", "delete", True, "kafka-configs --alter")
    orders.node.engine.freshness.problems = (problem,)
    report = await orders.get("/readyz?verbose")
    assert report["log"]["problems"] == [
        {"setting": "cleanup.policy", "found": "compact", "wanted": "delete", "refusesWrites": True,
         "repair": "kafka-configs --alter"}
    ]  # fmt: skip
    answer = await orders.send("POST", LABELS, {"labels": {"a": "b"}})
    assert (answer.status_code, answer.json()["hint"]) == (503, "kafka-configs --alter")


async def test_a_node_that_still_folds_is_not_ready_and_answers_nothing_as_if_it_were_empty() -> None:
    log = WilfulLog(MemoryStore(partitions=2))
    log.pause()
    engine = await Engine.start(log, EngineOptions(ready_timeout_seconds=0.01))
    transport = httpx2.ASGITransport(create_app(engine, Settings()))
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
        for path in ("/readyz", NATIVE, LABELS, "/admin/v2/tenants", "/api/v1/topics"):
            answer = await client.get(path)
            assert problem_in(answer.status_code, answer.headers, answer.content) == (503, "not_ready")
        assert (await client.get("/livez")).status_code == 200
    await engine.stop()


@pytest.mark.parametrize("path", ["/readyz?verbose", "/readyz?verbose&digests", "/metrics", "/api/v1/doctor"])
async def test_others_have_their_turn_while_the_topics_of_many_namespaces_are_counted(
    orders: RestNode, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = orders.node.engine.states[3]
    many = {f"public/n{number}": TopicTable(decode_indexed) for number in range(100)}
    monkeypatch.setattr(state, "topics", state.topics | many)
    monkeypatch.setattr(topic_counts, "CHUNK", 1)
    monkeypatch.setattr(slices, "SLICE_SECONDS", -1.0)
    taken, asking = 0, asyncio.create_task(orders.send("GET", path))
    while not asking.done():
        await turns(1)
        taken += 1
    assert asking.result().status_code == 200
    assert taken > 100


async def test_an_old_state_makes_the_node_not_ready(orders: RestNode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(orders.node.engine.freshness, "age_seconds", lambda partition: 11.0)
    answer = await orders.send("GET", "/readyz")
    assert answer.status_code == 503
    assert "11 s old, more than 10 s" in answer.json()["reason"]


async def test_a_dry_run_is_no_write_that_becomes_visible(orders: RestNode) -> None:
    before = (await orders.send("GET", "/metrics")).text
    answer = await orders.send("PATCH", f"{NATIVE}?dryRun=All", {"labels": {"team": "pay"}})
    assert answer.status_code == 204
    after = (await orders.send("GET", "/metrics")).text
    counted = re.compile(r"^topicfold_write_visible_seconds_count .+", re.MULTILINE)
    assert counted.findall(before) == counted.findall(after) != []


async def test_metrics_count_requests_by_route_and_never_by_name(orders: RestNode) -> None:
    await orders.send("GET", NATIVE)
    text = (await orders.send("GET", "/metrics")).text
    route = "/api/v1/topics/{tenant}/{namespace}/{topic}"
    assert f'topicfold_http_requests_total{{code="200",route="{route}"}} 1.0' in text
    assert "topicfold_index_topics 1.0" in text
    assert 'topicfold_events_applied_total{outcome="accepted"} 4.0' in text
    assert "topicfold_write_visible_seconds_count 2.0" in text
    assert "orders" not in text


async def test_whatever_is_counted_is_there_from_the_first_scrape_so_that_its_first_rise_is_seen(
    orders: RestNode,
) -> None:
    lines = (await orders.send("GET", "/metrics")).text.splitlines()
    for outcome in ("accepted", "rejected", "no_op", "garbage"):
        assert any(line.startswith(f'topicfold_events_applied_total{{outcome="{outcome}"}} ') for line in lines)
    for cause in ("too_old", "other_rights", "namespace_ended", "cut_off", "invalid_request", "resync"):
        assert f'topicfold_watch_resets_total{{reason="{cause}"}} 0.0' in lines


async def test_what_metrics_show_is_documented_but_for_when_a_documented_one_began(orders: RestNode) -> None:
    page = (Path(__file__).parents[2] / "docs" / "health.md").read_text()
    documented = set(re.findall(r"^\| `(topicfold_\w+)", page, re.MULTILINE))
    shown = set(re.findall(r"^# TYPE (\w+)", (await orders.send("GET", "/metrics")).text, re.MULTILINE))
    assert "as `…_created`" in page
    assert shown - documented == {"topicfold_http_requests_created", "topicfold_write_visible_seconds_created"}


async def test_metrics_tell_the_age_of_the_snapshot_where_there_is_to_be_one(
    orders: RestNode, store: MemoryStore, tmp_path: Path
) -> None:
    assert "topicfold_snapshot_age_seconds" not in (await orders.send("GET", "/metrics")).text
    async with rest_node(store, snapshot=tmp_path) as rest:
        assert "\ntopicfold_snapshot_age_seconds +Inf\n" in (await rest.send("GET", "/metrics")).text
        to = tuple(state.position for state in rest.node.engine.states.values())
        put_commit(tmp_path, replace(COMMIT, to=to, time_ms=0))
        rest.node.engine.snapshot_age.look(tmp_path)
        (age,) = re.findall("\ntopicfold_snapshot_age_seconds (.+)\n", (await rest.send("GET", "/metrics")).text)
        assert float(age) < 60


async def test_metrics_count_what_is_wrong_with_the_log_and_no_advice(orders: RestNode) -> None:
    full = SettingProblem("disk", "full", "one with room", False, "make room")
    few = SettingProblem("replication.factor", "1", "3", False, "run 3 brokers", is_advice=True)
    for problems, told in (((), 0), ((few,), 0), ((full, few), 1)):
        orders.node.engine.freshness.problems = problems
        assert f"\ntopicfold_log_problems {told}.0\n" in (await orders.send("GET", "/metrics")).text
