"""The port of an ordered, partitioned, append-only log.

A log never says whether an event took effect: the fold does, when it reaches the record. So `append` hands a
record over and promises nothing; what matters comes back through `follow`.
All methods are called on one asyncio loop, and all callbacks are called on that loop.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from topicfold.errors import LogUnavailable, TopicfoldError

CLIENT_LOGGER = "topicfold.kafka"
"""The name of the standard library's logger that an adapter's client library writes to."""


class LogFull(LogUnavailable):
    """The log has no space: nothing of what was appended is in it, and nothing will be."""


class LogDenied(LogUnavailable):
    """The log denies something to this node; the hint says what to allow."""


class Entry(NamedTuple):
    """One record of the log. `value` is never interpreted here; an absent value is `b""`."""

    partition: int
    offset: int
    value: bytes


@dataclass(frozen=True, slots=True)
class LogIdentity:
    """What a log's header record states: its incarnation, and how namespaces are distributed over its partitions."""

    incarnation: bytes
    partitions: int
    hash_name: str


@dataclass(frozen=True, slots=True)
class SettingProblem:
    """A setting of the log that is not as it must or should be.

    - `repair`: what to do, a command or a sentence.
    - `refuses_writes`: the node must refuse writes, because continuing would lose events.
    - `denies_writes`: the log does not accept this node's events.
    - `partitions`: those that it concerns, None for all.
    - `is_advice`: nothing is wrong here, but more would be better.
    """

    setting: str
    found: str
    wanted: str
    refuses_writes: bool
    repair: str
    is_advice: bool = False
    denies_writes: bool = False
    partitions: Collection[int] | None = None


Deliver = Callable[[Sequence[Entry]], None]
"""Takes a non-empty batch, in which offsets rise within each partition. Calls never overlap."""

Fault = Callable[[TopicfoldError, int | None], None]
"""Takes the error that stopped the reading, and of which partition (None: of all)."""

Failed = Callable[[TopicfoldError], None]
"""Called when the log gave up on one append. The record may be in the log all the same, except after `LogFull`."""


class Log(Protocol):
    """An ordered log of P partitions, shared by any number of nodes and processes.

    Promises: everybody reads the records of one partition in the same order, each offset once, and only durable
    records. Does not promise: that appends keep their order, arrive once, or arrive at all.

    Every coroutine but `close` raises `LogUnavailable` if the log does not answer in time, or is closed.
    """

    @property
    def partitions(self) -> int:
        """The number of partitions, fixed for the life of the log."""
        ...

    def append(self, partition: int, value: bytes, failed: Failed) -> None:
        """Hand `value` over for appending to `partition`.

        Returns at once. `failed` is called at most once, on the loop, if the log gave up; the record may be in the log
        nevertheless, unless the error is `LogFull`. Nothing is called on success.

        Raises:
            LogUnavailable: not taken, and will not be (closed, unreachable).
            Overloaded: not taken, because too many appends are waiting.
            TooLarge: above the log's limit for a record.
        """
        ...

    async def place(self) -> Hashable:
        """Return what identifies the place of this log, whatever name it was opened by."""
        ...

    async def read(self, partition: int, offset: int, limit: int) -> list[Entry]:
        """Return up to `limit` records of `partition` from `offset`; an empty list at the end.

        For opening, history and repair, not for following.
        """
        ...

    async def start_offsets(self) -> Mapping[int, int]:
        """Return per partition the first offset that still exists."""
        ...

    async def end_offsets(self) -> Mapping[int, int]:
        """Return per partition the next offset to be written, as of some moment after the call.

        Every record whose append was acknowledged to anybody before the call is below it.
        """
        ...

    async def known_start_offsets(self) -> Mapping[int, int]:
        """Return the same as `start_offsets`, without the partitions that do not answer, as long as others do."""
        ...

    async def known_end_offsets(self) -> Mapping[int, int]:
        """Return the same as `end_offsets`, without the partitions that do not answer, as long as others do."""
        ...

    async def delete_before(self, partition: int, offset: int) -> None:
        """Delete the records of `partition` below `offset`, for good; does nothing if they are gone already.

        Offsets are not used again. A follower that has not come that far meets a gap.

        Raises:
            LogGap: the log ends before `offset`.
            LogUnavailable: the log did not answer in time, or does not allow it; some records may be gone.
        """
        ...

    def follow(self, positions: Mapping[int, int], deliver: Deliver, fault: Fault) -> None:
        """Start delivering all partitions from `positions` (next offset to read), until closed. Call it only once."""
        ...

    async def check_settings(self) -> Sequence[SettingProblem]:
        """Return what is wrong with the log's settings now."""
        ...

    async def close(self) -> None:
        """Stop reading and appending; end all threads. Waiting appends fail. May be called twice."""
        ...
