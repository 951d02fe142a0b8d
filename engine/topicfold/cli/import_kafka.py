"""`topicfold import kafka`: topic records for the topics of a Kafka cluster, as often as one likes."""

from __future__ import annotations

import shlex
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Annotated

import typer

from topicfold.cli.arguments import KafkaSettings, read_settings
from topicfold.cli.command import command, new_app
from topicfold.cli.config import Config
from topicfold.cli.exit_codes import ExitCode
from topicfold.cli.progress import progress
from topicfold.cli.same_server import on_the_same_server
from topicfold.cli.session import Session
from topicfold.errors import TopicfoldError
from topicfold.text.counting import counted

if TYPE_CHECKING:
    from topicfold.model.kafka.adoption import Adoption, Failed, Gone, New, Present

app = new_app()

Bootstrap = Annotated[str, typer.Option("--bootstrap", metavar="HOST:PORT", help="Bootstrap servers of the cluster.")]
Only = Annotated[
    list[str] | None,
    typer.Option(
        "--only", metavar="GLOB", help="Import only Kafka topics whose names match, such as 'pay.*'; repeatable."
    ),
]
Exclude = Annotated[
    list[str] | None,
    typer.Option("--exclude", metavar="GLOB", help="Leave out Kafka topics whose names match; repeatable."),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Report only; create nothing.")]

_METADATA_SECONDS = 10.0


@command(app, "kafka")
def import_kafka(
    session: Session,
    bootstrap: Bootstrap,
    kafka_setting: KafkaSettings = None,
    only: Only = None,
    exclude: Exclude = None,
    dry_run: DryRun = False,
) -> None:
    """Create a record for each topic of a Kafka cluster. Kafka itself is never changed.

    Run it again at any time: it reports which topics are new, already recorded, gone from Kafka, or have another number
    of partitions there. It only creates records, and never deletes or changes any.

    A Kafka topic 'tenant..namespace..topic' becomes tenant/namespace/topic (tenant and namespace are created if
    missing), any other one public/default/NAME. Names that start with '__', and '_schemas', are left out, and so are
    those that --only and --exclude leave out, where '*' is any text. What has a record is reported all the same.

    \b
    Examples:
      topicfold import kafka --bootstrap localhost:9092 --dry-run
      topicfold import kafka --bootstrap localhost:9092 --only 'pay.*' --exclude '*-changelog' --exclude '*.dlq'
      topicfold import kafka --bootstrap broker:9093 --kafka-setting security.protocol=SSL -o json
    """
    from topicfold.client.kafka_cluster import list_kafka_topics
    from topicfold.client.kafka_import import read_target
    from topicfold.model.kafka.adoption import missing_namespaces, plan_adoption

    settings = read_settings(kafka_setting, "--kafka-setting")
    kafka_topics = list_kafka_topics(bootstrap, settings, min(session.config["timeout_seconds"], _METADATA_SECONDS))
    target = read_target(session.client)
    plan = _chosen(plan_adoption(kafka_topics, target.topics), only or ["*"], exclude or [])
    namespaces = missing_namespaces(plan.new, target.namespaces)
    made, refused = (plan.new, ()) if dry_run else _make(session, plan, namespaces)
    failed = (*plan.failed, *refused)
    _show(session, plan, made, failed, namespaces, bootstrap)
    done = "would import" if dry_run else "imported"
    differing = sum(topic.has_other_partitions for topic in plan.present)
    session.output.note(
        f"{done} {len(made):,} new; {len(plan.present) - differing:,} already there, "
        f"{len(plan.gone):,} gone from Kafka, {differing:,} with other partitions, {len(failed):,} failed, "
        f"{_left_out(plan)}"
    )
    if failed:
        raise typer.Exit(ExitCode.PARTLY_FAILED)


def _chosen(plan: Adoption, only: list[str], exclude: list[str]) -> Adoption:
    """Return `plan` with those Kafka topics without a record left out that are not to have one."""
    from topicfold.model.kafka.adoption import LeftOut

    def is_wanted(topic: New | Failed) -> bool:
        return _is_any(topic.kafka_name, only) and not _is_any(topic.kafka_name, exclude)

    found: tuple[New | Failed, ...] = (*plan.new, *plan.failed)
    unwanted = (LeftOut(topic.kafka_name) for topic in found if not is_wanted(topic))
    return replace(
        plan,
        new=tuple(filter(is_wanted, plan.new)),
        failed=tuple(filter(is_wanted, plan.failed)),
        left_out=(*plan.left_out, *unwanted),
    )


def _is_any(kafka_name: str, globs: list[str]) -> bool:
    return any(fnmatchcase(kafka_name, glob) for glob in globs)


def _left_out(plan: Adoption) -> str:
    """Return how many Kafka topics are left out: Kafka's own, and those that were not wanted."""
    from topicfold.model.kafka.adoption import is_left_out

    internal = sum(is_left_out(topic.kafka_name) for topic in plan.left_out)
    unwanted = len(plan.left_out) - internal
    return f"{internal:,} internal left out" + (f", {unwanted:,} others" if unwanted else "")


def _make(session: Session, plan: Adoption, namespaces: tuple[str, ...]) -> tuple[tuple[New, ...], tuple[Failed, ...]]:
    """Make the plan's records; return those made and those refused, each in order of names."""
    from topicfold.client.kafka_import import make_namespaces, make_records
    from topicfold.model.kafka.adoption import Failed, New

    outcomes = list[New | Failed]()
    make_namespaces(session.client, namespaces)
    is_shown = session.is_progress_shown
    try:
        with progress("import kafka", len(plan.new), is_shown) as step:
            for outcome in make_records(session.client, plan.new):
                outcomes.append(outcome)
                step()
    except KeyboardInterrupt:
        session.output.note("interrupted; run it again, it continues from there")
        raise
    except TopicfoldError:
        session.output.note(
            f"{len(outcomes):,} of {len(plan.new):,} are known to be done; run it again, it continues from there"
        )
        raise
    outcomes.sort(key=lambda outcome: outcome.kafka_name)
    made = tuple(outcome for outcome in outcomes if isinstance(outcome, New))
    return made, tuple(outcome for outcome in outcomes if isinstance(outcome, Failed))


def _difference(topic: Present, bootstrap: str, config: Config) -> str:
    """Return how a record differs from Kafka, and what to type to mend it: nothing that deletes what is in a topic."""
    if topic.recorded_partitions > topic.kafka_partitions:
        name, count = shlex.quote(topic.kafka_name), topic.recorded_partitions
        step = f"kafka-topics.sh --bootstrap-server {bootstrap} --alter --topic {name} --partitions {count}"
    elif topic.recorded_partitions:
        name, count = shlex.quote(topic.name), topic.kafka_partitions
        grow = f"topicfold topics update-partitioned-topic {name} --partitions {count}"
        step = on_the_same_server(grow, config)
    else:
        step = f"topicfold serve --cluster-bootstrap {bootstrap} --follow-cluster makes it a partitioned one"
    recorded = counted(topic.recorded_partitions, "partition") if topic.recorded_partitions else "not partitioned as"
    return f"{recorded} recorded, {topic.kafka_partitions} in Kafka: {step}"


def _partitions(topic: New) -> str:
    """Return how many partitions a record has, as lists of topics show it: one in Kafka is none there."""
    return counted(topic.recorded_partitions, "partition") if topic.recorded_partitions else "not partitioned"


def _lost(topic: Gone, bootstrap: str, config: Config) -> str:
    """Return what to type where the Kafka topic of a record is not there: what makes it, empty, or drops the record.

    Kafka tells nobody of a topic that they may not describe.
    """
    name, count = shlex.quote(topic.kafka_name), max(topic.recorded_partitions, 1)
    step = f"kafka-topics.sh --bootstrap-server {bootstrap} --create --topic {name} --partitions {count}"
    delete = "delete-partitioned-topic" if topic.recorded_partitions else "delete"
    drop = on_the_same_server(f"topicfold topics {delete} {shlex.quote(topic.name)}", config)
    return (
        f"no such topic in Kafka, or none that you may Describe; its record stays: {step} makes it, empty; "
        f"{drop} drops the record, and the topic with its messages if it is there after all"
    )


def _show(
    session: Session,
    plan: Adoption,
    made: tuple[New, ...],
    failed: tuple[Failed, ...],
    namespaces: tuple[str, ...],
    bootstrap: str,
) -> None:
    differing = [topic for topic in plan.present if topic.has_other_partitions]
    rows = [
        *(("new", topic.name, topic.kafka_name, _partitions(topic)) for topic in made),
        *(
            ("differs", topic.name, topic.kafka_name, _difference(topic, bootstrap, session.config))
            for topic in differing
        ),
        *(("gone", topic.name, topic.kafka_name, _lost(topic, bootstrap, session.config)) for topic in plan.gone),
        *(("failed", "", failure.kafka_name, failure.reason) for failure in failed),
    ]
    data = {
        "new": made,
        "namespaces": list(namespaces),
        "present": [topic.name for topic in plan.present],
        "differing": differing,
        "gone": [topic.name for topic in plan.gone],
        "failed": failed,
        "leftOut": [topic.kafka_name for topic in plan.left_out],
    }
    session.output.show(data, [topic.name for topic in made], ("STATE", "TOPIC", "KAFKA TOPIC", "DETAIL"), rows)
