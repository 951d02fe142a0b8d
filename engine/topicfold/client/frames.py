"""Frames of a watch: what a holder of a set of topics is told, one value a line of NDJSON. No I/O.

A watch tells its start state as `Added`, ends it with a `Bookmark` that `is_initial`, and goes on with changes.
After a `Reset` a start state comes again, and whatever was told before no longer holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from topicfold.client.find_answers import Match
from topicfold.json_text import read_json


@dataclass(frozen=True, slots=True)
class Added:
    """A topic matches: it did before the watch began (then `cursor` is "" and nobody did it), or does since now."""

    cursor: str
    topic: Match
    actors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Modified:
    """A topic that matches and did before has other labels, or another version."""

    cursor: str
    topic: Match
    old_labels: Mapping[str, str] = field(hash=False)
    actors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Deleted:
    """A topic is gone, or matches no longer; `topic` is how it was last told."""

    cursor: str
    topic: Match
    actors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Bookmark:
    """Everything up to `cursor` was told.

    `is_initial`: with this one the start state is complete. `names_hash` is Pulsar's hash of the names that match,
    None where the server did not make it.
    """

    cursor: str
    is_initial: bool = False
    names_hash: str | None = None


@dataclass(frozen=True, slots=True)
class Reset:
    """What was told before no longer holds; a start state follows. `reason` is for people."""

    reason: str
    cursor: str = ""


@dataclass(frozen=True, slots=True)
class Failed:
    """The last frame of a stream that cannot go on: a problem document. A client raises it, or tries again."""

    problem: Mapping[str, Any]
    cursor: str = ""


Frame = Added | Modified | Deleted | Bookmark | Reset


class UnknownFrame(ValueError):
    """A frame of a type that this version does not know: a newer server may have it."""


def frame_of(line: bytes) -> Frame | Failed:
    """Return the frame that a line of NDJSON is.

    Raises:
        UnknownFrame: it is of a type that this version does not know.
        KeyError, TypeError, ValueError: it is none.
    """
    body = read_json(line)
    cursor, kind = str(body.get("cursor") or ""), body["type"]
    actors = tuple(body.get("actors") or ())
    match kind:
        case "ADDED":
            return Added(cursor, Match.of(body["topic"]), actors)
        case "MODIFIED":
            return Modified(cursor, Match.of(body["topic"]), dict(body["old"]["labels"]), actors)
        case "DELETED":
            return Deleted(cursor, Match.of(body["topic"]), actors)
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
