"""The tables of topics: those that are live now, of what names and patterns mean."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.memory_log import MemoryStore
from tests.runtime.nodes import Node, running
from topicfold.model.namespaces import parse_namespaces
from topicfold.model.records import NamespaceRecord, TenantRecord

PAY, RISK, OTHER = "acme/pay", "acme/risk", "shop/pay"


@pytest.fixture
async def node() -> AsyncIterator[Node]:
    """Yield a node whose namespaces lie in several partitions."""
    async with running(MemoryStore(partitions=4)) as started:
        for tenant in ("acme", "shop"):
            await started.writing.create_tenant(tenant, TenantRecord(), started.asked())
        for namespace in (PAY, RISK, OTHER):
            await started.writing.create_namespace(namespace, NamespaceRecord(), started.asked())
        yield started


def live(node: Node, *texts: str) -> list[str]:
    """Return the namespaces that are live, of those that `texts` mean."""
    found = list(node.engine.tables.live(parse_namespaces(texts)))
    assert all(node.engine.tables.of(namespace) is table for namespace, table in found)
    return sorted(namespace for namespace, _ in found)


async def test_a_namespace_that_is_not_live_has_no_table(node: Node) -> None:
    await node.writing.delete_namespace(RISK, node.asked())
    assert node.engine.tables.of(RISK) is None
    assert live(node, PAY, RISK, "no/such") == [PAY]


async def test_a_pattern_means_what_is_live_in_any_partition(node: Node) -> None:
    assert live(node, "acme/*") == [PAY, RISK]
    assert live(node, "*/pay") == [PAY, OTHER]
    assert live(node, "*") == [PAY, RISK, "public/default", OTHER]


async def test_a_namespace_that_is_named_and_matches_patterns_comes_once(node: Node) -> None:
    assert live(node, PAY, "acme/*", "*/pay") == [PAY, RISK, OTHER]
