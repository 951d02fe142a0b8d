"""Frames of a watch as bytes: one JSON object each, as a line (NDJSON) or as a server-sent event.

    ADDED, MODIFIED, DELETED   topic: name, labels, partitions, version, position; MODIFIED also old: labels;
                               of a change also who made it, actors, and when, by the clock of the node that wrote it
    BOOKMARK                   everything up to the cursor was sent; initial: the start state is complete
    RESET                      forget what was sent; a start state follows
    ERROR                      problem; the stream ends

`cursor` is what a later watch gives as `since`. Topics of a start state have none: nothing goes on in its middle.

Source: the HTML standard on server-sent events; Kubernetes' watch events.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import orjson

from topicfold.errors import TopicfoldError
from topicfold.log.codec import decode_audit
from topicfold.log.port import LogIdentity
from topicfold.runtime.watching.subject import DELETED, MODIFIED
from topicfold.server.topic_items import TopicWriter
from topicfold.state.change import TopicDelta, TopicRow
from topicfold.text.rfc3339 import time_text
from topicfold.wire.positions import NOWHERE
from topicfold.wire.problems import problem_of

SSE_TYPE = "text/event-stream"
_REMEMBERED_WRITERS = 1_024


@dataclass(frozen=True, slots=True)
class Frames:
    """Writes frames of a watch on the log `identity`; `as_events` makes server-sent events, else lines."""

    identity: LogIdentity
    as_events: bool

    @property
    def ping(self) -> bytes:
        """A comment, or an empty line."""
        return b":\n\n" if self.as_events else b"\n"

    def item(self, namespace: str, key: str, row: TopicRow) -> bytes:
        """Return the frame of a topic of the start state."""
        return self._frame("ADDED", None, {"topic": self.topic(namespace, key, row)})

    def change(self, kind: str, delta: TopicDelta, audit: bytes, cursor: str) -> bytes:
        """Return the frame of one change; a topic that is no more, or is not to be shown any more, is as it was last.

        Raises:
            ValueError: the topic was not there before, or is not afterwards, contrary to `kind`.
        """
        row = delta.before if kind == DELETED else delta.after
        if row is None:
            raise ValueError(f"{kind} of a topic that was not there")
        said: dict[str, Any] = {"topic": self.topic(delta.namespace, delta.key, row)}
        if kind == MODIFIED and delta.before is not None:
            said["old"] = {"labels": dict(delta.before.labels)}
        trail = decode_audit(audit)
        said["actors"] = list(dict.fromkeys(each.actor for each in trail.operations)) if trail else []
        said["time"] = time_text(trail.time_ms) if trail and trail.says_time else None
        return self._frame(kind, cursor, said)

    def bookmark(self, cursor: str, *, initial: bool, names_hash: str | None) -> bytes:
        """Return the frame that says everything up to `cursor` was sent."""
        said: dict[str, Any] = {"initial": True} if initial else {}
        if names_hash is not None:
            said["hash"] = names_hash
        return self._frame("BOOKMARK", cursor, said)

    def reset(self, reason: str) -> bytes:
        """Return the frame that tells to forget what was sent.

        Its id is `NOWHERE`: a browser keeps its last one over a RESET, and would go on from it, without what was to
        follow, where the stream is cut before the start state has ended.
        """
        return self._frame("RESET", None, {"reason": reason}, event_id=NOWHERE)

    def error(self, error: TopicfoldError, request_id: str) -> bytes:
        """Return the last frame of a stream that cannot go on; `request_id` finds it in the server's log."""
        return self._frame("ERROR", None, {"problem": problem_of(error, request_id, under_admin=False)})

    def topic(self, namespace: str, key: str, row: TopicRow) -> orjson.Fragment:
        """Return a topic as frames and findings show it, for a member of something larger."""
        return orjson.Fragment(_writer(self.identity, namespace).write(key, row))

    def _frame(self, kind: str, cursor: str | None, said: dict[str, Any], event_id: str | None = None) -> bytes:
        frame = {"type": kind, **said} if cursor is None else {"type": kind, "cursor": cursor, **said}
        data = orjson.dumps(frame)
        if not self.as_events:
            return data + b"\n"
        event_id = event_id or cursor
        place = b"" if event_id is None else b"id: %b\n" % event_id.encode()
        return b"%bevent: %b\ndata: %b\n\n" % (place, kind.encode(), data)


@lru_cache(_REMEMBERED_WRITERS)
def _writer(identity: LogIdentity, namespace: str) -> TopicWriter:
    return TopicWriter(identity, namespace)
