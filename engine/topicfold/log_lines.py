"""What a node says of its life: structured lines on stderr. None ever holds a label's value."""

from __future__ import annotations

import asyncio
import io
import logging
import math
import select
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

import structlog

from topicfold.log.port import CLIENT_LOGGER
from topicfold.model.steering import in_one_line

_log = structlog.get_logger(__name__)
_SLOW_SECONDS = 1.0
_PATIENCE_SECONDS = 1.0
"""For so long a line waits for room, if none did within `_PATIENT_EVERY_SECONDS`: a burst needs no more."""
_PATIENT_EVERY_SECONDS = 60.0
_PAGE_BYTES = 4096
"""A pipe that has any room takes so much at once, and whole, whoever else writes to it."""


def configure_logging(stream: TextIO | None = None, level: int = logging.INFO) -> None:
    """Send all log lines from `level` on to `stream` (stderr by default): JSON, text on a terminal.

    Those of other libraries too, from warnings on; warnings seldom, for whatever is sent that is no HTTP causes one.
    Tracebacks are plain: variables of a frame hold tokens and labels.
    A line that cannot be written is lost, or cut short: no work stops for a disk that is full, or a reader that has
    left or stands still. Of the latter's, it is told how many they were once it reads again.
    """
    stream = stream or sys.stderr
    lines = _Lines(stream)
    shared: list[structlog.typing.Processor] = [
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="ts"),
    ]
    rendering: list[structlog.typing.Processor] = [structlog.processors.format_exc_info]
    rendering += (
        [
            _escape_what_steers,
            structlog.dev.ConsoleRenderer(timestamp_key="ts", exception_formatter=structlog.dev.plain_traceback),
        ]
        if stream.isatty()
        else [structlog.processors.JSONRenderer()]
    )
    structlog.configure(
        processors=[*shared, *rendering],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=lambda *_: lines,
    )
    handler = logging.StreamHandler(lines)
    handler.terminator = ""
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *rendering],
        )
    )
    handler.addFilter(Seldom())
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)


@contextmanager
def telling_if_slow(event: str, **fields: str) -> Iterator[None]:
    """Log `event` once if the block, on a running loop, lasts longer than a second, in which it would say nothing."""
    telling = asyncio.get_running_loop().call_later(_SLOW_SECONDS, lambda: _log.info(event, **fields))
    try:
        yield
    finally:
        telling.cancel()


def _escape_what_steers(
    _logger: object, _method: str, fields: structlog.typing.EventDict
) -> structlog.typing.EventDict:
    """Return `fields` with nothing that steers a terminal: names, and what other servers say, are of strangers' choice.

    A traceback keeps its lines.
    """
    return {
        name: "\n".join(map(in_one_line, value.split("\n") if name == "exception" else [value]))
        if isinstance(value, str)
        else value
        for name, value in fields.items()
    }


class _Lines:
    """Writes lines; raises nothing of where they go, and next to never waits for whoever reads them.

    A line that is longer than a pipe has room for is cut short. Any may have to be read first on a terminal whose other
    end is gone without having said so, as with a connection that was cut.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._place: int | None = None
        with suppress(io.UnsupportedOperation):
            self._place = stream.fileno()
        self._patient_from = -math.inf
        self._lost = 0
        self._is_cut = False
        self._lock = threading.RLock()

    def msg(self, message: str) -> None:
        """Write a line if that is possible."""
        with self._lock:
            if self._lost and self._has_room():
                lost, self._lost = self._lost, 0
                _log.warning("log_lines_lost", lines=lost, reason="what reads the log stood still")
            line = "\n" * self._is_cut + message + "\n"
            size = _PAGE_BYTES if line.isascii() else _PAGE_BYTES // 4
            for start in range(0, len(line), size):
                if not self._has_room():
                    self._lost += 1
                    self._is_cut = self._is_cut or start > 0
                    return
                with suppress(OSError):
                    self._stream.write(line[start : start + size])
                    self._stream.flush()
            self._is_cut = False

    debug = info = warning = error = critical = write = msg

    def _has_room(self) -> bool:
        if self._place is None:
            return True
        room = select.poll()
        room.register(self._place, select.POLLOUT)
        if room.poll(0):
            return True
        now = time.monotonic()
        if now < self._patient_from:
            return False
        self._patient_from = now + _PATIENT_EVERY_SECONDS
        return bool(room.poll(1000 * _PATIENCE_SECONDS))


class Seldom(logging.Filter):
    """Lets one line of each beginning through in a minute: a broker that is away is told of at every attempt.

    Errors all pass. What Kafka's client calls one is a warning: it tries again, at each restart of a broker too.
    """

    def __init__(self, seconds: float = 60.0, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._seconds = seconds
        self._clock = clock
        self._seen: dict[str, tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether the line is let through; if so it says how many were not."""
        if record.name == CLIENT_LOGGER and record.levelno >= logging.ERROR:
            record.levelno, record.levelname = logging.WARNING, logging.getLevelName(logging.WARNING)
        if record.levelno >= logging.ERROR:
            return True
        kind = record.getMessage()[:12]
        since, held_back = self._seen.get(kind, (-math.inf, 0))
        if self._clock() - since < self._seconds:
            self._seen[kind] = (since, held_back + 1)
            return False
        self._seen[kind] = (self._clock(), 0)
        if held_back:
            record.msg, record.args = f"{record.getMessage()} (and {held_back} lines like it before)", ()
        return True
