"""`topicfold consume`: the records of what matches, printed."""

from __future__ import annotations

import json
import signal
import socket
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, closing
from types import SimpleNamespace
from typing import Any, cast

import pytest
from confluent_kafka import Consumer, KafkaError, Producer

from tests.cli.conftest import Run, Start
from tests.integration.consuming import Topics
from topicfold.cli.config import ColorMode, OutputFormat
from topicfold.cli.consume import _hint, _leave, teller
from topicfold.cli.output import Output
from topicfold.client import Client
from topicfold.process.signals import interrupts_between_steps


@pytest.fixture
def topics(kafka_bootstrap: str) -> Topics:
    return Topics(kafka_bootstrap)


@pytest.fixture
def orders(client: Client, topics: Topics) -> Iterator[str]:
    """A topic with three records."""
    name = f"orders-{uuid.uuid4().hex}"
    topics.make(name, partitions=1)
    topics.produce(name, "one", "two", "\x1b[31mthree")
    client.create_topic(name, labels={"team": "pay"})
    yield name
    topics.delete(name)


@pytest.mark.kafka
def test_records_are_printed_a_line_each(run: Run, orders: str, topics: Topics) -> None:
    told = run("consume", "-l", "team=pay", "--bootstrap", topics.bootstrap, "--max", "3")
    assert told.out == f"{orders}  one\n{orders}  two\n{orders}  \\x1b[31mthree\n"
    assert (told.code, told.err) == (0, f"+ persistent://public/default/{orders}\n")


@pytest.mark.kafka
def test_it_ends_once_nothing_more_comes(run: Run, orders: str, topics: Topics) -> None:
    told = run("consume", "-l", "team=pay", "--bootstrap", topics.bootstrap, "--idle-seconds", "4")
    assert (told.code, len(told.out.splitlines())) == (0, 3)
    assert told.err.endswith("\n3 messages; none has come for 4 s\n")


def test_it_ends_as_unreachable_where_kafka_gives_it_nothing_to_read(run: Run, client: Client) -> None:
    words = ("consume", "-l", "team=pay", "--bootstrap", "127.0.0.1:1", "--idle-seconds", "1")
    told = run(*words)
    assert (told.code, told.err.splitlines()[-1]) == (0, "0 messages; none has come for 1 s")
    client.create_topic("orders", labels={"team": "pay"})
    told = run(*words)
    assert (told.code, "error: Kafka gave this consumer no partition to read within 1 s\n" in told.err) == (6, True)


def test_where_its_brokers_are_named_is_told_where_they_are_left_out(run: Run) -> None:
    told = run("consume", "-l", "team=pay")
    assert (told.code, told.err.splitlines()[1]) == (
        2,
        "hint: topicfold consume --help; it names brokers of the Kafka cluster, as --kafka or --cluster-bootstrap of "
        "'topicfold serve' does",
    )


@pytest.mark.kafka
def test_a_record_without_a_value_is_none_with_an_empty_one(run: Run, orders: str, topics: Topics) -> None:
    topics.produce(orders, "", None)
    told = run("consume", "-l", "team=pay", "--bootstrap", topics.bootstrap, "--max", "5")
    assert told.out.splitlines()[3:] == [f"{orders}  ", f"{orders}  –"]


@pytest.mark.kafka
def test_bytes_that_are_no_text_are_base64_and_headers_are_told(run: Run, orders: str, topics: Topics) -> None:
    producer = Producer({"bootstrap.servers": topics.bootstrap})
    producer.produce(orders, b"\xfe", b"\xff", headers=[("trace", b"a1"), ("raw", b"\xfd"), ("none", None)])
    assert producer.flush(60) == 0
    told = run("consume", "-l", "team=pay", "--bootstrap", topics.bootstrap, "--max", "4", "-o", "json")
    last = json.loads(told.out.splitlines()[-1])
    assert {name: last.get(name) for name in ("key", "keyBase64", "value", "valueBase64", "headers")} == {
        "key": None,
        "keyBase64": "/w==",
        "value": None,
        "valueBase64": "/g==",
        "headers": [
            {"name": "trace", "value": "a1"},
            {"name": "raw", "valueBase64": "/Q=="},
            {"name": "none", "value": None},
        ],
    }


@pytest.mark.kafka
def test_a_group_goes_on_behind_what_was_printed(run: Run, orders: str, topics: Topics) -> None:
    words = (
        "consume",
        "--match",
        "**",
        "--bootstrap",
        topics.bootstrap,
        "--group",
        f"g-{uuid.uuid4().hex}",
        "-o",
        "json",
    )
    first, second = (json.loads(run(*words, "--max", "1", "-q").out) for _ in range(2))
    assert (first["topic"], first["offset"], first["value"], first["key"], first["headers"]) == (
        orders,
        0,
        "one",
        None,
        [],
    )
    assert (second["offset"], second["value"]) == (1, "two")


