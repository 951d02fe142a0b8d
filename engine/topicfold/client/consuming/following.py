"""Following a set of topics: a thread reads frames, and what they change is handed out once it has been quiet."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from typing import Protocol

from topicfold.client.find_answers import Match
from topicfold.client.frames import Bookmark, Frame, Reset
from topicfold.client.live_set import LiveSet, NetChange
from topicfold.errors import InvalidRequest

QUIET_SECONDS = 0.25
"""Changes are handed out when nothing has changed for so long,"""
LATEST_SECONDS = 0.5
"""and at the latest when the first of them is so old."""


class Frames(Protocol):
    """Where frames come from: a `Watch`, or what tells of topics as one does. Any thread may close it."""

    def __iter__(self) -> Iterator[Frame]: ...

    def close(self) -> None:
        """End the iteration."""
        ...


class Following:
    """The set of topics that frames tell of, now and from now on. Threads may share it."""

    def __init__(self) -> None:
        self._live = LiveSet()
        self._lock = threading.Lock()
        self._frames: Frames | None = None
        self._before_reset: Mapping[str, Match] = {}
        self._quiet_at: float | None = None
        self._latest_at = 0.0
        self._changes: list[NetChange] = []
        self._error: Exception | None = None
        self._is_closed = False

    @property
    def topics(self) -> Mapping[str, Match]:
        """What matches, by name; a copy. While a start state is told anew, what matched before."""
        with self._lock:
            return dict(self._live.topics if self._live.is_complete else self._before_reset)

    def follow(self, frames: Frames) -> NetChange:
        """Go by `frames` once they have told their start state; return what came and went by that.

        Raises:
            TopicfoldError: as `frames` do; then what was followed before is followed on.
            RuntimeError: it was closed meanwhile.
        """
        start = list(_start_of(frames))
        try:
            change = self._turn_to(frames, start)
        except RuntimeError:
            frames.close()
            raise
        threading.Thread(target=self._read, args=(frames,), name="topicfold-following", daemon=True).start()
        return change

    def follow_nothing(self) -> NetChange:
        """Follow nothing any more, so that no topic matches; return what went by that.

        Raises:
            RuntimeError: it is closed.
        """
        return self._turn_to(None, [Bookmark("", is_initial=True)])

    def take_changes(self) -> list[NetChange]:
        """Return what came and went since this was last called, as far as it has settled.

        An empty change says that something else did, such as labels.

        Raises:
            TopicfoldError: why the set can be followed no more; again and again.
        """
        now = time.monotonic()
        with self._lock:
            if self._error is not None:
                raise self._error
            if self._quiet_at is not None and now >= min(self._quiet_at, self._latest_at):
                self._settle()
            taken, self._changes = self._changes, []
        return taken

    def close(self) -> None:
        """End following."""
        with self._lock:
            self._is_closed = True
            frames, self._frames = self._frames, None
        if frames is not None:
            frames.close()

    def _turn_to(self, frames: Frames | None, start: list[Frame]) -> NetChange:
        with self._lock:
            if self._is_closed:
                raise RuntimeError("what is closed follows nothing any more")
            before, self._frames = self._frames, frames
            for frame in (Reset("something else is followed"), *start):
                self._apply(frame)
            self._error = None
            change = self._settle()
        if before is not None:
            before.close()
        return change

    def _read(self, frames: Frames) -> None:
        try:
            for frame in frames:
                with self._lock:
                    if self._frames is not frames:
                        return
                    self._apply(frame)
            raise InvalidRequest("the client was closed, so nothing is followed any more")
        except Exception as error:  # noqa: BLE001 - a thread's last words; whoever takes changes hears them
            with self._lock:
                if self._frames is frames:
                    self._error = error

    def _apply(self, frame: Frame) -> None:
        """Hold what `frame` tells, and when that has settled."""
        if isinstance(frame, Reset) and self._live.is_complete:
            self._before_reset = dict(self._live.topics)
        self._live.apply(frame)
        if isinstance(frame, Bookmark) and not frame.is_initial:
            return
        now = time.monotonic()
        if self._quiet_at is None:
            self._latest_at = now + LATEST_SECONDS
        self._quiet_at = now + QUIET_SECONDS

    def _settle(self) -> NetChange:
        """Put what has changed by now among the changes to be taken, and return it."""
        self._quiet_at = None
        change = self._live.take_change()
        self._changes.append(change)
        return change


def _start_of(frames: Frames) -> Iterator[Frame]:
    """Yield the frames up to the one that ends the start state."""
    try:
        for frame in frames:
            yield frame
            if isinstance(frame, Bookmark) and frame.is_initial:
                return
    except BaseException:
        frames.close()
        raise
