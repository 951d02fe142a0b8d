"""The settings that keep a log on Kafka safe: those of the clients are set, those of the topic checked.

Each one prevents a way of losing, reordering or duplicating events, and is covered by a test.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from topicfold.errors import BadSetting
from topicfold.kafka_client import KafkaRight
from topicfold.log.port import CLIENT_LOGGER, SettingProblem

SAFE_MESSAGE_BYTES = 1_048_588
"""Kafka's own default for the largest record batch."""

_CLIENT: Mapping[str, str | int | bool] = {
    "client.id": "topicfold",
    "allow.auto.create.topics": False,
    "socket.nagle.disable": True,
    "reconnect.backoff.max.ms": 1_000,
    # A halted leader keeps its connections: without this, requests to it time out before another leader is known.
    "topic.metadata.refresh.interval.ms": 2_000,
    "enable.metrics.push": False,
}
PRODUCER: Mapping[str, str | int | bool] = {
    "enable.idempotence": True,
    "acks": "all",
    "linger.ms": 0,
    "delivery.timeout.ms": 10_000,
    "delivery.report.only.error": False,
    "queue.buffering.max.messages": 10_000,
    "queue.buffering.max.kbytes": 131_072,
}
CONSUMER: Mapping[str, str | int | bool] = {
    "group.id": "topicfold-assigns-itself",
    "auto.offset.reset": "error",
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "isolation.level": "read_committed",
    "check.crcs": True,
    "enable.partition.eof": True,
    "fetch.wait.max.ms": 100,
    "fetch.min.bytes": 1,
    "fetch.error.backoff.ms": 50,
    "fetch.queue.backoff.ms": 10,
    # With a rack, brokers may have a follower there answer, which learns of a change half a second late (measured:
    # a read after another node's change took 500 ms instead of 15).
    "client.rack": "",
}
_TOPIC: Mapping[str, str] = {
    "cleanup.policy": "delete",
    "retention.ms": "-1",
    "retention.bytes": "-1",
    "max.message.bytes": str(SAFE_MESSAGE_BYTES),
    "unclean.leader.election.enable": "false",
    "message.timestamp.type": "LogAppendTime",
}
REPLICAS = 3
"""Copies of each partition, if there are that many brokers."""

_REFUSING = {"cleanup.policy", "retention.ms", "retention.bytes", "max.message.bytes"}


