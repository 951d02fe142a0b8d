"""One watcher: start state, what is missing since a cursor, then whatever comes.

A watcher is in one of two states. *Behind*: its own task writes to it, from a start state or from the window, as fast
as its client reads. *Up to date*: it is a member of a group, and the pump writes to it. A client that does not read is
parked: it falls behind, its cursor stays, and its task goes on once the client has read. So a slow client takes the
memory of what is on its way to it, and delays nobody.

Source: etcd's synced and unsynced watchers; PIP-451; KEP-3157 (start state and tail in one stream).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from typing import Any

from topicfold.errors import TopicfoldError
from topicfold.runtime.cut import NamespaceCut
from topicfold.runtime.finding.look import Look
from topicfold.runtime.slices import SLICE_SECONDS
from topicfold.runtime.watching.group import Frame, Group
from topicfold.runtime.watching.ports import Sink
from topicfold.runtime.watching.reset import TOO_OLD, Reset
from topicfold.runtime.watching.rest import MAX_PART_BYTES
from topicfold.runtime.watching.subject import Subject
from topicfold.runtime.watching.watches import CLOSE_SECONDS, Watches

CHUNK = 64
"""Topics of a start state for which a turn is taken: a millisecond's work."""


class Watcher:
    """One stream. `run` it; `end` it from wherever it must end.

    `admits` raises where whoever watches may do so no more.
    """

    def __init__(
        self, watches: Watches, subject: Subject, sink: Sink, admits: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        self.subject = subject
        self._watches = watches
        self._sink = sink
        self._admits = admits
        self._settled_doubts = -1
        self._partitions = watches.groups.partitions(subject)
        self._positions: dict[int, int] = {}
        """Up to where its own task has written."""
        self._sent: Mapping[int, int] | None = None
        """Up to where its group has."""
        self._said: Mapping[int, int] | None = None
        """The positions of the last cursor that its own task wrote, or of the last that it was sent."""
        self._group: Group | None = None
        self._reset: Reset | None = None
        self._failure: TopicfoldError | None = None
        self._news = asyncio.Event()
        self._reaching: asyncio.Task[None] | None = None
        self._last_moment: asyncio.TimerHandle | None = None
        self._is_ending = False
        self._is_over = False

    async def run(
        self,
        since: Mapping[int, int] | None = None,
        *,
        reset: Reset | None = None,
        initial: bool = True,
        known_hash: str | None = None,
        reaching: Coroutine[Any, Any, None] | None = None,
    ) -> None:
        """Stream until somebody ends it: from `since` on, else with what matches now, unless `initial` is false.

        `since` has a position for each partition of the subject; `reaching` returns once all of them are folded, or
        raises. With `reset` the stream begins with a RESET. Where the names that match have `known_hash` their start
        state is left out.

        Raises:
            TopicfoldError: `reaching` did, whoever watches may do so no more, or the server failed.
        """
        self._watches.enter(self)
        try:
            if reaching is not None:
                await self._reach(reaching)
            if since is not None:
                self._positions = dict(since)
                self._said = dict(since)
            elif reset is not None:
                self._reset = reset
            elif initial:
                await self._start_state(known_hash)
            elif await self._prepared(look := Look(self.subject.query)):
                self._positions = self._now()
                self._write_bookmark(look, initial=False)
            await self._follow()
        finally:
            self._watches.leave(self)
            if self._group is not None:
                self._watches.groups.leave(self._group, self)
            if self._last_moment is not None:
                self._last_moment.cancel()

    def end(self) -> None:
        """End the stream after everything that is folded now, and a bookmark: within `CLOSE_SECONDS`, come what may."""
        if not self._is_ending:
            self._is_ending = True
            self._last_moment = asyncio.get_running_loop().call_later(CLOSE_SECONDS, self.cut)
        self._wake()

    def abandon(self) -> None:
        """End the stream at once: nobody is there to read it."""
        self._is_over = True
        self._wake()

    def cut(self) -> None:
        """End the stream at once, and be rid of a client that does not read."""
        self.abandon()
        if self._sink.is_full:
            self._sink.abort()

    def fail(self, error: TopicfoldError) -> None:
        """End the stream at once with an error. Called by the pump, which has let go of it."""
        self._group = None
        self._failure = error
        self.abandon()

    def recheck(self) -> None:
        """Look soon at whether whoever watches still may."""
        if self._is_in_doubt:
            self._news.set()

    def take(self, data: bytes, positions: Mapping[int, int]) -> bool:
        """Write what the group is sent, up to `positions`; return whether it could be. Called by the pump."""
        if self._sink.is_full or self._is_in_doubt:
            return False
        if data:
            self._sink.write(data)
        self._sent = positions
        return True

    def lacking(self, frames: Sequence[Frame], joined: int) -> bytes:
        """Return what the group's `frames` say that was not known when this one joined as number `joined`."""
        known = self._known()
        data: list[bytes] = []
        for number, positions, frame, otherwise in frames:
            if number <= joined:
                continue
            if any(positions[each] > mine for each, mine in known.items()):
                data.append(frame)
                known = {each: positions[each] for each in known}
            else:
                data.append(otherwise)
        return b"".join(data)

    def park(self) -> None:
        """Go on alone from what was sent, as soon as the client reads. Called when its group has let go of it."""
        self._positions = self._known()
        self._said = self._positions.copy()
        self._group = self._sent = None
        self._news.set()

    def start_anew(self, reset: Reset) -> None:
        """Send a RESET and a fresh start state next. Called by the pump, which has let go of it."""
        self._group = self._sent = None
        self._reset = reset
        self._news.set()

    @property
    def _is_in_doubt(self) -> bool:
        """Whether it must be looked at whether whoever watches still may."""
        return self._admits is not None and self._settled_doubts != self._watches.doubts

    def _now(self) -> dict[int, int]:
        return self._watches.now(self._partitions)

    def _known(self) -> dict[int, int]:
        sent = self._sent
        return {each: mine if sent is None else max(mine, sent[each]) for each, mine in self._positions.items()}

    def _wake(self) -> None:
        self._news.set()
        if self._reaching is not None:
            self._reaching.cancel()

    async def _reach(self, reaching: Coroutine[Any, Any, None]) -> None:
        """Wait, at most until the stream must end."""
        waiting = self._reaching = asyncio.get_running_loop().create_task(reaching)
        if self._is_over or self._is_ending:
            waiting.cancel()
        try:
            await asyncio.wait({waiting})
        finally:
            self._reaching = None
            waiting.cancel()
        if waiting.cancelled():
            self._is_over = True
        else:
            waiting.result()

    async def _follow(self) -> None:
        while not self._is_over:
            if self._is_in_doubt:
                await self._look_again()
            elif self._reset is not None:
                await self._start_over(self._reset)
            elif self._group is None:
                await self._catch_up()
            elif self._is_ending:
                self._watches.groups.leave(self._group, self)
                self.park()
            else:
                await self._news.wait()
                self._news.clear()
        if self._failure is not None:
            raise self._failure

    async def _look_again(self) -> None:
        """See that whoever watches still may, as of some moment after the doubt."""
        while self._admits is not None and self._is_in_doubt:
            doubts = self._watches.doubts
            await self._admits()
            self._settled_doubts = doubts

    async def _turn(self) -> bool:
        """Let the client read, and others have their turn; return whether to go on."""
        if self._sink.is_full:
            await self._sink.drained()
        await self._watches.turns.next()
        if self._is_in_doubt:
            await self._look_again()
        return not self._is_over

    async def _prepared(self, look: Look) -> bool:
        """Have made what it takes to find topics, a turn at a time; return whether to go on."""
        while await self._turn():
            if self._watches.prepare(self.subject, look):
                return True
        return False

    async def _names_tried(self, look: Look) -> bool:
        """Have an expression tried on all names, a turn at a time; return whether to go on."""
        while not self._watches.try_names(self.subject, look):
            if not await self._turn():
                return False
        return True

    async def _start_over(self, reset: Reset) -> None:
        self._reset = None
        self._watches.resets[reset.cause] += 1
        self._sink.write(self.subject.encoding.reset(reset.reason))
        await self._start_state()

    async def _start_state(self, known_hash: str | None = None) -> None:
        """Write all topics that match, from one cut, then the bookmark that ends them."""
        look = Look(self.subject.query)
        if not await self._prepared(look) or not await self._names_tried(look):
            return
        self._positions = self._now()
        is_known = known_hash is not None and known_hash == self._watches.names_hash(self.subject, look)
        cuts = [] if is_known else list(self._cuts(look))
        del look
        try:
            for cut in cuts:
                await self._write_cut(cut)
                if cut.is_lost:
                    self._reset = TOO_OLD
                if self._is_over or self._reset:
                    return
        finally:
            for cut in cuts:
                cut.close()
        look = Look(self.subject.query)
        if self._positions == self._now() and not await self._names_tried(look):
            return
        self._write_bookmark(look, initial=True)

    def _cuts(self, look: Look) -> Iterator[NamespaceCut]:
        """Yield a cut of what matches in each namespace where anything may."""
        watches, subject = self._watches, self.subject
        for namespace, table in watches.tables.live(subject.namespaces):
            if look.found(table):
                yield watches.tables.cuts.open(namespace, table, watches.matching(subject, table, look))

    async def _write_cut(self, cut: NamespaceCut) -> None:
        subject = self.subject
        while numbers := cut.take(CHUNK):
            frames: list[bytes] = []
            size = 0
            for key, row in cut.rows(numbers):
                if size >= MAX_PART_BYTES:
                    self._write(frames)
                    if not await self._turn():
                        return
                    frames, size = [], 0
                if subject.may_see(cut.namespace, row.grants):
                    frames.append(subject.encoding.item(cut.namespace, key, row))
                    size += len(frames[-1])
            self._write(frames)
            if not await self._turn():
                return

    async def _catch_up(self) -> None:
        """Write what the window has after the positions; join the group once nothing is left there."""
        watches, loop = self._watches, asyncio.get_running_loop()
        look = Look(self.subject.query)
        while await self._prepared(look):
            if watches.is_too_old(self._positions):
                self._reset = TOO_OLD
                return
            until = loop.time() + SLICE_SECONDS
            while not self._write_part() and not self._sink.is_full and loop.time() < until:
                pass
            if self._reset is not None:
                return
            if self._positions == self._now():
                self._is_over = self._is_ending
                if self._positions != self._said:
                    self._write_bookmark(look, initial=False)
                if not self._is_over:
                    self._group = watches.pump.join(self)
                return

    def _write_part(self) -> bool:
        """Write some of what the window has; return whether nothing is left there, or nothing goes on from here."""
        part = self._watches.rest.after(self.subject, self._positions)
        self._write(part.frames)
        self._positions = dict(part.positions)
        self._said = part.said or self._said
        self._reset = part.reset
        return part.reset is not None or self._positions == self._now()

    def _write(self, frames: Sequence[bytes]) -> None:
        if frames:
            self._watches.pump.delivered += len(frames)
            self._sink.write(b"".join(frames))

    def _write_bookmark(self, look: Look, *, initial: bool) -> None:
        subject, positions = self.subject, self._positions
        names_hash = self._watches.names_hash(subject, look) if positions == self._now() else None
        cursor = self._watches.cursor(subject, positions)
        self._said = positions.copy()
        self._write([subject.encoding.bookmark(cursor, initial=initial, names_hash=names_hash)])
