"""Groups: watchers that watch the same, so that whatever one of them is sent is made once.

A frame is matched, encoded and queued once for a group, however many members it has; members differ only in how far
they were when they joined. Along a group's frames no position falls, and each but a ping raises one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from topicfold.errors import InvalidRequest, Resync, TopicfoldError
from topicfold.model.names import local_of_key
from topicfold.model.namespaces import Namespaces
from topicfold.model.query import TopicQuery
from topicfold.model.records import Grants
from topicfold.runtime.watch_ports import Encoding, Viewer
from topicfold.state.change import NamespaceTurn, TopicDelta, TopicRow

ADDED, MODIFIED, DELETED = "ADDED", "MODIFIED", "DELETED"

Borne = tuple[Mapping[str, str], Mapping[str, str]]


def borne(delta: TopicDelta) -> Borne:
    """Return the labels that a topic bore before a change and bears after it; none where it is not live."""
    return dict(delta.before.labels if delta.before else ()), dict(delta.after.labels if delta.after else ())


RESET_CAUSES = frozenset({"too_old", "other_rights", "namespace_ended", "cut_off", InvalidRequest.code, Resync.code})
"""All that the cause of a reset can be."""


class Reset(NamedTuple):
    """Why somebody must forget what they were sent; `cause` is one of `RESET_CAUSES`, `reason` a sentence."""

    cause: str
    reason: str

    @classmethod
    def of_end(cls, namespace: str) -> Reset:
        """Return the reset of those who watched a namespace that has ended."""
        return cls("namespace_ended", f"namespace {namespace} has ended")


NAMESPACE_ENDED = Reset("namespace_ended", "a namespace that matched has ended")
"""For whoever may not know which: it may have been in a former life of the tenant."""
TOO_OLD = Reset("too_old", "the position is too far back")
OTHER_RIGHTS = Reset("other_rights", "the right to see these topics has changed")


@dataclass(frozen=True, slots=True)
class Subject:
    """What is watched: the topics that `query` means in `namespaces`, as `encoding` writes them.

    `viewer` None may see everything. Where not `tells_former_lives`, whoever goes on from before a namespace ended is
    told of that and of nothing before: who may watch the one that bears its name now may not have been let into it.
    """

    query: TopicQuery
    namespaces: Namespaces
    encoding: Encoding
    viewer: Viewer | None = None
    tells_former_lives: bool = True

    def may_see(self, namespace: str, grants: Grants) -> bool:
        """Return whether a topic with these grants of its own may be shown, whether it is watched or not."""
        return self.viewer is None or self.viewer.sees(namespace, grants)

    def kind_of(self, delta: TopicDelta, labels: Borne) -> str | None:
        """Return what a change is to whoever watches this: ADDED, MODIFIED, DELETED, or None for nothing.

        `labels` are those that the topic bore before, and those that it bears now.

        Source: PIP-451, which derives it from whether the topic matched before and whether it does now.
        """
        was = self._shows(delta.namespace, delta.before, labels[0])
        shows = self._shows(delta.namespace, delta.after, labels[1])
        if not (was or shows) or not self.query.matches_name(local_of_key(delta.key)):
            return None
        if shows:
            return MODIFIED if was else ADDED
        return DELETED

    def is_ended_by(self, turn: NamespaceTurn) -> bool:
        """Return whether whoever watches this must start anew because a namespace has ended.

        Who named it must, for what comes under that name later is another namespace. Who watches it by a pattern must
        only where topics ended with it.
        """
        return not turn.is_live and (turn.had_topics or turn.namespace in self.namespaces.names)

    def _shows(self, namespace: str, row: TopicRow | None, labels: Mapping[str, str]) -> bool:
        return row is not None and self.query.selector.matches(labels) and self.may_see(namespace, row.grants)


class Frame(NamedTuple):
    """One frame on its way: `number` counts what the hub was told; `positions` are those of its cursor.

    Whoever knows all of `positions` already is sent `otherwise`.
    """

    number: int
    positions: Mapping[int, int]
    data: bytes
    otherwise: bytes = b""


class Member(Protocol):
    """One watcher, as its group and the hub have to do with it."""

    @property
    def subject(self) -> Subject:
        """What it watches."""

    def take(self, data: bytes, positions: Mapping[int, int]) -> bool:
        """Write what the group is sent, up to `positions`; return whether it could be."""

    def lacking(self, frames: Sequence[Frame], joined: int) -> bytes:
        """Return what of `frames` is news to one that joined as number `joined`."""

    def park(self) -> None:
        """Go on alone from what was sent; the hub has let go of it."""

    def start_anew(self, reset: Reset) -> None:
        """Tell to forget what was sent, then a start state; the hub has let go of it."""

    def fail(self, error: TopicfoldError) -> None:
        """End with an error; the hub has let go of it."""

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
    """Each with the hub's number when it joined: frames up to it are known to it."""
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
