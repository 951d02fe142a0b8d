"""Whose an override is: what policies of this life set, known by the history or by this enforcer itself."""

from __future__ import annotations

import asyncio

import pytest

from tests.enforcement.conftest import (
    ORDERS,
    RETENTION,
    TEN_MINUTES,
    TEN_MINUTES_IN_KAFKA,
    Site,
    following,
)
from topicfold.enforcement import enforcer as enforcing
from topicfold.enforcement import former
from topicfold.enforcement.enforcer import Enforcer
from topicfold.enforcement.former import FormerSayings
from topicfold.log.port import Entry
from topicfold.model.names import TopicName, parse_topic
from topicfold.model.records import NamespaceRecord, TopicRecord
from topicfold.runtime.past import chain
from topicfold.runtime.writing.writing import Writing


@pytest.mark.parametrize("level", ["topic", "global", "namespace"])
async def test_what_policies_set_before_a_restart_is_known_by_the_logs_history(site: Site, level: str) -> None:
    await site.make("orders")
    if level == "namespace":
        await site.set_namespace(RETENTION, TEN_MINUTES)
    else:
        await site.set("orders", RETENTION, TEN_MINUTES, is_global=level == "global")
    await site.once()
    assert await site.own("orders") == TEN_MINUTES_IN_KAFKA
    if level == "namespace":
        await site.remove_namespace(RETENTION)
    else:
        await site.node.writing.change_topic(
            parse_topic("orders"), lambda old: TopicRecord(local={}, global_={}), site.node.asked()
        )
    assert len(await site.once()) == 2
    assert await site.own("orders") == {}


async def test_an_override_that_no_policy_ever_made_is_left_alone(site: Site) -> None:
    await site.make("orders")
    await site.set("orders", RETENTION, TEN_MINUTES)
    await site.once()
    await site.remove("orders", RETENTION)
    foreign = {"retention.ms": "1234", "max.message.bytes": "77"}
    await site.cluster.alter("orders", foreign)
    assert await site.once() == [
        f"changed {ORDERS}: retention.bytes 20971520 -> (the cluster's) (no policy any more, may delete older messages)"
    ]
    assert await site.own("orders") == foreign


async def test_a_policy_that_changed_nothing_leaves_nothing_to_take_away(site: Site) -> None:
    await site.make("orders")
    await site.set("orders", "compactionThreshold", 0)
    await site.once()
    await site.remove("orders", "compactionThreshold")
    assert await site.once() == []


async def test_what_another_enforcer_set_meanwhile_is_known_by_the_history_too(site: Site) -> None:
    await site.make("orders")
    await site.cluster.alter("orders", {"retention.ms": "5"})
    enforcer = site.enforcer()
    assert await site.again(enforcer) == []
    await site.set("orders", "maxMessageSize", 9)
    await site.once()
    await site.remove("orders", "maxMessageSize")
    assert len(await site.again(enforcer)) == 1
    assert await site.own("orders") == {"retention.ms": "5"}


