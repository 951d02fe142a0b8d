"""Reports when Spark waits for a log that does not answer: between two batches it would wait for ever, in silence."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from topicfold.errors import TopicfoldError

EVERY_SECONDS = 30


class Silence:
    """Checks the log while a stream asks for the log's end, which takes only milliseconds if the log answers."""

    def __init__(self, look: Callable[[], None], tell: Callable[[str], None]) -> None:
        """Take `look`, which raises if the log does not answer; and `tell`, which gets the reason, and later ""."""
        self._look = look
        self._tell = tell
        self._is_told = False

    def check(self, status: Mapping[str, Any]) -> None:
        """Look, if the stream's `status` says that it waits for the log, or if the log did not answer the last time."""
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
