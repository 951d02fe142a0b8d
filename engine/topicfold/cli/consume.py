"""`topicfold consume`: the records of the topics that match, whichever these are at the time."""

from __future__ import annotations

import base64
import secrets
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from topicfold.cli.arguments import KafkaSettings, read_labels, read_settings
from topicfold.cli.command import command
from topicfold.cli.query_options import (
    NOTHING_YET,
    AllNamespaces,
    Match,
    Namespaces,
    Properties,
    Regex,
    Selector,
    chosen_namespaces,
)
from topicfold.cli.session import Session
from topicfold.errors import InvalidRequest

if TYPE_CHECKING:
    from topicfold.client import LabelConsumer

Bootstrap = Annotated[str, typer.Option("--bootstrap", metavar="HOST:PORT", help="The Kafka cluster with the topics.")]
Group = Annotated[
    str | None, typer.Option("--group", metavar="GROUP", help="Consumer group, whose offsets are committed.")
]
FromBeginning = Annotated[
    bool, typer.Option("--from-beginning/--from-end", help="Where to begin without a committed offset.")
]
Max = Annotated[int | None, typer.Option("--max", min=1, metavar="N", help="End after so many records.")]

_OPTIONS = {"group.id": "--group", "bootstrap.servers": "--bootstrap", "metadata.broker.list": "--bootstrap"}
_POLL_SECONDS = 0.2
_CRITICAL = 2


def add_to(app: typer.Typer) -> None:
    """Add the command to `app`."""
    command(app, "consume")(consume)


def consume(
    session: Session,
    bootstrap: Bootstrap,
    selector: Selector = None,
    namespace: Namespaces = None,
    all_namespaces: AllNamespaces = False,
    match: Match = None,
    regex: Regex = None,
    properties: Properties = None,
    group: Group = None,
    from_beginning: FromBeginning = True,
    max_records: Max = None,
    kafka_setting: KafkaSettings = None,
) -> None:
    """Print the records of the topics that match, those that come to match later, too.

    A line is the Kafka topic and the value; -o json has everything, with bytes that are no UTF-8 as base64. Without
    --group no offset is committed.

    \b
    Examples:
      topicfold consume -l team=pay --bootstrap broker:9092
      topicfold consume --match 'pay__**' --bootstrap broker:9092 --group audit --max 100 -o json
    """
    from topicfold.client import LabelConsumer

    own_settings = read_settings(kafka_setting, "--kafka-setting")
    for setting, option in _OPTIONS.items():
        if setting in own_settings:
            raise InvalidRequest(f"--kafka-setting {setting}: there is an option for that", hint=f"Give {option}.")
    conf = {
        "bootstrap.servers": bootstrap,
        "group.id": group or f"topicfold-consume-{secrets.token_hex(8)}",
        "enable.auto.commit": group is not None,
        "enable.auto.offset.store": False,
        "auto.offset.reset": "earliest" if from_beginning else "latest",
        # librdkafka prints a line for each attempt at a broker that is away, twenty a second.
        "log_level": _CRITICAL,
        "error_cb": teller(session.output.warning),
        **own_settings,
    }
    with LabelConsumer(
        conf,
        selector,
        namespaces=chosen_namespaces(session, namespace, all_namespaces),
        match=match or None,
        regex=regex,
        properties=read_labels(properties, "--properties"),
        client=session.client,
        on_topics=lambda added, removed: _tell(session, added, removed),
    ) as consumer:
        if not consumer.matched_topics():
            session.output.note(NOTHING_YET)
        with _interrupts_between_polls() as check:
            _print(session, consumer, max_records, check)


def teller(warn: Callable[[str], None]) -> Callable[[Any], None]:
    """Return what warns of the first `KafkaError` of each kind; their texts count attempts, so none is like another."""
    told: set[int] = set()

    def tell(error: Any) -> None:
        if error.code() not in told:
            told.add(error.code())
            warn(f"Kafka: {error.str()}")

    return tell


@contextmanager
def _interrupts_between_polls() -> Iterator[Callable[[], None]]:
    """Yield what raises KeyboardInterrupt after Ctrl-C or SIGTERM. By itself only a second one does.

    So the group is left, and what was printed is committed. Raised inside a poll it may end up in a callback of Kafka's
    client, which makes a SystemError of it.
    """
    from topicfold.signals import handling

    is_pressed = False

    def check() -> None:
        if is_pressed:
            raise KeyboardInterrupt

    def press(*_: object) -> None:
        nonlocal is_pressed
        check()
        is_pressed = True

    with handling(press, signal.SIGINT, signal.SIGTERM):
        yield check


def _print(session: Session, consumer: LabelConsumer, max_records: int | None, check: Callable[[], None]) -> None:
    """Print records until there were so many, each error once; `check` is called between polls."""
    told: set[str] = set()
    count = 0
    while max_records is None or count < max_records:
        check()
        message = consumer.poll(_POLL_SECONDS)
        if message is None:
            continue
        if error := message.error():
            if (text := error.str()) not in told:
                told.add(text)
                session.output.warning(f"Kafka: {text}")
            continue
        topic, value = message.topic() or "", message.value() or b""
        text = f"{topic}  {value.decode(errors='backslashreplace')}"
        session.output.show_event(record_data(message), topic, text)
        consumer.store_offsets(message)
        count += 1


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
