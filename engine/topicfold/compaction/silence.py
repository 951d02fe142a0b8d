"""Reports when the log does not answer: Spark waits for it in silence, for ever between two batches."""

from __future__ import annotations

from collections.abc import Callable

from topicfold.errors import TopicfoldError

EVERY_SECONDS = 30


class Silence:
    """Looks whether the log answers, and tells when that changes."""

    def __init__(self, look: Callable[[], None], tell: Callable[[str], None]) -> None:
        """Take `look`, which raises if the log does not answer; and `tell`, which gets the reason, and later ""."""
        self._look = look
        self._tell = tell
        self._is_told = False

    def check(self) -> None:
        """Look once."""
        reason = ""
        try:
            self._look()
        except TopicfoldError as error:
            reason = error.reason
        if self._is_told != bool(reason):
            self._is_told = bool(reason)
            self._tell(reason)
