"""Topics and namespaces of Pulsar's own, known by their names."""

from __future__ import annotations

import re

EVENTS_TOPIC = "__change_events"
"""The topic where Pulsar keeps policies, and the default name of the log on Kafka."""

_POLICY_EVENTS = re.compile(rf"{EVENTS_TOPIC}(-partition-[0-9]+)?")
_TRANSACTION_MARK = "transaction_"
SYSTEM_MARKS = (EVENTS_TOPIC, _TRANSACTION_MARK)
"""Every topic of Pulsar's own has one of these texts in its name."""
_TRANSACTION_TOPIC = re.compile(
    r"transaction_coordinator_assign(-partition-[0-9]+)?|__transaction_log_.*|.*__transaction_pending_ack"
)
_TRANSACTION_BUFFER = re.compile(r"__transaction_buffer_snapshot(_segments|_indexes)?(-partition-[0-9]+)?")
_HEARTBEAT_NAMESPACE = re.compile(r"pulsar/[^:/]+:[0-9]+")


def is_transaction_topic(local: str) -> bool:
    """Return whether the topic with that local name is internal to Pulsar's transactions; it is never listed.

    >>> is_transaction_topic("orders-billing__transaction_pending_ack")
    True
    """
    return _TRANSACTION_TOPIC.fullmatch(local) is not None


def is_system_topic(local: str) -> bool:
    """Return whether the topic with that local name is one of Pulsar's own, without users' data.

    >>> [is_system_topic(local) for local in ("__change_events-partition-1", "__transaction_log_0", "__orders")]
    [True, True, False]

    Source: Pulsar's `SystemTopicNames`.
    """
    if EVENTS_TOPIC not in local and _TRANSACTION_MARK not in local:
        return False
    return bool(_POLICY_EVENTS.fullmatch(local) or _TRANSACTION_BUFFER.fullmatch(local)) or is_transaction_topic(local)


def is_heartbeat_namespace(namespace: str) -> bool:
    """Return whether `namespace` is one of a broker's heartbeats; its topics have no policies of their own.

    >>> is_heartbeat_namespace("pulsar/broker-1:8080")
    True

    Source: Pulsar's `NamespaceService.HEARTBEAT_NAMESPACE_PATTERN_V2`.
    """
    return _HEARTBEAT_NAMESPACE.fullmatch(namespace) is not None