@pytest.mark.kafka
def test_a_member_whose_place_is_taken_ends_rather_than_wait_for_ever(
    start: Start, orders: str, topics: Topics
) -> None:
    static = "--kafka-setting", "group.instance.id=one", "--kafka-setting", "group.protocol=consumer"
    words = ("consume", "-l", "team=pay", "--bootstrap", topics.bootstrap, "--group", f"g-{uuid.uuid4().hex}", *static)
    first = start(*words)
    assert first.line().startswith(orders)
    code, err = start(*words).ended()
    assert (code, err.splitlines()[-1]) == (1, "hint: no more messages would arrive; once this is fixed, run it again")


@pytest.mark.kafka
def test_a_member_that_agrees_by_another_assignor_than_its_group_is_told_what_to_set(
    start: Start, orders: str, topics: Topics
) -> None:
    conf = {**topics.conf(), "enable.auto.commit": False}
    with closing(Consumer(conf)) as other:
        other.subscribe([orders])
        while not other.assignment():
            other.poll(0.1)
        words = ("consume", "-l", "team=pay", "--bootstrap", topics.bootstrap, "--group", conf["group.id"])
        consuming = start(*words, "--kafka-setting", "group.protocol=classic")
        while "Inconsistent group protocol" not in consuming.err_line():
            pass
        hint = consuming.err_line()
        assert "--kafka-setting partition.assignment.strategy=range" in hint
        assert "share group" in hint
        consuming.interrupt()
        theirs = start(*words, "--kafka-setting", "partition.assignment.strategy=range")
        while not theirs.err_line().startswith("+ "):
            pass
    assert theirs.line().startswith(orders)


def test_an_interrupt_ends_it_also_while_kafka_is_away(start: Start, client: Client) -> None:
    client.create_topic("orders", labels={"team": "pay"})
    # Each of the many attempts calls back into Python, where an interrupt would be raised in most cases.
    away = "127.0.0.1:1", "--kafka-setting", "reconnect.backoff.ms=1", "--kafka-setting", "reconnect.backoff.max.ms=1"
    consuming = start("consume", "-l", "team=pay", "--bootstrap", *away)
    while "warning: no broker answers at 127.0.0.1:1; " not in consuming.err_line():
        pass
    assert consuming.err_line().startswith(
        "hint: Is Kafka running, and are its address and the security settings right"
    )
    code, err = consuming.interrupt()
    assert (code, "unexpected" in err) == (130, False), err


def test_it_ends_when_its_reader_is_gone_though_no_record_comes(start: Start) -> None:
    consuming = start("consume", "-l", "team=pay", "--bootstrap", "127.0.0.1:1")
    consuming.err_line()
    code, err = consuming.unread()
    assert (code, "unexpected" in err) == (141, False), err


@pytest.mark.slow
def test_a_broker_that_takes_no_connection_is_told_of_within_seconds(start: Start, client: Client) -> None:
    client.create_topic("orders", labels={"team": "pay"})
    with socket.create_server(("127.0.0.1", 0), backlog=0) as silent, ExitStack() as full:
        address = silent.getsockname()
        for _ in range(4):
            connection = full.enter_context(socket.socket())
            connection.setblocking(False)
            connection.connect_ex(address)
        begun = time.monotonic()
        consuming = start("consume", "-l", "team=pay", "--bootstrap", f"127.0.0.1:{address[1]}")
        while "no broker answers" not in consuming.err_line():
            pass
        # Kafka's client itself says so after 30 s.
        assert time.monotonic() < begun + 28


def test_what_is_stored_is_not_for_others_to_choose(run: Run) -> None:
    setting = "--kafka-setting", "enable.auto.offset.store=true"
    refused = run("consume", "-l", "team=pay", "--bootstrap", "127.0.0.1:1", *setting)
    assert (refused.code, "what was printed" in refused.err, "unexpected" in refused.err) == (2, True, False)


@pytest.mark.parametrize(
    ("waits", "commits", "told"),
    [
        (
            True,
            True,
            [
                "waiting for Kafka, to commit offsets and leave the group; Ctrl-C ends that",
                "warning: Kafka does not answer: what was printed last may not be committed, and comes again",
            ],
        ),
        (True, False, ["waiting for Kafka, to stop consuming; Ctrl-C ends that", "warning: Kafka does not answer"]),
        (False, True, []),
    ],
)
def test_a_group_that_cannot_be_left_is_not_waited_for_for_ever(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], waits: bool, commits: bool, told: list[str]
) -> None:
    answers = threading.Event()
    if waits:
        monkeypatch.setattr("topicfold.cli.consume._LEAVE_SECONDS", 0.05)
        monkeypatch.setattr("topicfold.cli.consume._MORE_SECONDS", 0.05)
    else:
        answers.set()
    consumer = SimpleNamespace(close=lambda: answers.wait(30))
    session = SimpleNamespace(output=Output(OutputFormat.TABLE, ColorMode.NEVER, is_quiet=False))
    _leave(cast(Any, session), cast(Any, consumer), commits=commits)
    answers.set()
    assert capsys.readouterr().err.splitlines() == told


