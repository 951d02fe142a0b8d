"""Effective policies in Kafka's settings: told, overridden, uncovered, and nothing else touched."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence

import pytest

from tests.builders import topic_put
from tests.enforcement.conftest import Site, following
from tests.runtime.kafka_nodes import LOG_TOPIC
from topicfold.enforcement import enforcer as enforcing
from topicfold.enforcement import former
from topicfold.enforcement.enforcer import Enforcer
from topicfold.enforcement.former import FormerSayings
from topicfold.enforcement.wishes import Wishes
from topicfold.errors import ClusterRefused, ClusterUnavailable, LogUnavailable, NotEmpty, StateDiverged, TopicNotFound
from topicfold.log import memory
from topicfold.log.codec import encode_event
from topicfold.log.memory import MemoryLog
from topicfold.log.port import Entry
from topicfold.model.names import TopicName, parse_topic
from topicfold.model.records import NamespaceRecord, Pending, Step, TopicRecord
from topicfold.runtime import chain
from topicfold.runtime.engine import Engine, EngineOptions
from topicfold.runtime.writing import Writing

RETENTION = "retentionPolicies"
TEN_MINUTES = {"retentionTimeInMinutes": 10, "retentionSizeInMB": 20}
TEN_MINUTES_IN_KAFKA = {"retention.ms": "600000", "retention.bytes": "20971520"}
HOUR = {"retentionTimeInMinutes": 60, "retentionSizeInMB": -1}
ORDERS = "persistent://public/default/orders"


def append_unreadable(site: Site) -> None:
    """Append, as a node of another version would, a version of `orders` that cannot be read."""
    state = site.node.engine.states[site.node.engine.partition("public/default")]
    life, base = state.namespaces["public/default"].incarnation, state.topics["public/default"].version("orders")
    site.node.log.store.append(state.partition, encode_event(topic_put(7, life, base, payload=b"\xff")))


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(enforcing, "COALESCE_SECONDS", 0.001)
    monkeypatch.setattr(enforcing, "RETRY_SECONDS", 0.01)


async def test_a_topics_policies_are_written_with_old_and_new_told(site: Site) -> None:
    await site.make("orders")
    await site.set("orders", RETENTION, TEN_MINUTES)
    await site.set("orders", "maxMessageSize", 2000)
    await site.set("orders", "compactionThreshold", 1)
    assert await site.once() == [
        f"changed {ORDERS}: retention.ms 604800000 -> 600000 (topic policy)",
        f"changed {ORDERS}: retention.bytes -1 -> 20971520 (topic policy)",
        f"changed {ORDERS}: max.message.bytes 1048588 -> 2000 (topic policy)",
        f"changed {ORDERS}: cleanup.policy delete -> compact,delete (topic policy)",
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
        f"changed {ORDERS}: retention.ms 3600000 -> (the cluster's) (no policy any more)"
    )
    assert await site.own("orders") == {"max.message.bytes": "2"}


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
    assert await site.once() == [f"changed {ORDERS}: retention.bytes 20971520 -> (the cluster's) (no policy any more)"]
    assert await site.own("orders") == foreign


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
    async def nothing(self: FormerSayings, name: TopicName, clean: int) -> frozenset[tuple[str, str]]:
        return frozenset()

    monkeypatch.setattr(FormerSayings, "of", nothing)
    await site.make("orders")
    await site.set("orders", "maxMessageSize", 9)
    enforcer = site.enforcer()
    await site.again(enforcer)
    await site.remove("orders", "maxMessageSize")
    await site.again(enforcer)
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


async def test_internal_topics_and_the_log_are_never_touched(site: Site) -> None:
    await site.set_namespace("maxMessageSize", 1)
    for name in (LOG_TOPIC, "__consumer_offsets", "_schemas"):
        await site.cluster.create(name, 1)
        record = TopicRecord(kafka_name=name)
        await site.node.writing.record_topic(parse_topic(f"r{name}"), record, site.node.asked())
    assert all(line.startswith("skipped") for line in await site.once())
    assert [await site.own(name) for name in (LOG_TOPIC, "__consumer_offsets", "_schemas")] == [{}, {}, {}]


async def test_a_kafka_topic_of_two_records_follows_the_one_of_its_name_and_the_other_is_told_of(site: Site) -> None:
    await site.make("orders")
    twin = TopicRecord(kafka_name="orders")
    await Writing(site.node.engine).record_topic(parse_topic("a-twin"), twin, site.node.asked())
    await site.set("orders", "maxMessageSize", 1)
    await site.set("a-twin", "maxMessageSize", 2)
    enforcer = site.enforcer()
    assert (await site.again(enforcer))[0].endswith(f"the Kafka topic orders is that of {ORDERS}")
    assert await site.own("orders") == {"max.message.bytes": "1"}
    assert await site.again(enforcer) == []


async def test_an_owner_whose_record_cannot_be_read_owns_its_kafka_topic_still(site: Site) -> None:
    await site.make("orders")
    twin = TopicRecord(kafka_name="orders")
    await Writing(site.node.engine).record_topic(parse_topic("a-twin"), twin, site.node.asked())
    await site.set("orders", "maxMessageSize", 1)
    await site.set("a-twin", "maxMessageSize", 2)
    enforcer = site.enforcer()
    await site.again(enforcer)
    append_unreadable(site)
    assert await site.again(enforcer) == [f"skipped {ORDERS}: the record of {ORDERS} cannot be read"]
    assert await site.own("orders") == {"max.message.bytes": "1"}


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


async def test_of_two_topics_that_stand_for_one_kafka_topic_the_first_counts_as_long_as_it_lives(site: Site) -> None:
    async def make(name: str, size: int) -> None:
        record = TopicRecord(kafka_name="shared")
        await Writing(site.node.engine).create_topic(parse_topic(name), record, site.node.asked())
        await site.set(name, "maxMessageSize", size)

    await site.cluster.create("shared", 1)
    await make("b", 9)
    enforcer = site.enforcer()
    assert len(await site.again(enforcer)) == 1
    await make("a", 5)
    skipped = (
        f"skipped {ORDERS.replace('orders', 'a')}: the Kafka topic shared is that of {ORDERS.replace('orders', 'b')}"
    )
    assert await site.again(enforcer) == [skipped]
    assert await site.own("shared") == {"max.message.bytes": "9"}
    await Writing(site.node.engine).delete_topic(parse_topic("b"), site.node.asked())
    await site.again(enforcer)
    assert await site.own("shared") == {"max.message.bytes": "5"}


async def test_a_kafka_topic_that_goes_while_it_is_looked_at_is_told_of_and_the_others_are_changed(site: Site) -> None:
    for name in ("gone", "orders"):
        await site.make(name)
        await site.set(name, "maxMessageSize", 9)
    site.refuse("gone", TopicNotFound("there is no such topic"))
    assert await site.once() == [
        f"skipped {ORDERS.replace('orders', 'gone')}: Kafka has no topic gone",
        f"changed {ORDERS}: max.message.bytes 1048588 -> 9 (topic policy)",
    ]


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
            parts = (enforcer, enforcer._former, enforcer._overrides, enforcer._owners)
            if ORDERS not in (said := repr([vars(part) for part in parts])):
                return
            await asyncio.sleep(0.005)
    raise AssertionError(said)


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
        if ended == "topic":
            await site.node.writing.delete_topic(parse_topic("orders"), site.node.asked())
        else:
            await site.cluster.delete("orders")
            await Writing(site.node.engine).delete_namespace("public/default", site.node.asked(), force=True)
            await site.node.writing.create_namespace("public/default", NamespaceRecord(), site.node.asked())
        await asyncio.sleep(0.03)
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
        if ended == "topic":
            await site.node.writing.delete_topic(parse_topic("orders"), site.node.asked())
        else:
            await site.cluster.delete("orders")
            await Writing(site.node.engine).delete_namespace("public/default", site.node.asked(), force=True)
            await site.node.writing.create_namespace("public/default", NamespaceRecord(), site.node.asked())
        await site.make("orders")
        await site.set("orders", RETENTION, TEN_MINUTES)
        await site.reaches("orders", TEN_MINUTES_IN_KAFKA)


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


async def test_a_compacted_topic_is_trimmed_as_long_as_a_retention_takes_effect(site: Site) -> None:
    await site.make("orders")
    await site.set("orders", "compactionThreshold", 1)
    await site.once()
    assert await site.own("orders") == {"cleanup.policy": "compact"}
    await site.set_namespace(RETENTION, HOUR)
    assert f"changed {ORDERS}: cleanup.policy compact -> compact,delete (topic policy)" in await site.once()
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
    site.refuse("a", ClusterRefused("its policy is against it", kafka_topic="a"))
    lines = await site.once()
    assert lines[0] == (
        "failed persistent://public/default/a: max.message.bytes 1048588 -> 1 (its policy is against it)"
    )
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
    monkeypatch.setattr(memory, "_BATCH", 1)
    for number in range(10):
        await site.make(f"t{number}")
    engine = await Engine.start(SlowLog(site.node.log.store), EngineOptions(request_timeout_seconds=0.1))
    enforcer = Enforcer(engine, site.cluster, site.reports.append)
    await enforcer.catch_up()
    assert len(enforcer.names()) == 10
    await engine.stop()


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


async def test_an_outage_while_it_follows_is_waited_for_and_nothing_is_lost(site: Site) -> None:
    await site.make("orders")
    async with following(site.enforcer()):
        site.cluster.is_reachable = False
        await site.set("orders", "maxMessageSize", 5)
        await asyncio.sleep(0.03)
        site.cluster.heal()
        await site.reaches("orders", {"max.message.bytes": "5"})


async def test_what_others_change_in_kafka_is_put_right_now_and_then(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(enforcing, "LOOK_AGAIN_SECONDS", 0.02)
    await site.make("orders")
    await site.set("orders", "maxMessageSize", 5)
    async with following(site.enforcer()):
        await site.reaches("orders", {"max.message.bytes": "5"})
        await site.cluster.alter("orders", {"max.message.bytes": "6", "retention.ms": "7"})
        await site.reaches("orders", {"max.message.bytes": "5", "retention.ms": "7"})


@pytest.mark.parametrize("why", ["is_denied", "is_late"])
async def test_what_kafka_did_not_allow_or_show_is_tried_again_now_and_then(
    site: Site, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    monkeypatch.setattr(enforcing, "RETRY_SECONDS", 60.0)
    monkeypatch.setattr(enforcing, "LOOK_AGAIN_SECONDS", 0.02)
    await site.make("orders")
    await site.set("orders", "maxMessageSize", 5)
    async with following(site.enforcer()):
        await site.reaches("orders", {"max.message.bytes": "5"})
        alter = site.cluster.alter

        async def refuse_once(name: str, settings: dict[str, str | None]) -> None:
            site.cluster.alter = alter
            raise ClusterUnavailable("not so", **{why: True})

        site.cluster.alter = refuse_once
        await site.remove("orders", "maxMessageSize")
        await site.reaches("orders", {})


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


async def test_labels_do_not_make_it_ask_kafka(site: Site) -> None:
    await site.make("orders")
    await site.set("orders", "maxMessageSize", 5)
    async with following(site.enforcer()):
        await site.reaches("orders", {"max.message.bytes": "5"})
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
    turns, asked, of = 0, Counter[int](), Wishes.of

    def counted(self: Wishes, name: TopicName) -> object:
        asked[turns] += 1
        return of(self, name)

    async def take_turns() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    monkeypatch.setattr(Wishes, "of", counted)
    await site.set_namespace("maxMessageSize", 4)
    async with following(site.enforcer()):
        others = asyncio.create_task(take_turns())
        await site.reaches("t59", {"max.message.bytes": "4"})
        await asyncio.sleep(0.02)
        await site.set_namespace("maxMessageSize", 5)
        await site.reaches("t59", {"max.message.bytes": "5"})
        others.cancel()
    assert max(asked.values()) < 30


async def test_two_enforcers_do_the_same_and_do_not_quarrel(site: Site) -> None:
    await site.make("orders")
    async with following(site.enforcer()), following(site.enforcer()):
        for size in (5, 6, 7):
            await site.set("orders", "maxMessageSize", size)
            await site.reaches("orders", {"max.message.bytes": str(size)})
        await site.remove("orders", "maxMessageSize")
        await site.reaches("orders", {})


async def test_a_record_that_cannot_be_read_is_told_of_and_its_kafka_topic_keeps_what_it_has(site: Site) -> None:
    await site.make("orders")
    await site.set("orders", RETENTION, TEN_MINUTES)
    await site.once()
    state = site.node.engine.states[site.node.engine.partition("public/default")]
    table = state.topics["public/default"]
    number = table.numbers["orders"]
    kept = table._payloads[number]
    table._payloads[number] = b"\xff"
    assert await site.once() == [f"skipped {ORDERS}: the record of {ORDERS} cannot be read"]
    table._payloads[number] = kept
    assert await site.own("orders") == TEN_MINUTES_IN_KAFKA


async def test_settings_that_could_not_be_read_are_looked_at_again_now_and_then(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(enforcing, "LOOK_AGAIN_SECONDS", 0.02)
    await site.make("orders")
    await site.set("orders", "maxMessageSize", 5)
    async with following(site.enforcer()):
        await site.reaches("orders", {"max.message.bytes": "5"})
        configurations = site.cluster.configurations

        async def denied(names: list[str]) -> object:
            return dict.fromkeys(names, ClusterUnavailable("not allowed", is_denied=True))

        site.cluster.configurations = denied
        await site.remove("orders", "maxMessageSize")
        await asyncio.sleep(0.05)
        site.cluster.configurations = configurations
        await site.reaches("orders", {})


async def test_a_topic_has_its_say_once_the_owner_of_its_kafka_topic_is_gone(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(enforcing, "LOOK_AGAIN_SECONDS", 0.02)
    await site.make("orders")
    twin = TopicRecord(kafka_name="orders")
    await Writing(site.node.engine).record_topic(parse_topic("a-twin"), twin, site.node.asked())
    await site.set("orders", "maxMessageSize", 1)
    await site.set("a-twin", "maxMessageSize", 2)
    async with following(site.enforcer()):
        await site.reaches("orders", {"max.message.bytes": "1"})
        await site.node.writing.delete_topic(parse_topic("orders"), site.node.asked())
        await site.reaches("orders", {"max.message.bytes": "2"})


async def test_what_was_set_for_a_record_is_taken_back_when_one_that_could_not_be_read_is_replaced(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(enforcing, "LOOK_AGAIN_SECONDS", 0.02)
    await site.make("orders")
    await site.set("orders", "maxMessageSize", 5)
    async with following(site.enforcer()):
        await site.reaches("orders", {"max.message.bytes": "5"})
        append_unreadable(site)
        await asyncio.sleep(0.05)
        assert site.reports[-1].reason == f"the record of {ORDERS} cannot be read"
        await Writing(site.node.engine).create_topic(parse_topic("orders"), TopicRecord(), site.node.asked())
        await site.reaches("orders", {})


async def test_a_partition_that_has_stopped_says_nothing_to_kafka(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(enforcing, "LOOK_AGAIN_SECONDS", 0.02)
    await site.make("orders")
    await site.set("orders", "maxMessageSize", 5)
    async with following(site.enforcer()):
        await site.reaches("orders", {"max.message.bytes": "5"})
        site.node.engine.reader.stop(StateDiverged("a bit flipped"), None)
        await site.cluster.alter("orders", {"max.message.bytes": "6"})
        await asyncio.sleep(0.05)
        assert await site.own("orders") == {"max.message.bytes": "6"}
    assert [each.line for each in site.reports[1:]] == [f"skipped {ORDERS}: partition 1 has stopped: a bit flipped"]


async def test_who_has_looked_waits_for_news_or_a_while(site: Site) -> None:
    enforcer, now = site.enforcer(), asyncio.get_running_loop().time
    enforcer._look_again_at = now()
    await enforcer._next()
    assert enforcer._look_again_at > now()
    enforcer._is_due.set()
    await enforcer._next()
    assert not enforcer._is_due.is_set()
