"""At the edges, by Pulsar's own Java tool: zero and no limit, odd names, partitions, and topics that come again."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from tests.pulsar.admin import PulsarAdmin
from tests.pulsar.rows import ROWS, rate, same

pytestmark = pytest.mark.parametrize("urls", ["one-node"], indirect=True, scope="module")

EDGES = [
    ("set-max-consumers -c 0", "get-max-consumers", 0),
    ("set-message-ttl -t 0", "get-message-ttl", 0),
    ("set-compaction-threshold -t 0", "get-compaction-threshold", 0),
    ("set-retention -s -1 -t -1", "get-retention", {"retentionTimeInMinutes": -1, "retentionSizeInMB": -1}),
    ("set-retention -s 1M -t 90", "get-retention", {"retentionTimeInMinutes": 1, "retentionSizeInMB": 1}),
    ("set-deduplication -d", "get-deduplication", False),
    ("set-delayed-delivery -d", "get-delayed-delivery",
        {"tickTime": 1000, "active": False, "maxDeliveryDelayInMillis": 0}),
    ("set-auto-subscription-creation", "get-auto-subscription-creation", {"allowAutoSubscriptionCreation": False}),
    ("set-dispatch-rate", "get-dispatch-rate", rate()),
    ("set-dispatch-rate -md 9 -rp", "get-dispatch-rate", rate(9) | {"relativeToPublishRate": True}),
    ("set-publish-rate", "get-publish-rate", {"publishThrottlingRateInMsg": -1, "publishThrottlingRateInByte": -1}),
    ("set-subscribe-rate", "get-subscribe-rate", {"subscribeThrottlingRatePerConsumer": -1, "ratePeriodInSecond": 30}),
    ("set-subscription-dispatch-rate -s sub", "get-subscription-dispatch-rate -s sub", "null"),
    ("set-schema-compatibility-strategy -s UNDEFINED", "get-schema-compatibility-strategy", "null"),
    ("set-persistence", "get-persistence",
        {"bookkeeperEnsemble": 2, "bookkeeperWriteQuorum": 2, "bookkeeperAckQuorum": 2,
         "managedLedgerMaxMarkDeleteRate": 0.0}),
    ("set-persistence -c fast", "get-persistence",
        {"bookkeeperEnsemble": 2, "bookkeeperWriteQuorum": 2, "bookkeeperAckQuorum": 2,
         "managedLedgerMaxMarkDeleteRate": 0.0, "managedLedgerStorageClassName": "fast"}),
    ("set-backlog-quota -l -1 -p producer_exception", "get-backlog-quota",
        "destination_storage    BacklogQuotaImpl(limit=-1, limitSize=-1, limitTime=-1, policy=producer_exception)"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "read", "expected"), EDGES, ids=[change for change, _, _ in EDGES])
def test_a_value_at_the_edge_is_kept_as_it_was_said(
    admin: PulsarAdmin, topic: str, change: str, read: str, expected: Any
) -> None:
    admin.done("topicPolicies", *change.split(), topic)
    assert same(admin.done("topicPolicies", *read.split(), topic), expected)


def test_quotas_by_size_and_by_age_stand_side_by_side(admin: PulsarAdmin, topic: str) -> None:
    size, age = (row for row in ROWS if row.noun == "backlog-quota")
    admin.done(*size.command("set", topic))
    admin.done(*age.command("set", topic))
    assert same(admin.done(*size.command("get", topic)), f"{size.value}\n{age.value}")
    admin.done(*age.command("remove", topic))
    assert size.shows(admin.done(*size.command("get", topic)))


@pytest.mark.parametrize("name", ["odd+name", "a*b", "a:b", "ünï", "with space", "__internal"])
def test_an_odd_name_is_one_topic_from_its_making_to_its_end(admin: PulsarAdmin, name: str) -> None:
    namespace = f"public/{uuid.uuid4().hex}"
    topic = f"persistent://{namespace}/{name}"
    admin.done("namespaces", "create", namespace)
    admin.done("topics", "create", topic)
    admin.done("topicPolicies", "set-max-producers", "-p", "5", topic)
    assert admin.done("topics", "list", namespace) == f"{topic}\n"
    assert admin.done("topicPolicies", "get-max-producers", topic) == "5\n"
    admin.done("topics", "delete", topic)
    assert admin.done("topics", "list", namespace) == ""


def test_a_partitioned_topic_has_policies_and_its_partitions_have_none(admin: PulsarAdmin, topic: str) -> None:
    wide = f"{topic}-wide"
    admin.done("topics", "create-partitioned-topic", "-p", "2", wide)
    admin.done("topicPolicies", "set-max-producers", "-p", "5", wide)
    assert admin.done("topicPolicies", "get-max-producers", wide) == "5\n"
    refusal = "Not allowed to set/get topic policy for a partition"
    assert refusal in admin.refused("topicPolicies", "get-max-producers", f"{wide}-partition-1")
    assert refusal in admin.refused("topicPolicies", "set-max-producers", "-p", "5", f"{wide}-partition-1")


@pytest.mark.parametrize("kind", ["plain", "partitioned"])
def test_a_topic_that_comes_again_has_no_policies(admin: PulsarAdmin, topic: str, kind: str) -> None:
    name = f"{topic}-again"
    make = {"plain": ["create"], "partitioned": ["create-partitioned-topic", "-p", "2"]}[kind]
    end = {"plain": "delete", "partitioned": "delete-partitioned-topic"}[kind]
    admin.done("topics", *make, name)
    for flags in ([], ["-g"]):
        admin.done("topicPolicies", "set-max-producers", "-p", "5", *flags, name)
    admin.done("topics", end, name)
    admin.done("topics", *make, name)
    assert admin.done("topicPolicies", "get-max-producers", name) == "null\n"
    assert admin.done("topicPolicies", "get-max-producers", "-g", name) == "null\n"


def test_a_namespace_ended_by_force_takes_its_topics_along(admin: PulsarAdmin) -> None:
    namespace = f"public/{uuid.uuid4().hex}"
    topic = f"persistent://{namespace}/plain"
    admin.done("namespaces", "create", namespace)
    admin.done("topics", "create", topic)
    admin.done("topicPolicies", "set-max-producers", "-p", "5", topic)
    admin.done("namespaces", "delete", "-f", namespace)
    assert "not found" in admin.refused("topicPolicies", "get-max-producers", topic)
    admin.done("namespaces", "create", namespace)
    admin.done("topics", "create", topic)
    assert admin.done("topicPolicies", "get-max-producers", topic) == "null\n"
