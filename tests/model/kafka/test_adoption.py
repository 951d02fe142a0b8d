"""What an adoption of a Kafka cluster would make and report."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from topicfold.model.kafka.adoption import Failed, Gone, KafkaTopic, New, implied_topic, plan_adoption, stands_for
from topicfold.model.kafka.names import kafka_name
from topicfold.model.names import parse_topic


class Recorded(NamedTuple):
    name: str
    partitions: int
    kafka_name: str | None


def record(name: str, partitions: int = 1, kafka_name: str | None = None) -> Recorded:
    return Recorded(str(parse_topic(name)), partitions, kafka_name)


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
    assert plan_adoption([KafkaTopic(kafka, 3)], []).new == (New(name, kafka, 3, None),)
    assert kafka_name(parse_topic(name)) == kafka


@pytest.mark.parametrize("kafka", ["a..b", "a..b..c..d", "..a", "a..", "public..default..orders", "t" * 65 + "..n..x"])
def test_any_other_kafka_name_is_kept_as_explicit_name_in_the_default_namespace(kafka: str) -> None:
    assert plan_adoption([KafkaTopic(kafka, 3)], []).new == (
        New(f"persistent://public/default/{kafka}", kafka, 3, kafka),
    )


@pytest.mark.parametrize("name", ["__consumer_offsets", "__transaction_state", "__change_events", "_schemas"])
def test_internal_topics_are_left_out_and_said_to_be(name: str) -> None:
    plan = plan_adoption([KafkaTopic(name, 50)], [])
    assert plan.new == ()
    assert [topic.kafka_name for topic in plan.left_out] == [name]


def test_a_second_run_finds_everything_there() -> None:
    kafka = [KafkaTopic("orders", 3), KafkaTopic("a..b", 1), KafkaTopic("acme..pay..orders", 2)]
    first = plan_adoption(kafka, [])
    made = [record(new.name, new.partitions, new.explicit_kafka_name) for new in first.new]
    second = plan_adoption(kafka, made)
    assert (second.new, second.gone, second.failed) == ((), (), ())
    assert len(second.present) == 3
    assert not any(topic.has_other_partitions for topic in second.present)


def test_records_without_a_kafka_topic_are_gone_unless_they_need_none() -> None:
    records = [record("orders"), record("non-persistent://public/default/calls"), record("x", kafka_name="y")]
    assert plan_adoption([], records).gone == (
        Gone("persistent://public/default/orders", "orders", 1), Gone("persistent://public/default/x", "y", 1)
    )  # fmt: skip


def test_a_record_is_found_by_the_kafka_topic_it_names() -> None:
    plan = plan_adoption([KafkaTopic("legacy", 1)], [record("acme/pay/orders", kafka_name="legacy")])
    assert [topic.name for topic in plan.present] == ["persistent://acme/pay/orders"]
    assert plan.new == ()


def test_a_name_that_stands_for_another_kafka_topic_is_reported_not_taken() -> None:
    plan = plan_adoption([KafkaTopic("orders", 1), KafkaTopic("legacy", 1)], [record("orders", kafka_name="legacy")])
    assert plan.new == ()
    assert [failure.kafka_name for failure in plan.failed] == ["orders"]


@pytest.mark.parametrize("name", ["orders", "orders-partition-0"])
def test_a_topic_that_cannot_be_recorded_under_its_own_name_is_told_how_it_can_under_another(name: str) -> None:
    recorded = record("orders", kafka_name="legacy")
    (failed,) = plan_adoption([KafkaTopic(name, 1), KafkaTopic("legacy", 1)], [recorded]).failed
    assert failed.reason.endswith("another name, with kafkaName, in a file for 'topicfold policies apply'")
    assert plan_adoption([KafkaTopic(name, 1)], [record("other", kafka_name=name)]).failed == ()


@pytest.mark.parametrize(
    ("recorded", "in_kafka", "differs"), [(3, 3, False), (0, 1, False), (0, 2, True), (3, 6, True)]
)
def test_other_numbers_of_partitions_are_seen(recorded: int, in_kafka: int, differs: bool) -> None:
    (topic,) = plan_adoption([KafkaTopic("orders", in_kafka)], [record("orders", recorded)]).present
    assert topic.has_other_partitions is differs


def test_a_topic_that_kafka_cannot_describe_is_reported_and_not_gone() -> None:
    plan = plan_adoption([KafkaTopic("orders", 0, "Topic authorization failed")], [record("orders")])
    assert plan.failed == (Failed("orders", "Kafka says: Topic authorization failed"),)
    assert plan.gone == ()


@pytest.mark.parametrize(
    ("name", "explicit", "standing"),
    [
        ("persistent://acme/pay/orders", None, "acme..pay..orders"),
        ("persistent://acme/pay/orders", "legacy", "legacy"),
        ("non-persistent://acme/pay/orders", None, None),
        ("non-persistent://acme/pay/orders", "legacy", None),
        ("persistent://acme/pay/a..b", None, None),
    ],
)
def test_a_topic_stands_for_the_kafka_topic_it_names_or_implies(
    name: str, explicit: str | None, standing: str | None
) -> None:
    assert stands_for(name, explicit) == standing


@pytest.mark.parametrize("kafka_topic", ["orders", "acme..pay..orders"])
def test_the_topic_that_implies_a_kafka_topic_is_found(kafka_topic: str) -> None:
    found = implied_topic(kafka_topic)
    assert found is not None
    assert stands_for(str(found), None) == kafka_topic


@pytest.mark.parametrize("kafka_topic", ["a..b", "..", "public..default..orders"])
def test_a_kafka_topic_that_no_name_implies_has_none(kafka_topic: str) -> None:
    assert implied_topic(kafka_topic) is None


@pytest.mark.parametrize("name", ["orders-partition-0", "acme..pay..orders-partition-12"])
def test_a_kafka_topic_named_like_a_partition_is_reported_not_taken(name: str) -> None:
    plan = plan_adoption([KafkaTopic(name, 1)], [])
    assert (plan.new, [failure.kafka_name for failure in plan.failed]) == ((), [name])
