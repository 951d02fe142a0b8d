"""Groups: watchers that watch the same, so that whatever one of them is sent is made once.

A frame is matched, encoded and queued once for a group, however many members it has; members differ only in how far
they were when they joined. Along a group's frames no position falls, and each but a ping raises one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from topicfold.errors import TopicfoldError
from topicfold.runtime.watching.reset import Reset
from topicfold.runtime.watching.subject import Subject


class Frame(NamedTuple):
    """One frame on its way: `number` counts what the pump was told; `positions` are those of its cursor.

    Whoever knows all of `positions` already is sent `otherwise`.
    """

    number: int
    positions: Mapping[int, int]
    data: bytes
    otherwise: bytes = b""


class Member(Protocol):
    """One watcher, as its group and the pump have to do with it."""

    @property
    def subject(self) -> Subject:
        """What it watches."""

    def take(self, data: bytes, positions: Mapping[int, int]) -> bool:
        """Write what the group is sent, up to `positions`; return whether it could be."""

    def lacking(self, frames: Sequence[Frame], joined: int) -> bytes:
        """Return what of `frames` is news to one that joined as number `joined`."""

    def park(self) -> None:
        """Go on alone from what was sent; the pump has let go of it."""

    def start_anew(self, reset: Reset) -> None:
        """Tell to forget what was sent, then a start state; the pump has let go of it."""

    def fail(self, error: TopicfoldError) -> None:
        """End with an error; the pump has let go of it."""

    def end(self) -> None:
        """End after everything that is folded now."""

    def recheck(self) -> None:
        """Have it looked at whether whoever watches still may."""


@dataclass(eq=False, slots=True)
class Group:
    """The watchers of one subject that are up to date, and what is to be sent to all of them.

    `last` are the positions of the last frame that was made.
    """

    subject: Subject
    partitions: frozenset[int]
    last: Mapping[int, int]
    members: dict[Member, int] = field(default_factory=dict)
    """Each with the pump's number when it joined: frames up to it are known to it."""
    pending: list[Frame] = field(default_factory=list)
    names_hash: str | None = None
    """The hash of the names of what the subject shows, None where it is to be made anew."""

    def add(self, frame: Frame) -> None:
        """Have a frame sent."""
        self.pending.append(frame)
        self.last = frame.positions

    def has_moved(self, positions: Mapping[int, int]) -> bool:
        """Return whether one of `positions` is beyond the last frame's."""
        return any(positions[each] > self.last[each] for each in self.partitions)

    def take_frames(self, most_bytes: int) -> list[Frame]:
        """Take the next frames off what is to be sent: one, or as many as have so many bytes together."""
        taken = size = 0
        for frame in self.pending:
            size += len(frame.data)
            if taken and size > most_bytes:
                break
            taken += 1
        frames, self.pending = self.pending[:taken], self.pending[taken:]
        return frames
