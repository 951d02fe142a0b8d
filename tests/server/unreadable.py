"""Records that a node cannot read: they are damaged, or a newer node wrote them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.builders import NAMESPACE, TOPIC, namespace_put, tenant_put, topic_put
from tests.memory_log import MemoryStore
from tests.server.rest import RestNode
from topicfold.log.codec import encode_event
from topicfold.model.events import PAYLOAD_SCHEMA, AggregateKind, Event

Unreadable = Mapping[str, Any]
DAMAGED, NEWER = {"payload": b"\xff"}, {"payload_schema": PAYLOAD_SCHEMA + 1}


async def append(rest: RestNode, store: MemoryStore, partition: int, event: Event) -> None:
    """Have `event` folded from that partition."""
    store.append(partition, encode_event(event))
    await rest.node.caught_up()


async def with_topic(rest: RestNode, store: MemoryStore, how: Unreadable) -> RestNode:
    """Return the node once it has folded a record of `orders` that it cannot read."""
    state = rest.node.engine.states[3]
    base = state.current(AggregateKind.TOPIC, TOPIC).version
    await append(rest, store, 3, topic_put(7, state.namespaces[NAMESPACE].incarnation, base, **how))
    return rest


async def with_namespace(rest: RestNode, store: MemoryStore, how: Unreadable) -> RestNode:
    """Return the node once it has folded such a record of the namespace."""
    await append(rest, store, 3, namespace_put(7, rest.node.engine.states[3].namespaces[NAMESPACE].version, **how))
    return rest


async def with_tenant(rest: RestNode, store: MemoryStore, name: str, how: Unreadable) -> RestNode:
    """Return the node once it has folded such a record of a tenant."""
    partition = rest.node.engine.partition(name)
    base = rest.node.engine.states[partition].current(AggregateKind.TENANT, name).version
    await append(rest, store, partition, tenant_put(7, base, name=name, **how))
    return rest
