"""The Kafka topic that a topic's name stands for.

Source: Kafka's legal topic names (`Topic.validate`).
"""

from __future__ import annotations

import re

from topicfold.errors import InvalidName
from topicfold.model.names import DEFAULT_NAMESPACE, PART, PERSISTENT, TopicName

MAX_KAFKA_NAME_LENGTH = 249
NAMING_IT = "give the Kafka topic's name as kafkaName in a file for 'topicfold policies apply'."
"""The end of a hint for a topic whose own name is not possible in Kafka."""

_TENANT, _PART = DEFAULT_NAMESPACE.split("/")
_KAFKA_NAME = re.compile(r"[a-zA-Z0-9._-]+")


def kafka_name(name: TopicName) -> str:
    """Return the Kafka topic that a persistent topic stands for, unless its record names another.

    It is `topic` in `public/default`, otherwise `tenant..namespace..topic`. Two persistent names never share a Kafka
    topic, because only a name that `topic_of_kafka_name` returns again is accepted. Kafka itself may still refuse it
    (`is_kafka_name`); such a topic can have labels all the same.

    Raises:
        InvalidName: the topic needs an explicit Kafka name, or its name is too long for Kafka.
    """
    in_default = name.namespace == DEFAULT_NAMESPACE
    text = name.local if in_default else f"{name.tenant}..{name.namespace_part}..{name.local}"
    if len(text.encode()) > MAX_KAFKA_NAME_LENGTH:
        raise InvalidName(
            f"topic {name}: its Kafka name would have {len(text.encode())} bytes, Kafka allows {MAX_KAFKA_NAME_LENGTH}",
            name=str(name),
            hint="Choose a shorter name.",
        )
    if _parts(text) != name[1:]:
        raise InvalidName(
            f"topic {name}: a name that holds '..', or a part that starts or ends with '.' beside another, "
            "has no Kafka name of its own",
            name=str(name),
            hint=f"Rename it, or {NAMING_IT}",
        )
    return text


def topic_of_kafka_name(text: str) -> TopicName | None:
    """Return the topic that a Kafka topic called `text` belongs to by default, or None if its name does not tell.

    >>> str(topic_of_kafka_name("acme..pay..orders"))
    'persistent://acme/pay/orders'
    """
    parts = _parts(text)
    return None if parts is None else TopicName(PERSISTENT, *parts)


def _parts(text: str) -> tuple[str, str, str] | None:
    """Return tenant, namespace part and local name of the topic that `text` tells of, None where it does not tell."""
    if ".." not in text:
        return (_TENANT, _PART, text) if text else None
    parts = text.split("..")
    if len(parts) != 3 or not all(parts):
        return None
    tenant, part, local = parts
    if (tenant, part) == (_TENANT, _PART) or not (PART.fullmatch(tenant) and PART.fullmatch(part)):
        return None
    return tenant, part, local


def is_kafka_name(text: str) -> bool:
    """Return whether Kafka itself accepts `text` as a topic's name."""
    return bool(_KAFKA_NAME.fullmatch(text)) and len(text) <= MAX_KAFKA_NAME_LENGTH and text not in (".", "..")
