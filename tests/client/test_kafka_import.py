"""Making the records that an adoption plans, through a server."""

from __future__ import annotations

from topicfold.client import Client
from topicfold.client.kafka_import import make_namespaces, make_records, read_target
from topicfold.model.adoption import Failed, KafkaTopic, New, missing_namespaces, plan_adoption


def test_missing_namespaces_are_made_with_their_tenants_and_only_once(client: Client) -> None:
    plan = plan_adoption([KafkaTopic("acme..pay..a", 1), KafkaTopic("acme..pay..b", 1), KafkaTopic("c", 1)], [])
    namespaces = missing_namespaces(plan.new, read_target(client).namespaces)
    assert namespaces == ("acme/pay",)
    make_namespaces(client, namespaces)
    make_namespaces(client, namespaces)
    assert client.list_namespaces("acme") == ("acme/pay",)


def test_records_are_made_and_refusals_told_apart(client: Client) -> None:
    plan = plan_adoption([KafkaTopic(name, 2) for name in ("a", "b", "c")], [])
    client.create_topic("c")
    outcomes = list(make_records(client, plan.new))
    assert {outcome.kafka_name for outcome in outcomes if isinstance(outcome, New)} == {"a", "b"}
    assert {outcome.kafka_name for outcome in outcomes if isinstance(outcome, Failed)} == {"c"}
    assert {topic.name: topic.partitions for topic in read_target(client).topics} == {
        "persistent://public/default/a": 2,
        "persistent://public/default/b": 2,
        "persistent://public/default/c": 0,
    }


def test_a_record_that_is_there_by_now_just_as_planned_is_no_failure(client: Client) -> None:
    plan = plan_adoption([KafkaTopic("a", 2), KafkaTopic("Odd", 1)], [])
    list(make_records(client, plan.new))
    assert sorted(make_records(client, plan.new), key=lambda outcome: outcome.kafka_name) == sorted(
        plan.new, key=lambda topic: topic.kafka_name
    )
