"""Bugs that Pulsar's topic policies have had, by the numbers of their issues: none of them is here.

Those of its listeners are in `tests/runtime`; those of its readers and caches have no counterpart: a node serves what
it has folded, and says so while it has not.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import httpx2
import pytest

from tests.builders import TOPIC, topic_put
from tests.memory_log import MemoryStore
from tests.runtime.nodes import WilfulLog, turns
from tests.server.rest import NATIVE, ORDERS, RestNode, problem_in, rest_node
from topicfold.log.codec import encode_event
from topicfold.model.events import AggregateKind
from topicfold.runtime.engine import Engine, EngineOptions
from topicfold.server.app import create_app
from topicfold.settings import Settings

NAMESPACE = "/admin/v2/namespaces/public/pay"
BILLS = "/admin/v2/persistent/public/pay/bills"
SCOPES = ("", "isGlobal=true")
RETENTION = {"retentionTimeInMinutes": 10, "retentionSizeInMB": 10}


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore(partitions=4)


@pytest.fixture
async def rest(store: MemoryStore) -> AsyncIterator[RestNode]:
    async with rest_node(store) as made:
        await made.done("PUT", ORDERS)
        yield made


async def set_ttl(rest: RestNode, seconds: int, scope: str = "", topic: str = ORDERS) -> None:
    """Set the topic's message TTL."""
    await rest.done("POST", f"{topic}/messageTTL?messageTTL={seconds}&{scope}")


async def ttl(rest: RestNode, scope: str = "", topic: str = ORDERS) -> Any:
    """Return the topic's message TTL, None where it is not set."""
    answer = await rest.send("GET", f"{topic}/messageTTL?{scope}")
    assert answer.status_code == 200, answer.text
    return answer.json() if answer.content else None


async def effective_ttl(rest: RestNode) -> tuple[int, str]:
    """Return which message TTL takes effect, and from which level."""
    found = (await rest.get(f"{NATIVE}/effective"))["policies"]["messageTTLInSeconds"]
    return found["value"], found["origin"]


async def test_none_of_several_policies_set_at_once_is_lost(store: MemoryStore) -> None:
    """24393, 21303, 21024, 21026, 21030, 13406"""
    paths = ["maxProducers", "maxConsumers", "maxConsumersPerSubscription", "maxSubscriptionsPerTopic",
             "compactionThreshold", "maxMessageSize"]  # fmt: skip
    async with AsyncExitStack() as stack:
        nodes = [await stack.enter_async_context(rest_node(store, number * 10**9)) for number in (1, 2, 3)]
        await nodes[0].done("PUT", ORDERS)
        for turn in range(20):
            sets = (nodes[at % 3].done("POST", f"{ORDERS}/{path}", turn) for at, path in enumerate(paths))
            await asyncio.gather(*sets)
            reads = [await nodes[(at + turn) % 3].get(f"{ORDERS}/{path}") for at, path in enumerate(paths)]
            assert reads == [turn] * len(paths)


async def test_policies_are_never_empty_because_they_are_not_loaded_yet(store: MemoryStore) -> None:
    """26513, 11097, 11136, 10231, 15891, 16331, 12773, 11487; and 25294: the wait has an end"""
    async with rest_node(store) as first:
        await first.done("PUT", ORDERS)
        await set_ttl(first, 5)
    log = WilfulLog(store)
    log.pause()
    engine = await Engine.start(log, EngineOptions(ready_timeout_seconds=0.01))
    transport = httpx2.ASGITransport(create_app(engine, Settings()))
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
        answer = await client.get(f"{ORDERS}/messageTTL")
        assert problem_in(answer.status_code, answer.headers, answer.content) == (503, "not_ready")
        log.resume()
        await engine.readiness.wait(engine.states, 5.0)
        assert (await client.get(f"{ORDERS}/messageTTL")).json() == 5
    await engine.stop()


