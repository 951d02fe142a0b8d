"""`topicfold consume`: the messages of the topics that match, whichever these are at the time."""

from __future__ import annotations

import base64
import math
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from topicfold.cli.arguments import KafkaSettings, read_labels, read_settings
from topicfold.cli.exit_codes import ExitCode
from topicfold.cli.query_options import (
    NOTHING_YET,
    AllNamespaces,
    Match,
    Namespaces,
    Properties,
    Regex,
    Selector,
    namespaces_to_follow,
)
from topicfold.cli.session import Session
from topicfold.cli.stdout_reader import require_reader
from topicfold.errors import InvalidRequest
from topicfold.text.counting import counted

if TYPE_CHECKING:
    from topicfold.client import LabelConsumer

Bootstrap = Annotated[str, typer.Option("--bootstrap", metavar="HOST:PORT", help="Kafka cluster with the topics.")]
Group = Annotated[
    str | None, typer.Option("--group", metavar="GROUP", help="Consumer group; its offsets are committed.")
]
FromBeginning = Annotated[
    bool, typer.Option("--from-beginning/--from-end", help="Where to start without a committed offset.")
]
Max = Annotated[int | None, typer.Option("--max", min=1, metavar="N", help="End after this many messages.")]
Idle = Annotated[
    float | None,
    typer.Option(
        "--idle-seconds",
        min=1,
        metavar="SECONDS",
        help="End once no message has come for so long, as when all are read.",
    ),
]

_OPTIONS = {"group.id": "--group", "bootstrap.servers": "--bootstrap", "metadata.broker.list": "--bootstrap"}
_OFFSET_STORE = "enable.auto.offset.store"
_POLL_SECONDS = 0.2
_LEAVE_SECONDS = 1.0
_MORE_SECONDS = 9.0
_CRITICAL = 2
_CONNECT_MS = 10_000
"""As Kafka's own clients; librdkafka says only after 30 s that nobody answers."""
_ASSIGNOR_HINT = (
    "The other members use another assignor. Give theirs; for Kafka's default: "
    "--kafka-setting partition.assignment.strategy=range. If a share group has that name, even without members, "
    "choose another --group"
)
_OWN_GROUPS = "topicfold-consume-"
"""How the groups begin that nobody has named."""
_DEAD_HINT = "no more messages would arrive; once this is fixed, run it again"


def consume(
    session: Session,
    bootstrap: Bootstrap,
    selector: Selector = None,
    namespaces: Namespaces = None,
    all_namespaces: AllNamespaces = False,
    match: Match = None,
    regex: Regex = None,
    properties: Properties = None,
    group: Group = None,
    from_beginning: FromBeginning = True,
    max_records: Max = None,
    idle_seconds: Idle = None,
    kafka_setting: KafkaSettings = None,
) -> None:
    """Print the messages of the topics that match.

    Topics that come to match later are included. A line is the Kafka topic and the value, or – for a message without
    one; -o json prints everything, with bytes that are not UTF-8 as base64. Offsets are committed only with --group. It
    runs until interrupted, or with --max or --idle-seconds until then.

    \b
    Examples:
      topicfold consume -l team=pay --bootstrap broker:9092
      topicfold consume -l team=pay --bootstrap broker:9092 --idle-seconds 10 > messages.txt
      topicfold consume --match 'pay__**' --bootstrap broker:9092 --group audit --max 100 -o json
    """
    from topicfold.client import LabelConsumer

    consumer = LabelConsumer(
        _settings(session, bootstrap, group, from_beginning, read_settings(kafka_setting, "--kafka-setting")),
        selector,
        # Listings are asked for by name.
        namespaces=namespaces_to_follow(session, namespaces, all_namespaces, by_name=bool(properties)),
        match=match or None,
        regex=regex,
        properties=read_labels(properties, "--properties"),
        client=session.client,
        on_topics=lambda added, removed: _tell(session, added, removed),
    )
    try:
        if not consumer.matched_topics():
            session.output.note(NOTHING_YET)
        idle = math.inf if idle_seconds is None else idle_seconds
        _print(session, consumer, max_records, idle, partial(_hint, bootstrap, group))
    finally:
        _leave(session, consumer, commits=group is not None)


def _settings(
    session: Session, bootstrap: str, group: str | None, from_beginning: bool, own: Mapping[str, str]
) -> dict[str, Any]:
    """Return the settings of the consumer; its `own`, which somebody gave as such, go before ours.

    Raises:
        InvalidRequest: one of these is for an option to say, or for nobody.
    """
    for setting, option in _OPTIONS.items():
        if setting in own:
            raise InvalidRequest(f"--kafka-setting {setting}: there is an option for that", hint=f"Give {option}.")
    if _OFFSET_STORE in own:
        raise InvalidRequest(
            f"--kafka-setting {_OFFSET_STORE}: the offsets of what was printed are stored, and of nothing else",
            hint="Leave it out.",
        )
    return {
        "bootstrap.servers": bootstrap,
        "group.id": group or f"{_OWN_GROUPS}{secrets.token_hex(8)}",
        "enable.auto.commit": group is not None,
        _OFFSET_STORE: False,
        "auto.offset.reset": "earliest" if from_beginning else "latest",
        # librdkafka prints a line for each attempt at a broker that is away, twenty a second.
        "log_level": _CRITICAL,
        "error_cb": teller(session.output.warning, bootstrap),
        "socket.connection.setup.timeout.ms": _CONNECT_MS,
        **own,
    }


