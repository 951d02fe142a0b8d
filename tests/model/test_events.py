"""The frozen numbers and hashes that stand in logs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicfold.model import events
from topicfold.model.events import AggregateKind, Kind, Verdict, handle_of_key, is_refusal, operation_of, partition_of


def test_the_numbers_in_logs_never_change_their_meaning() -> None:
    assert [(each.name, each.value) for each in Kind] == [
        ("PUT", 1), ("DELETE", 2), ("BARRIER", 3), ("DIGEST", 4), ("LEVEL", 5), ("HEADER", 6),
    ]  # fmt: skip
    assert [(each.name, each.value) for each in AggregateKind] == [
        ("NONE", 0), ("TENANT", 1), ("NAMESPACE", 2), ("TOPIC", 3),
    ]  # fmt: skip
    assert " ".join(f"{each.name}={each.value}" for each in Verdict) == (
        "CHANGED=0 UNCHANGED=1 NOT_EMPTY=2 TOPIC_NOT_FOUND=3 NAMESPACE_NOT_FOUND=4 TENANT_NOT_FOUND=5 ALREADY_EXISTS=6 "
        "PRECONDITION_FAILED=7 TOO_MANY_LABELS=8 WRONG_KIND=9 FEWER_PARTITIONS=10 RECORD_TOO_LARGE=11 UNDECODABLE=12 "
        "TENANT_IN_USE=13 QUOTA_EXCEEDS_RETENTION=14 RETENTION_BELOW_QUOTA=15 POLICY_UNMET=16 CLUSTER_REFUSED=17 "
        "TOO_MANY_GRANTS=18 CLUSTER_NOT_FOUND=19 FAILED=20 CLUSTER_NOT_ALLOWED=21 PEER_CLUSTER=22 CLUSTER_UNKNOWN=23"
    )
    assert (events.CLIENT_RING, events.SERVER_RING, events.REQUIRE_EMPTY) == (65_536, 16_384, 1)


def test_every_verdict_from_not_empty_on_is_a_refusal() -> None:
    assert [verdict for verdict in Verdict if not is_refusal(verdict)] == [Verdict.CHANGED, Verdict.UNCHANGED]


@pytest.mark.parametrize(
    ("name", "partitions", "partition"),
    [("public/default", 8, 3), ("public", 8, 5), ("acme/pay", 8, 2), ("acme/pay", 1024, 962), ("é/ü", 8, 3)],
)
def test_the_partition_of_a_name_is_the_one_that_logs_were_written_with(
    name: str, partitions: int, partition: int
) -> None:
    assert partition_of(name, partitions) == partition


def test_the_handle_of_a_key_is_the_same_on_every_node_and_in_every_version() -> None:
    assert handle_of_key("ann", "POST", "orders", "k-1").hex() == "5f83a37f40f72126519e5d10ce7ac5bd"


def test_a_handle_stands_for_another_operation_to_everybody() -> None:
    handle = handle_of_key("ann", "POST", "orders", "k-1")
    assert operation_of("ann", handle).hex() == "84d2dee03a6d7b8577b5c946649fa3f8"
    assert len({operation_of(actor, handle) for actor in ("ann", "bob", "", "anonymous")}) == 4


@given(st.lists(st.tuples(*[st.text("ab", max_size=3)] * 4), min_size=2, max_size=2, unique=True))
def test_no_two_requests_share_a_handle(requests: list[tuple[str, str, str, str]]) -> None:
    assert handle_of_key(*requests[0]) != handle_of_key(*requests[1])
