"""`topicfold copy`: a log goes to another place. What it does is in `topicfold.log.copying`."""

from __future__ import annotations

import importlib
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from topicfold.cli.arguments import KafkaBootstrap, KafkaSettings, KafkaTopic, LogFile, read_settings
from topicfold.cli.progress import progress
from topicfold.cli.server_settings import given_settings, needed_packages, server_settings
from topicfold.cli.session import Session
from topicfold.errors import InvalidRequest
from topicfold.model.kafka.adoption import risk_of_log
from topicfold.model.system_topics import EVENTS_TOPIC

ToLog = Annotated[Path | None, typer.Option("--to-log", metavar="FILE", dir_okay=False, help="Copy into this file.")]
ToKafka = Annotated[
    str | None, typer.Option("--to-kafka", metavar="HOST:PORT", help="Copy to this Kafka cluster instead.")
]
ToKafkaTopic = Annotated[
    str | None,
    typer.Option("--to-kafka-topic", metavar="TOPIC", help=f"The copy's topic there (default {EVENTS_TOPIC})."),
]
ToKafkaSettings = Annotated[
    list[str] | None,
    typer.Option("--to-kafka-setting", metavar="KEY=VALUE", help="A librdkafka setting for that cluster; repeatable."),
]

_BATCHES = "copying batches of records"
_HEADER = ("PARTITION", "FROM", "TO", "COPIED")


def copy(
    session: Session,
    log: LogFile = None,
    kafka: KafkaBootstrap = None,
    kafka_topic: KafkaTopic = None,
    kafka_setting: KafkaSettings = None,
    to_log: ToLog = None,
    to_kafka: ToKafka = None,
    to_kafka_topic: ToKafkaTopic = None,
    to_kafka_setting: ToKafkaSettings = None,
) -> None:
    """Copy a log to another file or Kafka topic.

    Each record keeps its offset, so the copy is the same log: nodes, watches, clients and snapshots continue as if
    nothing had happened. Stop all nodes on the log first, and start them on the copy; from then on nobody may write to
    the original.

    What the copy already holds is compared: run it again to continue after an interruption, or to check that both are
    the same. A target that holds anything else is refused. A trimmed log still needs its snapshot.

    \b
    Examples:
      topicfold copy --log topicfold.db --to-kafka broker:9092
      topicfold copy --kafka broker:9092 --to-log topicfold.db
      topicfold copy --kafka old:9092 --to-kafka new:9093 --to-kafka-setting security.protocol=SSL
      topicfold copy --kafka broker:9092 --to-kafka broker:9092 --to-kafka-topic __change_events_2
    """
    topic, there = _place(to_log, to_kafka, to_kafka_topic, to_kafka_setting)
    flags = {"log_file": log, "kafka_bootstrap": kafka, "kafka_topic": kafka_topic}
    given = given_settings(flags, kafka_setting, None)
    with needed_packages("copying", {"kafka_bootstrap": to_kafka} if to_kafka else given):
        from topicfold.starting import KafkaPlace, copy_to

        if to_kafka:
            importlib.import_module("topicfold.log.kafka")
        settings = server_settings(session.config, given, "copying")
    place = to_log or KafkaPlace(to_kafka or "", topic, there)
    if to_kafka and (risk := risk_of_log(topic)):
        session.output.warning(risk, "copy it to a topic whose name begins with __")
    identity, spans = copy_to(place, settings, partial(progress, _BATCHES, is_shown=session.is_progress_shown))
    told = {
        "incarnation": identity.incarnation.hex(),
        "partitions": [
            {"partition": each.partition, "from": each.start, "to": each.end, "copied": each.copied} for each in spans
        ],
    }
    names = [str(each.partition) for each in spans if each.copied]
    session.output.show(told, names, _HEADER, [tuple(map(str, each)) for each in spans])
    session.output.note(f"{place} is the same log, {told['incarnation']}, up to these offsets")


def _place(
    file: Path | None, bootstrap: str | None, topic: str | None, settings: list[str] | None
) -> tuple[str, dict[str, str]]:
    """Return the topic and the settings of a place that the flags name.

    Raises:
        InvalidRequest: they name no place or two, or one is malformed.
    """
    if (file is None) == (bootstrap is None):
        raise InvalidRequest("the copy goes into a file or to Kafka", hint="Give --to-log or --to-kafka.")
    if bootstrap is None and (topic or settings):
        flag = "--to-kafka-topic" if topic else "--to-kafka-setting"
        raise InvalidRequest(f"{flag} is for a copy on Kafka", hint="Name the cluster with --to-kafka HOST:PORT.")
    return topic or EVENTS_TOPIC, read_settings(settings or [], "--to-kafka-setting")
