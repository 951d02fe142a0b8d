"""Listings, findings and watches: whose topics they name, Pulsar's own only where they are asked for."""

from __future__ import annotations

import orjson
import pytest
from pyroaring import BitMap

from tests.server.rest import RestNode, listening
from tests.server.watching import opened
from topicfold.model.names import parse_topic
from topicfold.model.records import TopicRecord
from topicfold.model.topic_hash import topic_list_hash
from topicfold.runtime.finding.listings import Chosen
from topicfold.runtime.writing.writing import Writing
from topicfold.server import listing

DEFAULT = "persistent://public/default"
SYSTEM = ("__change_events", "__transaction_buffer_snapshot", "__transaction_buffer_snapshot_indexes")
INTERNAL = ("transaction_coordinator_assign", "__transaction_log_3", "orders-s__transaction_pending_ack")
LABELLED = {"labels": {"team": "pay"}}
USERS = ("__orders", "orders", "transaction_orders")


@pytest.fixture
async def topics(rest: RestNode) -> RestNode:
    """A namespace with topics of its users, and some that Pulsar would have made."""
    for local in (*SYSTEM, *INTERNAL, *USERS):
        record = TopicRecord(partitions=1 if local == SYSTEM[0] else 0)
        await Writing(rest.node.engine).create_topic(parse_topic(local), record, rest.node.asked())
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


@pytest.mark.parametrize(("query", "shown"), [("", USERS), ("includeSystemTopic=true", (*SYSTEM, *INTERNAL, *USERS))])
async def test_finding_watching_and_explaining_leave_out_what_listings_do(
    topics: RestNode, query: str, shown: tuple[str, ...]
) -> None:
    found = await topics.get(f"/api/v1/topics?{query}")
    assert [item["name"] for item in found["items"]] == full(*shown)
    assert (await topics.get(f"/api/v1/explain?labelSelector=!a&{query}"))["topics"] == found["counts"]["matched"]
    async with listening(topics) as port, opened(port, query) as stream:
        start = await stream.frames(len(shown) + 1)
        assert sorted(frame.name for frame in start[:-1]) == full(*shown)
        for local in ("__change_events", "orders"):
            await topics.done("POST", f"/admin/v2/persistent/public/default/{local}/custom-labels", LABELLED)
        told = await stream.frames(1 + bool(query))
    assert [frame.name for frame in told] == [f"{DEFAULT}/__change_events", f"{DEFAULT}/orders"][-len(told) :]


async def test_hashes_of_watches_and_findings_are_of_the_same_names(topics: RestNode) -> None:
    names_hash = (await topics.get("/api/v1/topics?topics_hash="))["hash"]
    assert names_hash == topic_list_hash(full(*USERS))
    async with listening(topics) as port, opened(port, f"topics_hash={names_hash}") as stream:
        assert (await stream.frame()).members["hash"] == names_hash


async def test_the_names_of_a_listing_are_let_go_as_they_are_written() -> None:
    names = [f"t{number}" for number in range(2_500)]
    listed = orjson.dumps(names)
    assert await listing._body(Chosen(None, BitMap()), names) == listed
    assert not any(names)
