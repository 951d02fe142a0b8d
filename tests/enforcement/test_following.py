"""An enforcer that follows the log: what it looks at, when, and what it does when Kafka is away."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

import pytest

from tests.enforcement.conftest import (
    ORDERS,
    RETENTION,
    TEN_MINUTES,
    TEN_MINUTES_IN_KAFKA,
    Site,
    append_unreadable,
    following,
)
from tests.runtime.nodes import turns
from tests.turning import counted_turns
from topicfold.enforcement import enforcer as enforcing
from topicfold.enforcement.reports import State
from topicfold.enforcement.wishes import Wishes
from topicfold.errors import ClusterRefused, ClusterUnavailable, NotEmpty, StateDiverged
from topicfold.model.names import TopicName, parse_topic
from topicfold.model.records import NamespaceRecord, TopicRecord
from topicfold.runtime.writing.writing import Writing


@asynccontextmanager
async def enforced(site: Site) -> AsyncIterator[None]:
    """Have a policy of the topic orders in Kafka, and somebody who sees to it."""
    await site.make("orders")
    await site.set("orders", "maxMessageSize", 5)
    async with following(site.enforcer()):
        await site.reaches("orders", {"max.message.bytes": "5"})
        yield


async def test_a_namespace_that_was_not_ended_has_its_topics_looked_at_no_more(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("bills", "orders"):
        await site.make(name)
        await site.set(name, "maxMessageSize", 5)
    asked, configurations = set[str](), site.cluster.configurations

    async def counted(names: Sequence[str]) -> object:
        asked.update(names)
        return await configurations(names)

    async with following(site.enforcer()):
        await site.reaches("orders", {"max.message.bytes": "5"})
        await site.reaches("bills", {"max.message.bytes": "5"})
        monkeypatch.setattr(site.cluster, "configurations", counted)
        with pytest.raises(NotEmpty):
            await Writing(site.node.engine).delete_namespace("public/default", site.node.asked())
        await site.set("bills", "maxMessageSize", 6)
        await site.reaches("bills", {"max.message.bytes": "6"})
    assert asked == {"bills"}


async def test_changes_in_the_log_arrive_while_it_follows(site: Site) -> None:
    await site.make("orders")
    async with following(site.enforcer()):
        await site.set("orders", RETENTION, TEN_MINUTES)
        await site.reaches("orders", TEN_MINUTES_IN_KAFKA)
        await site.set_namespace("maxMessageSize", 5)
        await site.reaches("orders", {**TEN_MINUTES_IN_KAFKA, "max.message.bytes": "5"})
        await site.remove("orders", RETENTION)
        await site.reaches("orders", {"max.message.bytes": "5"})
        await site.make("bills")
        await site.reaches("bills", {"max.message.bytes": "5"})
        await site.remove_namespace("maxMessageSize")
        await site.reaches("orders", {})
        await site.reaches("bills", {})


async def test_a_topic_whose_policies_cannot_reach_kafka_is_told_of_while_it_follows(site: Site) -> None:
    name = "non-persistent://public/default/brief"
    async with enforced(site):
        site.reports.clear()
        await site.make(name)
        await site.set(name, "maxMessageSize", 5)
        await site.set("orders", "maxMessageSize", 6)
        await site.reaches("orders", {"max.message.bytes": "6"})
    told = [(each.state, each.reason) for each in site.reports if each.name == name]
    assert told == [(State.SKIPPED, "non-persistent topics have no Kafka topic")]


async def test_records_that_are_none_of_topicfolds_keep_no_change_from_kafka(site: Site) -> None:
    async with enforced(site):
        site.node.log.store.append(site.node.engine.partition("public/default"), b"garbage")
        await site.set("orders", "maxMessageSize", 6)
        await site.reaches("orders", {"max.message.bytes": "6"})


async def test_an_outage_while_it_follows_is_told_and_waited_for_and_nothing_is_lost(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = asyncio.Event()
    monkeypatch.setattr(enforcing._log, "warning", lambda event, **_: told.set())
    await site.make("orders")
    async with following(site.enforcer()):
        site.cluster.is_reachable = False
        await site.set("orders", "maxMessageSize", 5)
        await told.wait()
        site.cluster.heal()
        await site.reaches("orders", {"max.message.bytes": "5"})


@pytest.mark.parametrize("retry_seconds", [0.01, 60.0])
async def test_a_change_during_an_outage_is_tried_again_after_a_while_and_not_before(
    site: Site, monkeypatch: pytest.MonkeyPatch, retry_seconds: float
) -> None:
    monkeypatch.setattr(enforcing, "RETRY_SECONDS", retry_seconds)
    async with enforced(site):
        tried, configurations = list[Sequence[str]](), site.cluster.configurations

        async def away(names: Sequence[str]) -> object:
            tried.append(names)
            raise ClusterUnavailable("no answer")

        site.cluster.configurations = away
        await site.set("orders", "maxMessageSize", 6)
        while not tried:  # noqa: ASYNC110 -- nobody is told
            await asyncio.sleep(0.001)
        await turns(50)
        site.cluster.configurations = configurations
        if retry_seconds < 1:
            await site.reaches("orders", {"max.message.bytes": "6"})
        else:
            assert tried == [["orders"]]


async def test_nothing_is_done_in_kafka_before_all_is_folded(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    await site.make("orders")
    await site.set("orders", "maxMessageSize", 5)
    gate = site.node.engine.readiness._open[0]
    gate.clear()
    async with following(site.enforcer()):
        await turns(50)
        assert await site.own("orders") == {}
        gate.set()
        await site.reaches("orders", {"max.message.bytes": "5"})


async def test_what_others_change_in_kafka_is_put_right_now_and_then(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(enforcing, "LOOK_AGAIN_SECONDS", 0.02)
    async with enforced(site):
        await site.cluster.alter("orders", {"max.message.bytes": "6", "retention.ms": "7"})
        await site.reaches("orders", {"max.message.bytes": "5", "retention.ms": "7"})


async def test_topics_are_looked_at_now_and_then_still_when_another_namespace_has_ended(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(enforcing, "LOOK_AGAIN_SECONDS", 0.02)
    await site.node.writing.create_namespace("public/other", NamespaceRecord(), site.node.asked())
    forgotten = asyncio.Event()
    monkeypatch.setattr(enforcing.FormerSayings, "forget_namespaces", lambda *_: forgotten.set())
    async with enforced(site):
        await Writing(site.node.engine).delete_namespace("public/other", site.node.asked())
        await forgotten.wait()
        await site.cluster.alter("orders", {"max.message.bytes": "6"})
        await site.reaches("orders", {"max.message.bytes": "5"})


@pytest.mark.parametrize("why", ["is_denied", "is_late"])
async def test_what_kafka_did_not_allow_or_show_is_tried_again_now_and_then(
    site: Site, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    monkeypatch.setattr(enforcing, "RETRY_SECONDS", 60.0)
    monkeypatch.setattr(enforcing, "LOOK_AGAIN_SECONDS", 0.02)
    async with enforced(site):
        alter = site.cluster.alter

        async def refuse_once(name: str, settings: dict[str, str | None]) -> None:
            site.cluster.alter = alter
            raise ClusterUnavailable("not so", **{why: True})

        site.cluster.alter = refuse_once
        await site.remove("orders", "maxMessageSize")
        await site.reaches("orders", {})


async def test_what_kafka_refuses_is_told_again_only_where_it_is_something_else(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(enforcing, "LOOK_AGAIN_SECONDS", 0.02)
    async with enforced(site):
        tries, alter = 0, site.cluster.alter

        async def refuse(name: str, settings: dict[str, str | None]) -> None:
            nonlocal tries
            tries += 1
            raise ClusterRefused("its policy forbids it", kafka_topic=name)

        site.cluster.alter = refuse
        for size in (6, 7):
            site.reports.clear()
            await site.set("orders", "maxMessageSize", size)
            before = tries
            while tries < before + 4:  # noqa: ASYNC110 -- nobody is told
                await asyncio.sleep(0.005)
            assert [report.state for report in site.reports] == [State.FAILED]
        site.cluster.alter = alter
        await site.reaches("orders", {"max.message.bytes": "7"})


@pytest.mark.parametrize("has_policies", [True, False])
async def test_labels_do_not_make_it_ask_kafka(site: Site, has_policies: bool) -> None:
    async with enforced(site):
        if not has_policies:
            await site.remove("orders", "maxMessageSize")
            await site.reaches("orders", {})
        asked = 0
        configurations = site.cluster.configurations

        async def counted(names: list[str]) -> object:
            nonlocal asked
            asked += len(names)
            return await configurations(names)

        site.cluster.configurations = counted
        for number in range(20):
            await site.node.label(number=str(number))
            await asyncio.sleep(0.002)
        assert asked == 0


async def test_a_change_of_many_topics_holds_up_nobody(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(enforcing, "_TOPICS_A_TURN", 5)
    for number in range(60):
        await site.make(f"t{number}")
    asked, of = Counter[int](), Wishes.of
    await site.set_namespace("maxMessageSize", 4)
    async with counted_turns() as turn, following(site.enforcer()):

        def counted(self: Wishes, name: TopicName) -> object:
            asked[turn()] += 1
            return of(self, name)

        monkeypatch.setattr(Wishes, "of", counted)
        await site.reaches("t59", {"max.message.bytes": "4"})
        await asyncio.sleep(0.02)
        await site.set_namespace("maxMessageSize", 5)
        await site.reaches("t59", {"max.message.bytes": "5"})
    assert max(asked.values()) < 30


async def test_two_enforcers_do_the_same_and_do_not_quarrel(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(enforcing, "LOOK_AGAIN_SECONDS", 0.02)
    await site.make("orders")
    alter, altered = site.cluster.alter, list[Mapping[str, str | None]]()

    async def noted(name: str, settings: Mapping[str, str | None]) -> None:
        altered.append(settings)
        await alter(name, settings)

    site.cluster.alter = noted
    async with following(site.enforcer()), following(site.enforcer()):
        for size in (5, 6, 7):
            await site.set("orders", "maxMessageSize", size)
            await site.reaches("orders", {"max.message.bytes": str(size)})
        await site.remove("orders", "maxMessageSize")
        await site.reaches("orders", {})
        await asyncio.sleep(0.1)
    assert 4 <= len(altered) <= 2 * 4


async def test_settings_that_could_not_be_read_are_looked_at_again_now_and_then(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(enforcing, "LOOK_AGAIN_SECONDS", 0.02)
    async with enforced(site):
        configurations = site.cluster.configurations

        async def denied(names: list[str]) -> object:
            return dict.fromkeys(names, ClusterUnavailable("not allowed", is_denied=True))

        site.cluster.configurations = denied
        await site.remove("orders", "maxMessageSize")
        while not site.reports[-1].line.startswith(f"failed {ORDERS}: not allowed"):  # noqa: ASYNC110 -- nobody is told
            await asyncio.sleep(0.005)
        site.cluster.configurations = configurations
        await site.reaches("orders", {})


async def test_what_was_set_for_a_record_is_taken_back_when_one_that_could_not_be_read_is_replaced(
    site: Site,
) -> None:
    async with enforced(site):
        append_unreadable(site)
        while site.reports[-1].reason != f"the record of {ORDERS} cannot be read":  # noqa: ASYNC110 -- nobody is told
            await asyncio.sleep(0.005)
        await Writing(site.node.engine).create_topic(parse_topic("orders"), TopicRecord(), site.node.asked())
        await site.reaches("orders", {})


async def test_a_partition_that_has_stopped_says_nothing_to_kafka(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(enforcing, "LOOK_AGAIN_SECONDS", 0.02)
    async with enforced(site):
        site.node.engine.reader.stop(StateDiverged("a bit flipped"), None)
        await site.cluster.alter("orders", {"max.message.bytes": "6"})
        while len(site.reports) < 2:  # noqa: ASYNC110 -- nobody is told
            await asyncio.sleep(0.005)
        await asyncio.sleep(0.05)
        assert await site.own("orders") == {"max.message.bytes": "6"}
    assert [each.line for each in site.reports[1:]] == [f"failed {ORDERS}: partition 1 has stopped: a bit flipped"]


async def test_who_has_looked_waits_for_news_or_a_while(site: Site) -> None:
    enforcer, now = site.enforcer(), asyncio.get_running_loop().time
    enforcer._look_again_at = now()
    await enforcer._next()
    assert enforcer._look_again_at > now()
    waiting = asyncio.create_task(enforcer._next())
    await turns(5)
    await asyncio.sleep(2 * enforcing.COALESCE_SECONDS)
    await turns(5)
    assert not waiting.done()
    enforcer._touched._are_there.set()
    await waiting
    assert not enforcer._touched._are_there.is_set()
