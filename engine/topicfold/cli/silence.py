"""Whoever is told what happens: noticing that the log is away, which is as silent as a log where nothing happens."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from topicfold.cli.looking import looking_every
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
    silence = _Silence(session)
    with looking_every(SILENT_SECONDS, silence.look, "topicfold-silence"):
        yield silence.hear


class _Silence:
    """When something was heard last, and what was told of the log."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._heard = time.monotonic()
        self._was_reachable = True

    def hear(self) -> None:
        """Take a sign that the server reaches its log."""
        self._heard = time.monotonic()

    def look(self) -> bool:
        """Tell whatever is otherwise than before; return True, to go on."""
        is_reachable = time.monotonic() - self._heard < SILENT_SECONDS or _reaches_log(self._session)
        if is_reachable is None or is_reachable is self._was_reachable:
            return True
        self._was_reachable = is_reachable
        if is_reachable:
            self._session.output.note("the server reaches its log again")
        else:
            self._session.output.warning("the server cannot reach its log; changes are shown when it can again")
        return True


def _reaches_log(session: Session) -> bool | None:
    """Return whether the server reaches its log, None where it does not say."""
    try:
        with open_client(session.config, _ANSWER_SECONDS, max_attempts=1) as client:
            log = client.readiness().report.get("log")
    except TopicfoldError:
        return None
    return bool(log["reachable"]) if isinstance(log, dict) and "reachable" in log else None
