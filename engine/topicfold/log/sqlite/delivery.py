"""What the thread of a SQLite log hands to the loop, in the order of the log.

The thread's own commits are handed over at once, without reading them back; every 2 ms it checks whether another
process has committed. Where the system says when the write-ahead log is written to (`file_bell`), it rests until then,
and checks every 2 ms only for as long as such a commit may take. What the loop has not taken yet is bounded: beyond
that, the thread stops reading ahead. In each of its turns the loop takes only a few milliseconds' worth; otherwise a
node that starts would fold for two seconds before anything else had a turn. If nobody commits for some seconds, the
write-ahead log is copied into the file.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from topicfold.errors import LogGap, LogUnavailable, OperatorNeeded, WrongLog
from topicfold.log.port import Deliver, Entry, Fault
from topicfold.log.sqlite.file import SqliteFile

_POLL_SECONDS = 0.002
RESTING_SECONDS = 0.1
"""How often it checks at rest, for nothing says when a commit ends that takes a disk longer than `_AWAKE_SECONDS`."""
_AWAKE_SECONDS = 0.25
_QUIET_SECONDS = 2.0
"""How long nobody must have committed before a checkpoint, which delays an append that comes just then by
milliseconds."""
_BATCH = 1_000
_IN_A_TURN = 128
"""Entries per turn of the loop; folding a thousand would take a turn of 30 to 45 ms."""
_MAX_BACKLOG_BYTES = 8 * 1024 * 1024
"""How much may wait for the loop before the thread stops reading ahead: replaying needs little more memory."""
_ENTRY_BYTES = 200
"""The memory of an entry without its value."""


class Follow(NamedTuple):
    """Where to start delivering, and to whom."""

    positions: dict[int, int]
    deliver: Deliver
    fault: Fault


class SqliteDelivery:
    """One thread's delivery. `end` is called on the loop, everything else by the thread."""

    def __init__(self, post: Callable[..., None]) -> None:
        """Take `post`, which makes the loop call a function with arguments."""
        self._post = post
        self._follow: Follow | None = None
        self._last: dict[int, bytes] = {}
        """The record before the position in each partition; what comes next must follow it."""
        self._version = -1
        self._is_behind = False
        self._is_ended = False
        self._handed_out_bytes = 0
        self._taken_bytes = 0
        self._checkpoint_at = 0.0
        self._awake_until = 0.0
        self._due: deque[tuple[Callable[..., None], tuple[Any, ...]]] = deque()
        self._is_giving = False

    @property
    def patience_seconds(self) -> float | None:
        """How long the thread may wait for a command before it looks for new records; None: without limit."""
        if not self._follow:
            return None
        return 0.0 if self._is_behind and self._has_room() else _POLL_SECONDS

    @property
    def is_resting(self) -> bool:
        """Whether there is nothing to look for until somebody writes to the write-ahead log."""
        is_done = self._follow is not None and not self._is_behind and self._has_room()
        return is_done and time.monotonic() >= self._awake_until

    def stir(self) -> None:
        """Look often for some time: somebody commits."""
        self._awake_until = time.monotonic() + _AWAKE_SECONDS

    def begin(self, follow: Follow) -> None:
        """Start delivering as `follow` says."""
        self._follow = follow

    def end(self) -> None:
        """Deliver nothing more, not even what is waiting for the loop."""
        self._is_ended = True

    def fail(self, fault: OperatorNeeded) -> None:
        """Report `fault` to the follower."""
        if self._follow:
            self._post(self._in_turn, self._follow.fault, fault, None)

    def look(self) -> None:
        """Check next time whether there is more to deliver, because a commit that failed may have been made.

        The file's version only reveals other connections' commits.
        """
        self._version = -1

    def deliver_own(self, file: SqliteFile, entries: Sequence[Entry]) -> None:
        """Hand over what this thread has just committed, as far as it comes next.

        If somebody else has committed meanwhile, it is read like theirs: what it follows may be another record now.
        """
        if not self._follow:
            return
        positions = self._follow.positions
        is_known = self._has_no_news(file)
        fresh = []
        for entry in entries:
            if is_known and positions.get(entry.partition) == entry.offset and self._has_room():
                positions[entry.partition] += 1
                fresh.append(entry)
            else:
                self._is_behind = True
        self._hand_out(self._follow, fresh)

    def fetch(self, file: SqliteFile) -> None:
        """Hand over what other processes committed, a batch per partition; on a busy or full disk, try again later."""
        follow = self._follow
        if follow is None or not self._has_room():
            return
        try:
            version = file.version()
            if version == self._version and not self._is_behind:
                self._checkpoint_when_quiet(file)
                return
            bounds = file.bounds()
            self._version, self._is_behind = version, False
            for partition in list(follow.positions):
                self._fetch_partition(file, follow, partition, bounds[partition].end)
        except LogUnavailable:
            self._version, self._is_behind = -1, False
            self.stir()

    def _fetch_partition(self, file: SqliteFile, follow: Follow, partition: int, end: int) -> None:
        position = follow.positions[partition]
        batch = file.read(partition, max(position - 1, 0), _BATCH)
        if batch and batch[0].offset < position:
            known, *batch = batch
            if known.value != self._last.setdefault(partition, known.value):
                del follow.positions[partition]
                self._post(self._in_turn, follow.fault, _another(known), partition)
                return
        if not batch and position == end:
            return
        if batch and batch[-1].offset == position + len(batch) - 1:
            follow.positions[partition] += len(batch)
            self._is_behind |= follow.positions[partition] < end
            self._hand_out(follow, batch)
            return
        del follow.positions[partition]
        whole = next((n for n, entry in enumerate(batch) if entry.offset != position + n), 0)
        found = batch[whole].offset if batch else end
        gap = LogGap(
            f"partition {partition} continues at {found} where record {position + whole} was expected",
            hint="The file was trimmed or changed by something else, or is a copy that had another file's -wal "
            "beside it. Restore it, without that -wal.",
            partition=partition,
            expected=position + whole,
            found=found,
        )
        self._hand_out(follow, batch[:whole])
        self._post(self._in_turn, follow.fault, gap, partition)

    def _has_no_news(self, file: SqliteFile) -> bool:
        """Return whether nobody else has committed since the last look, as far as the system says."""
        try:
            return file.version() == self._version
        except LogUnavailable:
            return False

    def _checkpoint_when_quiet(self, file: SqliteFile) -> None:
        if time.monotonic() >= self._checkpoint_at:
            file.checkpoint()
            self._checkpoint_at = time.monotonic() + _QUIET_SECONDS

    def _has_room(self) -> bool:
        return self._handed_out_bytes - self._taken_bytes < _MAX_BACKLOG_BYTES

    def _hand_out(self, follow: Follow, batch: list[Entry]) -> None:
        if batch:
            self._checkpoint_at = time.monotonic() + _QUIET_SECONDS
        self._last |= {entry.partition: entry.value for entry in batch}
        for start in range(0, len(batch), _IN_A_TURN):
            some = batch[start : start + _IN_A_TURN]
            size = sum(len(entry.value) for entry in some) + len(some) * _ENTRY_BYTES
            self._handed_out_bytes += size
            self._post(self._in_turn, self._take, follow, some, size)

    def _in_turn(self, give: Callable[..., None], *arguments: Any) -> None:
        """Call `give` on the loop: at once if nothing else was called in this turn, otherwise in a turn of its own."""
        self._due.append((give, arguments))
        if not self._is_giving:
            self._is_giving = True
            self._give()

    def _give(self) -> None:
        self._is_giving = bool(self._due)
        if self._due:
            asyncio.get_running_loop().call_soon(self._give)
            give, arguments = self._due.popleft()
            give(*arguments)

    def _take(self, follow: Follow, batch: list[Entry], size: int) -> None:
        """Deliver on the loop."""
        self._taken_bytes += size
        if not self._is_ended:
            follow.deliver(batch)


def _another(found: Entry) -> WrongLog:
    return WrongLog(
        f"partition {found.partition} holds another record at offset {found.offset} than was read there before",
        hint="A copy was restored into the log's file while this node did not look. Stop all nodes, renew the log "
        "(docs/recovery.md), and start them; before that, save what this node knows, if you need what the copy lacks.",
    )
