"""Consuming by label on a real broker and a real server: what comes is read from its start, what goes is dropped."""

from __future__ import annotations

import logging
import math
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import Any

import pytest
from confluent_kafka import Consumer, ConsumerGroupState, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from tests.client.waiting import eventually
from tests.integration.consuming import PROTOCOLS, QUIET, Place, read_all, read_for, read_until
from topicfold.client import LabelConsumer, NetChange
from topicfold.client.consuming import subscribed_consumer

pytestmark = pytest.mark.kafka


@pytest.fixture(params=PROTOCOLS)
def protocol(request: pytest.FixtureRequest) -> dict[str, Any]:
    """The settings of a protocol."""
    return PROTOCOLS[request.param]


def slowly(holds: Callable[[Counter[str]], bool]) -> Callable[[Counter[str]], bool]:
    """Return the same condition, looked at 30 ms after each record."""

    def later(read: Counter[str]) -> bool:
        time.sleep(0.03)
        return holds(read)

    return later


def test_what_matches_is_read_from_its_first_record_and_nothing_else_is(place: Place, protocol: dict[str, Any]) -> None:
    wanted = place.make("orders", 5, team="pay")
    place.make("parcels", 5, team="ship")
    with LabelConsumer(place.topics.conf(**protocol), "team=pay", client=place.client) as consumer:
        assert set(read_all(consumer, wanted)) == set(wanted)
        assert not read_for(consumer, 0.5)
        assert list(consumer.matched_topics()) == [place.full("orders")]


def test_a_topic_that_comes_to_match_is_read_within_a_moment_from_its_first_record(
    place: Place, protocol: dict[str, Any]
) -> None:
    told: list[NetChange] = []
    conf = place.topics.conf(**protocol)
    on_topics = lambda added, removed: told.append(NetChange(added, removed))  # noqa: E731
    with LabelConsumer(conf, "team=pay", client=place.client, on_topics=on_topics) as consumer:
        assert not read_for(consumer, 0.3)
        values = place.make("orders", 5)
        place.label("orders", team="pay")
        # A second on a machine that does nothing else; scripts/bench measures it.
        assert read_until(consumer, lambda read: bool(read)).keys() <= set(values)
        assert told == [NetChange((place.full("orders"),))]


def test_a_topic_that_matches_no_longer_is_dropped_after_what_had_arrived(
    place: Place, protocol: dict[str, Any]
) -> None:
    first = place.make("orders", 20, team="pay")
    with LabelConsumer(place.topics.conf(**protocol), "team=pay", client=place.client) as consumer:
        read = read_until(consumer, lambda read: len(read) >= 1)
        place.unlabel("orders", "team")
        # Slower than changes settle, so that there are records left when the topic goes.
        read += read_until(consumer, slowly(lambda more: set(first) <= (read + more).keys()))
        read_until(consumer, lambda _: not consumer.assignment())
        place.produce("orders", 5, start=20)
        assert not read_for(consumer, 1)
        assert (consumer.matched_topics(), consumer.poll(0)) == ({}, None)


def test_offsets_are_kept_for_each_group_and_win_over_the_earliest(place: Place) -> None:
    first = place.make("orders", 5, team="pay")
    conf = place.topics.conf()
    with LabelConsumer(conf, "team=pay", client=place.client) as consumer:
        read_all(consumer, first)
        consumer.commit(asynchronous=False)
    second = place.produce("orders", 5, start=5)
    with LabelConsumer(conf, "team=pay", client=place.client) as consumer:
        assert set(read_all(consumer, second)) == set(second)
    with LabelConsumer(place.topics.conf(), "team=pay", client=place.client) as other:
        assert set(read_all(other, first + second)) == {*first, *second}


def test_told_otherwise_a_topic_is_read_from_its_end(place: Place) -> None:
    place.make("orders", 5, team="pay")
    conf = place.topics.conf(**{"auto.offset.reset": "latest"})
    with LabelConsumer(conf, "team=pay", client=place.client) as consumer:
        read_until(consumer, lambda _: bool(consumer.assignment()))
        assert not read_for(consumer, 1)
        later = place.produce("orders", 3, start=5)
        assert set(read_all(consumer, later)) == set(later)


def test_records_that_are_empty_or_have_no_value_are_records(place: Place) -> None:
    place.make("orders", team="pay")
    values = ["first", None, "", "last"]
    place.topics.produce(place.kafka("orders"), *values)
    with LabelConsumer(place.topics.conf(), "team=pay", client=place.client) as consumer:
        read = [consumer.poll(60) for _ in values]
    found = [message.value() for message in read if message is not None]
    assert Counter(found) == Counter(None if value is None else value.encode() for value in values)


