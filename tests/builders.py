"""Small values for tests: events, operations and states, each from as few words as possible."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from topicfold.log.payload import decode_indexed, encode_record
from topicfold.model.events import GENESIS, AggregateKind, Event, Kind, Operation, Verdict
from topicfold.model.records import NamespaceRecord, Record, TenantRecord, TopicRecord, frozen
from topicfold.state.change import Change
from topicfold.state.fold import PartitionState
from topicfold.state.operations import Operations

NAMESPACE = "public/default"
TOPIC = f"persistent://{NAMESPACE}/orders"


def an_id(number: int) -> bytes:
    """Return the 16 bytes that stand for `number`."""
    return number.to_bytes(16, "big")


def operation(number: int, verdict: int = Verdict.CHANGED, *, by_client: bool = True) -> Operation:
    """Return one operation of an event."""
    return Operation(an_id(number), verdict, by_client, bytes(8))


def event(number: int, kind: int, aggregate_kind: int, name: str, base: bytes = GENESIS, **fields: object) -> Event:
    """Return the event whose id is `number`; `fields` replace what is usual."""
    usual = Event(1, kind, 0, an_id(number), aggregate_kind, name, 0, base, GENESIS, (), 0, b"", b"")
    return usual._replace(**fields)


def put(number: int, kind: AggregateKind, name: str, record: Record, base: bytes = GENESIS, **fields: object) -> Event:
    """Return the event that gives the aggregate this record."""
    return event(number, Kind.PUT, kind, name, base, **{"payload_schema": 1, "payload": encode_record(record)} | fields)


def topic_put(
    number: int,
    namespace_id: bytes,
    base: bytes = GENESIS,
    *,
    name: str = TOPIC,
    labels: Mapping[str, str] | None = None,
    **fields: object,
) -> Event:
    """Return the event that gives a topic these labels, in the namespace's life `namespace_id`."""
    record = TopicRecord(labels=frozen(labels or {}))
    return put(number, AggregateKind.TOPIC, name, record, base, namespace_id=namespace_id, **fields)


def topic_delete(number: int, namespace_id: bytes, base: bytes, *, name: str = TOPIC, **fields: object) -> Event:
    """Return the event that ends a topic."""
    return event(number, Kind.DELETE, AggregateKind.TOPIC, name, base, namespace_id=namespace_id, **fields)


def namespace_put(number: int, base: bytes = GENESIS, *, name: str = NAMESPACE, **fields: object) -> Event:
    """Return the event that makes a namespace live, or changes it."""
    return put(number, AggregateKind.NAMESPACE, name, NamespaceRecord(), base, **fields)


def namespace_delete(number: int, base: bytes, *, name: str = NAMESPACE, **fields: object) -> Event:
    """Return the event that ends a namespace."""
    return event(number, Kind.DELETE, AggregateKind.NAMESPACE, name, base, **fields)


def tenant_put(number: int, base: bytes = GENESIS, *, name: str = "public", **fields: object) -> Event:
    """Return the event that makes a tenant live, or changes it."""
    return put(number, AggregateKind.TENANT, name, TenantRecord(), base, **fields)


def empty_state(
    partition: int = 0, partitions: int = 1, *, client_ring: int = 100, server_ring: int = 100
) -> PartitionState:
    """Return the state of an empty partition."""
    rings = Operations(client_ring, server_ring)
    return PartitionState(partition, partitions, decode=decode_indexed, operations=rings)


def fold(state: PartitionState, events: Iterable[Event | None]) -> list[Change]:
    """Fold `events` from the state's position on; return what came of each."""
    return [state.apply(state.position, each) for each in events]


def folded(*events: Event | None) -> PartitionState:
    """Return the state that `events` come to in a log of one partition."""
    state = empty_state()
    fold(state, events)
    return state


def retention(minutes: int, size: int) -> dict[str, int]:
    """Return the JSON of a retention."""
    return {"retentionTimeInMinutes": minutes, "retentionSizeInMB": size}
