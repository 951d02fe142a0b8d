"""The pump: from what the fold changed to the frames of everyone whom it concerns, in a task of its own.

The reader's publish step only notes what changed, so no write waits for watchers. The task matches and sends in slices,
so nothing else on the loop waits for it either, and no watcher for another: who cannot take more is let go.
A defect with one group ends that group's streams, with one watcher that one; the others go on.

Source: etcd `server/storage/mvcc/watchable_store.go`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple, Protocol

import structlog

from topicfold.errors import TopicfoldError
from topicfold.runtime.finding.look import Look
from topicfold.runtime.slices import Slice, some_in_each_turn
from topicfold.runtime.task_end import end_tasks
from topicfold.runtime.watching.group import Frame, Group, Member
from topicfold.runtime.watching.groups import Groups
from topicfold.runtime.watching.reset import Reset
from topicfold.runtime.watching.subject import MODIFIED, Borne, Subject, borne
from topicfold.state.change import Effect, NamespaceTurn, TopicDelta
from topicfold.state.fold import PartitionState

_log = structlog.get_logger(__name__)

MATCH_SECONDS = 0.01
"""For how long changes are matched, at most, before groups are sent what they have."""
MAX_SENT_BYTES = 32 * 1024
"""Of frames sent to a client at once: what a connection holds for one that does not read stays bounded."""
MAX_QUEUED = 10_000
"""Changes that may wait to be matched: a tenth of a partition's window, so that who is let go finds them there."""
_BETWEEN_LOOKS = 16
"""Groups or watchers between two looks at the clock."""
_SENT_BETWEEN = 16
"""Groups that are sent changes between two that are told how far they are."""
_SENDING_SHARE = 0.25
"""Of the time that was matched, at least so much is sent: where changes come faster than they are matched, frames that
are made do not pile up."""


class Said(Protocol):
    """What frames say of where a subject is."""

    def cursor(self, subject: Subject, positions: Mapping[int, int]) -> str:
        """Return the cursor of `positions`."""

    def try_names(self, subject: Subject, look: Look) -> bool:
        """Try the expression of `subject` on some names; return whether none is left."""

    def hash_now(self, subject: Subject, look: Look) -> str | None:
        """Return the hash of the names that `subject` shows now, None where they are many or yet to be tried."""


class _Noted(NamedTuple):
    number: int
    effect: Effect
    audit: bytes
    positions: Mapping[int, int]


