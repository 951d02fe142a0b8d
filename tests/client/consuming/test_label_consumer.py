"""What a consumer by label refuses to begin with, and how it ends; without a broker but for what is marked."""

from __future__ import annotations

import _thread
import gc
import itertools
import re
import sys
import threading
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from enum import Enum
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Message, TopicPartition

from tests.client.scripted import CONFIRMED, added, line, refusal, scripted, stream
from tests.client.served import serving
from tests.integration.consuming import Topics, read_all, read_for, read_until
from topicfold.client import Client, ExtraMissing, LabelConsumer, QueryUnconfirmed, RetryRule, ServerUnreachable
from topicfold.errors import BadSetting, Forbidden, InvalidPattern, InvalidRequest
from topicfold.wire.confirmation import query_text

CONF: Mapping[str, Any] = {"bootstrap.servers": "127.0.0.1:1", "group.id": "billing", "log_level": 0}
EVERYTHING = CONFIRMED.replace('"match":[]', '"match":["**"]')
RECORD = SimpleNamespace(error=lambda: None, topic=lambda: "orders", partition=lambda: 0)
START = line("BOOKMARK", "c0", initial=True)
Threads = Callable[[], set[str]]


@pytest.fixture
def topics(kafka_bootstrap: str) -> Topics:
    return Topics(kafka_bootstrap)


@pytest.fixture
def name(topics: Topics, client: Client) -> str:
    """A topic that is in Kafka, with the record "first", and has a record in Topicfold."""
    name = f"pay-{uuid.uuid4().hex}"
    topics.make(name)
    topics.produce(name, "first")
    client.create_topic(name)
    return name


@pytest.fixture
def threads() -> Threads:
    """Names those of our own threads that began in the test and still run after some seconds in which they may end."""
    others = threading.enumerate()

    def left() -> set[str]:
        ours = [each for each in threading.enumerate() if each.name.startswith("topicfold") and each not in others]
        for each in ours:
            each.join(10)
        return {each.name for each in ours if each.is_alive()}

    return left


@pytest.mark.parametrize("confirmed", [None, CONFIRMED, "something else"])
def test_it_does_not_start_where_the_server_does_not_say_what_it_understood(
    confirmed: str | None, threads: Threads
) -> None:
    with scripted(stream(added("orders"), START, confirmed=confirmed)) as server, pytest.raises(QueryUnconfirmed):
        LabelConsumer(CONF, match="**", url=server.url)
    assert not threads()


def test_it_does_not_start_where_nothing_is_asked_for(client: Client, threads: Threads) -> None:
    with pytest.raises(InvalidRequest) as refused:
        LabelConsumer(CONF, client=client)
    assert refused.value.hint.endswith('match="**" means every topic.')
    assert not threads()


def test_it_does_not_start_without_a_server(threads: Threads) -> None:
    with Client("http://127.0.0.1:1", retry=RetryRule(max_attempts=1)) as client, pytest.raises(ServerUnreachable):
        LabelConsumer(CONF, match="**", client=client)
    assert not threads()


@pytest.mark.parametrize("missing", ["group.id", "bootstrap.servers"])
def test_it_does_not_start_without_settings_that_kafka_needs(client: Client, missing: str, threads: Threads) -> None:
    conf = {name: value for name, value in CONF.items() if name != missing}
    with pytest.raises(BadSetting, match=re.escape(missing)):
        LabelConsumer(conf, match="**", client=client)
    assert not threads()


@pytest.mark.parametrize("value", ["5m", "0x61A80", ""])
def test_it_does_not_start_with_an_interval_of_polls_that_is_no_number(
    client: Client, value: str, threads: Threads
) -> None:
    with pytest.raises(BadSetting, match=r"max\.poll\.interval\.ms"):
        LabelConsumer({**CONF, "max.poll.interval.ms": value}, match="**", client=client)
    assert not threads()


def test_brokers_may_be_named_by_librdkafkas_other_name_for_them(client: Client) -> None:
    conf = {"metadata.broker.list": "127.0.0.1:1", "group.id": "billing", "log_level": 0}
    with LabelConsumer(conf, match="**", client=client) as consumer:
        assert consumer.poll(0) is None