def test_a_group_that_takes_a_while_to_leave_is_left(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("topicfold.cli.consume._LEAVE_SECONDS", 0.01)
    is_left = threading.Event()

    def leave() -> None:
        time.sleep(0.1)
        is_left.set()

    session = SimpleNamespace(output=Output(OutputFormat.TABLE, ColorMode.NEVER, is_quiet=False))
    _leave(cast(Any, session), cast(Any, SimpleNamespace(close=leave)), commits=True)
    assert is_left.is_set()
    assert "does not answer" not in capsys.readouterr().err


def test_what_goes_wrong_while_the_group_is_left_is_not_lost() -> None:
    def fail() -> None:
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        _leave(cast(Any, SimpleNamespace()), cast(Any, SimpleNamespace(close=fail)), commits=True)


def test_where_nothing_matches_yet_it_says_that_it_waits(start: Start) -> None:
    consuming = start("consume", "-l", "team=pay", "--bootstrap", "127.0.0.1:1")
    assert consuming.err_line() == "no topic matches yet; waiting for one"


def test_what_would_print_everything_is_refused(run: Run) -> None:
    refused = run("consume", "--bootstrap", "127.0.0.1:1", "--kafka-setting", "log_level=0")
    assert (refused.code, "--match '**' means every topic" in refused.err) == (2, True)


def test_properties_alone_are_refused_with_what_to_give_beside_them(run: Run) -> None:
    refused = run("consume", "--bootstrap", "127.0.0.1:1", "--properties", "owner=ann")
    hint = "hint: give -l, --match or --regex, with --properties too; --match '**' means every topic"
    assert (refused.code, refused.err.splitlines()[1]) == (2, hint)


def test_without_kafkas_library_the_command_that_installs_it_is_named(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    importing = ("confluent_kafka", "topicfold.client.consuming.kafka_con")
    for name in [name for name in sys.modules if name.startswith(importing)]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    refused = run("consume", "-l", "team=pay", "--bootstrap", "127.0.0.1:1")
    assert (refused.code, "pip install 'topicfold[kafka]'" in refused.err) == (1, True)


def test_a_cluster_that_is_away_is_warned_of_once_and_not_at_each_attempt() -> None:
    warned: list[str] = []
    tell = teller(warned.append, "broker:9092")
    for code, text in ((KafkaError._TRANSPORT, "1 ms"), (KafkaError._TRANSPORT, "2 ms"), (KafkaError._RESOLVE, "no")):
        tell(KafkaError(code, text))
    assert warned == ["Kafka: 1 ms", "Kafka: no"]


@pytest.mark.parametrize(("group", "named"), [
    ("audit", "--group audit"), ("it; id", "--group 'it; id'"),
    (None, "--group topicfold-consume- --resource-pattern-type prefixed"),
])  # fmt: skip
def test_a_group_that_is_denied_comes_with_the_command_that_allows_it(group: str | None, named: str) -> None:
    command = "kafka-acls.sh --bootstrap-server broker:9092 --add --allow-principal User:NAME --operation Read"
    assert _hint("broker:9092", group, "GROUP_AUTHORIZATION_FAILED", "") == f"{command} {named}"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_is_heard_between_two_polls_so_that_the_group_is_left(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    done = []
    with interrupts_between_steps() as step:

        def poll(*signals: signal.Signals) -> None:
            with step():
                for each in signals:
                    signal.raise_signal(each)
                done.append(len(signals))

        poll()
        with pytest.raises(KeyboardInterrupt):
            poll(number)
    assert done == [0, 1]
    assert signal.getsignal(number) is before


@pytest.mark.parametrize(
    ("setting", "option"),
    [("group.id=g", "--group"), ("bootstrap.servers=b", "--bootstrap"), ("metadata.broker.list=b", "--bootstrap")],
)
def test_what_has_an_option_is_no_setting(run: Run, setting: str, option: str) -> None:
    refused = run("consume", "-l", "a=b", "--bootstrap", "127.0.0.1:1", "--kafka-setting", setting)
    assert (refused.code, f"hint: Give {option}." in refused.err) == (2, True)
