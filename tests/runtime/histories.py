"""A topic's past, as tests ask for it and tamper with it."""

from __future__ import annotations

from typing import Any

from tests.builders import NAMESPACE, TOPIC, operation, topic_put
from tests.memory_log import MemoryStore
from tests.runtime.nodes import ORDERS, Node
from topicfold.log.codec import encode_audit, encode_event
from topicfold.log.port import Entry as LogEntry
from topicfold.model.events import AggregateKind, Audit, AuditTrail
from topicfold.runtime.past.history import Page, read_history
from topicfold.runtime.past.rollback import roll_back, version_to_restore
from topicfold.runtime.past.versions import Version, version_at
from topicfold.runtime.writing.update import Target

TTL = "messageTTLInSeconds"
AT_THE_BEGINNING = (("partitions",), None, 0)


def target(node: Node, name: str = TOPIC) -> Target:
    """Return what a topic's, a namespace's or a tenant's name means."""
    if "://" in name:
        return node.engine.target(AggregateKind.TOPIC, name, NAMESPACE)
    return node.engine.target(AggregateKind.NAMESPACE if "/" in name else AggregateKind.TENANT, name)


async def history(node: Node, name: str = TOPIC, limit: int = 100, before: str = "") -> Page:
    """Return a page of a history."""
    return await read_history(node.engine, target(node, name), limit, before, node.asked().deadline)


async def shown(node: Node, name: str = TOPIC) -> list[tuple[str, list[Any] | None]]:
    """Return kind and changes of all there is, the newest first."""
    page = await history(node, name)
    return [(entry.kind, None if entry.changes is None else list(entry.changes)) for entry in page.entries]


async def at(node: Node, position: int, name: str = TOPIC) -> Version:
    """Return a record as it was."""
    return await version_at(node.engine, target(node, name), position, node.asked().deadline)


async def back(node: Node, to: str, may_change_global: bool = True, **said: Any) -> bool:
    """Roll `orders` back; return whether that changed it."""
    asked = node.asked(**said)
    version = await version_to_restore(node.engine, ORDERS, to, asked)
    written = await roll_back(node.engine, node.writing, ORDERS, version, asked, may_change_global=may_change_global)
    return written.changed


async def etags(node: Node) -> list[str]:
    """Return the versions of `orders`, the oldest first."""
    return [entry.version.etag for entry in reversed((await history(node)).entries)]


def append_unreadable(
    node: Node, store: MemoryStore, number: int = 7, *, previous_offset: int | None = None, **fields: object
) -> None:
    """Append, as a node of another version would, a version of `orders` that cannot be read."""
    current = node.engine.states[0].current(AggregateKind.TOPIC, TOPIC)
    life = node.engine.states[0].namespaces[NAMESPACE].incarnation
    trail = AuditTrail((), 0, current.offset if previous_offset is None else previous_offset)
    told = {"payload": b"\xff", "audit": encode_audit(trail)} | fields
    store.append(0, encode_event(topic_put(number, life, current.version, **told)))


def append_written_at(node: Node, store: MemoryStore, time_ms: int) -> None:
    """Append, as a writer whose clock is broken would, a version of `orders`."""
    current = node.engine.states[0].current(AggregateKind.TOPIC, TOPIC)
    life = node.engine.states[0].namespaces[NAMESPACE].incarnation
    audit = encode_audit(AuditTrail((Audit("ann", "why", "r1"),), time_ms, current.offset))
    store.append(0, encode_event(topic_put(8, life, current.version, operations=(operation(8),), audit=audit)))


def trim(store: MemoryStore, before: int) -> None:
    """Have the log no longer give what lies before an offset."""
    entries = store.entries[0]
    entries[:before] = [LogEntry(0, -1, b"")] * before


async def labelled(node: Node, *teams: str) -> None:
    """Give the topic `orders` these labels in turn."""
    for team in teams:
        await node.label(team=team)
