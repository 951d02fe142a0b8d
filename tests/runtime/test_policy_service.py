"""PIP-428's service in process: updates are functions, nothing leaks into the state, nothing is lost or left behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.builders import TOPIC
from tests.memory_log import MemoryStore
from tests.runtime.histories import append_unreadable
from tests.runtime.nodes import ORDERS, Node, WilfulLog, running, turns
from topicfold.errors import (
    InvalidPolicy,
    NotReady,
    OutcomeUnknown,
    PoliciesDisabled,
    PolicyUnmet,
    TopicNotFound,
    Undecodable,
)
from topicfold.model.clusters import CLUSTERS, create_cluster
from topicfold.model.names import parse_topic
from topicfold.model.policy.limits import Limits
from topicfold.model.records import TopicRecord
from topicfold.runtime.engine import Engine, EngineOptions
from topicfold.runtime.policy_news import PolicyScope
from topicfold.runtime.policy_service import Mutator, TopicPoliciesService

TTL, SIZE = "messageTTLInSeconds", "maxMessageSize"
RETENTION = {"retentionTimeInMinutes": 10, "retentionSizeInMB": 10}
QUOTA = {"destination_storage": {"limitSize": 10 * 1024 * 1024, "policy": "producer_exception"}}


@pytest.fixture
async def service(orders: Node) -> AsyncIterator[TopicPoliciesService]:
    """The service of a node that has the topic `orders`."""
    made = TopicPoliciesService(orders.engine, actor="ann")
    yield made
    await made.stop()


def putting(**policies: Any) -> Mutator:
    """Return the mutator that sets these policies and keeps the others."""
    return lambda old: old.update(policies)


async def test_an_update_keeps_what_it_does_not_touch_and_is_read_at_once(service: TopicPoliciesService) -> None:
    await service.update("orders", putting(**{TTL: 60}))
    await service.update("orders", putting(**{SIZE: 1024}))
    assert await service.get("orders") == {TTL: 60, SIZE: 1024}


async def test_the_two_scopes_are_updated_and_read_apart(service: TopicPoliciesService) -> None:
    await service.update("orders", putting(**{TTL: 60}))
    await service.update("orders", putting(**{TTL: 90}), is_global=True)
    assert await service.get("orders") == {TTL: 60}
    assert await service.get("orders", PolicyScope.GLOBAL) == {TTL: 90}


async def test_what_a_mutator_returns_takes_the_place_of_all(service: TopicPoliciesService) -> None:
    await service.update("orders", putting(**{TTL: 60, SIZE: 1024}))
    await service.update("orders", lambda old: {SIZE: old[SIZE] + 1})
    assert await service.get("orders") == {SIZE: 1025}


@pytest.mark.parametrize("unset", [lambda old: old.update({TTL: None}), lambda old: old.clear(), lambda old: {}])
async def test_a_policy_that_is_null_or_taken_out_is_unset(service: TopicPoliciesService, unset: Mutator) -> None:
    await service.update("orders", putting(**{TTL: 60}))
    await service.update("orders", unset)
    assert await service.get("orders") == {}


async def test_what_a_mutator_keeps_of_what_it_saw_changes_nothing(service: TopicPoliciesService) -> None:
    kept: list[dict[str, Any]] = []
    await service.update("orders", putting(retentionPolicies=dict(RETENTION)))
    await service.update("orders", kept.append)
    kept[0]["retentionPolicies"]["retentionTimeInMinutes"] = 99
    kept[0][TTL] = 5
    assert await service.get("orders") == {"retentionPolicies": RETENTION}


async def test_what_a_mutator_gave_back_changes_nothing_later(service: TopicPoliciesService) -> None:
    given = {"replicationClusters": ["standalone"], "retentionPolicies": dict(RETENTION)}
    await service.update("orders", lambda old: given)
    given["replicationClusters"].append("west")
    given["retentionPolicies"]["retentionTimeInMinutes"] = 99
    assert await service.get("orders") == {"replicationClusters": ("standalone",), "retentionPolicies": RETENTION}


async def test_what_was_read_cannot_be_changed(service: TopicPoliciesService) -> None:
    await service.update("orders", putting(retentionPolicies=RETENTION))
    found = await service.get("orders")
    with pytest.raises(TypeError):
        found["retentionPolicies"]["retentionSizeInMB"] = 1


async def test_all_that_is_wrong_is_said_at_once_and_nothing_is_written(
    service: TopicPoliciesService, orders: Node
) -> None:
    wrong = {"mesageTTLInSeconds": 1, SIZE: 1.9, "retentionPolicies": {"retentionSizeInMB": "x", "more": 1}}
    with orders.events() as appended, pytest.raises(InvalidPolicy) as caught:
        await service.update("orders", putting(**wrong))
    violations = {each["path"]: each["reason"] for each in caught.value.values["violations"]}
    assert set(violations) == {
        "mesageTTLInSeconds",
        SIZE,
        "retentionPolicies.retentionSizeInMB",
        "retentionPolicies.more",
    }
    assert f"did you mean {TTL}?" in violations["mesageTTLInSeconds"]
    assert appended == []


async def test_what_no_cluster_shares_is_not_set_for_all(service: TopicPoliciesService) -> None:
    with pytest.raises(InvalidPolicy, match="cannot be set for all clusters"):
        await service.update("orders", putting(schemaValidationEnforced=True), is_global=True)
    await service.update("orders", putting(schemaValidationEnforced=True, schemaCompatibilityStrategy="UNDEFINED"))
    assert await service.get("orders") == {"schemaValidationEnforced": True}


async def test_a_value_that_may_not_be_set_is_refused(service: TopicPoliciesService) -> None:
    with pytest.raises(PolicyUnmet, match="message TTL"):
        await service.update("orders", putting(**{TTL: -1}))
    assert await service.get("orders") is None


async def test_what_may_no_longer_be_set_stays_while_other_policies_change(
    service: TopicPoliciesService, store: MemoryStore
) -> None:
    await service.update("orders", putting(**{SIZE: 2000}))
    async with running(store, limits=Limits(max_message_bytes=1000)) as strict:
        there = TopicPoliciesService(strict.engine)
        await there.update("orders", putting(**{TTL: 5}))
        with pytest.raises(PolicyUnmet):
            await there.update("orders", putting(**{SIZE: 2001}))
        assert await there.get("orders") == {SIZE: 2000, TTL: 5}


async def test_policies_that_never_were_are_skipped_if_asked(service: TopicPoliciesService) -> None:
    calls: list[dict[str, Any]] = []
    written = await service.update("orders", calls.append, skip_if_absent=True)
    assert (calls, written.changed, await service.get("orders")) == ([], False, None)
    await service.update("orders", putting(**{TTL: 60}))
    await service.update("orders", calls.append, skip_if_absent=True)
    assert calls == [{TTL: 60}]


async def test_a_topic_that_is_missing_is_an_error_for_an_update_and_nothing_to_read(
    service: TopicPoliciesService,
) -> None:
    with pytest.raises(TopicNotFound):
        await service.update("lost", putting(**{TTL: 60}))
    assert await service.get("lost") is None
    assert await service.get("public/lost/orders") is None


async def test_a_mutator_runs_again_where_another_node_was_first(store: MemoryStore) -> None:
    async with running(store) as one, running(store) as other:
        await one.writing.create_topic(ORDERS, TopicRecord(), one.asked())
        await other.caught_up()
        other.log.pause()
        here, there = TopicPoliciesService(one.engine), TopicPoliciesService(other.engine)
        await here.update("orders", putting(**{TTL: 60}))
        seen: list[dict[str, Any]] = []
        late = asyncio.create_task(there.update("orders", lambda old: (seen.append(dict(old)), {**old, SIZE: 1})[1]))
        await turns()
        other.log.resume()
        await late
        await one.caught_up()
        assert seen == [{}, {TTL: 60}]
        assert await here.get("orders") == {TTL: 60, SIZE: 1}


async def test_a_mutator_that_changes_its_mind_is_asked_once_for_each_state(
    service: TopicPoliciesService, orders: Node
) -> None:
    orders.log.fate = orders.log.lose_and_say_so
    asked: list[int] = []

    def moody(old: dict[str, Any]) -> None:
        asked.append(1)
        if len(asked) > 1:
            raise ZeroDivisionError
        old[TTL] = 60

    update = asyncio.create_task(service.update("orders", moody))
    await asyncio.sleep(0.12)
    orders.log.fate = orders.log.take
    await update
    assert len(asked) == 1
    assert await service.get("orders") == {TTL: 60}


async def test_what_a_mutator_raises_is_raised_and_harms_no_other_update(service: TopicPoliciesService) -> None:
    def fail(old: dict[str, Any]) -> None:
        old[TTL] = 1
        raise ZeroDivisionError

    outcomes = await asyncio.gather(
        service.update("orders", putting(**{TTL: 60})),
        service.update("orders", fail),
        service.update("orders", putting(**{SIZE: 7})),
        return_exceptions=True,
    )
    assert isinstance(outcomes[1], ZeroDivisionError)
    assert await service.get("orders") == {TTL: 60, SIZE: 7}


async def test_of_a_retention_and_a_quota_that_contradict_each_other_one_is_refused(
    service: TopicPoliciesService,
) -> None:
    outcomes = await asyncio.gather(
        service.update("orders", putting(retentionPolicies=RETENTION)),
        service.update("orders", putting(backLogQuotaMap=QUOTA)),
        return_exceptions=True,
    )
    assert [type(each) for each in outcomes].count(PolicyUnmet) == 1
    assert len(await service.get("orders") or {}) == 1


@pytest.mark.parametrize("partitions", [0, 4])
async def test_three_updates_at_once_of_ten_topics_in_ten_rounds_are_all_read_back(node: Node, partitions: int) -> None:
    """Upstream's TopicPoliciesUpdateTest.testMultipleUpdates."""
    for round_ in range(10):
        await node.writing.change_tenant(CLUSTERS, create_cluster(f"c{round_}", {}, "standalone"), node.asked())
    service = TopicPoliciesService(node.engine)
    topics = [f"topic{number}" for number in range(10)]
    for topic in topics:
        await node.writing.create_topic(parse_topic(topic), TopicRecord(partitions), node.asked())
    for round_ in range(10):
        rate = {"dispatchThrottlingRateInMsg": round_ + 1, "ratePeriodInSecond": 1}
        wanted = {TTL: round_, "replicatorDispatchRate": rate, "replicationClusters": ["standalone", f"c{round_}"]}
        await asyncio.gather(*(
            service.update(topic, putting(**{name: value})) for topic in topics for name, value in wanted.items()
        ))  # fmt: skip
        for topic in topics:
            found = await service.get(topic)
            assert (found[TTL], found["replicationClusters"]) == (round_, ("standalone", f"c{round_}"))
            assert found["replicatorDispatchRate"]["dispatchThrottlingRateInMsg"] == round_ + 1
    await turns()
    assert len(node.engine.updates) == 0


