"""What is told of records that cannot be read: they are damaged, or a newer node wrote them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from tests.builders import NAMESPACE, TOPIC, namespace_put
from tests.memory_log import MemoryStore
from tests.server.rest import LABELS, NATIVE, ORDERS, RestNode
from tests.server.unreadable import DAMAGED, NEWER, Unreadable, append, with_namespace, with_tenant, with_topic
from topicfold.model.clusters import CLUSTERS
from topicfold.model.events import PAYLOAD_SCHEMA

both_ways = pytest.mark.parametrize(
    ("how", "told"), [(DAMAGED, (409, "undecodable")), (NEWER, (503, "newer_schema"))], ids=["damaged", "newer"]
)

OF_NAMESPACES = "/admin/v2/namespaces/public/default"
OF_TENANTS = "/admin/v2/tenants/public"


@both_ways
@pytest.mark.parametrize(
    "path",
    [LABELS, f"{ORDERS}/partitions", f"{ORDERS}/properties", f"{ORDERS}/retention", f"{ORDERS}/permissions",
     f"{NATIVE}/effective"],
)  # fmt: skip
async def test_nothing_of_a_topic_counts_as_unset(
    orders: RestNode, store: MemoryStore, path: str, how: Unreadable, told: tuple[int, str]
) -> None:
    assert await (await with_topic(orders, store, how)).problem("GET", path) == told


@pytest.mark.parametrize("how", [DAMAGED, NEWER], ids=["damaged", "newer"])
async def test_a_topic_is_found_as_one_without_labels_and_marked_where_the_whole_record_is_asked_for(
    orders: RestNode, store: MemoryStore, how: Unreadable
) -> None:
    rest = await with_topic(orders, store, how)
    [item] = (await rest.get("/api/v1/topics?labelSelector=!team"))["items"]
    assert (item["name"], item["labels"]) == (TOPIC, {})
    [item] = (await rest.get("/api/v1/topics?labelSelector=!team&fields=record"))["items"]
    assert item["undecodable"] is True


@both_ways
@pytest.mark.parametrize("method", ["PUT", "PATCH"])
async def test_a_change_that_is_tried_is_answered_as_if_it_were_made(
    orders: RestNode, store: MemoryStore, method: str, how: Unreadable, told: tuple[int, str]
) -> None:
    rest = await with_topic(orders, store, how)
    tried, made = [
        await rest.send(method, f"{NATIVE}{query}", {"labels": {"team": "pay"}}) for query in ("?dryRun=All", "")
    ]
    if method == "PATCH":
        assert made.json()["code"] == told[1]
    assert tried.is_success == made.is_success
    assert tried.is_success or tried.json()["code"] == made.json()["code"]


@both_ways
@pytest.mark.parametrize("with_record", [with_topic, with_namespace])
async def test_nor_does_what_once_was(
    orders: RestNode,
    store: MemoryStore,
    with_record: Callable[[RestNode, MemoryStore, Unreadable], Awaitable[RestNode]],
    how: Unreadable,
    told: tuple[int, str],
) -> None:
    rest = await with_record(orders, store, how)
    at = rest.node.engine.states[3].position - 1
    assert await rest.problem("GET", f"{NATIVE}/effective?at={at}") == told


@both_ways
@pytest.mark.parametrize("path", ["", "/properties", "/property/team", "/retention", "/permissions"])
async def test_nothing_of_a_namespace_counts_as_unset(
    orders: RestNode, store: MemoryStore, path: str, how: Unreadable, told: tuple[int, str]
) -> None:
    rest = await with_namespace(orders, store, how)
    assert await rest.problem("GET", OF_NAMESPACES + path) == told
    assert await rest.get(f"{ORDERS}/custom-labels")


@both_ways
async def test_a_tenant_does_not_seem_to_have_no_roles(
    rest: RestNode, store: MemoryStore, how: Unreadable, told: tuple[int, str]
) -> None:
    assert await (await with_tenant(rest, store, "public", how)).problem("GET", OF_TENANTS) == told
    assert await rest.get("/admin/v2/tenants") == ["public"]


@both_ways
async def test_registered_clusters_do_not_seem_to_be_none(
    rest: RestNode, store: MemoryStore, how: Unreadable, told: tuple[int, str]
) -> None:
    assert await (await with_tenant(rest, store, CLUSTERS, how)).problem("GET", "/admin/v2/clusters") == told


@both_ways
async def test_topics_are_found_and_listed_all_the_same(
    orders: RestNode, store: MemoryStore, how: Unreadable, told: tuple[int, str]
) -> None:
    rest = await with_namespace(await with_topic(orders, store, how), store, how)
    assert await rest.get("/admin/v2/persistent/public/default") == [TOPIC]
    assert [each["name"] for each in (await rest.get("/api/v1/topics"))["items"]] == [TOPIC]


async def test_nobody_is_told_to_delete_what_a_newer_node_wrote(orders: RestNode, store: MemoryStore) -> None:
    answer = await (await with_topic(orders, store, NEWER)).send("GET", LABELS)
    assert answer.json()["hint"] == "Upgrade this node, or send the request to an upgraded one."
    assert f"schema {PAYLOAD_SCHEMA + 1}" in answer.json()["reason"]


async def test_a_policy_that_hangs_on_a_newer_record_is_refused_for_now_and_its_key_is_free(
    orders: RestNode, store: MemoryStore
) -> None:
    rest = await with_namespace(orders, store, NEWER)
    body = {"retentionTimeInMinutes": 1, "retentionSizeInMB": 1}
    retention = f"{ORDERS}/retention"
    assert await rest.problem("POST", retention, body, idempotency_key="k") == (503, "newer_schema")
    await append(rest, store, 3, namespace_put(8, rest.node.engine.states[3].namespaces[NAMESPACE].version))
    await rest.done("POST", retention, body, idempotency_key="k")


async def test_a_doctor_tells_of_tenants_and_namespaces_that_a_newer_node_wrote(
    orders: RestNode, store: MemoryStore
) -> None:
    rest = await with_tenant(await with_namespace(orders, store, NEWER), store, "public", NEWER)
    told = (await rest.get("/api/v1/doctor"))["problems"]
    assert sorted(each["what"] for each in told) == [
        "1 namespace cannot be read, such as public/default: a newer node than this wrote it",
        "1 tenant cannot be read, such as public: a newer node than this wrote it",
    ]
    assert {each["next"] for each in told} == {
        "upgrade this node; until then it ignores their grants and does not show their policies"
    }