def test_a_member_of_an_enumeration_says_by_its_value_what_is_consumed(client: Client) -> None:
    word = Enum("word", {"KEY": "team", "VALUE": "pay"}, type=str)
    with LabelConsumer(CONF, labels={word.KEY: word.VALUE}, client=client) as consumer:
        assert consumer.poll(0) is None


def test_it_takes_a_client_or_a_url(client: Client) -> None:
    with pytest.raises(InvalidRequest, match="both a client and a URL are given"):
        LabelConsumer(CONF, match="**", client=client, url=client.url)


def test_without_kafkas_library_it_says_what_to_install(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [
        name for name in sys.modules if name.startswith(("confluent_kafka", "topicfold.client.consuming.kafka_con"))
    ]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    with pytest.raises(ExtraMissing) as missing:
        LabelConsumer(CONF, match="**", client=client)
    assert "pip install 'topicfold[kafka]'" in missing.value.hint


def test_it_does_not_start_where_something_has_replaced_the_threads_that_it_needs(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_thread, "start_new_thread", lambda *_: None)
    with pytest.raises(BadSetting, match="needs threads") as refused:
        LabelConsumer(CONF, match="**", client=client)
    assert "gevent nor eventlet" in refused.value.hint


def test_a_pattern_that_is_refused_changes_nothing(client: Client) -> None:
    client.create_topic("pay__eu")
    with LabelConsumer(CONF, match="pay__*", client=client) as consumer:
        with pytest.raises(InvalidPattern, match="segment 1"):
            consumer.subscribe_pattern("pay*")
        assert list(consumer.matched_topics()) == ["persistent://public/default/pay__eu"]


def test_a_pattern_that_the_server_refused_is_asked_for_again_by_the_next_call() -> None:
    confirmed = [query_text(["public/default"], patterns=match) for match in (["orders"], ["orders", "pay"])]
    told = stream(added("orders"), START, confirmed=confirmed[0], stays_open=True)
    both = stream(added("orders"), added("pay"), START, confirmed=confirmed[1], stays_open=True)
    with (
        scripted(told, refusal(403, "forbidden"), both) as server,
        LabelConsumer(CONF, match="orders", url=server.url) as consumer,
    ):
        with pytest.raises(Forbidden):
            consumer.subscribe_pattern("pay")
        assert consumer.subscribe_pattern("pay").added == ("persistent://public/default/pay",)


def test_a_first_pattern_restricts_and_without_the_last_nothing_matches(client: Client) -> None:
    client.create_topic("pay__eu", labels={"team": "pay"})
    client.create_topic("pay__us", labels={"team": "pay"})
    with LabelConsumer(CONF, "team=pay", client=client) as consumer:
        assert consumer.subscribe_pattern("*__eu").removed == ("persistent://public/default/pay__us",)
        assert consumer.unsubscribe_pattern("*__eu").removed == ("persistent://public/default/pay__eu",)
        assert consumer.matched_topics() == {}


def test_what_on_topics_raises_keeps_no_later_change_from_being_told(client: Client) -> None:
    told: list[Any] = []

    def tell(*change: Any) -> None:
        told.append(change)
        raise LookupError

    names = ("pay__eu", "pay__us", "pay__de")
    for name in names:
        client.create_topic(name)
    with LabelConsumer(CONF, match="pay__eu", client=client, on_topics=tell) as consumer:
        consumer.subscribe_pattern("pay__us")
        for later in ("pay__de", None, None):
            with pytest.raises(LookupError):
                consumer.poll(10)
            if later:
                consumer.subscribe_pattern(later)
    assert told == [((f"persistent://public/default/{name}",), ()) for name in names]


@pytest.mark.parametrize(("call", "handed_out"), [("poll", RECORD), ("consume", [RECORD])])
def test_an_interrupt_after_records_were_handed_out_is_raised_by_the_next_call(
    client: Client, monkeypatch: pytest.MonkeyPatch, call: str, handed_out: Any
) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    with LabelConsumer(CONF, match="**", client=client) as consumer:
        monkeypatch.setattr(consumer._subscribed, call, lambda *_: handed_out)
        monkeypatch.setattr(consumer._subscribed, "store", interrupt)
        read = getattr(consumer, call)
        assert read(timeout=0) == handed_out
        with pytest.raises(KeyboardInterrupt):
            read(timeout=0)


def test_of_a_partition_that_was_revoked_and_came_back_just_what_came_after_that_is_returned(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, *after = (SimpleNamespace(**vars(RECORD)) for _ in range(3))
    steps = iter([([before], set()), ([], {("orders", 0)}), (after, set())])

    def consume(*_: Any) -> list[Any]:
        records, revoked = next(steps)
        consumer._subscribed._revoked |= revoked
        return records

    with LabelConsumer(CONF, match="**", client=client) as consumer:
        monkeypatch.setattr(consumer._subscribed, "consume", consume)
        monkeypatch.setattr(consumer._subscribed, "store", lambda _: None)
        returned = consumer.consume(2, timeout=10)
    assert list(map(id, returned)) == list(map(id, after))


def test_threads_that_change_patterns_at_the_same_time_lose_none(client: Client) -> None:
    names = [f"t{number}" for number in range(8)]
    for name in names:
        client.create_topic(name)
    with LabelConsumer(CONF, match="none", client=client) as consumer, ThreadPoolExecutor(8) as threads:
        added = [change.added for change in threads.map(consumer.subscribe_pattern, names)]
        assert added == [(f"persistent://public/default/{name}",) for name in names]
        assert len(consumer.matched_topics()) == 8


def test_a_refusal_later_on_is_raised_by_every_poll() -> None:
    told = stream(added("orders"), START, confirmed=EVERYTHING)
    with (
        scripted(told, refusal(403, "forbidden")) as server,
        LabelConsumer(CONF, match="**", url=server.url) as consumer,
    ):
        for _ in range(3):
            with pytest.raises(Forbidden):
                consumer.poll(10)
        assert list(consumer.matched_topics()) == ["persistent://public/default/orders"]


@pytest.mark.parametrize("ask", [LabelConsumer.pause, LabelConsumer.resume])
@pytest.mark.parametrize("given", [[1], ["orders"], "orders"])
def test_what_is_no_partition_is_neither_paused_nor_resumed(client: Client, ask: Any, given: Any) -> None:
    with LabelConsumer(CONF, match="**", client=client) as consumer, pytest.raises(TypeError, match="TopicPartition"):
        ask(consumer, given)


def test_offsets_are_stored_of_a_message_or_of_partitions_and_not_of_both(client: Client) -> None:
    offsets = [TopicPartition("orders", 0, 1)]
    with LabelConsumer({**CONF, "enable.auto.offset.store": False}, match="**", client=client) as consumer:
        with pytest.raises(ValueError, match="mutually exclusive"):
            consumer.store_offsets(message=Message("orders", 0, 0), offsets=offsets)
        with pytest.raises(ValueError, match="either message or offsets"):
            consumer.store_offsets()


def test_offsets_that_are_stored_without_the_caller_are_not_his_to_store(client: Client) -> None:
    offsets = [TopicPartition("orders", 0, 1)]
    with LabelConsumer(CONF, match="**", client=client) as consumer, pytest.raises(KafkaException) as raised:
        consumer.store_offsets(offsets=offsets)
    with Consumer(CONF) as kafka, pytest.raises(KafkaException) as expected:
        kafka.store_offsets(offsets=offsets)
    assert raised.value.args[0].code() == expected.value.args[0].code()
    assert "enable.auto.offset.store" in raised.value.args[0].str()


def test_closing_ends_every_thread_and_leaves_a_client_that_was_given(client: Client, threads: Threads) -> None:
    LabelConsumer(CONF, match="**", client=client).close()
    assert not threads()
    assert client.list_tenants()


def test_one_that_is_dropped_unclosed_leaves_no_thread(client: Client, threads: Threads) -> None:
    consumer = LabelConsumer(CONF, match="**", client=client)
    assert consumer.poll(0) is None
    del consumer
    gc.collect()
    assert not threads()


@pytest.mark.kafka
@pytest.mark.parametrize("callback", ["on_assign", "on_commit", "on_revoke"])
def test_what_a_callback_closes_is_closed_once_the_poll_that_calls_it_is_done(
    topics: Topics, client: Client, name: str, callback: str, threads: Threads
) -> None:
    closing: dict[str, Any] = {callback: lambda *_: consumer.close()}
    in_conf = closing if callback == "on_commit" else {}
    conf = topics.conf(**{"auto.commit.interval.ms": 100, **in_conf})
    consumer: LabelConsumer = LabelConsumer(conf, match=name, client=client, **({} if in_conf else closing))

    def read() -> None:
        with pytest.raises(RuntimeError, match="closed"):
            all(client.delete_topic(name) for _ in iter(consumer.poll, 0))

    reading = threading.Thread(target=read, daemon=True)
    reading.start()
    reading.join(60)
    assert not reading.is_alive()
    assert not threads()


@pytest.mark.kafka
def test_what_closing_takes_away_can_still_be_looked_at_in_the_cluster(
    topics: Topics, client: Client, name: str
) -> None:
    found: list[Any] = []
    look = lambda *_: found.extend([name in consumer.list_topics(name, 10).topics, bool(consumer.cluster_id(10))])  # noqa: E731
    consumer: LabelConsumer = LabelConsumer(topics.conf(), match=name, client=client, on_revoke=look)
    read_all(consumer, ["first"])
    consumer.close()
    assert found == [True, True]
    for question in [consumer.list_topics, consumer.cluster_id]:
        with pytest.raises(RuntimeError, match="closed"):
            question()


@pytest.mark.kafka
def test_closing_ends_what_other_threads_ask_again_and_again(topics: Topics, client: Client, name: str) -> None:
    consumer = LabelConsumer(topics.conf(), match="**", client=client)
    read_all(consumer, ["first"])
    asking = threading.Barrier(4)
    partition = TopicPartition(name, 0)

    def ask() -> None:
        consumer.get_watermark_offsets(partition, 10)
        asking.wait()
        with pytest.raises(RuntimeError, match="closed"):
            all(consumer.get_watermark_offsets(partition, 10) for _ in itertools.count())

    callers = [threading.Thread(target=ask, daemon=True) for _ in range(3)]
    for each in callers:
        each.start()
    asking.wait()
    closing = threading.Thread(target=consumer.close, daemon=True)
    closing.start()
    for each in [closing, *callers]:
        each.join(30)
        assert not each.is_alive()


def test_it_does_not_start_where_the_listing_takes_no_notice_of_properties(client: Client, threads: Threads) -> None:
    client.create_topic("pay-us", properties={"region": "us"})
    with pytest.raises(QueryUnconfirmed, match=r'properties {"region":"eu"} and does not say'):
        LabelConsumer(CONF, regex="pay-.*", properties={"region": "eu"}, client=client)
    assert not threads()


@pytest.mark.kafka
def test_a_regular_expression_takes_the_properties_along_to_the_listing(topics: Topics) -> None:
    eu, us, ship = (f"{name}-{uuid.uuid4().hex}" for name in ("pay-eu", "pay-us", "ship-eu"))
    with (
        serving(topic_listing="by-properties", enable_broker_topic_list_watcher=False) as (url,),
        Client(url) as client,
    ):
        for name in (eu, us, ship):
            topics.make(name)
            topics.produce(name, name)
            client.create_topic(name, properties={"env": "prod", "region": name.split("-")[1]})
        wanted = {"env": "prod", "region": "eu"}
        with LabelConsumer(topics.conf(), regex="pay-.*", properties=wanted, client=client) as consumer:
            read = read_all(consumer, [eu])
            read += read_for(consumer, 1)
            assert set(read) == {eu}
            client.patch_topic(us, {"properties": wanted})
            assert set(read_all(consumer, [us])) == {us}


@pytest.mark.kafka
def test_a_namespace_that_ends_is_consumed_again_once_it_is_back(topics: Topics) -> None:
    name = f"pay-{uuid.uuid4().hex}"
    wanted = {"region": "eu"}
    told: list[tuple[tuple[str, ...], tuple[str, ...]]] = []
    topics.make(name)
    topics.produce(name, "before")
    with serving(topic_listing="by-properties") as (url,), Client(url) as client:
        client.create_topic(name, properties=wanted)
        full = (f"persistent://public/default/{name}",)
        with LabelConsumer(
            topics.conf(), match="**", properties=wanted, client=client, on_topics=lambda *change: told.append(change)
        ) as consumer:
            read_all(consumer, ["before"])
            client.delete_namespace("public/default", force=True)
            read_until(consumer, lambda _: told == [(full, ()), ((), full)])
            client.create_namespace("public/default")
            client.create_topic(name, properties=wanted)
            topics.produce(name, "after")
            assert set(read_all(consumer, ["after"])) == {"after"}
