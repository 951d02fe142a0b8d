"""What each level says of one topic's policies, read from what is folded."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.memory_log import MemoryStore
from tests.runtime.nodes import ORDERS, Node, running
from topicfold.errors import NamespaceNotFound, TopicNotFound
from topicfold.model.names import parse_topic
from topicfold.model.policy.changes import QUOTAS, RETENTION, change_namespace, set_value
from topicfold.model.policy.limits import Limits
from topicfold.model.policy.resolve import Origin
from topicfold.model.records import TopicRecord
from topicfold.runtime.policies import below_topics, namespace_policies, policies_of

TTL = "messageTTLInSeconds"
NAMESPACE = "public/default"
QUOTA = {"limitSize": 5, "limitTime": 5, "policy": "producer_exception"}


@pytest.fixture
async def node() -> AsyncIterator[Node]:
    limits = Limits(defaults={QUOTAS: {"message_age": QUOTA, "destination_storage": QUOTA}})
    async with running(MemoryStore(partitions=1), limits=limits) as made:
        yield made


async def say_of_namespace(node: Node, policy: str, value: object) -> None:
    """Set a policy of the namespace."""
    await node.writing.change_namespace(NAMESPACE, change_namespace(NAMESPACE, set_value(policy, value)), node.asked())


async def test_a_topic_says_what_its_record_says_in_each_scope(node: Node) -> None:
    await node.writing.create_topic(ORDERS, TopicRecord(local={TTL: 1}), node.asked())
    said = policies_of(node.engine, ORDERS)
    assert (said.own(is_global=False), said.own(is_global=True)) == ({TTL: 1}, None)
    assert said.etag == node.reading.topic(ORDERS).etag


async def test_a_namespace_is_looked_at_when_it_is_asked_for(node: Node) -> None:
    await node.writing.create_topic(ORDERS, TopicRecord(), node.asked())
    said = policies_of(node.engine, ORDERS)
    await say_of_namespace(node, TTL, 7)
    assert said.namespace() == {TTL: 7}
    assert said.levels()[Origin.NAMESPACE] == {TTL: 7}
    assert said.effective()[TTL].value == 7


async def test_what_lies_below_is_the_namespaces_retention_and_the_quotas_of_both(node: Node) -> None:
    assert below_topics(node.engine, NAMESPACE)[RETENTION] == {"retentionTimeInMinutes": 0, "retentionSizeInMB": 0}
    await say_of_namespace(node, QUOTAS, {"message_age": {**QUOTA, "limitTime": 9}})
    await say_of_namespace(node, RETENTION, {"retentionTimeInMinutes": 9, "retentionSizeInMB": 9})
    below = below_topics(node.engine, NAMESPACE)
    assert below[RETENTION]["retentionSizeInMB"] == 9
    assert {kind: quota["limitTime"] for kind, quota in below[QUOTAS].items()} == {
        "message_age": 9,
        "destination_storage": 5,
    }


async def test_what_is_not_there_is_an_error_and_its_namespace_says_nothing(node: Node) -> None:
    with pytest.raises(TopicNotFound):
        policies_of(node.engine, ORDERS)
    with pytest.raises(NamespaceNotFound):
        policies_of(node.engine, parse_topic("no/such/orders"))
    assert namespace_policies(node.engine, "no/such") == {}