def test_consume_returns_records_of_several_topics_at_once(place: Place) -> None:
    values = place.make("orders", 3, team="pay") + place.make("refunds", 3, team="pay")
    with LabelConsumer(place.topics.conf(), "team=pay", client=place.client) as consumer:
        messages = consumer.consume(6, 60)
        assert sorted(message.value().decode() for message in messages) == sorted(values)
        assert consumer.consume(1, 0.2) == []


def test_what_consume_holds_is_committed_only_once_it_was_returned(place: Place) -> None:
    values = place.make("orders", 5, team="pay")
    conf = place.topics.conf(**{"enable.auto.commit": False})
    partitions = [TopicPartition(place.kafka("orders"), number) for number in (0, 1)]
    returned: list[Any] = []
    with LabelConsumer(conf, "team=pay", client=place.client) as consumer:

        def positions() -> list[int]:
            return [each.offset for each in consumer.position(partitions)]

        reading = threading.Thread(target=lambda: returned.extend(consumer.consume(6, 60)))
        reading.start()
        eventually(lambda: sum(max(each, 0) for each in positions()) == 5, 30)
        with pytest.raises(KafkaException, match="No offset stored"):
            consumer.commit(asynchronous=False)
        values += place.produce("orders", 1, start=5)
        reading.join()
        assert sorted(message.value().decode() for message in returned) == values
        consumer.commit(asynchronous=False)
        assert [each.offset for each in consumer.committed(partitions)] == positions()


def labelling(place: Place, **labels: str) -> threading.Timer:
    """Label the topic refunds in two seconds."""
    timer = threading.Timer(2, place.label, ["refunds"], labels)
    timer.start()
    return timer


def test_consume_takes_in_what_comes_to_match_while_it_holds_records(place: Place) -> None:
    values = place.make("orders", 3, team="pay") + place.make("refunds", 5)
    with LabelConsumer(place.topics.conf(), "team=pay", client=place.client) as consumer:
        labelling(place, team="pay")
        messages = consumer.consume(8, 30)
        assert sorted(message.value().decode() for message in messages) == sorted(values)


def test_consume_returns_what_it_holds_of_a_topic_before_that_is_left(place: Place, protocol: dict[str, Any]) -> None:
    values = place.make("refunds", 5, team="pay")
    conf = place.topics.conf(**protocol, **{"enable.auto.offset.store": False})
    with LabelConsumer(conf, "team=pay", client=place.client) as consumer:
        began = time.monotonic()
        labelling(place, team="ship")
        messages = consumer.consume(8, 60)
        assert sorted(message.value().decode() for message in messages) == values
        assert time.monotonic() - began < 30
        for message in messages:
            consumer.store_offsets(message)
        read_until(consumer, lambda _: not consumer.assignment())


@pytest.mark.parametrize("read", [LabelConsumer.poll, LabelConsumer.consume])
def test_a_thread_can_close_it_while_another_polls(
    place: Place, protocol: dict[str, Any], read: Callable[[LabelConsumer], Any]
) -> None:
    place.make("orders", team="pay")
    assigned, ended = threading.Event(), threading.Event()
    conf = place.topics.conf(**protocol)
    consumer = LabelConsumer(conf, "team=pay", client=place.client, on_assign=lambda *_: assigned.set())

    def read_on() -> None:
        with pytest.raises(RuntimeError, match="Consumer closed"):
            read(consumer)
        ended.set()

    threading.Thread(target=read_on, daemon=True).start()
    assert assigned.wait(30)
    threading.Thread(target=consumer.close, daemon=True).start()
    assert ended.wait(30)


@pytest.mark.parametrize("error", [LookupError, KeyboardInterrupt])
def test_what_goes_wrong_while_consume_holds_records_is_raised_by_the_next_call(
    place: Place, error: type[BaseException]
) -> None:
    values = place.make("orders", 3, team="pay")
    place.make("refunds")

    def tell(added: tuple[str, ...], _: tuple[str, ...]) -> None:
        if place.full("refunds") in added:
            raise error

    with LabelConsumer(place.topics.conf(), "team=pay", client=place.client, on_topics=tell) as consumer:
        labelling(place, team="pay")
        assert sorted(message.value().decode() for message in consumer.consume(8, 30)) == values
        with pytest.raises(error):
            consumer.poll(0)
        assert consumer.poll(0) is None


def commit_now(kafka: Consumer, _: Any) -> None:
    kafka.commit(asynchronous=False)


def test_closing_ends_everything_though_kafkas_client_refuses_what_a_callback_asks_of_it(place: Place) -> None:
    before = set(threading.enumerate())
    conf = place.topics.conf(**{"enable.auto.commit": False, "enable.auto.offset.store": False})
    consumer = LabelConsumer(conf, "team=pay", client=place.client, on_revoke=commit_now)
    read_all(consumer, place.make("orders", 5, team="pay"))
    with pytest.raises(KafkaException, match="No offset stored"):
        consumer.close()
    eventually(lambda: set(threading.enumerate()) <= before)


