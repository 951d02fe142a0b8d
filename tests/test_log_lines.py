"""What a node says of its life."""

from __future__ import annotations

import asyncio
import errno
import io
import json
import logging
import os
import re
import select
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import structlog
from structlog.testing import capture_logs

from tests.terminal import Terminal
from topicfold import log_lines
from topicfold.log.port import CLIENT_LOGGER
from topicfold.log_lines import Seldom, configure_logging, telling_if_slow


class Full(io.StringIO):
    """Text on a disk that has room for nothing more, as long as it `is_full`."""

    is_full = True

    def flush(self) -> None:
        if self.is_full:
            raise OSError(errno.ENOSPC, "No space left on device")


@pytest.fixture(autouse=True)
def _leave_no_trace() -> Iterator[None]:
    handlers, level = logging.root.handlers[:], logging.root.level
    configured = structlog.get_config()
    yield
    structlog.configure(**configured)
    logging.root.handlers[:], logging.root.level = handlers, level


def test_lines_are_json_where_nobody_looks() -> None:
    stream = io.StringIO()
    configure_logging(stream)
    structlog.get_logger("test").warning("happened", partition=3, text="a\nb")
    line = json.loads(stream.getvalue())
    assert stream.getvalue().count("\n") == 1
    assert line.pop("ts").endswith("Z")
    assert line == {"event": "happened", "level": "warning", "partition": 3, "text": "a\nb"}


def test_lines_of_other_libraries_are_json_too() -> None:
    stream = io.StringIO()
    configure_logging(stream)
    logging.getLogger("uvicorn.error").warning("of %s", "theirs")
    assert json.loads(stream.getvalue())["event"] == "of theirs"


def test_warnings_of_other_libraries_come_seldom_as_strangers_can_cause_them_and_errors_always() -> None:
    stream = io.StringIO()
    configure_logging(stream)
    for _ in range(3):
        logging.getLogger("uvicorn.error").warning("Invalid HTTP request received.")
        logging.getLogger("uvicorn.error").error("broken")
        logging.getLogger(CLIENT_LOGGER).error("FAIL [consumer]: refused")
        structlog.get_logger("test").warning("ours")
    events = [json.loads(line)["event"] for line in stream.getvalue().splitlines()]
    assert Counter(events) == {
        "Invalid HTTP request received.": 1, "broken": 3, "FAIL [consumer]: refused": 1, "ours": 3,
    }  # fmt: skip


def test_what_kafka_s_client_calls_an_error_is_a_warning_as_it_tries_again_by_itself() -> None:
    stream = io.StringIO()
    configure_logging(stream)
    logging.getLogger(CLIENT_LOGGER).error("FAIL [consumer]: refused")
    assert json.loads(stream.getvalue())["level"] == "warning"


def test_lines_on_a_terminal_are_text() -> None:
    stream = Terminal()
    configure_logging(stream)
    structlog.get_logger("test").info("happened")
    assert "happened" in stream.getvalue()
    assert "{" not in stream.getvalue()


def test_nothing_that_strangers_chose_steers_a_terminal_or_begins_a_line() -> None:
    stream, evil = Terminal(), "\x1b[2J\x9b1m\r\nforged\u202e"
    configure_logging(stream)
    structlog.get_logger("test").error("happened", path="\x9b1m", reason=f"of {evil}")
    logging.getLogger("uvicorn.error").error("of %s", evil)
    try:
        raise ValueError(evil)
    except ValueError:
        structlog.get_logger("test").exception("failed")
    assert re.sub(r"\x1b\[[0-9;]+m", "", stream.getvalue()).replace("\n", "").isprintable()
    assert [line for line in stream.getvalue().splitlines() if line.startswith("forged")] == [r"forged\u202e"]


@pytest.mark.parametrize("stream", [Terminal(), io.StringIO()], ids=["terminal", "lines"])
def test_a_failure_is_told_with_its_place_and_without_what_was_at_hand_there(stream: io.StringIO) -> None:
    configure_logging(stream)
    ours, theirs = structlog.get_logger("test"), logging.getLogger("uvicorn.error")
    try:
        _fail("Bearer " + "at hand")
    except ValueError:
        ours.exception("request_failed")
        theirs.exception("failed")
    assert "Bearer at hand" not in stream.getvalue()
    assert stream.getvalue().count("in _fail") == 2
    assert stream.getvalue().count("ValueError: 14") == 2


