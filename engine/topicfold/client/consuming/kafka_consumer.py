"""Kafka's client library for consuming: consumers as they are opened here, and which topics a cluster has."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from typing import Any

from confluent_kafka import (
    Consumer,
    ConsumerGroupState,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient

from topicfold.errors import BadSetting
from topicfold.kafka_client import error_in, open_kafka_client, release_id

_log = logging.getLogger(__name__)

_DEFAULTS: Mapping[str, Any] = {
    "auto.offset.reset": "earliest",
    # A topic that comes is fetched when the fetch that is waiting ends; librdkafka's own 500 ms are half of a second.
    "fetch.wait.max.ms": 100,
    # The classic protocol learns only by this of a topic that it did not find at first; by itself every five minutes.
    "topic.metadata.refresh.interval.ms": 5_000,
}
_NEWER: Mapping[str, Any] = {"group.protocol": "consumer"}
_STRATEGY = "partition.assignment.strategy"
_CLASSIC: Mapping[str, Any] = {_STRATEGY: "cooperative-sticky"}
_CLASSIC_ONLY = frozenset({_STRATEGY, "session.timeout.ms", "heartbeat.interval.ms", "group.protocol.type"})
"""librdkafka takes none of these beside the newer protocol, so who sets one has chosen."""
_STATIC = "group.instance.id"
"""By the newer protocol, a member that died and comes back under its own id dies again as long as its session lasts. By
the classic one, which is the default of Kafka's client, it takes its place at once, which is what such an id is for."""

_STORE = "enable.auto.offset.store"
_BROKERS = ("bootstrap.servers", "metadata.broker.list")
"""librdkafka's two names for one setting."""
_FENCED = (KafkaError.FENCED_INSTANCE_ID, KafkaError.UNRELEASED_INSTANCE_ID)
_PROTOCOL_REFUSALS = (KafkaError.UNSUPPORTED_VERSION, KafkaError.GROUP_ID_NOT_FOUND, KafkaError._UNSUPPORTED_FEATURE)
_GONE = frozenset({KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC, KafkaError._UNKNOWN_PARTITION})
_ABSENT = frozenset({KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError.TOPIC_AUTHORIZATION_FAILED})
_REBALANCING = (ConsumerGroupState.PREPARING_REBALANCING, ConsumerGroupState.COMPLETING_REBALANCING)
_NAMES_A_QUESTION = 500
_ANSWER_SECONDS = 5.0


def chooses_protocol(conf: Mapping[str, Any]) -> bool:
    """Return whether `conf` leaves it to us how members of the group agree.

    >>> chooses_protocol({"group.id": "billing"}), chooses_protocol({"session.timeout.ms": 6000})
    (True, False)
    """
    return _CLASSIC_ONLY.union(("group.protocol", _STATIC)).isdisjoint(conf)


def stores_by_itself(conf: Mapping[str, Any]) -> bool:
    """Return whether `conf` has offsets stored, to be committed, without the caller.

    >>> stores_by_itself({}), stores_by_itself({"enable.auto.offset.store": "false"})
    (True, False)
    """
    return str(conf.get(_STORE, True)).lower() not in {"false", "f", "0"}


def sasl_settings(username: str, password: str) -> Mapping[str, str]:
    """Return the settings that say who logs in."""
    return {"sasl.username": username, "sasl.password": password}


def is_incremental(conf: Mapping[str, Any]) -> bool:
    """Return whether a consumer that was opened with `conf` is assigned what comes and goes, rather than all it has.

    Whichever protocol we choose, it is.

    >>> is_incremental({}), is_incremental({"partition.assignment.strategy": "range"})
    (True, False)
    """
    settings = {**_protocol(conf, newer=False), **conf}
    is_newer = settings.get("group.protocol", "").lower() == _NEWER["group.protocol"]
    return is_newer or "cooperative" in settings[_STRATEGY]


def open_consumer(conf: Mapping[str, Any], *, newer: bool) -> Consumer:
    """Return a consumer. If `conf` leaves it to us, members agree by KIP-848 if `newer`, else cooperative-sticky.

    It stores no offset by itself.

    Raises:
        BadSetting: librdkafka does not take `conf`, or it names no broker, which librdkafka takes and never connects.
    """
    if not any(map(conf.get, _BROKERS)):
        raise BadSetting(f"{_BROKERS[0]} must be set", hint="Give HOST:PORT of a broker.")
    stores = {_STORE: False} if stores_by_itself(conf) else {}
    return open_kafka_client(Consumer, {**_DEFAULTS, **_protocol(conf, newer=newer), **conf, **stores})