@pytest.mark.parametrize("name", ["orders-partition-3", "persistent://public/default/orders-partition-0", ORDERS])
async def test_a_partitions_name_means_the_whole_topic(service: TopicPoliciesService, name: Any) -> None:
    await service.update(name, putting(**{TTL: 60}))
    assert await service.get("orders") == await service.get(name) == {TTL: 60}
    await service.delete(name)
    assert await service.get("orders") is None


async def test_deleting_takes_both_scopes_or_keeps_the_global_one(service: TopicPoliciesService) -> None:
    for is_global in (False, True):
        await service.update("orders", putting(**{TTL: 60}), is_global=is_global)
    await service.delete("orders", keep_global=True)
    assert (await service.get("orders"), await service.get("orders", PolicyScope.GLOBAL)) == (None, {TTL: 60})
    await service.delete("orders")
    assert await service.get("orders", PolicyScope.GLOBAL) is None


@pytest.mark.parametrize("topic", ["lost", "public/lost/orders", "lost/lost/orders"])
async def test_deleting_the_policies_of_what_is_gone_is_no_error(service: TopicPoliciesService, topic: str) -> None:
    await service.delete(topic)
    assert await service.get(topic) is None


async def test_a_reborn_topic_has_no_policies(service: TopicPoliciesService, orders: Node) -> None:
    await service.update("orders", putting(**{TTL: 60}))
    await service.update("orders", putting(**{TTL: 60}), is_global=True)
    await orders.writing.delete_topic(ORDERS, orders.asked())
    assert await service.get("orders") is None
    await orders.writing.create_topic(ORDERS, TopicRecord(), orders.asked())
    assert (await service.get("orders"), await service.get("orders", PolicyScope.GLOBAL)) == (None, None)


