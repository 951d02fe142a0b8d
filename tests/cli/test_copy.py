"""`topicfold copy`: what it is told, and how it tells. What it does is shown in `tests/log`."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from topicfold.log.copying import CopiedSpan
from topicfold.log.identity import establish_identity, recognise_identity
from topicfold.log.port import LogIdentity
from topicfold.log.sqlite import SqliteLog
from topicfold.model.system_topics import EVENTS_TOPIC
from topicfold.starting import KafkaPlace


async def _make_log(path: Path) -> None:
    log = await SqliteLog.open(path, partitions=2)
    await establish_identity(log, b"o" * 16)
    await log.close()


async def _incarnation(path: Path) -> bytes:
    log = await SqliteLog.open(path)
    try:
        return (await recognise_identity(log)).incarnation
    finally:
        await log.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The file of a log of two partitions."""
    asyncio.run(_make_log(tmp_path / "log.db"))
    return tmp_path / "log.db"


def test_it_says_what_was_copied_of_each_partition_and_which_log_that_is(bare_run: Run, path: Path) -> None:
    there = path.with_name("copy.db")
    first = bare_run("copy", "--log", str(path), "--to-log", str(there))
    again = bare_run("copy", "--log", str(path), "--to-log", str(there), "-o", "json")
    assert [line.split() for line in first.out.splitlines()] == [
        ["PARTITION", "FROM", "TO", "COPIED"], ["0", "0", "1", "1"], ["1", "0", "1", "1"],
    ]  # fmt: skip
    assert f"{there} is the same log, {(b'o' * 16).hex()}, up to these offsets" in first.err
    assert json.loads(again.out) == {
        "incarnation": (b"o" * 16).hex(),
        "partitions": [{"partition": number, "from": 0, "to": 1, "copied": 0} for number in range(2)],
    }
    assert asyncio.run(_incarnation(there)) == b"o" * 16


def test_a_log_is_not_copied_onto_itself_whatever_it_is_called_there(bare_run: Run, path: Path) -> None:
    linked = path.parent / "linked"
    linked.symlink_to(path.parent)
    for same in (path, linked / path.name):
        refused = bare_run("copy", "--log", str(path), "--to-log", str(same))
        assert (refused.code, "the copy would be the log itself" in refused.err) == (1, True)


def test_a_log_that_is_not_there_is_made_neither_here_nor_there(bare_run: Run, tmp_path: Path) -> None:
    refused = bare_run("copy", "--log", str(tmp_path / "log.db"), "--to-log", str(tmp_path / "copy.db"))
    assert (refused.code, "there is no log" in refused.err) == (2, True)
    assert [*tmp_path.glob("*.db")] == []


@pytest.mark.parametrize(
    ("words", "topic", "settings"),
    [
        ((), EVENTS_TOPIC, {}),
        (
            ("--to-kafka-topic", "__other", "--to-kafka-setting", "security.protocol=SSL"),
            "__other",
            {"security.protocol": "SSL"},
        ),
    ],
)
def test_a_copy_on_kafka_goes_into_the_topic_that_is_named_else_into_the_usual_one(
    bare_run: Run, path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], topic: str, settings: Any
) -> None:
    asked: list[Any] = []

    def copied(place: Any, *_: object) -> Any:
        asked.append(place)
        spans = [CopiedSpan(0, 0, 1, 0), CopiedSpan(1, 0, 3, 2)]
        return LogIdentity(b"o" * 16, 2, "any"), spans

    monkeypatch.setattr("topicfold.starting.copy_to", copied)
    done = bare_run("copy", "--log", str(path), "--to-kafka", "broker:9092", "-o", "name", *words)
    assert asked == [KafkaPlace("broker:9092", topic, settings)]
    assert (done.code, done.out) == (0, "1\n")
    assert done.err == f"topic {topic} at broker:9092 is the same log, {(b'o' * 16).hex()}, up to these offsets\n"


def test_a_copy_in_a_topic_that_looks_like_an_ordinary_one_is_warned_of(
    bare_run: Run, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("topicfold.starting.copy_to", lambda *_: (LogIdentity(b"o" * 16, 1, "any"), []))
    done = bare_run("copy", "--log", str(path), "--to-kafka", "broker:9092", "--to-kafka-topic", "labels")
    assert done.err.startswith("warning: the name labels does not begin with __, so servers that import")


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ((), "the copy goes into a file or to Kafka"),
        (("--to-log", "copy.db", "--to-kafka", "localhost:1"), "the copy goes into a file or to Kafka"),
        (("--to-log", "copy.db", "--to-kafka-topic", "t"), "--to-kafka-topic is for a copy on Kafka"),
        (("--to-log", "copy.db", "--to-kafka-setting", "a=b"), "--to-kafka-setting is for a copy on Kafka"),
    ],
)
def test_a_place_that_is_none_is_refused(bare_run: Run, path: Path, place: tuple[str, ...], reason: str) -> None:
    refused = bare_run("copy", "--log", str(path), *place)
    assert (refused.code, reason in refused.err) == (2, True)
