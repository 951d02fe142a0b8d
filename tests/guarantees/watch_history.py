"""Histories of watching: what one client asked for, and what it received, stream by stream."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from tests.guarantees.watch_log import Row, Step
from tests.model.finding.naive_pattern import naive_matches
from tests.model.finding.naive_selector import naive_tests
from topicfold.runtime.revision import decode_revision
from topicfold.runtime.watching.cursors import MARK

Positions = Mapping[int, int]
MOST_HELD_BYTES = 160 * 1024
"""For a client that does not read: 64 KiB until the connection counts as full, and what is written at once."""
_LISTS = {"list-topics", "admin", "produce", "consume"}
_demands = cache(naive_tests)


@dataclass(frozen=True)
class Asked:
    """What is watched, and by whom: somebody with `roles`, None who may see everything; all in `whole` namespaces.

    `namespaces` are those that have ever a topic. A request means them by `meant_by`, in which is a pattern, or by
    their names where that is empty.
    """

    selector: str
    patterns: tuple[str, ...]
    regex: str | None
    namespaces: tuple[str, ...]
    roles: frozenset[str] | None = None
    whole: frozenset[str] = frozenset()
    meant_by: tuple[str, ...] = ()

    @property
    def texts(self) -> tuple[str, ...]:
        """How the namespaces are written in a request."""
        return self.meant_by or self.namespaces

    def shows(self, namespace: str, name: str, row: Row | None) -> bool:
        """Return whether a topic is shown that is as `row` says."""
        if row is None or namespace not in self.namespaces:
            return False
        local = name.rpartition("/")[2]
        return (
            self.may_see(namespace, row)
            and all(test(row.labels) for test in _demands(self.selector) or ())
            and (not self.patterns or any(naive_matches(each, local) for each in self.patterns))
            and (self.regex is None or re.fullmatch(self.regex, local) is not None)
        )

    def kind(self, step: Step) -> str | None:
        """Return what an event is to this client: ADDED, MODIFIED, DELETED or nothing."""
        was = self.shows(step.namespace, step.name, step.before)
        if self.shows(step.namespace, step.name, step.after):
            return "MODIFIED" if was else "ADDED"
        return "DELETED" if was else None

    def may_see(self, namespace: str, row: Row) -> bool:
        """Return whether a topic may be shown to whoever watches, whether it matches or not."""
        if self.roles is None or namespace in self.whole:
            return True
        return any(_LISTS.intersection(row.grants.get(role, ())) for role in self.roles)


@dataclass(frozen=True)
class Frame:
    """One frame as it was received; `members` is all of it, `positions` those of its cursor, None without one."""

    kind: str
    members: Mapping[str, Any]
    positions: Positions | None = None

    @property
    def cursor(self) -> str:
        """What to go on from."""
        return str(self.members["cursor"])

    @property
    def is_change(self) -> bool:
        """Whether it tells of an event."""
        return self.positions is not None and "topic" in self.members

    @property
    def is_item(self) -> bool:
        """Whether it is a topic of a start state."""
        return self.positions is None and "topic" in self.members

    @property
    def name(self) -> str:
        """The full name of its topic."""
        return str(self.members["topic"]["name"])

    @property
    def namespace(self) -> str:
        """The namespace of its topic."""
        return "/".join(self.name.partition("://")[2].split("/")[:2])


@dataclass
class Stream:
    """One connection: from where it was to go on, where its node was then, and what came.

    `node_left_at` is where its node was in the end, None where that is not known. `refused` is the status of an answer
    that is no stream, 0 for a stream. `most_held` are the most bytes that were kept for its client, where that can be
    known, `may_hold` how many may be.
    """

    since: Positions | None
    node_at: Positions
    node_left_at: Positions | None = None
    frames: list[Frame] = field(default_factory=list)
    refused: int = 0
    is_unreadable: bool = False
    ended_politely: bool = False
    most_held: int = 0
    may_hold: int = MOST_HELD_BYTES

    def last_positions(self) -> Positions | None:
        """Return those of the last cursor that came."""
        return next((frame.positions for frame in reversed(self.frames) if frame.positions is not None), None)


@dataclass
class History:
    """All that one client did, and in which of `count` partitions namespaces lie."""

    asked: Asked
    partition_of: Mapping[str, int]
    count: int
    streams: list[Stream] = field(default_factory=list)

    @property
    def partitions(self) -> set[int]:
        """The partitions that its cursors are about."""
        if self.asked.meant_by:
            return set(range(self.count))
        return {self.partition_of[namespace] for namespace in self.asked.namespaces}


@dataclass
class Segment:
    """What came between two RESETs, or the ends of the stream. `start` is what it goes on from, None from nothing;
    `known` what the client had before, which a RESET says it must forget."""

    start: Positions | None
    items: list[Frame]
    frames: list[Frame]
    is_complete: bool
    known: Positions | None
    reset: Frame | None = None


def segments(stream: Stream) -> Iterator[Segment]:
    """Yield the segments of a stream."""
    known, reset = stream.since, None
    start: Positions | None = stream.since
    items: list[Frame] = []
    frames: list[Frame] = []
    before = known
    for frame in stream.frames:
        if frame.kind == "RESET":
            if reset is not None or items or frames:
                yield Segment(start, items, frames, start is not None, before, reset)
            before, reset, start, items, frames = known, frame, None, [], []
        elif frame.is_item:
            items.append(frame)
        elif frame.positions is not None:
            if start is None:
                start = frame.positions
            frames.append(frame)
            known = frame.positions
    yield Segment(start, items, frames, start is not None, before, reset)


def parsed(data: bytes) -> tuple[list[Frame], bytes]:
    """Return the whole frames in what was received, lines or events, without pings, and what is left of the next."""
    frames: list[Frame] = []
    *lines, rest = data.split(b"\n")
    for line in lines:
        text = line.removeprefix(b"data: ")
        if text.startswith(b"{"):
            members = json.loads(text)
            cursor = members.get("cursor")
            positions = None if cursor is None else decode_revision(cursor.partition(MARK)[0]).positions
            frames.append(Frame(members["type"], members, positions))
    return frames, rest


def changes(frames: Sequence[Frame]) -> list[Frame]:
    """Return those that tell of events."""
    return [frame for frame in frames if frame.is_change]