async def test_a_record_that_cannot_be_read_never_counts_as_one_without_policies(
    service: TopicPoliciesService, orders: Node, store: MemoryStore
) -> None:
    append_unreadable(orders, store)
    await orders.caught_up()
    for asked in (service.get("orders"), service.update("orders", putting(**{TTL: 60})), service.delete("orders")):
        with pytest.raises(Undecodable):
            await asked


async def test_policies_are_not_read_before_the_log_is_folded_and_the_next_call_recovers(store: MemoryStore) -> None:
    async with running(store) as node:
        await node.writing.create_topic(ORDERS, TopicRecord(), node.asked())
        await TopicPoliciesService(node.engine).update("orders", putting(**{TTL: 60}))
    log = WilfulLog(store)
    log.pause()
    engine = await Engine.start(log, EngineOptions(ready_timeout_seconds=0.01))
    service = TopicPoliciesService(engine)
    with pytest.raises(NotReady):
        await service.get("orders")
    log.resume()
    await engine.readiness.wait([0], 5)
    assert await service.get("orders") == {TTL: 60}
    await engine.stop()


async def test_who_waits_when_the_node_stops_is_failed_and_never_told_that_it_is_done(orders: Node) -> None:
    service = TopicPoliciesService(orders.engine)
    orders.log.fate = orders.log.hold
    update = asyncio.create_task(service.update("orders", putting(**{TTL: 60})))
    await turns()
    await service.stop()
    await orders.engine.stop()
    with pytest.raises(OutcomeUnknown):
        await update


async def test_a_stopped_service_takes_no_more_calls(orders: Node) -> None:
    service = TopicPoliciesService(orders.engine)
    await service.stop()
    for call in (service.update("orders", putting(**{TTL: 60})), service.get("orders"), service.delete("orders")):
        with pytest.raises(NotReady):
            await call
    with pytest.raises(NotReady):
        service.register_listener("orders", print)


async def test_where_topics_have_no_policies_none_is_read_or_changed(orders: Node, store: MemoryStore) -> None:
    async with running(store, limits=Limits(policies_enabled=False)) as without:
        service = TopicPoliciesService(without.engine)
        for call in (service.update("orders", putting(**{TTL: 60})), service.get("orders"), service.delete("orders")):
            with pytest.raises(PoliciesDisabled):
                await call


async def test_changes_bear_the_name_of_who_made_them(service: TopicPoliciesService, orders: Node) -> None:
    with orders.events() as appended:
        await service.update("orders", putting(**{TTL: 60}))
    assert b"ann" in appended[0].audit
    assert appended[0].name == TOPIC
