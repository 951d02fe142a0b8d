"""Every policy of topics that the npm client knows, set, read and removed by it, on one node and on three in turn."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import pytest

from tests.pulsar.npm import NpmClient, Refused
from tests.pulsar.npm_rows import ROWS, NpmRow

EACH = pytest.mark.parametrize("row", ROWS, ids=str)
EACH_OF_ALL_CLUSTERS = pytest.mark.parametrize("row", [row for row in ROWS if row.has_global], ids=str)
EACH_APPLIED = pytest.mark.parametrize("row", [row for row in ROWS if row.default is not None], ids=str)

Call = Callable[..., Any]


@pytest.fixture
def of_topic(npm: NpmClient) -> Call:
    """Calls a method of `client.persistentTopic` for a topic of this test."""
    place = {"tenant": "public", "namespace": "default", "topic": uuid.uuid4().hex}
    npm.call("persistentTopic", "createNonPartitionedTopic", **place)
    return lambda method, **arguments: npm.call("persistentTopic", method, **place, **arguments)


@pytest.fixture
def policy(of_topic: Call) -> Call:
    """Calls one of the three methods of a row for a topic of this test."""
    return lambda row, verb, **given: of_topic(row.method(verb), **row.arguments(verb, **given))


@EACH
def test_a_policy_is_unset_then_set_then_removed(policy: Call, row: NpmRow) -> None:
    assert policy(row, "get") is None
    policy(row, "set")
    assert policy(row, "get") == row.value
    policy(row, "remove")
    assert policy(row, "get") == row.after_removal


@EACH_OF_ALL_CLUSTERS
def test_a_policy_of_all_clusters_is_one_of_its_own(policy: Call, row: NpmRow) -> None:
    policy(row, "set", isGlobal=True)
    assert policy(row, "get", isGlobal=True) == row.value
    assert policy(row, "get") is None
    policy(row, "remove", isGlobal=True)
    assert policy(row, "get", isGlobal=True) == row.after_removal


@EACH_APPLIED
def test_what_applies_is_the_default_until_the_topic_says_otherwise(policy: Call, row: NpmRow) -> None:
    assert policy(row, "get", applied=True) == row.default
    policy(row, "set")
    assert policy(row, "get", applied=True) == row.value


def test_row_1_can_be_read_and_removed_but_not_set_without_a_body(of_topic: Call) -> None:
    kind = {"backlogQuotaType": "destination_storage"}
    of_topic("setBacklogQuota", **kind)
    assert of_topic("getBacklogQuotaMap") == {}
    of_topic("removeBacklogQuota", **kind)
    applied = of_topic("getBacklogQuotaMap", applied=True)
    assert {name: quota["policy"] for name, quota in applied.items()} == {
        "destination_storage": "producer_request_hold",
        "message_age": "producer_request_hold",
    }


def test_row_27_is_set_and_cannot_be_unset_as_false_is_never_sent(of_topic: Call) -> None:
    assert of_topic("getSchemaValidationEnforced") is False
    of_topic("setSchemaValidationEnforced", body=True)
    assert of_topic("getSchemaValidationEnforced") is True
    with pytest.raises(Refused, match="400"):
        of_topic("setSchemaValidationEnforced", body=False)


@pytest.mark.parametrize(
    ("method", "status"),
    [("setMaxProducers", 400), ("setMaxMessageSize", 400), ("setCompactionThreshold", 400), ("setMaxConsumers", 400)],
)
def test_a_zero_that_is_never_sent_is_refused_and_changes_nothing(of_topic: Call, method: str, status: int) -> None:
    of_topic(method, body=7)
    with pytest.raises(Refused) as refusal:
        of_topic(method, body=0)
    assert refusal.value.status == status
    assert of_topic(method.replace("set", "get", 1)) == 7


@pytest.mark.parametrize("method", ["Deduplication", "MaxUnackedMessagesOnConsumer"])
def test_a_false_that_is_never_sent_removes_what_was_set(of_topic: Call, method: str) -> None:
    of_topic(f"set{method}", body=1 if method.startswith("Max") else True)
    of_topic(f"set{method}", body=0)
    assert of_topic(f"get{method}") is None


def test_retention_and_quota_are_refused_with_a_reason(of_topic: Call) -> None:
    with pytest.raises(Refused, match="Invalid retention policy") as refusal:
        of_topic("setRetention", body={"retentionTimeInMinutes": 1, "retentionSizeInMB": 0})
    assert refusal.value.status == 400


def test_tenants_namespaces_and_topics_are_made_listed_and_deleted(npm: NpmClient) -> None:
    tenant = {"tenant": uuid.uuid4().hex}
    place = {**tenant, "namespace": "web"}
    npm.call("tenants", "createTenant", **tenant, body={"adminRoles": [], "allowedClusters": ["standalone"]})
    npm.call("namespaces", "createNamespace", **place, body={})
    npm.call("persistentTopic", "createNonPartitionedTopic", **place, topic="plain", body={"owner": "web"})
    npm.call("persistentTopic", "createPartitionedTopic", **place, topic="wide", body=2)
    name = f"persistent://{tenant['tenant']}/web"
    assert npm.call("persistentTopic", "getList", **place) == [
        f"{name}/plain", f"{name}/wide-partition-0", f"{name}/wide-partition-1",
    ]  # fmt: skip
    assert npm.call("persistentTopic", "getPartitionedTopicList", **place) == [f"{name}/wide"]
    assert npm.call("persistentTopic", "getProperties", **place, topic="plain") == {"owner": "web"}
    npm.call("persistentTopic", "deleteTopic", **place, topic="plain")
    npm.call("persistentTopic", "deletePartitionedTopic", **place, topic="wide")
    npm.call("namespaces", "deleteNamespace", **place)
    npm.call("tenants", "deleteTenant", **tenant)
    with pytest.raises(Refused, match="404"):
        npm.call("tenants", "getTenantAdmin", **tenant)


def test_the_same_policies_on_a_topic_that_is_not_persistent(npm: NpmClient) -> None:
    place = {"tenant": "public", "namespace": "default", "topic": uuid.uuid4().hex}
    npm.call("nonPersistentTopic", "createNonPartitionedTopic", **place)
    npm.call("nonPersistentTopic", "setRetention", **place, body={"retentionTimeInMinutes": 1, "retentionSizeInMB": 1})
    kept = {"retentionTimeInMinutes": 1, "retentionSizeInMB": 1}
    assert npm.call("nonPersistentTopic", "getRetention", **place) == kept
