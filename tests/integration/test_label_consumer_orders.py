"""Consuming by label where steps come in an order that is rare: what is assigned, returned and committed all the same.

Slices of two seconds make it the rule that one poll is assigned a partition and returns its first record.
"""

from __future__ import annotations

import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from tests.client.waiting import eventually
from tests.integration.consuming import PROTOCOLS, Place, read_all, read_for, read_until
from topicfold.client import LabelConsumer
from topicfold.client.consuming import label_consumer
from topicfold.client.consuming.assignment_check import AssignmentCheck

pytestmark = pytest.mark.kafka

EAGER = {"group.protocol": "classic", "partition.assignment.strategy": "range"}


@pytest.fixture(params=[*PROTOCOLS, "eager"])
def protocol(request: pytest.FixtureRequest) -> dict[str, Any]:
    """The settings of a protocol."""
    return {**PROTOCOLS, "eager": EAGER}[request.param]


@pytest.fixture
def rejoin(monkeypatch: pytest.MonkeyPatch) -> Callable[[LabelConsumer], Counter[str]]:
    """Has a consumer find that Kafka's client got stuck, so that it is another one; returns what is read meanwhile."""

    def rejoin(consumer: LabelConsumer) -> Counter[str]:
        answers = [True]
        monkeypatch.setattr(AssignmentCheck, "is_stuck", lambda *_: bool(answers and answers.pop()))
        read = read_until(consumer, lambda _: not answers)
        return read + read_until(consumer, lambda _: len(consumer.assignment()) == 2)

    return rejoin


def partitions(place: Place, name: str, *offsets: int) -> list[TopicPartition]:
    """Return the two partitions of a topic."""
    return [TopicPartition(place.kafka(name), number, *offsets) for number in (0, 1)]


class Interrupted(Exception):
    """What the handler of a signal raises."""


@pytest.mark.parametrize("read", [LabelConsumer.poll, lambda consumer, seconds: consumer.consume(20, seconds)])
def test_a_signal_that_interrupts_a_poll_costs_no_record(place: Place, read: Callable[..., Any]) -> None:
    def interrupt(*_: Any) -> None:
        raise Interrupted

    def feed() -> None:
        for start in range(0, 100, 10):
            values.extend(place.produce("orders", 10, start=start))
            time.sleep(0.05)

    values = place.make("orders", 0, team="pay")
    before = signal.signal(signal.SIGALRM, interrupt)
    feeding = threading.Thread(target=feed)
    returned: Counter[str] = Counter()
    end = time.monotonic() + 60
    try:
        with LabelConsumer(place.topics.conf(), "team=pay", client=place.client) as consumer:
            feeding.start()
            while (feeding.is_alive() or len(returned) < 100) and time.monotonic() < end:
                try:
                    signal.setitimer(signal.ITIMER_REAL, 0.03 if feeding.is_alive() else 0)
                    found = read(consumer, 0.5)
                    signal.setitimer(signal.ITIMER_REAL, 0)
                except Interrupted:
                    continue
                messages = found if isinstance(found, list) else [found]
                returned.update(each.value().decode() for each in messages if each is not None)
            signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        feeding.join()
    assert returned.keys() == set(values)


def test_nothing_of_a_topic_made_anew_is_returned_or_committed_before_it_starts_over(
    place: Place, protocol: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = place.make("orders", 20, team="pay")
    conf = place.topics.conf(**protocol, **{"enable.auto.commit": False})
    with LabelConsumer(conf, "team=pay", client=place.client) as consumer:
        read_all(consumer, first)
        before = consumer._kafka_topics.there
        place.topics.delete(place.kafka("orders"))
        place.topics.make(place.kafka("orders"))
        anew = place.produce("orders", 40, start=100)
        consumer._kafka_topics.look_again()
        eventually(lambda: bool(there := consumer._kafka_topics.there) and there != before, 30)
        consumer.commit(offsets=partitions(place, "orders", 5), asynchronous=False)
        monkeypatch.setattr(label_consumer, "_SLICE_SECONDS", 2.0)
        monkeypatch.setattr(consumer, "_tended_at", 0.0)
        message = None
        while message is None:
            message = consumer.poll(2.0)
        assert message.offset() == 0
        consumer.commit(asynchronous=False)
        assert max(each.offset for each in consumer.committed(partitions(place, "orders"))) == 1
        assert read_all(consumer, set(anew) - {message.value().decode()}).total() == len(anew) - 1


def test_where_the_caller_begins_partitions_himself_they_begin_whenever_they_are_assigned(
    place: Place, rejoin: Callable[[LabelConsumer], Counter[str]]
) -> None:
    def on_assign(kafka: Consumer, assigned: list[TopicPartition]) -> None:
        kafka.incremental_assign([TopicPartition(each.topic, each.partition, own[each.partition]) for each in assigned])

    own = {0: 0, 1: 0}
    values = place.make("orders", 20, team="pay")
    conf = place.topics.conf(**{"enable.auto.commit": False})
    with LabelConsumer(conf, "team=pay", client=place.client, on_assign=on_assign) as consumer:
        read_all(consumer, values)
        own = {each.partition: each.offset - 2 for each in consumer.position(partitions(place, "orders"))}
        read = rejoin(consumer)
        read += read_until(consumer, lambda more: (read + more).total() >= 4)
        assert read.total() == 4
        assert not read_for(consumer, 0.5)


def test_what_was_returned_comes_once_though_the_group_is_rejoined_twice_and_again_where_the_caller_sought(
    place: Place, protocol: dict[str, Any], rejoin: Callable[[LabelConsumer], Counter[str]]
) -> None:
    values = place.make("orders", 20, team="pay")
    conf = place.topics.conf(**protocol, **{"enable.auto.commit": False})
    with LabelConsumer(conf, "team=pay", client=place.client) as consumer:
        read_all(consumer, values)
        ends = consumer.position(partitions(place, "orders"))
        assert not rejoin(consumer) + rejoin(consumer) + read_for(consumer, 0.5)
        for each in ends:
            each.offset -= 1
            consumer.seek(each)
        read = rejoin(consumer)
        read += read_until(consumer, lambda more: (read + more).total() >= 2)
        assert (read + read_for(consumer, 0.5)).total() == 2


def test_records_that_consume_holds_of_a_partition_are_not_returned_once_another_member_reads_it(
    place: Place, protocol: dict[str, Any]
) -> None:
    values = place.make("orders", 20, team="pay")
    conf = place.topics.conf(**protocol)
    returned: list[Any] = []
    with LabelConsumer(conf, "team=pay", client=place.client) as one:
        reading = threading.Thread(target=lambda: returned.extend(one.consume(100, 120)))
        reading.start()
        eventually(lambda: sum(max(each.offset, 0) for each in one.position(partitions(place, "orders"))) == 20, 30)
        with LabelConsumer(conf, "team=pay", client=place.client) as other:
            theirs = read_until(other, lambda read: bool(read) and len(one.assignment()) == 1)
            theirs += read_for(other, 1)
            # So that what is held is returned.
            place.unlabel("orders", "team")
            reading.join()
    read = theirs + Counter(each.value().decode() for each in returned)
    assert read == Counter(values)
