"""The port of an ordered, partitioned, append-only log.

A log never says whether an event took effect: the fold does, when it meets the record. So `append` hands a
record over and promises nothing; what matters comes back through `follow`.
All methods are called on one asyncio loop, and all callbacks are called on that loop.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from topicfold.errors import LogUnavailable, TopicfoldError

CLIENT_LOGGER = "topicfold.kafka"
"""The standard library's logger that an adapter's client library writes to."""


class LogFull(LogUnavailable):
    """The log has no room: nothing of what was appended is in it, and nothing will be."""


class LogDenied(LogUnavailable):
    """The log does not let this node do something; the hint says what is to be allowed."""


class Entry(NamedTuple):
    """One record of the log. `value` is never interpreted here; an absent value is `b""`."""

    partition: int
    offset: int
    value: bytes


@dataclass(frozen=True, slots=True)
class LogIdentity:
    """What a log's header record states: who it is and how namespaces spread over it."""

    incarnation: bytes
    partitions: int
    hash_name: str


@dataclass(frozen=True, slots=True)
class SettingProblem:
    """A setting of the log that is not as it must be, or as it should be.

    `refuses_writes` is true where going on would lose events, `denies_writes` where the log takes none of ours, and
    `is_advice` where all is as well as it can be here; `repair` is a command or a sentence.
    """

    setting: str
    found: str
    wanted: str
    refuses_writes: bool
    repair: str
    is_advice: bool = False
    denies_writes: bool = False


Deliver = Callable[[Sequence[Entry]], None]
"""Takes a non-empty batch: offsets rise within each partition; called once at a time."""

Fault = Callable[[TopicfoldError, int | None], None]
"""Takes what stopped the reading, and of which partition (None: of all)."""

Failed = Callable[[TopicfoldError], None]
"""Takes the news that the log gave up on one append, which may be in the log all the same, but for `LogFull`."""


class Log(Protocol):
    """An ordered log of P partitions, shared by any number of nodes and processes.

    Promises: records of one partition are read in one order by everybody, each offset once, none that is not
    durable. Does not promise: that appends keep their order, arrive once, or arrive at all.

    Every coroutine but `close` raises `LogUnavailable` where the log does not answer in time, or is closed.
    """

    @property
    def partitions(self) -> int:
        """The number of partitions, fixed for the life of the log."""
        ...

    def append(self, partition: int, value: bytes, failed: Failed) -> None:
        """Hand `value` over for appending to `partition`.

        Returns at once. `failed` is called at most once, on the loop, if the log gave up; the record may be in
        the log nevertheless, unless it is told that the log is full. Nothing is called on success.

        Raises:
            LogUnavailable: not taken and never will be (closed, unreachable).
            Overloaded: not taken, too many appends are waiting.
            TooLarge: above the log's limit for a record.
        """
        ...

    async def place(self) -> Hashable:
        """Return what tells where this log is from any other place, whatever either is called."""
        ...

    async def read(self, partition: int, offset: int, limit: int) -> list[Entry]:
        """Return up to `limit` records of `partition` from `offset` on; empty at the end.

        For opening, history and repair, not for following.
        """
        ...

    async def start_offsets(self) -> Mapping[int, int]:
        """Return per partition the first offset that still exists."""
        ...

    async def end_offsets(self) -> Mapping[int, int]:
        """Return per partition the next offset to be written, as of some moment after the call.

        Every record whose append was acknowledged to anybody before the call lies below it.
        """
        ...

    async def known_start_offsets(self) -> Mapping[int, int]:
        """Return what `start_offsets` would, without partitions that do not say where they begin while others do."""
        ...

    async def known_end_offsets(self) -> Mapping[int, int]:
        """Return what `end_offsets` would, without the partitions that do not say where they end while others do."""
        ...

    async def delete_before(self, partition: int, offset: int) -> None:
        """Delete the records of `partition` below `offset`, for ever; nothing happens where they are gone already.

        Offsets are not used again. Who follows and has not come so far meets a gap.

        Raises:
            LogGap: the log ends before `offset`.
            LogUnavailable: the log did not answer in time, or does not allow it; some records may be gone.
        """
        ...

    def follow(self, positions: Mapping[int, int], deliver: Deliver, fault: Fault) -> None:
        """Start delivering all partitions from `positions` (next offset to read) on, for ever. Called once."""
        ...

    async def check_settings(self) -> Sequence[SettingProblem]:
        """Return what is wrong with the log's settings now."""
        ...

    async def close(self) -> None:
        """Stop reading and appending; end all threads. Waiting appends fail. May be called twice."""
        ...
