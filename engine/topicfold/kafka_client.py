"""What all clients of Kafka have in common: how one is made, and how an error that Kafka gives it is read."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib.metadata import version
from shlex import quote
from typing import Any, NamedTuple, TypeVar

from confluent_kafka import KafkaError, KafkaException, Uuid
from confluent_kafka.admin._topic import TopicDescription

from topicfold.errors import BadSetting
from topicfold.pem import CERTIFICATE, PRIVATE_KEY, require_pem

DENIED = frozenset({KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED})
"""Codes that say that this principal lacks a right."""
NOT_LET_IN = frozenset({KafkaError.SASL_AUTHENTICATION_FAILED, KafkaError._AUTHENTICATION})
"""Codes that say that it could not log in."""

_FILES: Mapping[str, str] = {
    "ssl.ca.location": CERTIFICATE,
    "ssl.certificate.location": CERTIFICATE,
    "ssl.key.location": PRIVATE_KEY,
}
"""What these files hold. Of a wrong one, Kafka's client says no more than "BIO lib", "system lib" or "PEM lib"."""

Client = TypeVar("Client")


class KafkaRight(NamedTuple):
    """A right that our principal needs: an operation, as Kafka names it, on a topic or a group, or with no name on the
    cluster.

    >>> KafkaRight("Create", "orders", "broker1:9092").command.partition(" --operation ")[2]
    'Create --topic orders'
    """

    operation: str
    name: str
    bootstrap: str
    kind: str = "topic"

    @property
    def resource(self) -> str:
        """What it is a right on."""
        return f"{self.kind} {self.name}" if self.name else "the cluster"

    @property
    def command(self) -> str:
        """The command that grants it."""
        resource = f"--{self.kind} {quote(self.name)}" if self.name else "--cluster"
        return (
            f"kafka-acls.sh --bootstrap-server {quote(self.bootstrap)} --add --allow-principal User:NAME "
            f"--operation {self.operation} {resource}"
        )


def open_kafka_client(kind: Callable[[dict[str, Any]], Client], settings: Mapping[str, Any]) -> Client:
    """Return a client with these settings; nothing is sent.

    Raises:
        BadSetting: Kafka's client does not accept them, or cannot use a file that they name.
    """
    try:
        return kind(dict(settings))
    except KafkaException as error:
        why = error_in(error).str()
        cause: Exception = error
    except (AttributeError, SystemError, TypeError, ValueError) as error:
        # It reads settings in Python and in C, which says by a SystemError that there is another behind it.
        why = str(error.__cause__ or error)
        cause = error
    for setting, wanted in _FILES.items():
        if f"{setting} failed" in why:
            require_pem(setting, str(settings[setting]), wanted)
    is_key_unread = "ssl.key.location failed" in why and "PEM lib" in why
    hint = "If the key has a password, ssl.key.password must be it." if is_key_unread else ""
    raise BadSetting(f"Kafka's client does not accept these settings: {why}", hint=hint) from cause


def error_in(exception: KafkaException) -> KafkaError:
    """Return the error that `exception` carries."""
    error: KafkaError = exception.args[0]
    return error


_COUNTS_WRONG = version("confluent-kafka") in {"2.16.0", "2.16.1"}
_SOUND = TopicDescription("", Uuid(0, 0), False, [])
"""A description whose id nobody else refers to, to compare others with: Python's versions count differently."""
_RELEASED = "_id_is_released"


def release_id(described: TopicDescription) -> TopicDescription:
    """Return what Kafka's client has just said of a topic, with an id that ends with it.

    confluent-kafka 2.16 counts a reference to each id that nobody has, so it stays for ever: 120 bytes. A consumer by
    label, which asks for each of its topics every five seconds, lost 2 MB a day for each of them. In versions that are
    not known to do so, and where the count shows no such reference, nothing is done.
    """
    me = object()
    # Once for each description: later, the reference that is one too many may be somebody's.
    if not _COUNTS_WRONG or vars(described).setdefault(_RELEASED, me) is not me:
        return described
    if sys.getrefcount(described.topic_id) == sys.getrefcount(_SOUND.topic_id) + 1:
        # Not every Python has it.
        with suppress(ImportError):
            import ctypes

            ctypes.pythonapi.Py_DecRef(ctypes.py_object(described.topic_id))
    return described
