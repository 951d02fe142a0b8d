"""Whether a topic is still the one that was opened, asked after anything behind which another may have its name.

Kafka's client does not tell: where a topic was deleted and created again, it reads on in the new one, at the same
offset. To ask before each batch would take as long as reading it, so this is asked only once something was amiss: the
process was halted, no broker was connected, or the log did not answer. A topic that is replaced between two requests
for the log's end, which are a second apart, without any of these, is noticed by the next check of its settings.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from topicfold.errors import LogUnavailable, TopicfoldError

_HALTED_SECONDS = 1.0
"""The thread that reads never waits for so long: if it comes back that late, the process was halted, or all but."""
_AGAIN_SECONDS = 0.1


class SameTopic:
    """What the thread that reads asks before it hands on what it has read."""

    def __init__(self, look: Callable[[], TopicfoldError | None]) -> None:
        """Take `look`, which returns why the topic is another one by now, None if it is not. It raises LogUnavailable.

        It is called in the thread that asks, and blocks.
        """
        self._look = look
        self._is_in_doubt = threading.Event()
        self._was_here = time.monotonic()

    def doubt(self) -> None:
        """Have the next question asked of Kafka; may be called in any thread."""
        self._is_in_doubt.set()

    def come_by(self) -> None:
        """Notice whether the process was halted; to be called by the thread that reads, several times a second."""
        now = time.monotonic()
        if now > self._was_here + _HALTED_SECONDS:
            self.doubt()
        self._was_here = now

    def fault(self, is_stopping: Callable[[], bool]) -> TopicfoldError | None:
        """Return why the topic is another one by now, None if it is the same.

        Where that is in doubt, this waits until Kafka answers.

        Raises:
            LogUnavailable: Kafka did not answer before `is_stopping`.
        """
        while self._is_in_doubt.is_set():
            self._is_in_doubt.clear()
            try:
                return self._look()
            except LogUnavailable:
                self.doubt()
                if is_stopping():
                    raise
                time.sleep(_AGAIN_SECONDS)
        return None
