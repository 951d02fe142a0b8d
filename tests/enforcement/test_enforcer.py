"""Effective policies in Kafka's settings: told, overridden, uncovered, and nothing else touched."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from tests import memory_log
from tests.enforcement.conftest import (
    HOUR,
    ORDERS,
    RETENTION,
    TEN_MINUTES,
    TEN_MINUTES_IN_KAFKA,
    Site,
    append_unreadable,
)
from tests.memory_log import MemoryLog
from tests.runtime.kafka_nodes import LOG_TOPIC
from tests.runtime.nodes import turns
from topicfold.enforcement import enforcer as enforcing
from topicfold.enforcement.enforcer import Enforcer
from topicfold.errors import ClusterRefused, ClusterUnavailable, LogUnavailable, NotReady, TopicNotFound
from topicfold.log.payload import encode_record
from topicfold.model.events import PAYLOAD_SCHEMA
from topicfold.model.names import parse_topic
from topicfold.model.records import NamespaceRecord, Pending, Step, TopicRecord
from topicfold.runtime.engine import Engine, EngineOptions
from topicfold.runtime.writing.writing import Writing


async def test_a_topics_policies_are_written_with_old_and_new_told(site: Site) -> None:
    await site.make("orders")
    await site.set("orders", RETENTION, TEN_MINUTES)
    await site.set("orders", "maxMessageSize", 2000)
    await site.set("orders", "compactionThreshold", 1)
    assert await site.once() == [
        f"changed {ORDERS}: retention.ms 604800000 -> 600000 (topic policy, deletes older messages)",
        f"changed {ORDERS}: retention.bytes -1 -> 20971520 (topic policy, deletes older messages)",
        f"changed {ORDERS}: max.message.bytes 1048588 -> 2000 (topic policy)",
        f"changed {ORDERS}: cleanup.policy delete -> compact,delete (topic policy, deletes older messages)",
    ]
    assert await site.own("orders") == {
        **TEN_MINUTES_IN_KAFKA, "max.message.bytes": "2000", "cleanup.policy": "compact,delete"
    }  # fmt: skip


async def test_a_second_pass_finds_nothing_to_do(site: Site) -> None:
    await site.make("orders")
    await site.set("orders", RETENTION, TEN_MINUTES)
    enforcer = site.enforcer()
    await site.again(enforcer)
    assert await site.again(enforcer) == []
    assert await site.once() == []


async def test_a_dry_run_shows_the_same_and_changes_nothing(site: Site) -> None:
    await site.make("orders")
    await site.set("orders", "maxMessageSize", 2000)
    assert await site.once(only_shows=True) == [f"differs {ORDERS}: max.message.bytes 1048588 -> 2000 (topic policy)"]
    assert await site.own("orders") == {}


async def test_a_setting_that_the_cluster_does_not_know_is_passed_over_and_others_are_not(site: Site) -> None:
    configurations = site.cluster.configurations

    async def without_retention_bytes(kafka_topics: Sequence[str]) -> dict[str, Any]:
        found = await configurations(kafka_topics)
        return {
            topic: {key: each for key, each in settings.items() if key != "retention.bytes"}
            for topic, settings in found.items()
            if isinstance(settings, Mapping)
        }

    site.cluster.configurations = without_retention_bytes
    await site.make("orders")
    assert await site.once() == []
    await site.set("orders", RETENTION, TEN_MINUTES)
    assert await site.once() == [
        f"changed {ORDERS}: retention.ms 604800000 -> 600000 (topic policy, deletes older messages)"
    ]


async def test_each_level_uncovers_the_one_below_until_kafkas_own_value_is_left(site: Site) -> None:
    await site.make("orders")
    await site.set("orders", "maxMessageSize", 3)
    await site.set("orders", "maxMessageSize", 2, is_global=True)
    await site.set("orders", RETENTION, TEN_MINUTES)
    await site.set_namespace(RETENTION, HOUR)
    enforcer = site.enforcer()
    await site.again(enforcer)
    await site.remove("orders", "maxMessageSize")
    await site.remove("orders", RETENTION)
    assert await site.again(enforcer) == [
        f"changed {ORDERS}: retention.ms 600000 -> 3600000 (namespace policy)",
        f"changed {ORDERS}: retention.bytes 20971520 -> -1 (namespace policy)",
        f"changed {ORDERS}: max.message.bytes 3 -> 2 (global policy)",
    ]
    await site.remove_namespace(RETENTION)
    assert (await site.again(enforcer))[0] == (
        f"changed {ORDERS}: retention.ms 3600000 -> (the cluster's) (no policy any more, may delete older messages)"
    )
    assert await site.own("orders") == {"max.message.bytes": "2"}


async def test_a_policy_that_is_replaced_during_a_long_pass_is_not_told_of_the_topics_that_are_left(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(enforcing, "_TOPICS_A_QUESTION", 1)
    configurations = site.cluster.configurations

    async def replace_policy_and_answer(kafka_topics: Sequence[str]) -> dict[str, Any]:
        site.cluster.configurations = configurations
        await site.set_namespace(RETENTION, HOUR)
        return await configurations(kafka_topics)

    for name in ("invoices", "orders"):
        await site.make(name)
    await site.set_namespace(RETENTION, TEN_MINUTES)
    site.cluster.configurations = replace_policy_and_answer
    told = await site.once()
    assert [line for line in told if ORDERS in line] == [
        f"changed {ORDERS}: retention.ms 604800000 -> 3600000 (namespace policy, deletes older messages)"
    ]


async def test_a_topic_that_is_told_nothing_is_not_touched(site: Site) -> None:
    await site.make("orders")
    await site.set("orders", "messageTTLInSeconds", 60)
    await site.cluster.alter("orders", {"cleanup.policy": "compact", "retention.ms": "5"})
    assert await site.once() == []


async def test_a_foreign_value_gives_way_to_a_policy(site: Site) -> None:
    await site.make("orders")
    await site.cluster.alter("orders", {"max.message.bytes": "77"})
    await site.set("orders", "maxMessageSize", 2000)
    assert await site.once() == [f"changed {ORDERS}: max.message.bytes 77 -> 2000 (topic policy)"]


async def test_a_policy_that_says_what_kafka_does_anyway_changes_nothing(site: Site) -> None:
    await site.make("orders")
    await site.set("orders", "compactionThreshold", 0)
    assert await site.once() == []
    assert await site.own("orders") == {}


async def test_retention_zero_takes_back_what_lay_below_and_never_becomes_zero_in_kafka(site: Site) -> None:
    await site.make("orders")
    await site.set_namespace(RETENTION, TEN_MINUTES)
    await site.once()
    await site.set("orders", RETENTION, {"retentionTimeInMinutes": 0, "retentionSizeInMB": 0})
    await site.once()
    assert await site.own("orders") == {}


async def test_a_default_by_settings_is_enforced_and_the_built_in_one_is_not(site: Site) -> None:
    await site.make("orders")
    assert await site.once() == []
    site.with_defaults(maxMessageSize=4096)
    assert await site.once() == [f"changed {ORDERS}: max.message.bytes 1048588 -> 4096 (broker policy)"]


async def test_topics_without_a_kafka_topic_are_told_of_if_they_want_something(site: Site) -> None:
    calls = "non-persistent://public/default/calls"
    for name in (calls, "gone", "quiet"):
        await site.make(name)
    for name in (calls, "gone"):
        await site.set(name, "maxMessageSize", 1)
    for name in ("gone", "quiet"):
        await site.cluster.delete(name)
    assert await site.once() == [
        f"skipped {calls}: non-persistent topics have no Kafka topic",
        "skipped persistent://public/default/gone: Kafka has no topic gone",
    ]


async def test_internal_topics_and_the_log_are_never_touched_and_told_of_if_they_shall_be(site: Site) -> None:
    kept = ("__consumer_offsets", "_schemas", LOG_TOPIC)
    for name in kept:
        await site.cluster.create(name, 1)
        record = TopicRecord(kafka_name=name)
        await site.node.writing.record_topic(parse_topic(f"r{name}"), record, site.node.asked())
    assert await site.once() == []
    await site.set_namespace("maxMessageSize", 1)
    assert sorted(await site.once()) == [
        f"skipped persistent://public/default/r{name}: the Kafka topic {name} is not Topicfold's to change"
        for name in kept
    ]
    assert [await site.own(name) for name in kept] == [{}, {}, {}]


async def test_a_kafka_topic_that_goes_while_it_is_looked_at_is_told_of_and_the_others_are_changed(site: Site) -> None:
    for name in ("gone", "orders"):
        await site.make(name)
        await site.set(name, "maxMessageSize", 9)
    site.refuse("gone", TopicNotFound("there is no such topic"))
    assert await site.once() == [
        f"skipped {ORDERS.replace('orders', 'gone')}: Kafka has no topic gone",
        f"changed {ORDERS}: max.message.bytes 1048588 -> 9 (topic policy)",
    ]


async def test_a_kafka_topic_that_is_missing_is_told_of_once_and_again_where_it_was_there_meanwhile(site: Site) -> None:
    await site.make("orders")
    await site.set("orders", "maxMessageSize", 9)
    enforcer = site.enforcer()
    told = await site.again(enforcer)
    await site.cluster.delete("orders")
    told += await site.again(enforcer) + await site.again(enforcer)
    await site.cluster.create("orders", 1)
    told += await site.again(enforcer)
    await site.cluster.delete("orders")
    told += await site.again(enforcer)
    changed = f"changed {ORDERS}: max.message.bytes 1048588 -> 9 (topic policy)"
    missing = f"skipped {ORDERS}: Kafka has no topic orders"
    assert told == [changed, missing, changed, missing]


async def test_a_namespace_that_ends_while_its_topics_are_looked_at_keeps_nobody_from_the_others(site: Site) -> None:
    await site.node.writing.create_namespace("public/other", NamespaceRecord(), site.node.asked())
    await site.make("public/other/brief")
    await site.cluster.alter("public..other..brief", {"max.message.bytes": "77"})
    await site.make("orders")
    await site.set("orders", "maxMessageSize", 9)
    configurations = site.cluster.configurations

    async def end_then_answer(names: Sequence[str]) -> object:
        await Writing(site.node.engine).delete_namespace("public/other", site.node.asked(), force=True)
        return await configurations(names)

    site.cluster.configurations = end_then_answer
    assert await site.once() == [f"changed {ORDERS}: max.message.bytes 1048588 -> 9 (topic policy)"]


async def test_a_compacted_topic_is_trimmed_as_long_as_a_retention_takes_effect(site: Site) -> None:
    await site.make("orders")
    await site.set("orders", "compactionThreshold", 1)
    await site.once()
    assert await site.own("orders") == {"cleanup.policy": "compact"}
    await site.set_namespace(RETENTION, HOUR)
    trimmed = "cleanup.policy compact -> compact,delete (topic policy, deletes older messages)"
    assert f"changed {ORDERS}: {trimmed}" in await site.once()
    await site.remove_namespace(RETENTION)
    assert f"changed {ORDERS}: cleanup.policy compact,delete -> compact (topic policy)" in await site.once()
    await site.remove("orders", "compactionThreshold")
    await site.once()
    assert await site.own("orders") == {}


async def test_the_order_of_clean_up_policies_is_left_as_it_is(site: Site) -> None:
    await site.make("orders")
    await site.cluster.alter("orders", {"cleanup.policy": "delete,compact"})
    await site.set("orders", "compactionThreshold", 1)
    await site.set("orders", RETENTION, TEN_MINUTES)
    assert not any("cleanup.policy" in line for line in await site.once())


async def test_a_topic_that_is_being_ended_is_left_alone(site: Site) -> None:
    await site.make("orders")
    record = TopicRecord(local={"maxMessageSize": 1}, pending=Pending(Step.END, "id"))
    await site.node.writing.change_topic(parse_topic("orders"), lambda old: record, site.node.asked())
    assert await site.once() == []
    assert await site.own("orders") == {}


async def test_a_change_that_kafka_refuses_is_told_and_the_others_are_made(site: Site) -> None:
    for name in ("a", "b"):
        await site.make(name)
        await site.set(name, "maxMessageSize", 1)
    site.refuse("a", ClusterRefused("its policy forbids it", kafka_topic="a"))
    lines = await site.once()
    assert lines[0] == ("failed persistent://public/default/a: max.message.bytes 1048588 -> 1 (its policy forbids it)")
    assert await site.own("b") == {"max.message.bytes": "1"}


async def test_a_change_that_the_brokers_do_not_show_yet_is_told_and_the_others_are_made(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(enforcing, "_TOPICS_A_QUESTION", 1)
    for name in ("a", "b"):
        await site.make(name)
        await site.set(name, "maxMessageSize", 1)
    site.refuse("a", ClusterUnavailable("changed, but the brokers do not show it yet", is_late=True))
    lines = await site.once()
    assert lines[0].startswith("failed persistent://public/default/a: max.message.bytes")
    assert await site.own("b") == {"max.message.bytes": "1"}


async def test_a_cluster_that_goes_away_amid_a_pass_ends_it(site: Site) -> None:
    await site.make("orders")
    await site.set("orders", "maxMessageSize", 1)
    site.refuse("orders", ClusterUnavailable("no answer"))
    with pytest.raises(ClusterUnavailable, match="no answer"):
        await site.once()
    assert site.reports == []


async def test_a_cluster_that_answers_no_more_is_not_asked_for_every_topic_that_is_left(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(enforcing, "_AT_ONCE", 4)
    for number in range(20):
        await site.make(f"t{number}")
    await site.set_namespace("maxMessageSize", 5)
    asked: list[str] = []

    async def silent(name: str, settings: dict[str, str | None]) -> None:
        asked.append(name)
        await asyncio.sleep(0)
        raise ClusterUnavailable("no answer")

    site.cluster.alter = silent
    with pytest.raises(ClusterUnavailable):
        await site.once()
    assert len(asked) == 4


@pytest.mark.parametrize("away", ["cluster", "log"])
async def test_a_pass_that_cannot_ask_says_so(site: Site, away: str) -> None:
    await site.make("orders")
    if away == "cluster":
        site.cluster.is_reachable = False
    else:
        site.node.log.is_cut = True
    with pytest.raises(ClusterUnavailable if away == "cluster" else LogUnavailable):
        await site.once()


class SlowLog(MemoryLog):
    """A handle that delivers one record every 20 ms."""

    def wake(self) -> None:
        if self._loop is not None and not self._is_woken:
            self._is_woken = True
            self._loop.call_later(0.02, self._deliver_next)


async def test_a_log_that_takes_long_to_fold_is_folded_to_its_end(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_log, "_BATCH", 1)
    for number in range(10):
        await site.make(f"t{number}")
    engine = await Engine.start(SlowLog(site.node.log.store), EngineOptions(request_timeout_seconds=0.1))
    enforcer = Enforcer(engine, site.cluster, site.reports.append)
    await enforcer.catch_up()
    assert len(enforcer.names()) == 10
    await engine.stop()


async def test_a_log_that_is_not_folded_any_further_is_not_waited_for_for_ever(site: Site) -> None:
    engine = site.node.engine
    engine.options = replace(engine.options, request_timeout_seconds=0.05)
    engine.readiness.close(0)
    with pytest.raises(NotReady):
        await site.enforcer().catch_up()


async def test_topics_are_looked_at_in_the_order_of_their_names(site: Site) -> None:
    await site.node.writing.create_namespace("public/a", NamespaceRecord(), site.node.asked())
    for name in ("c", "public/a/z", "b"):
        await site.make(name)
    found = [str(each) for each in site.enforcer().names()]
    assert found == [f"persistent://public/{each}" for each in ("a/z", "default/b", "default/c")]


async def test_it_is_left_behind_when_its_engine_is_and_not_before(site: Site) -> None:
    waiting = asyncio.create_task(site.enforcer().left_behind())
    await turns()
    assert not waiting.done()
    site.node.engine.left_behind._must_start_anew.set()
    await waiting


async def test_a_record_that_cannot_be_read_is_told_of_and_its_kafka_topic_keeps_what_it_has(site: Site) -> None:
    await site.make("orders")
    await site.set("orders", RETENTION, TEN_MINUTES)
    await site.once()
    state = site.node.engine.states[site.node.engine.partition("public/default")]
    table = state.topics["public/default"]
    number = table.numbers["orders"]
    kept = table._payloads[number]
    table._payloads[number] = b"\xff"
    assert await site.once() == [f"failed {ORDERS}: the record of {ORDERS} cannot be read"]
    table._payloads[number] = kept
    assert await site.own("orders") == TEN_MINUTES_IN_KAFKA


async def test_a_policy_without_a_member_that_it_always_has_keeps_what_there_is_and_stops_nobody(site: Site) -> None:
    await site.make("orders")
    await site.set("orders", RETENTION, TEN_MINUTES)
    await site.once()
    half = TopicRecord(local={RETENTION: {"retentionTimeInMinutes": 60}})
    append_unreadable(site, payload_schema=2, payload=encode_record(half))
    await site.make("refunds", local={RETENTION: TEN_MINUTES})
    assert f"failed {ORDERS}: the record of {ORDERS} cannot be read" in await site.once()
    assert await site.own("orders") == await site.own("refunds") == TEN_MINUTES_IN_KAFKA


async def test_a_record_of_a_newer_node_is_told_of_and_its_kafka_topic_keeps_what_it_has(site: Site) -> None:
    await site.make("orders")
    await site.set("orders", RETENTION, TEN_MINUTES)
    await site.once()
    append_unreadable(site, payload_schema=PAYLOAD_SCHEMA + 1)
    (line,) = await site.once()
    assert line.startswith(f"failed {ORDERS}: ")
    assert f"schema {PAYLOAD_SCHEMA + 1}" in line
    assert await site.own("orders") == TEN_MINUTES_IN_KAFKA
