"""Whoever is told what happens: noticing that the log is away, which is as silent as a log where nothing happens."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from topicfold.cli.session import Session, open_client
from topicfold.errors import TopicfoldError

SILENT_SECONDS = 10.0
"""After so much silence the server is asked, and from then on as often."""
_ANSWER_SECONDS = 5.0


@contextmanager
def telling_of_lost_log(session: Session) -> Iterator[Callable[[], None]]:
    """Warn where the server cannot reach its log, and say so when it can again, as long as the block lasts.

    Gives what is to be called with each sign that it can. That a server is away is said by whoever waits for it.
    """
    heard, is_over = [time.monotonic()], threading.Event()

    def look() -> None:
        was_reachable = True
        while not is_over.wait(SILENT_SECONDS):
            is_reachable = time.monotonic() - heard[0] < SILENT_SECONDS or _reaches_log(session)
            if is_reachable is was_reachable or is_reachable is None:
                continue
            was_reachable = is_reachable
            if is_reachable:
                session.output.note("the server reaches its log again")
            else:
                session.output.warning("the server cannot reach its log; what happens is shown when it can again")

    def hear() -> None:
        heard[0] = time.monotonic()

    threading.Thread(target=look, name="topicfold-silence", daemon=True).start()
    try:
        yield hear
    finally:
        is_over.set()


def _reaches_log(session: Session) -> bool | None:
    """Return whether the server reaches its log, None where it does not say."""
    try:
        with open_client(session.config, _ANSWER_SECONDS, max_attempts=1) as client:
            log = client.readiness().report.get("log")
    except TopicfoldError:
        return None
    return bool(log["reachable"]) if isinstance(log, dict) and "reachable" in log else None
