"""Tells where Spark waits for a log that is away: between two batches it does so for ever, and says nothing of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from topicfold.errors import TopicfoldError

EVERY_SECONDS = 30


class Silence:
    """Looks at the log where a stream asks it for its end, which takes milliseconds where it answers."""

    def __init__(self, look: Callable[[], None], tell: Callable[[str], None]) -> None:
        """Take what raises where the log is away, and who is told why, then "" once it is back."""
        self._look = look
        self._tell = tell
        self._is_told = False

    def check(self, status: Mapping[str, Any]) -> None:
        """Look, if the `status` of a stream says that it waits for the log, or that was so the last time."""
        if not self._is_told and (status["isDataAvailable"] or not status["isTriggerActive"]):
            return
        reason = ""
        try:
            self._look()
        except TopicfoldError as error:
            reason = error.reason
        if self._is_told != bool(reason):
            self._is_told = bool(reason)
            self._tell(reason)
