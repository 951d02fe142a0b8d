"""What monitoring sees."""

from __future__ import annotations

import asyncio

import httpx2
import pytest

from tests.memory_log import MemoryStore
from tests.runtime.nodes import WilfulLog, turns
from tests.server.rest import LABELS, NATIVE, RestNode, problem_in
from topicfold import __version__
from topicfold.build import build_id
from topicfold.errors import OperatorNeeded
from topicfold.log.payload import decode_indexed
from topicfold.log.port import SettingProblem
from topicfold.runtime import slices, topic_counts
from topicfold.runtime.engine import Engine, EngineOptions
from topicfold.server.app import create_app
from topicfold.settings import Settings
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
