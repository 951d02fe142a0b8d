"""Topics and namespaces of Pulsar's own are known by their names, and no others are taken for them."""

from __future__ import annotations

import pytest

from topicfold.model.system_topics import is_heartbeat_namespace, is_system_topic, is_transaction_topic


@pytest.mark.parametrize(
    "local",
    [
        "__change_events",
        "__change_events-partition-12",
        "__transaction_buffer_snapshot",
        "__transaction_buffer_snapshot_segments",
        "__transaction_buffer_snapshot_indexes-partition-0",
        "__transaction_log_0",
        "transaction_coordinator_assign",
        "transaction_coordinator_assign-partition-3",
        "orders-billing__transaction_pending_ack",
    ],
)
def test_pulsars_own_topics_are_known_by_name(local: str) -> None:
    assert is_system_topic(local)


@pytest.mark.parametrize(
    "local", ["orders", "__orders", "__change_events2", "my__change_events", "transaction_coordinator", "__internal"]
)
def test_a_name_that_only_looks_like_one_of_the_systems_is_anybodys(local: str) -> None:
    assert not is_system_topic(local)


def test_topics_of_the_inside_of_transactions_are_some_of_the_systems() -> None:
    assert is_transaction_topic("__transaction_log_0")
    assert not is_transaction_topic("__transaction_buffer_snapshot")


@pytest.mark.parametrize(
    ("namespace", "is_one"),
    [("pulsar/broker-1:8080", True), ("pulsar/default", False), ("acme/broker:8080", False), ("pulsar/a:b", False)],
)
def test_a_brokers_heartbeat_namespace_is_known_by_name(namespace: str, is_one: bool) -> None:
    assert is_heartbeat_namespace(namespace) is is_one
