"""Consuming by label while the server or the broker is away, and on a broker without the newer group protocol."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer

from tests.brokers.guarded import GuardedKafka
from tests.brokers.process import KafkaProcess
from tests.integration.consuming import PROTOCOLS, Place, place_on, read_all, read_for, read_until
from tests.integration.node import running
from tests.prerequisites import needed
from topicfold.client import LabelConsumer
from topicfold.client.consuming import label_consumer
from topicfold.client.consuming.assignment_check import PATIENCE_SECONDS, AssignmentCheck

pytestmark = pytest.mark.kafka

_REJOIN_SECONDS = 180.0
"""Where a broker was away for a session, 45 s, as a busy machine may take to restart it, its client joins as another
member by the classic protocol, and the group waits for the former one as long again."""


class ClassicKafka(KafkaProcess):
    """A broker whose groups know the classic protocol only, as brokers before 4.0."""

    @property
    def properties(self) -> str:
        return super().properties + "group.coordinator.rebalance.protocols=classic\n"


class NamedKafka(GuardedKafka):
    """A broker on whose second listener `ann` may do everything."""

    @property
    def properties(self) -> str:
        return super().properties + "super.users=User:ANONYMOUS;User:ann\n"


@pytest.fixture
def classic_broker(tmp_path: Path) -> Iterator[KafkaProcess]:
    broker = ClassicKafka(tmp_path / "kafka")
    with needed():
        broker.start()
    yield broker
    broker.kill()


def test_while_the_server_is_away_what_was_subscribed_to_is_read_on(kafka_bootstrap: str, tmp_path: Path) -> None:
    with (
        running(["--log", str(tmp_path / "log.db")], tmp_path) as (node,),
        place_on(node.url, kafka_bootstrap) as place,
        LabelConsumer(place.topics.conf(), "team=pay", namespaces=place.client.namespace, url=node.url) as consumer,
    ):
        read_all(consumer, place.make("orders", 5, team="pay"))
        place.make("refunds", 5)
        node.kill()
        read_all(consumer, place.produce("orders", 5, start=5))
        node.start()
        place.label("refunds", team="pay")
        assert read_until(consumer, lambda read: len(read) == 5).keys() == {f"refunds-{number}" for number in range(5)}
        assert set(consumer.matched_topics()) == {place.full("orders"), place.full("refunds")}


@contextmanager
def consuming(bootstrap: str, directory: Path, **conf: Any) -> Iterator[tuple[Place, LabelConsumer]]:
    """Give a place with a node of its own, and a consumer there of what is `team=pay`."""
    with (
        running(["--log", str(directory / "log.db")], directory) as (node,),
        place_on(node.url, bootstrap) as place,
        LabelConsumer(place.topics.conf(**conf), "team=pay", client=place.client) as consumer,
    ):
        yield place, consumer


@pytest.mark.parametrize("name", PROTOCOLS)
def test_every_record_is_read_though_the_broker_is_killed_in_between(
    own_broker: KafkaProcess, tmp_path: Path, name: str
) -> None:
    with consuming(own_broker.bootstrap, tmp_path, **PROTOCOLS[name]) as (place, consumer):
        read_all(consumer, place.make("orders", 5, team="pay"))
        own_broker.kill()
        place.client.create_topic(place.full("refunds"), labels={"team": "pay"})
        read_for(consumer, 1)
        own_broker.restart()
        place.topics.make(place.kafka("refunds"))
        wanted = place.produce("orders", 5, start=5) + place.produce("refunds", 5)
        assert set(read_all(consumer, wanted, _REJOIN_SECONDS)) >= set(wanted)


@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_topic_made_anew_is_read_though_its_leaders_epochs_begin_anew_too(
    own_broker: KafkaProcess, tmp_path: Path, name: str
) -> None:
    with consuming(own_broker.bootstrap, tmp_path, **PROTOCOLS[name]) as (place, consumer):
        read_all(consumer, place.make("orders", 5, team="pay"))
        own_broker.stop()
        own_broker.restart()
        read_all(consumer, place.produce("orders", 5, start=5), _REJOIN_SECONDS)
        place.topics.delete(place.kafka("orders"))
        place.topics.make(place.kafka("orders"))
        anew = place.produce("orders", 5, start=100)
        assert set(read_all(consumer, anew)) >= set(anew)


@pytest.mark.parametrize("name", PROTOCOLS)
def test_other_topics_are_read_on_where_they_were_though_one_is_made_anew_and_nothing_was_committed(
    kafka_bootstrap: str, tmp_path: Path, name: str
) -> None:
    conf = {**PROTOCOLS[name], "enable.auto.commit": False}
    with consuming(kafka_bootstrap, tmp_path, **conf) as (place, consumer):
        read_all(consumer, place.make("orders", 5, team="pay") + place.make("refunds", 5, team="pay"))
        place.topics.delete(place.kafka("orders"))
        place.topics.make(place.kafka("orders"))
        wanted = place.produce("orders", 5, start=100) + place.produce("refunds", 5, start=5)
        assert sorted(read_all(consumer, wanted)) == sorted(wanted)


@pytest.mark.parametrize("seconds", [label_consumer._SLICE_SECONDS, 5.0])
@pytest.mark.parametrize("name", PROTOCOLS)
def test_what_nothing_was_committed_of_is_read_on_where_it_was_though_kafkas_client_got_stuck(
    kafka_bootstrap: str, tmp_path: Path, name: str, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    # In five seconds one poll is assigned partitions and returns their first record, too.
    monkeypatch.setattr(label_consumer, "_SLICE_SECONDS", seconds)
    conf = {**PROTOCOLS[name], "enable.auto.commit": False}
    with consuming(kafka_bootstrap, tmp_path, **conf) as (place, consumer):
        read_all(consumer, place.make("orders", 5, team="pay"))
        answers = [True]
        monkeypatch.setattr(AssignmentCheck, "is_stuck", lambda *_: bool(answers and answers.pop()))
        read_until(consumer, lambda _: not answers)
        wanted = place.produce("orders", 5, start=5)
        assert sorted(read_all(consumer, wanted)) == sorted(wanted)


def test_a_broker_without_the_newer_protocol_is_joined_with_the_classic_one(
    classic_broker: KafkaProcess, tmp_path: Path
) -> None:
    assigned: list[Any] = []
    with (
        running(["--log", str(tmp_path / "log.db")], tmp_path) as (node,),
        place_on(node.url, classic_broker.bootstrap) as place,
        LabelConsumer(
            place.topics.conf(), "team=pay", client=place.client, on_assign=lambda _, mine: assigned.extend(mine)
        ) as consumer,
    ):
        values = place.make("orders", 5, team="pay")
        assert set(read_all(consumer, values)) == set(values)
        assert {each.topic for each in assigned} == {place.kafka("orders")}


def test_a_group_that_gathers_its_members_is_waited_for(kafka_bootstrap: str, tmp_path: Path) -> None:
    with (
        running(["--log", str(tmp_path / "log.db")], tmp_path) as (node,),
        place_on(node.url, kafka_bootstrap) as place,
    ):
        values = place.make("orders", 20, team="pay")
        conf = place.topics.conf(**PROTOCOLS["classic"])
        slow = Consumer({**conf, "enable.auto.commit": False})
        slow.subscribe([place.kafka("orders")])
        while not slow.assignment():
            slow.poll(0.1)
        with LabelConsumer(conf, "team=pay", client=place.client) as consumer:
            read = read_for(consumer, 2 * PATIENCE_SECONDS)
            member = consumer.memberid()
            slow.close()
            read_all(consumer, set(values) - read.keys())
            assert consumer.memberid() == member


def test_credentials_that_change_are_those_of_every_connection_to_come(tmp_path: Path) -> None:
    with (
        needed(),
        NamedKafka(tmp_path / "kafka") as broker,
        running(["--log", str(tmp_path / "log.db")], tmp_path) as (node,),
        place_on(node.url, broker.bootstrap) as place,
    ):
        wanted = place.make("orders", 5, team="pay")
        conf = place.topics.conf(**broker.settings("yesterday-s")) | {"bootstrap.servers": broker.guarded_bootstrap}
        with LabelConsumer(conf, "team=pay", client=place.client) as consumer:
            assert not read_for(consumer, 1.0)
            consumer.set_sasl_credentials("ann", broker.settings()["sasl.password"])
            read_all(consumer, wanted)
            place.topics.delete(place.kafka("orders"))
            place.topics.make(place.kafka("orders"))
            read_all(consumer, place.produce("orders", 5, start=5))
