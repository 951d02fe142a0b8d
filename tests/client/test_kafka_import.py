"""Making the records that an adoption plans, through a server."""

from __future__ import annotations

from typing import Any

import pytest

from topicfold.client import Client
from topicfold.client.call import Call
from topicfold.client.kafka_import import make_namespaces, make_records, read_target
from topicfold.model.kafka.adoption import Failed, KafkaTopic, New, missing_namespaces, plan_adoption


def test_missing_namespaces_are_made_with_their_tenants_and_only_once(client: Client) -> None:
    plan = plan_adoption([KafkaTopic("acme..pay..a", 1), KafkaTopic("acme..pay..b", 1), KafkaTopic("c", 1)], [])
    namespaces = missing_namespaces(plan.new, read_target(client).namespaces)
    assert namespaces == ("acme/pay",)
    make_namespaces(client, namespaces)
    make_namespaces(client, namespaces)
    assert client.list_namespaces("acme") == ("acme/pay",)


def test_a_tenant_that_is_there_is_not_made_again_which_its_own_administrator_may_not(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.create_tenant("acme")
    made: list[str] = []
    create = Client.create_tenant

    def noted(self: Client, tenant: str, **said: Any) -> None:
        made.append(tenant)
        create(self, tenant, **said)

    monkeypatch.setattr(Client, "create_tenant", noted)
    make_namespaces(client, ["acme/pay", "other/a", "other/b"])
    assert made == ["other"]


def test_what_was_made_says_why_and_keeps_the_name_that_its_own_does_not_imply(client: Client) -> None:
    plan = plan_adoption([KafkaTopic("a..b", 1), KafkaTopic("acme..pay..a", 1)], [])
    make_namespaces(client, ["acme/pay"])
    assert sorted(each.kafka_name for each in make_records(client, plan.new)) == ["a..b", "acme..pay..a"]
    assert {topic.name: topic.kafka_name for topic in read_target(client).topics} == {
        "persistent://public/default/a..b": "a..b",
        "persistent://acme/pay/a": None,
    }
    (made,) = client.history("acme/pay/a").entries
    assert [each.reason for each in made.made_by] == ["import from Kafka"]


def test_a_record_of_one_of_pulsars_own_topics_is_seen(client: Client) -> None:
    name = "persistent://public/default/__change_events"
    client.create_topic(name)
    assert [topic.name for topic in read_target(client).topics] == [name]


def test_no_records_are_asked_for_where_names_and_partitions_will_do(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.create_topic("orders", partitions=3)
    asked: list[str] = []
    perform = Client.perform

    def noted(self: Client, call: Call[Any]) -> Any:
        asked.extend(value for name, value in call.query if name == "fields")
        return perform(self, call)

    monkeypatch.setattr(Client, "perform", noted)
    assert [topic.partitions for topic in read_target(client).topics] == [3]
    assert asked == []


def test_what_a_server_does_not_take_is_told_and_the_others_are_made(client: Client) -> None:
    plan = plan_adoption([KafkaTopic(name, 1) for name in ("b", "gone..away..a")], [])
    made, refused = sorted(make_records(client, plan.new), key=lambda each: each.kafka_name)
    assert isinstance(made, New)
    assert isinstance(refused, Failed)
    assert (refused.kafka_name, "gone/away" in refused.reason) == ("gone..away..a", True)


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