async def test_what_it_set_itself_it_knows_without_a_history(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    async def nothing(self: FormerSayings, name: TopicName) -> frozenset[tuple[str, str]]:
        return frozenset()

    monkeypatch.setattr(FormerSayings, "of", nothing)
    await site.make("orders")
    await site.set("orders", "maxMessageSize", 9)
    async with following(site.enforcer()):
        await site.reaches("orders", {"max.message.bytes": "9"})
        await site.remove("orders", "maxMessageSize")
        await site.reaches("orders", {})


async def test_an_override_that_equals_a_policy_of_an_earlier_life_is_somebody_elses(site: Site) -> None:
    await site.make("orders")
    await site.set("orders", "maxMessageSize", 1)
    await site.node.writing.delete_topic(parse_topic("orders"), site.node.asked())
    await site.make("orders")
    await site.cluster.alter("orders", {"max.message.bytes": "1"})
    assert await site.once() == []
    assert await site.own("orders") == {"max.message.bytes": "1"}


async def test_what_was_set_by_hand_since_the_same_was_taken_back_stays(site: Site) -> None:
    await site.make("orders")
    await site.set("orders", "maxMessageSize", 9)
    async with following(site.enforcer()):
        await site.reaches("orders", {"max.message.bytes": "9"})
        await site.remove("orders", "maxMessageSize")
        await site.reaches("orders", {})
        await site.cluster.alter("orders", {"max.message.bytes": "9"})
        await site.set("orders", RETENTION, TEN_MINUTES)
        await site.reaches("orders", {**TEN_MINUTES_IN_KAFKA, "max.message.bytes": "9"})


def remembered(enforcer: Enforcer) -> str:
    """Return all that an enforcer and its parts hold, as text."""
    parts = (enforcer._former, enforcer._overrides, enforcer._owners, enforcer._telling, enforcer._touched)
    return repr([vars(part) for part in (enforcer, *parts)])


async def test_it_remembers_nothing_of_a_topic_that_ended(site: Site) -> None:
    await site.make("orders")
    await site.set("orders", RETENTION, TEN_MINUTES)
    await site.once()
    await site.remove("orders", RETENTION)
    enforcer = site.enforcer()
    async with following(enforcer):
        await site.reaches("orders", {})
        await site.node.writing.delete_topic(parse_topic("orders"), site.node.asked())
        for _ in range(1_000):
            if ORDERS not in (said := remembered(enforcer)):
                return
            await asyncio.sleep(0.005)
    raise AssertionError(said)


async def test_it_remembers_nothing_of_the_topics_of_a_namespace_that_ended(site: Site) -> None:
    other = "public/other"
    await site.node.writing.create_namespace(other, NamespaceRecord(), site.node.asked())
    for name in ("told", "untold", "silent", "internal"):
        await Writing(site.node.engine).create_topic(
            parse_topic(f"{other}/{name}"), TopicRecord(kafka_name="__internal" if name == "internal" else name),
            site.node.asked(),
        )  # fmt: skip
        if name != "silent":
            await site.set(f"{other}/{name}", "maxMessageSize", 9)
    await site.cluster.create("told", 1)
    await site.cluster.create("untold", 1)
    await site.cluster.create("silent", 1, {"max.message.bytes": "77"})
    await site.make(f"{other}/brief")
    await site.once()
    await site.remove(f"{other}/untold", "maxMessageSize")
    enforcer = site.enforcer()
    async with following(enforcer):
        await site.reaches("untold", {})
        await site.set(f"{other}/brief", "maxMessageSize", 9)
        await site.reaches("public..other..brief", {"max.message.bytes": "9"})
        await site.remove(f"{other}/brief", "maxMessageSize")
        await site.reaches("public..other..brief", {})
        await Writing(site.node.engine).delete_namespace(other, site.node.asked(), force=True)
        for _ in range(200):
            if other not in (said := remembered(enforcer)):
                return
            await asyncio.sleep(0.005)
    raise AssertionError(said)


async def end_orders(site: Site, ended: str) -> None:
    """End `orders` by itself, or with its namespace, which is made anew."""
    if ended == "topic":
        await site.node.writing.delete_topic(parse_topic("orders"), site.node.asked())
    else:
        await site.cluster.delete("orders")
        await Writing(site.node.engine).delete_namespace("public/default", site.node.asked(), force=True)
        await site.node.writing.create_namespace("public/default", NamespaceRecord(), site.node.asked())


@pytest.mark.parametrize("coalesce_seconds", [0.001, 0.1])
@pytest.mark.parametrize("ended", ["topic", "namespace"])
async def test_what_it_set_in_a_topics_former_life_is_none_of_its_own_in_the_next(
    site: Site, monkeypatch: pytest.MonkeyPatch, ended: str, coalesce_seconds: float
) -> None:
    monkeypatch.setattr(enforcing, "COALESCE_SECONDS", coalesce_seconds)
    await site.make("orders")
    await site.set("orders", RETENTION, TEN_MINUTES)
    async with following(site.enforcer()):
        await site.reaches("orders", TEN_MINUTES_IN_KAFKA)
        await end_orders(site, ended)
        await asyncio.sleep(0.03)
        await site.make("orders")
        await site.cluster.alter("orders", {"retention.ms": "600000"})
        await site.set("orders", "maxMessageSize", 2000)
        await site.reaches("orders", {"retention.ms": "600000", "max.message.bytes": "2000"})


async def test_what_it_sets_while_a_topic_ends_is_none_of_its_own_in_a_life_that_comes_later(site: Site) -> None:
    await site.make("orders")
    await site.set("orders", RETENTION, TEN_MINUTES)
    enforcer, alter = site.enforcer(), site.cluster.alter

    async def alter_what_ends(name: str, settings: dict[str, str | None]) -> None:
        site.cluster.alter = alter
        await alter(name, settings)
        await end_orders(site, "topic")

    site.cluster.alter = alter_what_ends
    async with following(enforcer):
        for _ in range(1_000):
            if site.cluster.alter == alter and ORDERS not in remembered(enforcer):
                break
            await asyncio.sleep(0.005)
        await site.make("orders")
        await site.cluster.alter("orders", {"retention.ms": "600000"})
        await site.set("orders", "maxMessageSize", 2000)
        await site.reaches("orders", {"retention.ms": "600000", "max.message.bytes": "2000"})


@pytest.mark.parametrize("ended", ["topic", "namespace"])
async def test_a_topic_that_is_made_anew_at_once_with_the_same_policies_has_them_in_kafka_too(
    site: Site, monkeypatch: pytest.MonkeyPatch, ended: str
) -> None:
    monkeypatch.setattr(enforcing, "COALESCE_SECONDS", 0.1)
    await site.make("orders")
    await site.set("orders", RETENTION, TEN_MINUTES)
    async with following(site.enforcer()):
        await site.reaches("orders", TEN_MINUTES_IN_KAFKA)
        await end_orders(site, ended)
        await site.make("orders")
        await site.set("orders", RETENTION, TEN_MINUTES)
        await site.reaches("orders", TEN_MINUTES_IN_KAFKA)


async def test_a_long_history_that_is_read_slowly_is_read_to_its_end(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chain, "_BLOCK", 1)
    read, time, waited = site.node.log.read, asyncio.get_running_loop().time, 0.0

    async def read_slowly(partition: int, offset: int, limit: int) -> list[Entry]:
        nonlocal waited
        waited += former._PATIENCE_SECONDS / 2
        await asyncio.sleep(0)
        return await read(partition, offset, limit)

    await site.make("orders")
    await site.set("orders", "maxMessageSize", 5)
    await site.once()
    await site.remove("orders", "maxMessageSize")
    for number in range(10):
        await site.node.label(number=str(number))
    monkeypatch.setattr(site.node.log, "read", read_slowly)
    monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: time() + waited)
    await site.once()
    assert await site.own("orders") == {}