class Pump:
    """Matches and sends. `delivered` counts the frames that were written to watchers."""

    def __init__(self, states: Mapping[int, PartitionState], groups: Groups, said: Said) -> None:
        self.delivered = 0
        self._states = states
        self._groups = groups
        self._said = said
        self._number = 0
        self._positions = dict.fromkeys(states, 0)
        self._queue: deque[_Noted] = deque()
        """What is to be matched; its first is being matched."""
        self._due: dict[Group, None] = {}
        """Those who are to be told how far they are."""
        self._dirty: dict[Group, None] = {}
        """Those with frames to be sent."""
        self._task: asyncio.Task[None] | None = None

    def note(self, partition: int, effect: Effect, audit: bytes) -> None:
        """Take note of what a record changed, in the order of the log. Cost: O(1)."""
        self._number += 1
        self._positions[partition] = effect.offset + 1
        if self._groups.indexes(effect.namespace):
            self._queue.append(_Noted(self._number, effect, audit, self._positions.copy()))
            self._wake()

    def join(self, watcher: Member) -> Group:
        """Send to `watcher`, who knows all that is folded now, whatever comes after."""
        return self._groups.join(watcher, self._number, self._folded())

    def tell(self, groups: Iterable[Group]) -> None:
        """Tell the members of `groups` how far they are, or that the stream is alive."""
        self._due.update(dict.fromkeys(groups))
        self._wake()

    @property
    def has_matched_all(self) -> bool:
        """Whether everything that is folded was matched."""
        return not self._queue

    async def stop(self) -> None:
        """Match and send no more."""
        await end_tasks([self._task])

    def _folded(self) -> dict[int, int]:
        """Return where everything is folded up to; no frame made from now on has less."""
        self._positions.update({partition: state.position for partition, state in self._states.items()})
        return self._positions.copy()

    def _wake(self) -> None:
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def _run(self) -> None:
        work = Slice()
        loop = asyncio.get_running_loop()
        sent = 0
        while self._queue or self._due or self._dirty:
            began = loop.time()
            while self._queue and loop.time() < began + MATCH_SECONDS:
                if len(self._queue) > MAX_QUEUED:
                    await self._let_all_go(work)
                    break
                await self._match(self._queue[0], work)
                self._queue.popleft()
            matched = loop.time()
            # Changes go first, and nothing may wait to be matched.
            if self._due and not self._queue and not (self._dirty and sent % _SENT_BETWEEN):
                group, _ = self._due.popitem()
                if group.members:
                    await self._bookmark(group, work)
            until = matched + (matched - began) * _SENDING_SHARE
            while self._dirty:
                sent += 1
                group = next(iter(self._dirty))
                del self._dirty[group]
                await self._send(group, work)
                await work.rest()
                if loop.time() >= until:
                    break
            await work.rest()

    async def _let_all_go(self, work: Slice) -> None:
        """Have everyone who is up to date go on alone, from the window, and match nothing of what waits till now."""
        number = self._number
        for group in self._groups:
            group.names_hash = None
            for count, (watcher, joined) in enumerate(list(group.members.items()), 1):
                if joined < number and group.members.get(watcher) == joined:
                    self._groups.leave(group, watcher)
                    watcher.park()
                if not count % _BETWEEN_LOOKS:
                    await work.rest()
        while self._queue and self._queue[0].number <= number:
            self._queue.popleft()

    async def _match(self, noted: _Noted, work: Slice) -> None:
        """Make the frames of one change, for every group that it concerns."""
        effect = noted.effect
        indexes = self._groups.indexes(effect.namespace)
        if isinstance(effect, NamespaceTurn):
            ended = [group for index in indexes for group in index.all() if group.subject.is_ended_by(effect)]
            await self._reset(ended, noted.number, effect)
            return
        delta = effect.delta()
        labels = borne(delta)
        made: dict[object, bytes] = {}
        concerned = [group for index in indexes for group in index.candidates(delta)]
        for count, group in enumerate(concerned, 1):
            with self._guarding(group):
                self._match_group(group, noted, delta, labels, made)
            if group.subject.query.regex or not count % _BETWEEN_LOOKS:
                await work.rest()

    async def _reset(self, groups: Iterable[Group], number: int, turn: NamespaceTurn) -> None:
        """Have those start anew who were told of a namespace that has ended, some in each turn of the loop."""
        told: list[tuple[Group, Member]] = []
        for group in groups:
            group.names_hash = None
            told += [(group, watcher) for watcher, joined in group.members.items() if joined < number]
        async for group, watcher in some_in_each_turn(told):
            if group.members.get(watcher, number) < number:
                self._groups.leave(group, watcher)
                watcher.start_anew(Reset.of_end(turn.namespace))

    def _match_group(
        self, group: Group, noted: _Noted, delta: TopicDelta, labels: Borne, made: dict[object, bytes]
    ) -> None:
        """Make a group's frame of a change, if it is one to it; `made` are those of groups before it."""
        subject = group.subject
        kind = subject.kind_of(delta, labels)
        if kind is None:
            return
        if kind != MODIFIED:
            group.names_hash = None
        same = kind, subject.namespaces, subject.encoding, subject.viewer
        data = made.get(same)
        if data is None:
            positions = {partition: noted.positions[partition] for partition in group.partitions}
            cursor = self._said.cursor(subject, positions)
            data = made[same] = subject.encoding.change(kind, delta, noted.audit, cursor)
        group.add(Frame(noted.number, noted.positions, data))
        self._dirty[group] = None

    async def _bookmark(self, group: Group, work: Slice) -> None:
        """Make a bookmark of all that is folded, or a ping where nothing has moved. Nothing may wait to be matched."""
        with self._guarding(group):
            positions = self._folded()
            self._number += 1
            number = self._number
            encoding = group.subject.encoding
            data = encoding.ping
            if group.has_moved(positions):
                look = Look(group.subject.query)
                if group.names_hash is None and await self._try_names(group.subject, look, work):
                    is_still_now = all(self._states[each].position == positions[each] for each in group.partitions)
                    group.names_hash = self._said.hash_now(group.subject, look) if is_still_now else None
                cursor = self._said.cursor(group.subject, {each: positions[each] for each in group.partitions})
                data = encoding.bookmark(cursor, initial=False, names_hash=group.names_hash)
            group.add(Frame(number, positions, data, encoding.ping))
            self._dirty[group] = None

    async def _try_names(self, subject: Subject, look: Look, work: Slice) -> bool:
        """Try an expression on new names for `MATCH_SECONDS`; return whether none is left."""
        loop = asyncio.get_running_loop()
        until = loop.time() + MATCH_SECONDS
        while not (is_done := self._said.try_names(subject, look)) and loop.time() < until:
            await work.rest()
        return is_done

    async def _send(self, group: Group, work: Slice) -> None:
        """Write a group's next frames to its members; let go of those who cannot take them."""
        frames = group.take_frames(MAX_SENT_BYTES)
        if group.pending:
            self._dirty[group] = None
        whole = b"".join([frame.data for frame in frames])
        first, last = frames[0].number, frames[-1].positions
        is_plain = not any(frame.otherwise for frame in frames)
        for count, (watcher, joined) in enumerate(list(group.members.items()), 1):
            if not count % _BETWEEN_LOOKS:
                await work.rest()
            if group.members.get(watcher) != joined:
                continue
            try:
                data = whole if is_plain and joined < first else watcher.lacking(frames, joined)
                if watcher.take(data, last):
                    self.delivered += len(frames)
                else:
                    self._groups.leave(group, watcher)
                    watcher.park()
            except Exception as error:  # noqa: BLE001 -- one watcher's defect must not stop the others
                _fail(self._groups, group, watcher, error)

    @contextmanager
    def _guarding(self, group: Group) -> Iterator[None]:
        """End the group's streams where the block fails."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 -- one group's defect must not stop the others
            for watcher in list(group.members):
                _fail(self._groups, group, watcher, error)


def _fail(groups: Groups, group: Group, watcher: Member, error: Exception) -> None:
    _log.error("watch_failed", exc_info=error)
    groups.leave(group, watcher)
    watcher.fail(TopicfoldError(f"the server failed: {type(error).__name__}"))
