"""A topic whose end is decided, and that Kafka has still: gone for all who read, seen by who looks after the node."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

import pytest

from tests.runtime.nodes import ORDERS, Node
from topicfold.errors import ClusterUnavailable, TopicNotFound
from topicfold.model.names import parse_topic
from topicfold.model.namespaces import Namespaces
from topicfold.model.records import Pending, Step, TopicRecord
from topicfold.runtime.finding.finding import Finding
from topicfold.runtime.finding.listed_names import listing_query
from topicfold.runtime.policies import policies_of
from topicfold.runtime.policy_news import PolicyScope
from topicfold.runtime.policy_service import TopicPoliciesService

NAMESPACE = "public/default"
BILLS = parse_topic("bills")
RECORD = TopicRecord(
    2,
    labels=MappingProxyType({"team": "pay"}),
    local=MappingProxyType({"maxMessageSize": 7}),
    grants=MappingProxyType({"ann": ("read-policies",)}),
)


@pytest.fixture
async def ending(node: Node) -> Node:
    """A node with the topic `bills`, and `orders`, whose end is decided."""
    await node.writing.create_topic(BILLS, TopicRecord(labels=MappingProxyType({"team": "ops"})), node.asked())
    await node.writing.create_topic(ORDERS, RECORD, node.asked())
    await node.writing.change_topic(ORDERS, lambda old: replace(RECORD, pending=Pending(Step.END, "id")), node.asked())
    return node


async def found(node: Node, **labels: str) -> list[str]:
    """Return the full names of the namespace's topics that bear these labels."""
    query = listing_query(labels, with_system_topics=False)
    topics = await Finding(node.engine).find(Namespaces((NAMESPACE,)), query, lambda namespace: None)
    return [name for section in topics.sections for name in section.names(section.numbers)]


async def test_it_is_found_by_nobody(ending: Node) -> None:
    assert (await found(ending), await found(ending, team="pay")) == ([str(BILLS)], [])
    assert ending.reading.topic_grants(NAMESPACE) == []
    assert not ending.reading.has_topic(parse_topic("orders-partition-1"))
    assert await ending.reading.all_labels(NAMESPACE) == {"team": ["ops"]}


async def test_it_cannot_be_read(ending: Node) -> None:
    for read in (ending.reading.topic, ending.reading.labels, lambda name: policies_of(ending.engine, name)):
        with pytest.raises(TopicNotFound):
            read(ORDERS)
    assert await TopicPoliciesService(ending.engine).get("orders", PolicyScope.LOCAL) is None


async def test_who_would_make_it_anew_is_told_what_is_in_the_way_and_may_try_again_under_the_same_key(
    ending: Node,
) -> None:
    asked = ending.asked(key="k", actor="ann")
    with pytest.raises(ClusterUnavailable, match="is being deleted, and Kafka has not followed yet"):
        await ending.writing.create_topic(ORDERS, TopicRecord(), asked)
    await ending.writing.delete_topic(ORDERS, ending.asked())
    await ending.writing.create_topic(ORDERS, TopicRecord(), asked)
    assert ending.reading.topic(ORDERS).record == TopicRecord()


async def test_one_that_is_still_being_made_is_there(node: Node) -> None:
    await node.writing.create_topic(ORDERS, replace(RECORD, pending=Pending(Step.MAKE)), node.asked())
    assert await found(node) == [str(ORDERS)]
    assert node.reading.topic(ORDERS).record is not None


async def test_it_is_counted(ending: Node) -> None:
    table = ending.engine.states[ending.engine.partition(NAMESPACE)].topics[NAMESPACE]
    assert [table.keys[number] for number in table.ending] == ["orders"]
