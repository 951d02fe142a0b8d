"""Notices that Kafka's client got stuck: subscribed to topics that no member of the group reads.

librdkafka 2.16 may keep an old assignment for good where topics are deleted and made anew while subscriptions change;
to subscribe again does not help, to join anew does.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from concurrent.futures import Future, ThreadPoolExecutor

PATIENCE_SECONDS = 3.0
"""So long an assignment may differ from what is subscribed to before anybody asks why, and between questions."""
LONGEST_PATIENCE_SECONDS = 24.0
"""So long, where joining anew again and again did not help: a slow cluster takes its time to assign something."""

Elsewhere = Callable[[str], Collection[str] | None]
"""Takes a member's id; returns the topics that other members of its group read, None if that cannot be learnt."""


class AssignmentCheck:
    """Compares what is subscribed to with what is assigned; asks Kafka, in a thread, only where they differ for long.

    A topic may well be read by another member. One that is assigned and not subscribed to is never right. The patience
    doubles with each time that it is stuck, until what is subscribed to is read by somebody. Where others read it, as
    they do for good in a group of many members, the time between questions doubles, too, until something changes.
    """

    def __init__(self, elsewhere: Elsewhere) -> None:
        self._elsewhere = elsewhere
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="topicfold-assignment")
        self._patience = PATIENCE_SECONDS
        self._differs_since: float | None = None
        self._asked: Future[Collection[str] | None] | None = None
        self._read_elsewhere: set[str] = set()
        self._pause = PATIENCE_SECONDS
        self._read_until = 0.0

    def is_stuck(self, subscribed: Collection[str], assigned: Collection[str], member: str, now: float) -> bool:
        """Return whether to join the group anew."""
        stale, unread = set(assigned) - set(subscribed), set(subscribed) - set(assigned)
        if not (stale or unread):
            self._patience = PATIENCE_SECONDS
            self.reset()
            return False
        if not stale and unread <= self._read_elsewhere and now < self._read_until:
            self._differs_since = None
            return False
        if self._differs_since is None:
            self._differs_since = now
        if now < self._differs_since + self._patience:
            return False
        if stale:
            return self._found_stuck()
        if self._asked is None:
            self._asked = self._worker.submit(self._elsewhere, member)
        if not self._asked.done():
            return False
        others = self._asked.result()
        self._asked, self._differs_since = None, now
        if others is None:
            return False
        if not unread <= set(others):
            return self._found_stuck()
        self._patience = PATIENCE_SECONDS
        self._read_elsewhere, self._read_until = unread, now + self._pause
        self._pause = min(2 * self._pause, LONGEST_PATIENCE_SECONDS)
        return False

    def reset(self) -> None:
        """Take it that the assignment may differ from now on, for another while."""
        self._differs_since = self._asked = None
        self._read_elsewhere = set()
        self._pause = PATIENCE_SECONDS

    def _found_stuck(self) -> bool:
        self._patience = min(2 * self._patience, LONGEST_PATIENCE_SECONDS)
        return True

    def close(self) -> None:
        """Ask nothing any more."""
        self._worker.shutdown(wait=False, cancel_futures=True)