def _fail(authorization: str) -> None:
    raise ValueError(len(authorization))


@pytest.mark.parametrize("method", ["info", "warning", "error", "exception", "critical"])
def test_a_line_that_cannot_be_written_is_lost_and_nothing_else(method: str) -> None:
    stream = Full()
    configure_logging(stream)
    getattr(structlog.get_logger("test"), method)("happened")
    logging.getLogger("uvicorn.error").warning("theirs")
    stream.is_full = False
    structlog.get_logger("test").info("happened later")
    assert json.loads(stream.getvalue().splitlines()[-1])["event"] == "happened later"


def test_lines_that_nobody_reads_hold_nothing_up_and_are_counted_once_somebody_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(log_lines, "_PATIENCE_SECONDS", 0.01)
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    with open(reading, "rb", buffering=0) as reader, open(writing, "w") as stream:
        configure_logging(stream)
        for number in range(500):
            structlog.get_logger("test").warning("happened", text=200 * "x")
            logging.getLogger("uvicorn.error").error("theirs %s", number)
        read = _lines_in(reader)
        structlog.get_logger("test").info("happened later")
        lost, later = _lines_in(reader)
    assert {each["event"] for each in read} >= {"happened", "theirs 0"}
    assert (lost["event"], lost["lines"]) == ("log_lines_lost", 1_000 - len(read))
    assert later["event"] == "happened later"


def test_a_line_of_several_pages_that_nobody_reads_holds_nothing_up_and_leaves_the_next_one_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(log_lines, "_PATIENCE_SECONDS", 0.01)
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    with open(writing, "w") as stream, open(reading, "rb", buffering=0) as reader:
        configure_logging(stream)
        log = structlog.get_logger("test")
        telling = threading.Thread(
            target=lambda: [log.warning("long", text=9_000 * "x") for _ in range(50)], daemon=True
        )
        telling.start()
        telling.join(5)
        assert not telling.is_alive()
        *whole, _cut = (reader.readall() or b"").splitlines()
        log.info("happened later")
        _, lost, later = (reader.readall() or b"").splitlines()
    assert {json.loads(each)["event"] for each in whole} == {"long"}
    assert json.loads(lost)["lines"] == 50 - len(whole)
    assert json.loads(later)["event"] == "happened later"


def test_threads_that_wait_for_room_at_once_all_give_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_lines, "_PATIENCE_SECONDS", 0.2)
    monkeypatch.setattr(log_lines, "_PATIENT_EVERY_SECONDS", 0.0)
    reading, writing = os.pipe()
    with open(reading, "rb", buffering=0), open(writing, "w") as stream:
        configure_logging(stream)
        while select.select([], [writing], [], 0)[1]:
            os.write(writing, bytes(4096))
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(structlog.get_logger("test").warning, ["happened"] * 4))


def _lines_in(reader: io.FileIO) -> list[dict[str, Any]]:
    """Return what waits to be read."""
    return [json.loads(line) for line in (reader.readall() or b"").splitlines()]


def test_single_events_are_not_logged() -> None:
    stream = io.StringIO()
    configure_logging(stream)
    structlog.get_logger("test").debug("folded")
    assert stream.getvalue() == ""


async def test_what_ends_at_once_is_not_told_of_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_lines, "_SLOW_SECONDS", 0.0)
    with capture_logs() as lines:
        with telling_if_slow("waiting"):
            pass
        await asyncio.sleep(0.001)
        assert lines == []
        with telling_if_slow("waiting", log="here"):
            await asyncio.sleep(0.001)
    assert lines == [{"event": "waiting", "log": "here", "log_level": "info"}]


def test_lines_that_begin_alike_come_once_a_minute_and_say_how_many_did_not() -> None:
    now = [0.0]
    seldom = Seldom(60, clock=lambda: now[0])
    passed = []
    for moment in (0.0, 1.0, 2.0, 61.0):
        now[0] = moment
        record = logging.LogRecord("topicfold.kafka", logging.ERROR, "", 0, "FAIL [consumer]: refused", (), None)
        if seldom.filter(record):
            passed.append(record.getMessage())
    assert passed == ["FAIL [consumer]: refused", "FAIL [consumer]: refused (and 2 lines like it before)"]
