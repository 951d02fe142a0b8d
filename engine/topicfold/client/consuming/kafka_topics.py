"""Which Kafka topics there are, of some that one wants to know: a thread asks, again and again."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Mapping

Look = Callable[[Collection[str]], Mapping[str, str | None]]
"""Returns the ids of the Kafka topics that are there, None for one that is not; leaves out what it could not learn."""

_FIRST_PAUSE_SECONDS = 0.1
_LONGEST_PAUSE_SECONDS = 1.0
_ALL_EVERY_SECONDS = 5.0
"""A topic that is deleted and made anew beside Topicfold has another id."""
_OVERDUE_SECONDS = 2.0
"""A topic's record is there a moment before its Kafka topic."""


class KafkaTopics:
    """What `look` says of the topics that are wanted. Threads may share it.

    Those that are missing are looked for once a second, all others every five seconds.
    """

    def __init__(self, look: Look) -> None:
        self._look = look
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._is_closed = False
        self._wanted: frozenset[str] = frozenset()
        self._ids: dict[str, str | None] = {}
        self._all_at = 0.0
        self._thread = threading.Thread(target=self._run, name="topicfold-kafka-topics", daemon=True)
        self._thread.start()

    @property
    def there(self) -> Mapping[str, str]:
        """The ids of the wanted topics that are there, by name; a copy."""
        with self._lock:
            return {name: id_ for name, id_ in self._ids.items() if id_ is not None and name in self._wanted}

    @property
    def missing(self) -> frozenset[str]:
        """The wanted topics that were looked for and are not there."""
        with self._lock:
            return frozenset(name for name, id_ in self._ids.items() if id_ is None and name in self._wanted)

    def want(self, names: Collection[str]) -> None:
        """Want to know of these topics, and of no others."""
        with self._lock:
            self._wanted = frozenset(names)
        self._wake.set()

    def look_again(self) -> None:
        """Look for all of them now: one was heard to be gone."""
        with self._lock:
            self._all_at = 0.0
        self._wake.set()

    def close(self) -> None:
        """End looking; a look that is under way ends by itself."""
        self._is_closed = True
        self._wake.set()

    def _run(self) -> None:
        pause = _FIRST_PAUSE_SECONDS
        while not self._is_closed:
            if names := self._due():
                found = self._look(names)
                with self._lock:
                    self._ids = {name: id_ for name, id_ in (self._ids | dict(found)).items() if name in self._wanted}
            pause = _FIRST_PAUSE_SECONDS if self._wake.wait(pause) else min(2 * pause, _LONGEST_PAUSE_SECONDS)
            self._wake.clear()

    def _due(self) -> Collection[str]:
        """Return the names to look for now."""
        now = time.monotonic()
        with self._lock:
            if now >= self._all_at:
                self._all_at = now + _ALL_EVERY_SECONDS
                return self._wanted
            return [name for name in self._wanted if self._ids.get(name) is None]


class MissingTopics:
    """Since when topics are missing, so that each is told once, and again only where it was there meanwhile."""

    def __init__(self) -> None:
        self._since: dict[str, float] = {}
        self._told: set[str] = set()

    def overdue(self, missing: Collection[str], now: float) -> list[str]:
        """Return those of `missing` that have been so for long and were not told yet, sorted."""
        self._since = {name: self._since.get(name, now) for name in missing}
        late = {name for name, since in self._since.items() if now >= since + _OVERDUE_SECONDS}
        told, self._told = self._told, late
        return sorted(late - told)
