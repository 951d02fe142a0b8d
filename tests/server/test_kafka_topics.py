"""What a client is told where topics are made and deleted in Kafka too."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2
import pytest

from tests.memory_log import MemoryStore
from tests.runtime.kafka_nodes import LOG_TOPIC, WilfulCluster
from tests.runtime.nodes import running
from tests.server.rest import RestNode
from topicfold.model.names import parse_topic
from topicfold.model.records import TopicRecord
from topicfold.runtime.kafka.upkeep import Upkeep, UpkeepOptions
from topicfold.runtime.writing.writing import Writing
from topicfold.server.app import create_app
from topicfold.settings import Settings

NATIVE = "/api/v1/topics/public/default/orders"
ADMIN = "/admin/v2/persistent/public/default/orders"


@pytest.fixture
def cluster() -> WilfulCluster:
    return WilfulCluster()


@asynccontextmanager
async def told_of(cluster: WilfulCluster, **options: bool) -> AsyncIterator[tuple[RestNode, Upkeep]]:
    """Run a node that is told of `cluster`, behind REST."""
    settings = Settings(port=0)
    async with running(MemoryStore(partitions=1)) as node:
        upkeep = Upkeep(node.engine, cluster, UpkeepOptions(protected=frozenset({LOG_TOPIC}), **options))
        app = create_app(node.engine, settings, upkeep)
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://127.0.0.1") as client:
            yield RestNode(node, client, settings, app), upkeep


@pytest.fixture
async def rest(cluster: WilfulCluster) -> AsyncIterator[RestNode]:
    async with told_of(cluster) as (rest, _):
        yield rest


async def test_both_apis_make_grow_and_delete_topics_in_kafka(rest: RestNode, cluster: WilfulCluster) -> None:
    await rest.done("PUT", NATIVE, {"partitions": 2})
    await rest.done("PUT", f"{ADMIN}-plain")
    await rest.done("PUT", f"{ADMIN}-parted/partitions", 3)
    await rest.done("POST", f"{ADMIN}-parted/partitions", 5)
    assert cluster.partitions() == {"orders": 2, "orders-parted": 5, "orders-plain": 1}
    await rest.done("DELETE", NATIVE)
    await rest.done("DELETE", f"{ADMIN}-plain")
    await rest.done("DELETE", f"{ADMIN}-parted/partitions")
    assert cluster.partitions() == {}


async def test_a_deletion_names_the_kafka_topic_that_it_deleted(rest: RestNode, cluster: WilfulCluster) -> None:
    await rest.done("PUT", NATIVE, {"partitions": 2, "kafkaName": "legacy"})
    await rest.done("PUT", f"{ADMIN}-plain")
    await rest.done("PUT", f"{ADMIN}-parted/partitions", 3)
    await rest.done("PUT", f"{NATIVE}-gone", {})
    await rest.done("PUT", "/admin/v2/non-persistent/public/default/orders")
    await cluster.delete("orders-gone")
    deleted = {
        path: (await rest.send("DELETE", path)).headers.get("x-deleted-kafka-topic")
        for path in (
            NATIVE,
            f"{ADMIN}-plain",
            f"{ADMIN}-parted/partitions",
            f"{NATIVE}-gone",
            "/admin/v2/non-persistent/public/default/orders",
        )
    }
    assert [*deleted.values()] == ["legacy", "orders-plain", "orders-parted", None, None]


async def test_a_deletion_names_no_kafka_topic_that_it_left(rest: RestNode, cluster: WilfulCluster) -> None:
    await rest.done("PUT", NATIVE, {})
    await Writing(rest.node.engine).record_topic(
        parse_topic("twin"), TopicRecord(kafka_name="orders"), rest.node.asked()
    )
    assert "x-deleted-kafka-topic" not in (await rest.send("DELETE", NATIVE)).headers
    assert cluster.partitions() == {"orders": 1}
    last = await rest.send("DELETE", "/api/v1/topics/public/default/twin")
    assert last.headers["x-deleted-kafka-topic"] == "orders"


async def test_a_creation_names_the_kafka_topic_that_it_took_over(rest: RestNode, cluster: WilfulCluster) -> None:
    for name, partitions in (("orders", 2), ("orders-plain", 1), ("orders-parted", 3)):
        await cluster.create(name, partitions)
    taken = [
        (await rest.send("PUT", path, body)).headers.get("x-taken-kafka-topic")
        for path, body in (
            (NATIVE, {"partitions": 2}),
            (f"{ADMIN}-plain", None),
            (f"{ADMIN}-parted/partitions", 3),
            (f"{ADMIN}-new", None),
            ("/admin/v2/non-persistent/public/default/orders", None),
        )
    ]
    assert taken == ["orders", "orders-plain", "orders-parted", None, None]


async def test_a_creation_sent_again_does_not_call_the_kafka_topic_that_it_made_found(rest: RestNode) -> None:
    answers = [await rest.send("PUT", NATIVE, {}, Idempotency_Key="once") for _ in range(2)]
    assert [answer.status_code for answer in answers] == [201, 201]
    assert all("x-taken-kafka-topic" not in answer.headers for answer in answers)


async def test_a_cluster_that_is_away_is_503_and_nothing_is_made(rest: RestNode, cluster: WilfulCluster) -> None:
    cluster.is_reachable = False
    assert await rest.problem("PUT", NATIVE, {}) == (503, "cluster_unavailable")
    assert await rest.problem("PUT", ADMIN) == (503, "cluster_unavailable")
    assert await rest.problem("GET", NATIVE) == (404, "topic_not_found")


async def test_an_unsafe_name_is_412_under_admin_and_400_under_api(rest: RestNode, cluster: WilfulCluster) -> None:
    for name in ("a%20b", "__internal", LOG_TOPIC, "%2A"):
        assert await rest.problem("PUT", f"/admin/v2/persistent/public/default/{name}") == (412, "invalid_name")
        assert await rest.problem("PUT", f"/api/v1/topics/public/default/{name}", {}) == (400, "invalid_name")
    assert cluster.partitions() == {}


async def test_a_kafka_topic_with_other_partitions_is_409_and_says_their_number(
    rest: RestNode, cluster: WilfulCluster
) -> None:
    await cluster.create("orders", 3)
    answer = await rest.send("PUT", ADMIN)
    assert answer.status_code == 409
    assert "exists with 3 partitions, not 1" in answer.json()["reason"]
    again = "topicfold topics create-partitioned-topic --partitions 3 persistent://public/default/orders"
    assert answer.json()["hint"] == f"{again} takes it over, with its messages"
    await cluster.create("refunds", 1)
    answer = await rest.send("PUT", "/api/v1/topics/public/default/refunds", {"partitions": 5})
    assert "exists with 1 partition, not 5" in answer.json()["reason"]
    assert answer.json()["hint"].startswith("topicfold topics create persistent://public/default/refunds takes it over")
    answer = await rest.send("PUT", "/api/v1/topics/public/default/other", {"kafkaName": "orders"})
    assert (answer.status_code, answer.json()["hint"]) == (409, "")


@pytest.mark.parametrize("adopt", ["", "&adopt=true"])
async def test_a_dry_run_tells_without_kafka_that_a_kafka_topic_is_anothers(
    rest: RestNode, cluster: WilfulCluster, adopt: str
) -> None:
    await rest.done("PUT", NATIVE, {})
    twin, body = "/api/v1/topics/public/default/twin?", {"kafkaName": "orders"}
    cluster.is_reachable = False
    tried = (await rest.send("PUT", f"{twin}dryRun=All{adopt}", body)).json()
    real = (await rest.send("PUT", f"{twin}{adopt}", body)).json()
    assert tried["reason"] == "the Kafka topic orders belongs to another topic"
    assert {**tried, "requestId": ""} == {**real, "requestId": ""}


@pytest.mark.parametrize(("adopt", "status"), [("", 400), ("&adopt=true", 204)])
async def test_a_dry_run_tells_without_kafka_that_a_name_is_none_of_kafkas(
    rest: RestNode, cluster: WilfulCluster, adopt: str, status: int
) -> None:
    cluster.is_reachable = False
    for name in ("a%20b", "__internal", LOG_TOPIC):
        path = f"/api/v1/topics/public/default/{name}?dryRun=All{adopt}"
        assert (await rest.send("PUT", path, {})).status_code == status


async def test_a_doctor_says_why_the_cluster_does_not_answer_until_it_does(cluster: WilfulCluster) -> None:
    async with told_of(cluster) as (rest, upkeep):
        cluster.is_reachable = False
        await upkeep.run_once()
        [told] = (await rest.get("/api/v1/doctor"))["problems"]
        trouble = upkeep.trouble
        assert trouble is not None
        assert trouble.reason
        assert (told["what"], told["next"]) == (
            trouble.reason,
            trouble.hint,
        )
        cluster.heal()
        await upkeep.run_once()
        assert (await rest.get("/api/v1/doctor"))["problems"] == []


@pytest.mark.parametrize("follows", [True, False])
async def test_a_doctor_warns_of_topics_that_are_gone_from_the_cluster(cluster: WilfulCluster, follows: bool) -> None:
    async with told_of(cluster, follows=follows) as (rest, upkeep):
        for name in ("orders", "bills"):
            await rest.done("PUT", f"/api/v1/topics/public/default/{name}", {"partitions": 2})
        await upkeep.run_once()
        assert (await rest.get("/api/v1/doctor"))["warnings"] == []
        await cluster.delete("orders")
        await cluster.delete("bills")
        await cluster.create("bills", 1)
        await upkeep.run_once()
        names_them = f"topicfold import kafka --bootstrap {cluster.bootstrap} --dry-run names them"
        assert (await rest.get("/api/v1/doctor"))["warnings"] == [
            {"what": "1 recorded topic is not in Kafka", "next": names_them},
            {"what": "1 recorded topic is of fewer partitions in Kafka", "next": names_them},
        ]


async def test_a_doctor_does_not_look_for_topics_that_are_none_of_the_nodes_business(cluster: WilfulCluster) -> None:
    async with told_of(cluster, adopts_only=True) as (rest, upkeep):
        await rest.done("PUT", NATIVE, {})
        await upkeep.run_once()
        assert (await rest.get("/api/v1/doctor"))["warnings"] == []


async def test_a_doctor_that_asks_kafka_in_vain_does_not_call_the_node_well(cluster: WilfulCluster) -> None:
    async with told_of(cluster) as (rest, upkeep):
        await rest.done("PUT", NATIVE, {})
        await upkeep.run_once()
        cluster.is_reachable = False
        told = await rest.get("/api/v1/doctor")
        assert (told["healthy"], len(told["problems"]), told["warnings"]) == (False, 1, [])


async def test_a_doctor_warns_of_a_step_that_kafka_does_not_allow_until_it_does(cluster: WilfulCluster) -> None:
    async with told_of(cluster) as (rest, upkeep):
        for name in ("orders", "bills"):
            await rest.done("PUT", f"/api/v1/topics/public/default/{name}", {})
        cluster.refuses_deletion = True
        for name in ("orders", "bills"):
            assert await rest.problem("DELETE", f"/api/v1/topics/public/default/{name}") == (504, "outcome_unknown")
        for _ in range(2):
            await upkeep.run_once()
        bills = "persistent://public/default/bills"
        what = f"2 topics wait for a step in Kafka, such as {bills}: deleting topics is not allowed"
        assert (await rest.get("/api/v1/doctor"))["warnings"] == [{"what": what, "next": "let us"}]
        cluster.refuses_deletion = False
        await upkeep.run_once()
        assert (await rest.get("/api/v1/doctor"))["warnings"] == []


async def test_an_outage_after_the_decision_is_504_and_its_operation_is_applied(
    rest: RestNode, cluster: WilfulCluster
) -> None:
    cluster.goes_away_at = {"create"}
    answer = await rest.send("PUT", NATIVE, {}, idempotency_key="k")
    assert (answer.status_code, answer.json()["code"]) == (504, "outcome_unknown")
    settled = await rest.get(f"/api/v1/operations/{answer.json()['operation']}")
    assert settled["state"] == "applied"
    cluster.heal()
    await rest.done("PUT", NATIVE, {}, idempotency_key="k")
    assert cluster.partitions() == {"orders": 1}


async def test_adopting_makes_the_record_and_nothing_in_kafka(rest: RestNode, cluster: WilfulCluster) -> None:
    cluster.is_reachable = False
    await rest.done("PUT", f"{NATIVE}?adopt=true", {"partitions": 3}, idempotency_key="k")
    cluster.heal()
    assert cluster.partitions() == {}
    assert await rest.problem("PUT", NATIVE, {"partitions": 3}, idempotency_key="k") == (422, "idempotency_key_reused")


async def test_a_node_that_only_adopts_leaves_kafka_alone(cluster: WilfulCluster) -> None:
    await cluster.create("orders", 3)
    async with told_of(cluster, adopts_only=True) as (rest, _):
        await rest.done("PUT", f"{ADMIN}-more")
        await rest.done("PUT", NATIVE, {"partitions": 3})
        await rest.done("DELETE", "/admin/v2/namespaces/public/default?force=true")
    assert cluster.partitions() == {"orders": 3}


async def test_health_and_metrics_tell_how_records_and_cluster_agree_without_a_name(cluster: WilfulCluster) -> None:
    await cluster.create("secret", 3)
    async with told_of(cluster, follows=True) as (rest, upkeep):
        assert (await rest.get("/readyz?verbose"))["cluster"]["reachable"] is None
        assert "topicfold_cluster_reachable" not in (await rest.send("GET", "/metrics")).text
        await upkeep.run_once()
        await cluster.delete("secret")
        await upkeep.run_once()
        report = (await rest.get("/readyz?verbose"))["cluster"]
        counts = {"waiting": 0, "present": 0, "missing": 1, "fewer_partitions": 0, "not_adopted": 0}
        assert report == {"reachable": True, "adoptsOnly": False, "follows": True, "topics": counts}
        text = (await rest.send("GET", "/metrics")).text
        assert 'topicfold_cluster_topics{state="missing"} 1.0' in text
        assert "topicfold_cluster_reachable 1.0" in text
        assert f'topicfold_cluster_info{{cluster_id="{await cluster.reach()}"}} 1.0' in text
        assert "secret" not in text


async def test_a_node_without_a_cluster_says_so() -> None:
    async with running(MemoryStore(partitions=1)) as node:
        transport = httpx2.ASGITransport(create_app(node.engine, Settings(port=0)))
        async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            assert (await client.get("/readyz?verbose")).json()["cluster"] is None
            assert "topicfold_cluster" not in (await client.get("/metrics")).text


async def test_a_topic_whose_end_is_decided_is_shown_to_nobody_and_counted_until_kafka_follows(
    cluster: WilfulCluster,
) -> None:
    listing, labels = "/admin/v2/persistent/public/default", "/admin/v2/namespaces/public/default/topicCustomLabels"
    async with told_of(cluster) as (rest, upkeep):
        await rest.done("PUT", NATIVE, {"labels": {"team": "pay"}})
        cluster.goes_away_at.add("delete")
        assert await rest.problem("DELETE", NATIVE) == (504, "outcome_unknown")
        assert [await rest.get(path) for path in (listing, labels)] == [[], {}]
        assert (await rest.get("/api/v1/topics"))["items"] == []
        for method, path in (("GET", NATIVE), ("GET", f"{ADMIN}/retention"), ("GET", f"{ADMIN}/partitions")):
            assert await rest.problem(method, path) == (404, "topic_not_found")
        assert (await rest.get("/readyz?verbose"))["partitions"]["0"]["endingTopics"] == 1
        cluster.heal()
        for _ in range(2):
            await upkeep.run_once()
        assert (await rest.get("/readyz?verbose"))["partitions"]["0"]["endingTopics"] == 0
        assert cluster.partitions() == {}


async def test_a_deletion_that_is_sent_again_names_no_kafka_topic_that_was_made_since(
    rest: RestNode, cluster: WilfulCluster
) -> None:
    await rest.done("PUT", NATIVE, {})
    first = await rest.send("DELETE", NATIVE, Idempotency_Key="k")
    assert first.headers["x-deleted-kafka-topic"] == "orders"
    await rest.done("PUT", NATIVE, {})
    again = await rest.send("DELETE", NATIVE, Idempotency_Key="k")
    assert (again.status_code, cluster.partitions()) == (204, {"orders": 1})
    assert "x-deleted-kafka-topic" not in again.headers
    assert again.headers["etag"] == first.headers["etag"]