def test_members_of_a_group_with_different_patterns_each_read_only_their_own(
    place: Place, protocol: dict[str, Any]
) -> None:
    pay = place.make("pay__eu", 20) + place.make("pay__us", 20)
    ship = place.make("ship__eu", 20)
    conf = place.topics.conf(**protocol)
    with (
        LabelConsumer(conf, match="pay__*", client=place.client) as one,
        LabelConsumer(conf, match="ship__*", client=place.client) as other,
    ):
        ours = read_until(one, lambda _: bool(one.assignment()))
        theirs = read_all(other, ship)
        ours += read_all(one, set(pay) - ours.keys())
        later = place.make("ship__us", 5)
        theirs += read_all(other, later)
        assert not read_for(one, 1)
        assert (set(ours), set(theirs)) == (set(pay), {*ship, *later})


@pytest.mark.parametrize(("own_id", "remain"), [(False, 2), (True, 3)])
def test_a_member_without_partitions_leaves_its_group_when_it_is_closed_unless_it_has_an_id_of_its_own_there(
    place: Place, protocol: dict[str, Any], own_id: bool, remain: int
) -> None:
    def members(state: ConsumerGroupState | None = None) -> int:
        described = admin.describe_consumer_groups([conf["group.id"]])[conf["group.id"]].result()
        return len(described.members) if state in {None, described.state} else 0

    def consumer(number: int) -> LabelConsumer:
        own = {"group.instance.id": str(number)} if own_id else {}
        return LabelConsumer({**conf, **own}, "team=pay", client=place.client)

    conf = place.topics.conf(**protocol)
    admin = AdminClient({"bootstrap.servers": place.topics.bootstrap, **QUIET})
    place.make("orders", team="pay")
    with consumer(0) as one, consumer(1) as other, consumer(2) as third:
        consumers = {one, other, third}
        shares = lambda: sorted(len(each.assignment()) for each in consumers if each.poll(0.1) is None)  # noqa: E731
        eventually(lambda: shares() == [0, 1, 1] and members(ConsumerGroupState.STABLE) == 3, 60)
        shares()
        next(each for each in consumers if not each.assignment()).close()
        eventually(lambda: members() == remain, 30)


def test_a_member_that_comes_back_under_its_own_id_takes_its_place_at_once(place: Place) -> None:
    conf = place.topics.conf(**{"group.instance.id": "one"})
    with (
        LabelConsumer(conf, "team=pay", client=place.client) as former,
        LabelConsumer(conf, "team=pay", client=place.client) as come_back,
    ):
        read_all(former, place.make("orders", 5, team="pay"))
        wanted = place.produce("orders", 5, start=5)
        assert set(read_all(come_back, wanted)) >= set(wanted)


def test_patterns_can_be_subscribed_to_and_unsubscribed_and_tell_the_net_change(
    place: Place, protocol: dict[str, Any]
) -> None:
    pay, ship = place.make("pay__eu", 5), place.make("ship__eu", 5)
    with LabelConsumer(place.topics.conf(**protocol), match="pay__*", client=place.client) as consumer:
        read_all(consumer, pay)
        assert consumer.subscribe_pattern("*__eu") == NetChange((place.full("ship__eu"),))
        read_all(consumer, ship)
        assert consumer.unsubscribe_pattern("pay__*") == NetChange()
        assert consumer.unsubscribe_pattern("*__eu") == NetChange((), (place.full("pay__eu"), place.full("ship__eu")))
        read_until(consumer, lambda _: not consumer.assignment())
        place.produce("pay__eu", 5, start=5)
        assert not read_for(consumer, 0.5)
        assert consumer.subscribe_pattern("ship__*") == NetChange((place.full("ship__eu"),))


def test_a_topic_made_anew_is_read_from_its_first_record_whatever_was_committed_for_the_former(
    place: Place, protocol: dict[str, Any]
) -> None:
    first = place.make("orders", 20, team="pay")
    conf = place.topics.conf(**protocol, **{"auto.commit.interval.ms": 50})
    with LabelConsumer(conf, "team=pay", client=place.client) as consumer:
        read_all(consumer, first)
        place.topics.delete(place.kafka("orders"))
        place.topics.make(place.kafka("orders"))
        anew = place.produce("orders", 40, start=100)
        assert set(read_all(consumer, anew)) == set(anew)


def make_anew(place: Place, name: str) -> None:
    """Delete a topic in Kafka, and make it."""
    place.topics.delete(place.kafka(name))
    place.topics.make(place.kafka(name))


