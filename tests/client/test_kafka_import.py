"""What an import from Kafka would make and report; pure, but for making the records."""

from __future__ import annotations

import pytest

from topicfold.client import Client, Topic
from topicfold.client.kafka_cluster import KafkaTopic
from topicfold.client.kafka_import import (
    Failed,
    New,
    make_namespaces,
    make_records,
    missing_namespaces,
    plan_import,
    read_target,
)
from topicfold.model.names import kafka_name, parse_topic


def record(name: str, partitions: int = 1, kafka_name: str | None = None) -> Topic:
    return Topic(str(parse_topic(name)), {}, partitions, kafka_name, {}, '"e.0"')


@pytest.mark.parametrize(
    ("kafka", "name"),
    [
        ("orders", "persistent://public/default/orders"),
        ("orders.eu_1-a", "persistent://public/default/orders.eu_1-a"),
        ("acme..pay..orders", "persistent://acme/pay/orders"),
        ("_private", "persistent://public/default/_private"),
    ],
)
def test_a_kafka_name_that_follows_from_a_topics_name_needs_no_explicit_one(kafka: str, name: str) -> None:
    assert plan_import([KafkaTopic(kafka, 3)], []).new == (New(name, kafka, 3, None),)
    assert kafka_name(parse_topic(name)) == kafka


@pytest.mark.parametrize("kafka", ["a..b", "a..b..c..d", "..a", "a..", "public..default..orders", "t" * 65 + "..n..x"])
def test_any_other_kafka_name_is_kept_as_explicit_name_in_the_default_namespace(kafka: str) -> None:
    assert plan_import([KafkaTopic(kafka, 3)], []).new == (
        New(f"persistent://public/default/{kafka}", kafka, 3, kafka),
    )


@pytest.mark.parametrize("name", ["__consumer_offsets", "__transaction_state", "__change_events", "_schemas"])
def test_internal_topics_are_left_out_and_said_to_be(name: str) -> None:
    plan = plan_import([KafkaTopic(name, 50)], [])
    assert plan.new == ()
    assert [topic.kafka_name for topic in plan.left_out] == [name]


def test_a_second_run_finds_everything_there() -> None:
    kafka = [KafkaTopic("orders", 3), KafkaTopic("a..b", 1), KafkaTopic("acme..pay..orders", 2)]
    first = plan_import(kafka, [])
    made = [record(new.name, new.partitions, new.explicit_kafka_name) for new in first.new]
    second = plan_import(kafka, made)
    assert (second.new, second.gone, second.failed) == ((), (), ())
    assert len(second.present) == 3
    assert not any(topic.has_other_partitions for topic in second.present)


def test_records_without_a_kafka_topic_are_gone_unless_they_need_none() -> None:
    records = [record("orders"), record("non-persistent://public/default/calls"), record("x", kafka_name="y")]
    assert plan_import([], records).gone == ("persistent://public/default/orders", "persistent://public/default/x")


def test_a_record_is_found_by_the_kafka_topic_it_names() -> None:
    plan = plan_import([KafkaTopic("legacy", 1)], [record("acme/pay/orders", kafka_name="legacy")])
    assert [topic.name for topic in plan.present] == ["persistent://acme/pay/orders"]
    assert plan.new == ()


def test_a_name_that_stands_for_another_kafka_topic_is_reported_not_taken() -> None:
    plan = plan_import([KafkaTopic("orders", 1), KafkaTopic("legacy", 1)], [record("orders", kafka_name="legacy")])
    assert plan.new == ()
    assert [failure.kafka_name for failure in plan.failed] == ["orders"]


@pytest.mark.parametrize(
    ("recorded", "in_kafka", "differs"), [(3, 3, False), (0, 1, False), (0, 2, True), (3, 6, True)]
)
def test_other_numbers_of_partitions_are_seen(recorded: int, in_kafka: int, differs: bool) -> None:
    (topic,) = plan_import([KafkaTopic("orders", in_kafka)], [record("orders", recorded)]).present
    assert topic.has_other_partitions is differs


def test_a_topic_that_kafka_cannot_describe_is_reported_and_not_gone() -> None:
    plan = plan_import([KafkaTopic("orders", 0, "Topic authorization failed")], [record("orders")])
    assert plan.failed == (Failed("orders", "Kafka says: Topic authorization failed"),)
    assert plan.gone == ()


def test_missing_namespaces_are_made_with_their_tenants_and_only_once(client: Client) -> None:
    plan = plan_import([KafkaTopic("acme..pay..a", 1), KafkaTopic("acme..pay..b", 1), KafkaTopic("c", 1)], [])
    namespaces = missing_namespaces(plan.new, read_target(client).namespaces)
    assert namespaces == ("acme/pay",)
    make_namespaces(client, namespaces)
    make_namespaces(client, namespaces)
    assert client.list_namespaces("acme") == ("acme/pay",)


def test_records_are_made_and_refusals_told_apart(client: Client) -> None:
    plan = plan_import([KafkaTopic(name, 2) for name in ("a", "b", "c-partition-0")], [])
    outcomes = list(make_records(client, plan.new))
    assert {outcome.kafka_name for outcome in outcomes if isinstance(outcome, New)} == {"a", "b"}
    assert {outcome.kafka_name for outcome in outcomes if isinstance(outcome, Failed)} == {"c-partition-0"}
    assert {topic.name: topic.partitions for topic in read_target(client).topics} == {
        "persistent://public/default/a": 2,
        "persistent://public/default/b": 2,
    }