@pytest.mark.parametrize("path", ["retention", "retention?applied=true", "messageTTL"])
async def test_a_policy_that_cannot_be_read_is_an_error_and_not_unset(
    rest: RestNode, store: MemoryStore, path: str
) -> None:
    """26137, 26259, 20763"""
    partition = rest.node.engine.partition("public/default")
    state = rest.node.engine.states[partition]
    namespace_id = state.namespaces["public/default"].incarnation
    base = state.current(AggregateKind.TOPIC, TOPIC).version
    store.append(partition, encode_event(topic_put(7, namespace_id, base, payload=b"\xff")))
    await rest.node.caught_up()
    assert await rest.problem("GET", f"{ORDERS}/{path}") == (409, "undecodable")


async def test_local_policies_weigh_more_than_global_ones_whichever_came_last(rest: RestNode) -> None:
    """24254, 21202, 21212"""
    for first, second in (SCOPES, SCOPES[::-1]):
        for scope in (first, second):
            await set_ttl(rest, 1 if scope == SCOPES[0] else 2, scope)
        assert await effective_ttl(rest) == (1, "topic")
        await rest.done("DELETE", f"{ORDERS}/policies")


async def test_neither_scope_overwrites_the_other_nor_is_lost_with_a_restart(
    rest: RestNode, store: MemoryStore
) -> None:
    """24279, 24286"""
    await set_ttl(rest, 1)
    await set_ttl(rest, 2, SCOPES[1])
    async with rest_node(store, 10**9) as again:
        assert [await ttl(again, scope) for scope in SCOPES] == [1, 2]


async def test_deleted_policies_stay_deleted(rest: RestNode, store: MemoryStore) -> None:
    """11928, 11003, 11211, 11672"""
    await set_ttl(rest, 1)
    await set_ttl(rest, 2, SCOPES[1])
    await rest.done("DELETE", f"{ORDERS}/policies")
    async with rest_node(store, 10**9) as again:
        assert [await ttl(again, scope) for scope in SCOPES] == [None, None]


async def test_a_removal_is_a_value_like_any_other(rest: RestNode) -> None:
    """16144"""
    await set_ttl(rest, 5)
    await rest.done("DELETE", f"{ORDERS}/messageTTL")
    assert (await ttl(rest), await effective_ttl(rest)) == (None, (0, "broker"))


@pytest.mark.parametrize("partitions", [0, 3])
async def test_a_reborn_topic_has_no_policies_of_the_dead_one(rest: RestNode, partitions: int) -> None:
    """21075, 21093, 11308"""
    await rest.done("DELETE", ORDERS)
    for turn in range(1, 6):
        path, body = (f"{ORDERS}/partitions", partitions) if partitions else (ORDERS, None)
        await rest.done("PUT", path, body)
        assert [await ttl(rest, scope) for scope in SCOPES] == [None, None]
        for scope in SCOPES:
            await set_ttl(rest, turn, scope)
        await rest.done("DELETE", path)


async def test_a_reborn_namespace_has_neither_its_policies_nor_its_topics(rest: RestNode) -> None:
    """18802, 18804, 22013, 18307, 19374, 17592, 20376, 20392, 18823"""
    for turn in range(1, 4):
        await rest.done("PUT", NAMESPACE)
        assert await rest.get("/admin/v2/persistent/public/pay?includeSystemTopic=true") == []
        await rest.done("PUT", BILLS)
        assert await ttl(rest, topic=BILLS) is None
        await set_ttl(rest, turn, topic=BILLS)
        await rest.done("DELETE", f"{NAMESPACE}?force=true")
        answer = await rest.send("POST", f"{BILLS}/messageTTL?messageTTL=5")
        assert answer.status_code == 404


async def test_an_empty_namespace_can_be_deleted_after_policies_were_set_in_it(rest: RestNode) -> None:
    """18804, 19374: no topic of the system is left behind"""
    await rest.done("PUT", NAMESPACE)
    await rest.done("PUT", BILLS)
    await set_ttl(rest, 5, topic=BILLS)
    await rest.done("DELETE", BILLS)
    await rest.done("DELETE", NAMESPACE)


async def test_clusters_that_nobody_set_are_this_one_and_not_none(rest: RestNode) -> None:
    """21704"""
    assert await rest.get(f"{ORDERS}/replication?applied=true") == ["standalone"]
    found = (await rest.get(f"{NATIVE}/effective"))["policies"]["replicationClusters"]
    assert (found["value"], found["origin"]) == (["standalone"], "broker")