def close_consumer(kafka: Consumer, conf: Mapping[str, Any]) -> None:
    """Have a consumer that was opened with `conf` end, and leave its group unless it has an id of its own there.

    librdkafka 2.16 leaves nothing by the classic protocol, cooperative-sticky, where it has no partitions: the others
    would wait for that member as long as its session lasts.
    """
    try:
        if _STATIC not in conf and not kafka.assignment():
            kafka.unsubscribe()
    except KafkaException as error:
        _log.debug("closing a consumer that is dead: %s", error)
    kafka.close()


def is_membership_lost(error: KafkaError) -> bool:
    """Return whether a consumer is dead whose place in the group another may take: a fatal error of its heartbeats.

    Not if another member took its place.
    """
    return error.code() == KafkaError._FATAL and "ConsumerGroupHeartbeat" in error.str() and not _says(error, _FENCED)


def is_protocol_refused(error: KafkaError) -> bool:
    """Return whether the membership was lost because the newer protocol is not to be had.

    Brokers before 4.0 do not have it, it may be switched off, and a group may have members that cannot change to it.
    """
    return is_membership_lost(error) and _says(error, _PROTOCOL_REFUSALS)


def is_about_missing_topic(error: KafkaError) -> bool:
    """Return whether an error says that a topic is not there."""
    return error.code() in _GONE


class KafkaLook:
    """Asks a cluster which topics it has, with the settings of a consumer."""

    def __init__(self, conf: Mapping[str, Any]) -> None:
        """Make a client; nothing is sent.

        Raises:
            BadSetting: librdkafka does not take `conf`.
        """
        # What is for consumers only it passes over, with a warning that is not printed.
        own = {name: value for name, value in conf.items() if name == "oauth_cb" or not callable(value)}
        for of_logs in ("logger", "debug"):
            own.pop(of_logs, None)
        self._conf = {**own, "log_level": 0, "enable.metrics.push": False, "allow.auto.create.topics": False}
        self.admin = open_kafka_client(AdminClient, self._conf)
        self._probe: Consumer | None = None

    def set_sasl_credentials(self, username: str, password: str) -> None:
        """Log in with these from the next connection on."""
        self._conf |= sasl_settings(username, password)
        for each in (self.admin, self._probe):
            if each is not None:
                each.set_sasl_credentials(username, password)

    def elsewhere(self, group: str, member: str) -> set[str] | None:
        """Return the topics that other members of a group read than `member`; None if that cannot be learnt.

        By the classic protocol nobody reads anything, as far as Kafka says, while the members gather: as long as the
        slowest of them takes between two polls.

        librdkafka aborts the process some time after it asked what a group looks like while the coordinator, or its
        own connection to that, was away. So what is committed is asked for before, which is harmless, and then a
        client is asked that has no connection yet.

        Source: librdkafka's issue 4605.
        """
        try:
            if self._probe is None:
                self._probe = open_kafka_client(Consumer, {**self._conf, "group.id": group})
            self._probe.poll(0)  # for tokens that have to be renewed
            self._probe.committed([TopicPartition("any", 0)], _ANSWER_SECONDS)
            admin = open_kafka_client(AdminClient, self._conf)
            described = admin.describe_consumer_groups([group], request_timeout=_ANSWER_SECONDS)[group].result()
        except (KafkaException, BadSetting):
            # Without a token, say, no new client can be had.
            return None
        if described.state in _REBALANCING:
            return None
        others = [each for each in described.members if each.member_id != member]
        return {partition.topic for each in others for partition in each.assignment.topic_partitions}

    def __call__(self, names: Collection[str]) -> dict[str, str | None]:
        """Return the ids of these topics, None for one that is not there for us; what is not answered is left out."""
        self.admin.poll(0)  # for tokens that have to be renewed
        wanted = list(names)
        found: dict[str, str | None] = {}
        try:
            # librdkafka 2.16 asks the controller that it knows, and where that one died hears of another by this only.
            self.admin.list_topics("any", _ANSWER_SECONDS)
        except KafkaException:
            return found
        for start in range(0, len(wanted), _NAMES_A_QUESTION):
            page = TopicCollection(wanted[start : start + _NAMES_A_QUESTION])
            for name, future in self.admin.describe_topics(page, request_timeout=_ANSWER_SECONDS).items():
                try:
                    found[name] = str(release_id(future.result()).topic_id)
                except KafkaException as error:
                    if error_in(error).code() in _ABSENT:
                        found[name] = None
        return found


def _protocol(conf: Mapping[str, Any], *, newer: bool) -> Mapping[str, Any]:
    """Return what is set of the protocol where `conf` does not."""
    if conf.get("group.protocol", "").lower() == _NEWER["group.protocol"]:
        return {}
    return _NEWER if newer and chooses_protocol(conf) else _CLASSIC


def _says(error: KafkaError, codes: Collection[int]) -> bool:
    """Return whether a fatal error, which has no code but that, is one of `codes` by its text."""
    return any(KafkaError(code).str() in error.str() for code in codes)
