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
    if topic_of_kafka_name(text) != name._replace(domain=PERSISTENT):
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
    parts = text.split("..")
    if len(parts) == 1:
        parts = [*DEFAULT_NAMESPACE.split("/"), text]
    if len(parts) != 3 or not all(parts) or ("/".join(parts[:2]) == DEFAULT_NAMESPACE and ".." in text):
        return None
    if not (PART.fullmatch(parts[0]) and PART.fullmatch(parts[1])):
        return None
    return TopicName(PERSISTENT, *parts)


def is_kafka_name(text: str) -> bool:
    """Return whether Kafka itself accepts `text` as a topic's name."""
    return bool(_KAFKA_NAME.fullmatch(text)) and len(text) <= MAX_KAFKA_NAME_LENGTH and text not in (".", "..")
