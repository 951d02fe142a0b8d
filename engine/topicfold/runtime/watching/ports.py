"""What watching needs from outside: how frames are written, where they go, and who may see what."""

from __future__ import annotations

from typing import Protocol

from topicfold.errors import TopicfoldError
from topicfold.model.records import Grants
from topicfold.state.change import TopicDelta, TopicRow


class Encoding(Protocol):
    """How frames are written down. Every text ends where its frame ends."""

    @property
    def as_events(self) -> bool:
        """Whether frames are server-sent events."""

    def item(self, namespace: str, key: str, row: TopicRow) -> bytes:
        """Return the frame of a topic of the start state."""

    def change(self, kind: str, delta: TopicDelta, audit: bytes, cursor: str) -> bytes:
        """Return the frame of one change; `kind` is ADDED, MODIFIED or DELETED."""

    def bookmark(self, cursor: str, *, initial: bool, names_hash: str | None) -> bytes:
        """Return the frame that says everything up to `cursor` was sent; `initial` ends a start state."""

    def reset(self, reason: str) -> bytes:
        """Return the frame that tells to forget what was sent; a start state follows."""

    def error(self, error: TopicfoldError, request_id: str) -> bytes:
        """Return the last frame of a stream that cannot go on."""

    @property
    def ping(self) -> bytes:
        """What keeps a silent stream alive and means nothing."""


class Viewer(Protocol):
    """What somebody may see who may not see everything. Never changes; equal ones see the same."""

    @property
    def mark(self) -> str:
        """What cursors bear, so that nobody goes on from one who was shown other topics; differs from others' marks."""

    def sees(self, namespace: str, grants: Grants) -> bool:
        """Return whether a topic of `namespace` with these grants of its own may be shown."""


class Sink(Protocol):
    """Where a watcher's frames go: a connection's buffer, which holds little."""

    @property
    def is_full(self) -> bool:
        """Whether the client should read before more is written."""

    def write(self, data: bytes) -> None:
        """Take frames; never waits."""

    async def drained(self) -> None:
        """Return once the client has read, or is gone."""

    def abort(self) -> None:
        """Be rid of the client, whatever it has not read."""