async def test_policies_belong_to_the_whole_topic_however_it_is_called(rest: RestNode) -> None:
    """14605, 21932, 24680, 14969, 11294, 11051"""
    logs = "/admin/v2/persistent/public/default/logs"
    await rest.done("PUT", f"{logs}/partitions", 2)
    await set_ttl(rest, 5, topic=logs)
    for method in ("GET", "POST", "DELETE"):
        assert (await rest.problem(method, f"{logs}-partition-1/messageTTL?messageTTL=6"))[0] == 412
    assert (await rest.problem("DELETE", f"{logs}-partition-1"))[0] == 412
    assert await ttl(rest, topic=logs) == 5
    await rest.done("POST", f"{logs}/partitions", 4)
    assert await ttl(rest, topic=logs) == 5


@pytest.mark.parametrize(
    ("retention", "quota"),
    [
        ((-1, -1), {"limitSize": 1 << 50, "limitTime": 1 << 30}),
        ((-1, 10), {"limitSize": 5, "limitTime": 1 << 30}),
        ((10, -1), {"limitSize": 1 << 50, "limitTime": 5}),
        ((10, 10), {"limitSize": -1, "limitTime": -1}),
    ],
)
async def test_for_ever_and_without_limit_are_no_small_numbers(
    rest: RestNode, retention: tuple[int, int], quota: dict[str, int]
) -> None:
    """17706, 17707, 20690"""
    kept = dict(zip(("retentionTimeInMinutes", "retentionSizeInMB"), retention, strict=True))
    await rest.done("POST", f"{ORDERS}/retention", kept)
    await rest.done("POST", f"{ORDERS}/backlogQuota", {**quota, "policy": "producer_exception"})


async def test_a_topic_made_after_its_namespace_was_read_has_its_policies(rest: RestNode) -> None:
    """12833, 13422"""
    await rest.done("PUT", NAMESPACE)
    assert await rest.problem("GET", f"{BILLS}/messageTTL") == (404, "topic_not_found")
    await rest.done("PUT", BILLS)
    await set_ttl(rest, 5, topic=BILLS)
    assert await ttl(rest, topic=BILLS) == 5


async def test_reading_policies_makes_no_topic(rest: RestNode) -> None:
    """18802: the events topic came back when it was asked for"""
    before = await rest.get("/admin/v2/persistent/public/default?includeSystemTopic=true")
    for path in ("nosuch/retention", "__change_events/retention", "nosuch/partitions?checkAllowAutoCreation=true"):
        await rest.send("GET", f"/admin/v2/persistent/public/default/{path}")
    assert await rest.get("/admin/v2/persistent/public/default?includeSystemTopic=true") == before


async def test_a_failed_write_is_no_lasting_failure(rest: RestNode) -> None:
    """17562, 14503, 24829"""
    log: WilfulLog = rest.node.log
    log.is_cut = True
    log.fate = log.lose_and_say_so
    pending = asyncio.create_task(rest.send("POST", f"{ORDERS}/messageTTL?messageTTL=5"))
    await turns(50)
    log.is_cut, log.fate = False, log.take
    assert (await pending).status_code == 204
    assert await ttl(rest) == 5


async def test_of_a_retention_and_a_quota_that_contradict_each_other_only_one_is_set(store: MemoryStore) -> None:
    """The check outside the update, which lets both pass (section 2.4 of the specification)"""
    async with AsyncExitStack() as stack:
        nodes = [await stack.enter_async_context(rest_node(store, number * 10**9)) for number in (1, 2)]
        quota = {"limitSize": 10 << 20, "policy": "producer_exception"}
        for turn in range(10):
            topic = f"{ORDERS}{turn}"
            await nodes[0].done("PUT", topic)
            answers = await asyncio.gather(
                nodes[0].send("POST", f"{topic}/retention", RETENTION),
                nodes[1].send("POST", f"{topic}/backlogQuota", quota),
            )
            assert sorted(answer.status_code for answer in answers) == [204, 412]