def test_what_a_member_commits_late_for_the_former_topic_hides_nothing_of_the_one_made_anew(
    place: Place, protocol: dict[str, Any]
) -> None:
    first = place.make("orders", 20, team="pay")
    conf = place.topics.conf(**protocol, **{"enable.auto.commit": False})
    with LabelConsumer(conf, "team=pay", client=place.client) as consumer:
        read_all(consumer, first)
        make_anew(place, "orders")
        consumer.commit(
            offsets=[TopicPartition(place.kafka("orders"), each, 10) for each in (0, 1)], asynchronous=False
        )
        anew = place.produce("orders", 40, start=100)
        read_all(consumer, anew)
    with LabelConsumer(conf, "team=pay", client=place.client) as consumer:
        assert set(read_all(consumer, anew)) == set(anew)


def test_what_was_committed_for_a_topic_made_anew_is_not_read_again_when_a_member_leaves(
    place: Place, protocol: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subscribed_consumer, "_distrust_seconds", lambda _: 3.0)
    first = place.make("orders", 20, team="pay")
    conf = place.topics.conf(**protocol, **{"enable.auto.commit": False})
    with LabelConsumer(conf, "team=pay", client=place.client) as one:
        with LabelConsumer(conf, "team=pay", client=place.client) as other:
            read_by_two(one, other, first)
            make_anew(place, "orders")
            # By then both have noticed, each has a partition, and the group's offsets are trusted.
            read_by_two(one, other, [], seconds=14)
            read_by_two(one, other, place.produce("orders", 40, start=100))
        read = read_until(one, lambda _: len(one.assignment()) == 2)
        assert not read + read_for(one, 2)


def read_by_two(one: LabelConsumer, other: LabelConsumer, wanted: Collection[str], seconds: float = 0.0) -> None:
    """Have two members read these values and commit them, each of a partition; go on for some seconds after that."""
    read, began, done_at = set[str](), time.monotonic(), math.inf
    while time.monotonic() < done_at + seconds:
        assert time.monotonic() < began + 60, f"read {sorted(read)}"
        read |= read_and_commit(one) | read_and_commit(other)
        if done_at == math.inf and set(wanted) <= read and len(one.assignment()) == len(other.assignment()) == 1:
            done_at = time.monotonic()


def read_and_commit(consumer: LabelConsumer) -> set[str]:
    """Return the value of the next record if it comes soon and its offset can be committed, which it is then."""
    message = consumer.poll(0.05)
    if message is None or message.error() is not None:
        return set()
    try:
        consumer.commit(message, asynchronous=False)
    except KafkaException:
        # The group is being joined anew. A partition that stays would go on behind the record.
        with suppress(KafkaException):
            consumer.seek(TopicPartition(message.topic() or "", message.partition() or 0, message.offset() or 0))
        return set()
    return {message.value().decode()}


def test_a_match_without_a_kafka_topic_is_reported_and_read_when_there_is_one(
    place: Place, protocol: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    place.client.create_topic(place.full("orders"), labels={"team": "pay"})
    with (
        caplog.at_level(logging.WARNING, "topicfold.client"),
        LabelConsumer(place.topics.conf(**protocol), "team=pay", client=place.client) as consumer,
    ):
        read_for(consumer, 4)
        assert consumer.missing_topics() == (place.full("orders"),)
        assert [each.getMessage() for each in caplog.records] == [
            f"matched, but no such topic is in Kafka (yet), or none to Describe: {place.kafka('orders')}"
        ]
        place.topics.make(place.kafka("orders"))
        values = place.produce("orders", 5)
        read_all(consumer, values)
        assert consumer.missing_topics() == ()


def test_a_name_that_would_be_a_regular_expression_for_kafka_subscribes_to_nothing(place: Place) -> None:
    place.make("orders", 5, team="ship")
    default = f"persistent://public/default/^.*{uuid.uuid4().hex}?"
    place.client.create_topic(default, labels={"team": "pay"})
    with LabelConsumer(place.topics.conf(), match="**", namespaces="public/default", client=place.client) as consumer:
        assert default in consumer.missing_topics()
        assert not read_for(consumer, 1)
    place.client.delete_topic(default)


def test_a_topic_that_stands_for_a_kafka_topic_of_another_name_is_read_there(place: Place) -> None:
    elsewhere = f"elsewhere-{uuid.uuid4().hex}"
    place.topics.make(elsewhere)
    place.topics.produce(elsewhere, "here")
    place.make("orders", 3)
    place.client.delete_topic(place.full("orders"))
    place.client.create_topic(place.full("orders"), kafka_name=elsewhere, labels={"team": "pay"})
    with LabelConsumer(place.topics.conf(), "team=pay", client=place.client) as consumer:
        assert set(read_all(consumer, ["here"])) == {"here"}
