"""Many topics with five labels each: what they are called, what they bear, and the events that make them.

Two labels of one in 200 and one in 5 topics meet on one in 1,000, the query that the label benchmark asks.
"""

from __future__ import annotations

import os

from topicfold.log.codec import decode_event, encode_audit, encode_event
from topicfold.log.payload import decode_indexed, encode_record, payload_schema_of
from topicfold.model.events import GENESIS, AggregateKind, Audit, AuditTrail, Event, Kind, Operation, Verdict
from topicfold.model.names import DEFAULT_NAMESPACE
from topicfold.model.records import NamespaceRecord, Record, TopicRecord, frozen
from topicfold.state.fold import PartitionState

QUERY = {"team": "team-7", "region": "r3"}

_AUDIT = encode_audit(AuditTrail((Audit("bench", "", ""),), 1_800_000_000_000, -1))


def key_of(number: int) -> str:
    """Return the name of topic `number` inside its namespace."""
    return f"orders.payments.eu-{number:07d}"


def labels_of(number: int, version: int = 0) -> dict[str, str]:
    """Return the five labels of topic `number`; one of them changes with each version."""
    scattered = number * 2_654_435_761 % 2**32 >> 8
    return {
        "team": f"team-{scattered % 200}",
        "region": f"r{scattered // 200 % 5}",
        "env": ("prod", "stage", "dev")[scattered // 1_000 % 3],
        "tier": ("gold", "silver", "bronze")[(scattered // 3_000 + version) % 3],
        "owner": f"owner-{number % 5_000}",
    }


def topic_event(namespace: str, number: int, namespace_id: bytes, *, base: bytes = GENESIS, version: int = 0) -> Event:
    """Return the event that gives topic `number` the labels of that version."""
    record = TopicRecord(labels=frozen(labels_of(number, version)))
    name = f"persistent://{namespace}/{key_of(number)}"
    return _event(AggregateKind.TOPIC, name, record, base, namespace_id)


def folded_topics(count: int) -> PartitionState:
    """Return the state of a partition that folded `count` topics of the default namespace, bytes and all."""
    state = PartitionState(0, 1, decode=decode_indexed)
    namespace = _event(AggregateKind.NAMESPACE, DEFAULT_NAMESPACE, NamespaceRecord(), GENESIS, GENESIS)
    state.apply(0, namespace)
    for number in range(count):
        value = encode_event(topic_event(DEFAULT_NAMESPACE, number, namespace.event_id))
        state.apply(number + 1, decode_event(value))
    return state


def _event(kind: AggregateKind, name: str, record: Record, base: bytes, namespace_id: bytes) -> Event:
    operation = Operation(os.urandom(16), Verdict.CHANGED, False, bytes(8))
    return Event(
        1,
        Kind.PUT,
        0,
        os.urandom(16),
        kind,
        name,
        0,
        base,
        namespace_id,
        (operation,),
        payload_schema_of(record),
        encode_record(record),
        _AUDIT,
    )
