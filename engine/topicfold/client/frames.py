"""Frames of a watch: what a client needs to keep a set of topics up to date, one per line of NDJSON. No I/O.

A watch first sends the topics that match as `Added`, then a `Bookmark` that `is_initial`, then the changes. After a
`Reset` it starts again like this, and everything sent before is void.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from topicfold.client.answer_shape import TEXTS, require_shape
from topicfold.client.find_answers import Match
from topicfold.text.json_text import read_json


@dataclass(frozen=True, slots=True)
class Added:
    """A topic matches. If it already did when the watch began, `cursor` is "", `actors` is empty and `time` None.

    `time` is that of the change, here and in the next two, in RFC 3339 and by the clock of the node that wrote it; None
    where that cannot be read, or the server does not say it.
    """

    cursor: str
    topic: Match
    actors: tuple[str, ...] = ()
    time: str | None = None


@dataclass(frozen=True, slots=True)
class Modified:
    """A topic that matched before and still matches has new labels or a new version."""

    cursor: str
    topic: Match
    old_labels: Mapping[str, str] = field(hash=False)
    actors: tuple[str, ...] = ()
    time: str | None = None


@dataclass(frozen=True, slots=True)
class Deleted:
    """A topic was deleted or no longer matches; `topic` is as it was last sent."""

    cursor: str
    topic: Match
    actors: tuple[str, ...] = ()
    time: str | None = None


@dataclass(frozen=True, slots=True)
class Bookmark:
    """Everything up to `cursor` has been sent.

    `is_initial` marks the end of the initial topics. `names_hash` is Pulsar's hash of the names that match; None if
    the server did not compute it.
    """

    cursor: str
    is_initial: bool = False
    names_hash: str | None = None


@dataclass(frozen=True, slots=True)
class Reset:
    """Everything sent before is void; the topics that match now follow. `reason` is for humans."""

    reason: str
    cursor: str = ""


@dataclass(frozen=True, slots=True)
class Failed:
    """The last frame of a stream that cannot continue: a problem document. The client raises it, or reconnects."""

    problem: Mapping[str, Any]
    cursor: str = ""


Frame = Added | Modified | Deleted | Bookmark | Reset


class UnknownFrame(ValueError):
    """A frame of a type that this version does not know, perhaps from a newer server."""


def frame_of(line: bytes) -> Frame | Failed:
    """Return the frame that a line of NDJSON is.

    Raises:
        UnknownFrame: it is of a type that this version does not know.
        KeyError, TypeError, ValueError: it is none.
    """
    body = read_json(line)
    cursor, kind = str(body.get("cursor") or ""), body["type"]
    actors = tuple(body.get("actors") or ())
    time = body.get("time")
    require_shape({"actors": list(actors), "time": time}, {"actors": [str], "time": str | None})
    match kind:
        case "ADDED":
            return Added(cursor, Match.of(body["topic"]), actors, time)
        case "MODIFIED":
            require_shape(body["old"], {"labels": TEXTS})
            return Modified(cursor, Match.of(body["topic"]), body["old"]["labels"], actors, time)
        case "DELETED":
            return Deleted(cursor, Match.of(body["topic"]), actors, time)
        case "BOOKMARK":
            return Bookmark(cursor, bool(body.get("initial")), body.get("hash"))
        case "RESET":
            return Reset(str(body.get("reason") or ""), cursor)
        case "ERROR":
            return Failed(dict(body["problem"]), cursor)
        case _:
            raise UnknownFrame(f"a frame of type {kind!r}")


class Lines:
    """Parts a stream of bytes into lines, wherever it is cut. What follows the last line end is kept for later.

    >>> lines = Lines(max_bytes=100)
    >>> [*lines.feed(b"one\\ntw")], [*lines.feed(b"o\\n\\n")]
    ([b'one'], [b'two', b''])
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._rest = b""

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Yield the lines that `chunk` completes.

        Raises:
            ValueError: the next one is longer than may be.
        """
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        yield from lines
        if len(self._rest) > self._max_bytes:
            raise ValueError(f"a line of more than {self._max_bytes} bytes")
