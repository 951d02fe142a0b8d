"""What a policy's value may not be, with the branch of the error: malformed, or not possible here."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import pytest

from tests.builders import retention
from topicfold.errors import Forbidden, InvalidPolicy, PolicyUnmet
from topicfold.model.policy.limits import Limits
from topicfold.model.policy.table import BY_NAME
from topicfold.model.policy.values import read_value

OFFLOADING = "offloadPolicies"


def check(name: str, given: Any, **limits: Any) -> None:
    """Read and check a value as a node with these limits does."""
    policy = BY_NAME[name]
    policy.check(read_value(policy.kind, given, name), Limits(**limits))


@pytest.mark.parametrize("pair", [(0, 0), (-1, -1), (1, 1), (-1, 1), (1, -1)])
def test_retention_is_nothing_or_both_for_ever_or_limited(pair: tuple[int, int]) -> None:
    check("retentionPolicies", retention(*pair))


@pytest.mark.parametrize("pair", [(1, 0), (0, 1), (-1, 0), (0, -1), (-2, 1), (1, -2)])
def test_other_retention_is_invalid(pair: tuple[int, int]) -> None:
    with pytest.raises(InvalidPolicy, match="Invalid retention policy"):
        check("retentionPolicies", retention(*pair))


def quorums(ensemble: int, write: int, ack: int) -> dict[str, int]:
    """Return the JSON of a persistence."""
    return {"bookkeeperEnsemble": ensemble, "bookkeeperWriteQuorum": write, "bookkeeperAckQuorum": ack}


@pytest.mark.parametrize("three", [(1, 1, 1), (5, 5, 5), (5, 3, 1)])
def test_quorums_may_fall(three: tuple[int, int, int]) -> None:
    check("persistence", quorums(*three))


@pytest.mark.parametrize("three", [(0, 0, 0), (6, 2, 2), (2, 3, 2), (3, 2, 3), (2, 2, -1)])
def test_quorums_may_not_rise_nor_leave_their_bounds(three: tuple[int, int, int]) -> None:
    with pytest.raises(InvalidPolicy):
        check("persistence", quorums(*three))


def test_a_node_may_allow_larger_quorums() -> None:
    check("persistence", quorums(7, 7, 7), max_quorum=7)


@pytest.mark.parametrize("size", [0, 100])
def test_a_message_may_be_as_large_as_the_node_allows_or_as_kafka_does(size: int) -> None:
    check("maxMessageSize", size, max_message_bytes=100)


@pytest.mark.parametrize("size", [-1, 101])
def test_a_message_may_not_be_larger_than_the_node_allows(size: int) -> None:
    with pytest.raises(PolicyUnmet, match="maxMessageSize"):
        check("maxMessageSize", size, max_message_bytes=100)


def test_a_quota_without_what_happens_at_its_limit_is_invalid() -> None:
    check("backLogQuotaMap", {"message_age": {"limitTime": 5, "policy": "producer_exception"}})
    with pytest.raises(InvalidPolicy, match="policy cannot be null"):
        check("backLogQuotaMap", {"message_age": {"limitTime": 5}})


@pytest.mark.parametrize(("driver", "said"), [("nosuch", "nosuch"), (None, "none is named")])
def test_an_offload_driver_must_be_known(driver: str | None, said: str) -> None:
    with pytest.raises(PolicyUnmet, match=f"driver is not supported: {said};"):
        check(OFFLOADING, {"managedLedgerOffloadDriver": driver, "managedLedgerOffloadBucket": "b"})


@pytest.mark.parametrize("driver", ["S3", "aws-s3", "google-cloud-storage", "azureblob", "aliyun-oss"])
def test_a_driver_that_stores_in_a_bucket_needs_one(driver: str) -> None:
    with pytest.raises(PolicyUnmet, match="bucket must be specified"):
        check(OFFLOADING, {"managedLedgerOffloadDriver": driver})
    check(OFFLOADING, {"managedLedgerOffloadDriver": driver, "managedLedgerOffloadBucket": "b"})


@pytest.mark.parametrize(
    ("driver", "own", "other"),
    [("S3", "s3", "gcs"), ("AWS-S3", "s3", "gcs"), ("Google-Cloud-Storage", "gcs", "s3")],
)
def test_the_bucket_may_be_the_drivers_own_and_its_name_in_any_case(driver: str, own: str, other: str) -> None:
    check(OFFLOADING, {"managedLedgerOffloadDriver": driver, f"{own}ManagedLedgerOffloadBucket": "b"})
    with pytest.raises(PolicyUnmet):
        check(OFFLOADING, {"managedLedgerOffloadDriver": driver, f"{other}ManagedLedgerOffloadBucket": "b"})


def test_a_driver_of_a_file_system_needs_no_bucket() -> None:
    check(OFFLOADING, {"managedLedgerOffloadDriver": "FileSystem"})


@pytest.mark.parametrize("names", ["", " ", "a,,b", "a, ", None])
def test_entry_filters_may_not_be_blank(names: str | None) -> None:
    with pytest.raises(InvalidPolicy, match="entryFilterNames"):
        check("entryFilters", {"entryFilterNames": names})


def test_entry_filters_must_be_known_where_the_node_says_which_are() -> None:
    check("entryFilters", {"entryFilterNames": "any"})
    with pytest.raises(InvalidPolicy, match="unknown filters: b"):
        check("entryFilters", {"entryFilterNames": "a,b"}, entry_filters=frozenset({"a"}))


def test_shadow_topics_are_persistent_and_at_least_one() -> None:
    check("shadowTopics", ["a", "acme/pay/b"])
    with pytest.raises(PolicyUnmet):
        check("shadowTopics", [])
    with pytest.raises(PolicyUnmet):
        check("shadowTopics", ["non-persistent://acme/pay/b"])
    with pytest.raises(Forbidden):
        check("shadowTopics", ["a/b"])


def test_what_is_replicated_goes_to_at_least_one_cluster() -> None:
    check("replicationClusters", ["standalone"])
    with pytest.raises(PolicyUnmet):
        check("replicationClusters", [])


@pytest.mark.parametrize(
    "name",
    [
        "messageTTLInSeconds",
        "subscriptionExpirationTimeInMinutes",
        "deduplicationSnapshotIntervalSeconds",
        "compactionThreshold",
        "maxProducerPerTopic",
        "maxConsumerPerTopic",
        "maxConsumersPerSubscription",
        "maxSubscriptionsPerTopic",
        "maxUnackedMessagesOnConsumer",
        "maxUnackedMessagesOnSubscription",
    ],
)
def test_a_bound_may_not_be_negative(name: str) -> None:
    check(name, 0)
    with pytest.raises(PolicyUnmet):
        check(name, -1)


def test_limits_of_a_node_are_its_own() -> None:
    assert Limits().defaults == MappingProxyType({})
