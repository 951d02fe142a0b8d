"""What is wrong with the connections of a client of Kafka, which its answers do not say: these only run out of time."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Protocol

from confluent_kafka import KafkaError

NOT_CONNECTED = frozenset(
    {
        KafkaError._TIMED_OUT,
        KafkaError._MSG_TIMED_OUT,
        KafkaError._TRANSPORT,
        KafkaError._ALL_BROKERS_DOWN,
    }
)
"""What a client says where it has no connection, or none yet: on a busy machine the first attempt may fail."""
_CIRCUMSTANCES = re.compile(r" \(after \d+ms in state .*\)$")
_NO_KAFKA = re.compile(r"Invalid response size .*")
"""What librdkafka makes of an answer in another language, such as HTTP; it would have its own limit raised then."""
_NOT_TRUSTED = re.compile(r"error:\w+:SSL routines:[^:]*:(certificate verify failed)(: broker certificate could .*)?")
"""librdkafka goes on to suspect the authorities, whatever it is."""
_WHY_NOT_TRUSTED = "it may have expired, lack the name that is asked, or be signed by no authority in ssl.ca.location"
_BROKER = re.compile(r"(?:\w+://)?(\S+)/\d+: ")
_NOBODY_THERE = frozenset({KafkaError._RESOLVE, KafkaError._TRANSPORT})


class Throttle(Protocol):
    """What a client is told of a broker's quota; of 0 seconds once it keeps to it again."""

    broker_name: str
    throttle_time: float


class KafkaConnections:
    """Those of one client: a password that is refused, a certificate that is not trusted, an address with nobody there.

    Or a broker that lets it wait, for its principal or its `client.id` has a quota.

    A client tells of them within `poll` alone. Not for two threads at once.

    >>> connections = KafkaConnections({})
    >>> refused = "b1: SASL authentication error: invalid credentials (after 3ms in state AUTH_REQ)"
    >>> connections.note(KafkaError(KafkaError._AUTHENTICATION, refused))
    >>> connections.note(KafkaError(KafkaError._ALL_BROKERS_DOWN, "3/3 brokers are down"))
    >>> connections.cause_of(KafkaError(KafkaError._TIMED_OUT)).str()
    'b1: SASL authentication error: invalid credentials'
    """

    def __init__(self, settings: Mapping[str, Any]) -> None:
        """Know of none yet; `settings` are the client's."""
        protocol = settings.get("security.protocol", "PLAINTEXT")
        self._doubt = f"expect another security.protocol than {protocol}, or be no Kafka broker"
        self._bootstrap = str(settings.get("bootstrap.servers", ""))
        self._trouble: KafkaError | None = None
        self._throttled: KafkaError | None = None

    def note(self, error: KafkaError) -> None:
        """Take what the client says of one of them: its `error_cb`.

        That all brokers are down is said after the reason, except of connections that were made and then closed, or
        never answered: these it does not report. So a broker ends one whose first bytes are not of the protocol that it
        expects, and the system still makes them for a broker that hangs.
        """
        if error.code() == KafkaError._ALL_BROKERS_DOWN:
            useless = f"what listens there closes connections or does not answer: it may hang, {self._doubt}"
            self._trouble = self._trouble or KafkaError(KafkaError._TRANSPORT, useless)
        elif error.code() < 0:
            text = _NO_KAFKA.sub(
                f"it does not answer as Kafka does: it may {self._doubt}", _CIRCUMSTANCES.sub("", error.str())
            )
            text = _NOT_TRUSTED.sub(rf"\1: {_WHY_NOT_TRUSTED}", text)
            broker = _BROKER.match(text)
            if error.code() in _NOBODY_THERE and broker and broker[1] not in self._bootstrap:
                text += "; the cluster gives this address, in its advertised.listeners"
            self._trouble = KafkaError(error.code(), text)

    def note_throttle(self, told: Throttle) -> None:
        """Take that a broker lets the client wait, or no longer: its `throttle_cb`."""
        text = f"{told.broker_name} lets us wait for {told.throttle_time:.1f} s: we are above a quota of the cluster's"
        self._throttled = KafkaError(KafkaError.THROTTLING_QUOTA_EXCEEDED, text) if told.throttle_time else None

    def forget(self) -> None:
        """Take them for well, as after an answer, which a quota does not keep anybody from."""
        self._trouble = None

    def cause_of(self, error: KafkaError) -> KafkaError:
        """Return what was noted last, where `error` only says that nothing came; else `error` itself."""
        cause = self._trouble or self._throttled
        return error if cause is None or error.code() not in NOT_CONNECTED else cause
