"""How values of policies read on one line, and that a record says of each what a server answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.client.served import serving
from tests.server.policy_samples import SAMPLES
from topicfold.cli.policies.output import change_line, stored_policy, value_line
from topicfold.client import Client
from topicfold.model.policy.description import Policy
from topicfold.model.policy.table import POLICIES
from topicfold.model.policy.values import MapOf


@pytest.mark.parametrize(
    ("value", "line"),
    [
        (None, "null"),
        (0, "0"),
        (False, "false"),
        (1.5, "1.5"),
        ("FULL", "FULL"),
        (["Shared", "Failover"], "Shared,Failover"),
        ([], "[]"),
        ({}, "{}"),
        ({"tickTime": 1000, "active": True}, "tickTime=1000,active=true"),
        ({"a": {"b": {"c": 1}, "d": {}}, "e": None}, "a.b.c=1,a.d={},e=null"),
    ],
)
def test_a_value_is_one_line(value: Any, line: str) -> None:
    assert value_line(value) == line


def test_a_secret_that_was_set_is_not_told() -> None:
    set_to = {"managedLedgerOffloadBucket": "cold", "s3ManagedLedgerOffloadCredentialSecret": "hunter2"}
    assert change_line(set_to) == "managedLedgerOffloadBucket=cold,s3ManagedLedgerOffloadCredentialSecret=****"
    assert change_line(5) == "5"


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with serving() as (url,), Client(url) as client:
        client.create_topic("shadow")
        for cluster in ("east", "west"):
            client.create_cluster(cluster, {})
        client.set_namespace_policy("public/default", "replicationClusters", ["standalone", "east", "west"])
        yield client


@pytest.mark.parametrize("is_global", [False, True])
@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
def test_a_record_says_of_a_policy_what_is_answered_to_who_reads_just_that(
    client: Client, policy: Policy, is_global: bool
) -> None:
    if is_global and not policy.topic.has_global:
        return
    topic, other, sample = f"of-{policy.name}-{is_global}", "compactionThreshold", SAMPLES[policy.name]
    entry = "billing" if isinstance(policy.kind, MapOf) and not policy.kind.keys else None
    client.create_topic(topic)
    stated = sample.shown if sample.stated is None else sample.stated
    for name, value in ((None, None), (other, 1), (policy.name, stated)):
        if name:
            client.set_policy(topic, name, value, entry=entry if name == policy.name else None, is_global=is_global)
        answered = client.get_policy(topic, policy.name, entry=entry, is_global=is_global)
        record = client.get_topic(topic)
        assert stored_policy(record, policy, entry, is_global=is_global) == answered
        assert entry is None or stored_policy(record, policy, "another", is_global=is_global) is None
        assert name != policy.name or answered is not None