def client_settings(bootstrap: str, extra: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of every client of `bootstrap`: ours, and `extra`, such as security.

    Raises:
        BadSetting: `extra` names a setting that is pinned.
    """
    taken = sorted({"bootstrap.servers", "message.max.bytes", *_CLIENT, *PRODUCER, *CONSUMER} & extra.keys())
    if taken:
        raise BadSetting(
            f"kafka.{taken[0]} may not be set: Topicfold needs its own value", hint="Leave it out.", settings=taken
        )
    logger = logging.getLogger(CLIENT_LOGGER)
    logger.addFilter(_tells_of_fault)
    return {**_CLIENT, **extra, "bootstrap.servers": bootstrap, "logger": logger}


def _tells_of_fault(line: logging.LogRecord) -> bool:
    """Return whether a line of Kafka's client is worth a look.

    A broker has no producer ID at hand for the first who asks after its start, and has one half a second later. Where
    it never has, appends time out, and that is told.
    """
    text = line.getMessage()
    return "Failed to acquire idempotence PID" not in text or "Coordinator load in progress" not in text


def without_lines(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return `settings` without logging, for a client that is not polled: it would keep each line until it is.

    While brokers are away, such a client collects 20 lines a second (measured: 58 MB an hour), and writes them when it
    is closed, as if they were new. The clients that append and follow log what is wrong.
    """
    return {name: value for name, value in settings.items() if name not in {"logger", "debug"}} | {"log_level": 0}


def new_topic(brokers: int) -> tuple[int, dict[str, str]]:
    """Return the replication factor and the configuration for a new log's topic on that many brokers."""
    replicas = min(REPLICAS, brokers)
    return replicas, {**_TOPIC, "min.insync.replicas": str(max(1, replicas - 1))}


def topic_problems(
    bootstrap: str,
    topic: str,
    configuration: Mapping[str, str],
    replicas: Mapping[int, Sequence[int]],
    brokers: Collection[int],
) -> list[SettingProblem]:
    """Return what is wrong with a topic of this `configuration`, whose partitions are on the brokers `replicas`.

    Fewer replicas than `REPLICAS` do not refuse writes; if there are also fewer `brokers` in service, more replicas are
    not possible, and the problem is only advice.
    """
    fewest = min(map(len, replicas.values()))
    wanted = {**_TOPIC, "min.insync.replicas": str(max(1, fewest - 1))}
    alter = f"kafka-configs.sh --bootstrap-server {bootstrap} --alter --entity-type topics --entity-name {topic}"
    problems = [
        SettingProblem(name, found, value, name in _REFUSING, f"{alter} --add-config {name}={value}")
        for name, value in wanted.items()
        if (found := configuration.get(name, value)) != value and not _is_more(name, found, value)
    ]
    if fewest < REPLICAS:
        is_advice = len(brokers) < REPLICAS
        repair = (
            f"to keep the log when a disk fails, run {REPLICAS} brokers: this then shows the commands that make "
            f"{REPLICAS} copies; to try things out, it is enough as it is"
            if is_advice
            else _copying(bootstrap, topic, replicas, brokers)
        )
        problems.append(SettingProblem("replication.factor", str(fewest), str(REPLICAS), False, repair, is_advice))
    return problems


def _copying(bootstrap: str, topic: str, replicas: Mapping[int, Sequence[int]], brokers: Collection[int]) -> str:
    """Return the commands that give each partition `REPLICAS` replicas, including those that it has.

    The others are assigned round-robin, starting at another broker for each partition.
    """
    circle = sorted(brokers)
    partitions = []
    for partition, has in replicas.items():
        start = partition % len(circle)
        others = [each for each in circle[start:] + circle[:start] if each not in has]
        whole = [*has, *others[: max(0, REPLICAS - len(has))]]
        partitions.append({"topic": topic, "partition": partition, "replicas": whole})
    plan = json.dumps({"version": 1, "partitions": partitions}, separators=(",", ":"))
    tool = f"kafka-reassign-partitions.sh --bootstrap-server {bootstrap}"
    return f"echo '{plan}' > more-replicas.json && {tool} --reassignment-json-file more-replicas.json --execute"


def too_few_in_sync(
    configuration: Mapping[str, str], in_sync: Mapping[int, int], replicas: int
) -> list[SettingProblem]:
    """Return the problem that partitions take no appends, if they have fewer replicas in sync than required.

    `in_sync` has their number by partition. Each partition has at least `replicas`, in sync or not.
    """
    least = int(configuration.get("min.insync.replicas", 1))
    short = [partition for partition, count in sorted(in_sync.items()) if count < least]
    if not short:
        return []
    found = f"{min(in_sync.values())} (partition {', '.join(map(str, short))})"
    repair = (
        "start the brokers that are down, and restart those whose disk was full or failed: until then no change of "
        "these partitions is accepted"
    )
    if replicas < least:
        repair = f"give each partition {least} replicas, or lower min.insync.replicas: it has {replicas}"
    return [
        SettingProblem(
            "number of replicas in sync", found, f"{least} or more", False, repair, denies_writes=True, partitions=short
        )
    ]


def denied(right: KafkaRight) -> SettingProblem:
    """Return the problem that this node lacks a right on the log's topic."""
    return SettingProblem(
        f"right to {right.operation}",
        "denied to this node",
        "allowed",
        refuses_writes=False,
        repair=right.command,
        denies_writes=right.operation == "Write",
    )


def _is_more(name: str, found: str, wanted: str) -> bool:
    """Return whether the setting is one for which more is safer, and at least as much as wanted was found."""
    return name in {"max.message.bytes", "min.insync.replicas"} and int(found) >= int(wanted)