def _leave(session: Session, consumer: LabelConsumer, *, commits: bool) -> None:
    """Leave the group and close `consumer`; not for longer than some seconds, and not after another Ctrl-C.

    Speaks of offsets only where it `commits` them.

    Where no broker answers, Kafka's client tries for 45 s to commit what is stored, and takes no signal meanwhile.
    """
    errors: list[BaseException] = []

    def leave() -> None:
        try:
            consumer.close()
        except BaseException as error:  # noqa: BLE001 -- raised where it is waited for
            errors.append(error)

    leaving = threading.Thread(target=leave, name="topicfold-leave", daemon=True)
    leaving.start()
    leaving.join(_LEAVE_SECONDS)
    if leaving.is_alive():
        purpose = "commit offsets and leave the group" if commits else "stop consuming"
        session.output.note(f"waiting for Kafka, to {purpose}; Ctrl-C ends that")
        leaving.join(_MORE_SECONDS)
    if leaving.is_alive():
        loss = ": what was printed last may not be committed, and comes again" if commits else ""
        session.output.warning(f"Kafka does not answer{loss}")
    if errors:
        raise errors[0]


def _hint(bootstrap: str, group: str | None, error: str, topic: str) -> str:
    """Return what to do about an error of that name, which is about `topic` if there is one."""
    from topicfold.kafka_client import KafkaRight

    match error:
        case "INCONSISTENT_GROUP_PROTOCOL":
            return _ASSIGNOR_HINT
        case "GROUP_AUTHORIZATION_FAILED":
            allowing = KafkaRight("Read", group or _OWN_GROUPS, bootstrap, "group").command
            return allowing if group else f"{allowing} --resource-pattern-type prefixed"
        case "TOPIC_AUTHORIZATION_FAILED" if topic:
            return KafkaRight("Read", topic, bootstrap).command
        case _:
            return ""


def teller(warn: Callable[..., None], bootstrap: str) -> Callable[[Any], None]:
    """Return what warns of the first `KafkaError` of each kind; their texts count attempts, so none is like another.

    `warn` takes a text, and where there is one, a hint.
    """
    told: set[str] = set()

    def tell(error: Any) -> None:
        if error.name() in told:
            return
        told.add(error.name())
        if error.name() == "_ALL_BROKERS_DOWN":
            warn(
                f"no broker answers at {bootstrap}; it continues when one does",
                "Is Kafka running, and are its address and the security settings right, "
                "such as --kafka-setting security.protocol=SASL_SSL?",
            )
        else:
            warn(f"Kafka: {error.str()}")

    return tell


def _print(
    session: Session,
    consumer: LabelConsumer,
    max_records: int | None,
    idle_seconds: float,
    hint: Callable[[str, str], str],
) -> None:
    """Print records until there were so many, none came for so long, or nobody reads.

    Each error is printed once, and the last that there can be.

    An interrupt waits for the end of a poll: raised inside it may end up in a callback of Kafka's client, which makes a
    SystemError of it. So the group is left, and what was printed is committed.

    Raises:
        Exit: Kafka's client died, so that nothing more would come; or none came because it was given nothing to read.
    """
    from topicfold.process.signals import interrupts_between_steps

    told: set[tuple[str, str]] = set()
    count, heard = 0, time.monotonic()
    with interrupts_between_steps() as step:
        while max_records is None or count < max_records:
            if time.monotonic() - heard > idle_seconds:
                _require_assignment(session, consumer, idle_seconds)
                session.output.note(f"{counted(count, 'message')}; none has come for {idle_seconds:g} s")
                return
            with step():
                message = consumer.poll(_POLL_SECONDS)
                if message is None:
                    require_reader()
                    continue
                if error := message.error():
                    text = f"Kafka: {error.str()}"
                    if error.name() == "_FATAL":
                        session.output.failure(text, _DEAD_HINT)
                        raise typer.Exit(ExitCode.FAILED)
                    advice = hint(error.name(), message.topic() or "")
                    if (text, advice) not in told:
                        told.add((text, advice))
                        session.output.warning(text, advice)
                    continue
                topic, value = message.topic() or "", message.value()
                text = f"{topic}  {'–' if value is None else value.decode(errors='backslashreplace')}"
                session.output.show_event(record_data(message), topic, text)
                consumer.store_offsets(message)
                count, heard = count + 1, time.monotonic()


def _require_assignment(session: Session, consumer: LabelConsumer, seconds: float) -> None:
    """Return if it has something to read, or nothing is there to be read.

    Raises:
        Exit: topics match, and Kafka gave it none of their partitions.
    """
    if not consumer.assignment() and len(consumer.matched_topics()) > len(consumer.missing_topics()):
        session.output.failure(
            f"Kafka gave this consumer no partition to read within {seconds:g} s",
            "does Kafka answer, or have others in the group all of them? give more --idle-seconds",
        )
        raise typer.Exit(ExitCode.UNREACHABLE)


def record_data(message: Any) -> dict[str, Any]:
    """Return a `Message` of confluent-kafka as an object.

    Bytes are text, or if they are no UTF-8 base64 under a name that says so.
    """
    return {
        "topic": message.topic(),
        "partition": message.partition(),
        "offset": message.offset(),
        "timestamp": message.timestamp()[1],
        **_bytes_data("key", message.key()),
        **_bytes_data("value", message.value()),
        "headers": [{"name": each[0], **_bytes_data("value", each[1])} for each in message.headers() or ()],
    }


def _bytes_data(name: str, value: Any) -> dict[str, str | None]:
    """Return one member for bytes or text."""
    if value is None or isinstance(value, str):
        return {name: value}
    try:
        return {name: value.decode()}
    except UnicodeDecodeError:
        return {f"{name}Base64": base64.b64encode(value).decode()}


def _tell(session: Session, added: tuple[str, ...], removed: tuple[str, ...]) -> None:
    for name in added:
        session.output.note(f"+ {name}")
    for name in removed:
        session.output.note(f"- {name}")
