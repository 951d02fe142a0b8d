"""Listings under `/admin/v2`: whose topics they name, Pulsar's own only where they are asked for."""

from __future__ import annotations

import asyncio

import pytest

from tests.server.rest import RestNode
from topicfold.model.names import parse_topic
from topicfold.model.records import TopicRecord
from topicfold.runtime.asking import Asked
from topicfold.runtime.writing import Writing

DEFAULT = "persistent://public/default"
SYSTEM = ("__change_events", "__transaction_buffer_snapshot", "__transaction_buffer_snapshot_indexes")
INTERNAL = ("transaction_coordinator_assign", "__transaction_log_3", "orders-s__transaction_pending_ack")
USERS = ("__orders", "orders", "transaction_orders")


@pytest.fixture
async def topics(rest: RestNode) -> RestNode:
    """A namespace with topics of its users, and some that Pulsar would have made."""
    for local in (*SYSTEM, *INTERNAL, *USERS):
        record = TopicRecord(partitions=1 if local == SYSTEM[0] else 0)
        asked = Asked(asyncio.get_running_loop().time() + 5)
        await Writing(rest.node.engine).create_topic(parse_topic(local), record, asked)
    return rest


def full(*names: str) -> list[str]:
    """Return full names, sorted."""
    return sorted(f"{DEFAULT}/{name}" for name in names)


@pytest.mark.parametrize("path", ["persistent/public/default", "namespaces/public/default/topics"])
async def test_system_topics_are_listed_where_they_are_asked_for(topics: RestNode, path: str) -> None:
    assert await topics.get(f"/admin/v2/{path}") == full(*USERS)
    assert await topics.get(f"/admin/v2/{path}?includeSystemTopic=false&bundle=0x0_0xf") == full(*USERS)
    expected = full(f"{SYSTEM[0]}-partition-0", *SYSTEM[1:], *USERS)
    assert await topics.get(f"/admin/v2/{path}?includeSystemTopic=true") == expected


async def test_partitioned_system_topics_are_listed_where_they_are_asked_for(topics: RestNode) -> None:
    path = "/admin/v2/persistent/public/default/partitioned"
    assert await topics.get(path) == []
    assert await topics.get(f"{path}?includeSystemTopic=true") == full(SYSTEM[0])


@pytest.mark.parametrize(
    "path", ["persistent/public/nowhere", "persistent/public/nowhere/partitioned", "namespaces/public/nowhere/topics"]
)
async def test_a_namespace_that_is_not_there_has_no_listing(rest: RestNode, path: str) -> None:
    answer = await rest.send("GET", f"/admin/v2/{path}")
    assert (answer.status_code, answer.json()["code"]) == (404, "namespace_not_found")
    assert answer.json()["reason"] == "Namespace does not exist: public/nowhere"


@pytest.mark.parametrize(
    "path", ["persistent/public/a%2Fb", "non-persistent/pub%20lic/a", "namespaces/public/%00/topics"]
)
async def test_a_name_that_is_none_is_412(rest: RestNode, path: str) -> None:
    assert await rest.problem("GET", f"/admin/v2/{path}") == (412, "invalid_name")


async def test_a_flag_is_true_or_false(rest: RestNode) -> None:
    path = "/admin/v2/persistent/public/default?includeSystemTopic=perhaps"
    assert await rest.problem("GET", path) == (400, "invalid_request")
