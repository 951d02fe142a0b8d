"""Watches: everyone on this node who watches topics, and what they go on from.

What the fold changed goes into the window and to the pump (`pump`), which sends it to the groups of those who are
up to date (`group`). Who is not goes on by itself from the window (`watcher`).

Source: etcd `server/storage/mvcc/watchable_store.go` (synced and unsynced watchers); KEP-956 (bookmarks).
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress

from pyroaring import BitMap

from topicfold.errors import TopicfoldError
from topicfold.log.port import LogIdentity
from topicfold.model.events import AggregateKind
from topicfold.model.finding.pattern import SEPARATOR
from topicfold.model.names import topic_of_key
from topicfold.model.namespaces import Namespaces
from topicfold.model.records import NO_GRANTS
from topicfold.model.topic_hash import MAX_HASHED, topic_list_hash
from topicfold.runtime.finding.look import Look
from topicfold.runtime.revision import token_of
from topicfold.runtime.slices import SLICE_SECONDS, IsLate, Turns, lateness, some_in_each_turn
from topicfold.runtime.tables import Tables
from topicfold.runtime.task_end import end_tasks
from topicfold.runtime.watching.cursors import Cursor, namespaces_mark
from topicfold.runtime.watching.group import Member
from topicfold.runtime.watching.groups import Groups
from topicfold.runtime.watching.pump import Pump
from topicfold.runtime.watching.rest import Rest
from topicfold.runtime.watching.subject import Subject
from topicfold.runtime.watching.window import SIZE, Window
from topicfold.state.change import Change, Outcome
from topicfold.state.fold import PartitionState
from topicfold.state.indexes.label_index import LabelIndex
from topicfold.state.topic_table import TopicTable

BEAT_SECONDS = 10.0
CLOSE_SECONDS = 1.5
"""For how long a client may read what it is sent last; then its connection is cut."""

_MAX_LOOKED_AT = 4 * MAX_HASHED
"""Topics with grants of their own that are looked at for a hash; beyond that there is none."""


class Watches:
    """All watchers of one node, and the window they resume from.

    `turns` are for those who are behind. `doubts` counts the changes after which somebody may have to be shown less.
    `resets` counts the RESET frames by their cause.
    """

    def __init__(
        self,
        states: Mapping[int, PartitionState],
        tables: Tables,
        identity: LogIdentity,
        ends: Mapping[int, int],
        separator: str = SEPARATOR,
        window_size: int = SIZE,
    ) -> None:
        """Make those of a node that is about to fold a log with these known `ends` from `states` on.

        Nobody watches before it is there, so the window begins no further back than can be asked for then.
        """
        self.states = states
        self.tables = tables
        self.identity = identity
        starts = {each: max(state.position, ends.get(each, 0) - window_size) for each, state in states.items()}
        self.window = Window(starts, window_size)
        self.rest = Rest(self.window, states, self.cursor)
        self.turns = Turns()
        self.watchers: set[Member] = set()
        self.groups = Groups(identity.partitions, separator, self._labels)
        self.pump = Pump(states, self.groups, self)
        self.resets: Counter[str] = Counter()
        self.doubts = 0
        self.is_closed = False
        self._failed: dict[int, TopicfoldError] = {}
        """What ended the streams of a partition."""
        self._is_empty = asyncio.Event()
        self._rechecks: asyncio.Task[None] | None = None

    def publish(self, partition: int, change: Change) -> None:
        """Note what a record changed; called by the reader for each. Cost: O(1) beside the watchers."""
        effect, event = change.effect, change.event
        if event is None or change.outcome is not Outcome.ACCEPTED:
            return
        if event.aggregate_kind != AggregateKind.TOPIC and self.watchers:
            self.recheck()
        if effect is not None:
            self.window.add(partition, effect, event.audit)
            self.pump.note(partition, effect, event.audit)

    @property
    def behind(self) -> int:
        """How many watchers are not up to date: they have just come, or their clients do not read. Cost: O(groups)."""
        return len(self.watchers) - sum(len(group.members) for group in self.groups)

    def now(self, partitions: frozenset[int]) -> dict[int, int]:
        """Return where these partitions are folded up to."""
        return {partition: self.states[partition].position for partition in partitions}

    def is_too_old(self, positions: Mapping[int, int]) -> bool:
        """Return whether the window no longer has all that came after `positions`."""
        floor, states = self.window.floor, self.states
        return any(position < floor(each, states[each].position) for each, position in positions.items())

    def cursor(self, subject: Subject, positions: Mapping[int, int]) -> str:
        """Return the cursor of `positions` for whoever watches `subject`."""
        mark = "" if subject.viewer is None else subject.viewer.mark
        return str(
            Cursor(token_of(self.identity.incarnation, positions).decode(), namespaces_mark(subject.namespaces), mark)
        )

    def prepare(self, subject: Subject, look: Look) -> bool:
        """Make some of what it takes to find the topics of `subject`; return whether nothing is left to be made.

        Names are not tried.
        """
        others = [table for _, table in self.tables.live(subject.namespaces) if not look.has_prepared(table)]
        is_late = lateness(SLICE_SECONDS)
        return all(look.prepare(table, is_late) for table in others)

    def try_names(self, subject: Subject, look: Look) -> bool:
        """Go through some of the tables of `subject`, and try its expression on names; return whether none is left.

        Of several tables no more is gone through than there is time for, until each was once.
        """
        tables = [table for _, table in self.tables.live(subject.namespaces)]
        others = [table for table in tables if not look.has_found(table)] if len(tables) > 1 else ()
        is_late = lateness(SLICE_SECONDS)
        for table in others:
            self._cover(table, look, is_late)
            if is_late():
                return False
        return subject.query.regex is None or all(self._cover(table, look, is_late) for table in tables)

    def matching(self, subject: Subject, table: TopicTable, look: Look) -> BitMap:
        """Return the topics of a table that match, of those whose names were tried: a set of its own."""
        found, regex = look.found(table), subject.query.regex
        return BitMap(found) if regex is None else found & self.tables.outcomes.of(table, regex).matching

    def names_hash(self, subject: Subject, look: Look) -> str | None:
        """Return the hash of the names that `subject` shows now, None where they are more than `MAX_HASHED`.

        None, too, where an expression is still to be tried on more names than there is time for now.
        """
        group = self.groups.find(subject)
        if group is None or not self.pump.has_matched_all:
            return self.hash_now(subject, look)
        if group.names_hash is None:
            group.names_hash = self.hash_now(subject, look)
        return group.names_hash

    def hash_now(self, subject: Subject, look: Look) -> str | None:
        """Return the same without looking whether it was made already."""
        is_late = lateness(SLICE_SECONDS)
        if not all(self._cover(table, look, is_late) for _, table in self.tables.live(subject.namespaces)):
            return None
        names: list[str] = []
        for namespace, table in self.tables.live(subject.namespaces):
            if not look.found(table):
                continue
            numbers = self.matching(subject, table, look)
            if not subject.may_see(namespace, NO_GRANTS):
                numbers &= BitMap(table.grants)
                if len(numbers) > _MAX_LOOKED_AT:
                    return None
                numbers = BitMap([each for each in numbers if subject.may_see(namespace, table.grants[each])])
            if len(names) + len(numbers) > MAX_HASHED:
                return None
            names += [topic_of_key(namespace, key) for key in table.keys_of(numbers)]
        return topic_list_hash(names)

    def enter(self, watcher: Member) -> None:
        """Take note of a watcher whose stream begins; end it if all others have ended since it was let in."""
        self.watchers.add(watcher)
        if self.is_closed:
            watcher.end()
        for partition in self._failed.keys() & self.groups.partitions(watcher.subject):
            watcher.fail(self._failed[partition])

    def leave(self, watcher: Member) -> None:
        """Forget a watcher whose stream has ended."""
        self.watchers.discard(watcher)
        if not self.watchers:
            self._is_empty.set()

    def fail(self, partition: int, error: TopicfoldError) -> None:
        """End with `error` all streams that watch a partition, now and later: what is folded of it is wrong."""
        self._failed[partition] = error
        for watcher in list(self.watchers):
            if partition not in self.groups.partitions(watcher.subject):
                continue
            group = self.groups.find(watcher.subject)
            if group is not None:
                self.groups.leave(group, watcher)
            watcher.fail(error)

    def recheck(self) -> asyncio.Task[None]:
        """Show nobody more until it was looked at whether they still may watch; return what wakes all to look."""
        self.doubts += 1
        if self._rechecks is None or self._rechecks.done():
            self._rechecks = asyncio.get_running_loop().create_task(self._wake_all())
        return self._rechecks

    async def beat(self) -> None:
        """Let every watcher know each `BEAT_SECONDS` how far it is, or that the stream is alive."""
        while True:
            await asyncio.sleep(BEAT_SECONDS)
            await asyncio.wait({self.recheck()})
            self.pump.tell(self.groups)

    async def close(self) -> None:
        """Send every watcher what is folded, tell it how far it is, and end all streams; take no more.

        Who does not read within `CLOSE_SECONDS` is cut off. May be called twice.
        """
        self.is_closed = True
        async for watcher in some_in_each_turn(list(self.watchers)):
            watcher.end()
        if self.watchers:
            self._is_empty.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._is_empty.wait(), 2 * CLOSE_SECONDS)
        await self.pump.stop()
        await end_tasks([self._rechecks])

    async def _wake_all(self) -> None:
        """Wake all who must be looked at, some in each turn of the loop: it is they who work then."""
        looked_at = -1
        while looked_at != self.doubts:
            looked_at = self.doubts
            async for watcher in some_in_each_turn(list(self.watchers)):
                watcher.recheck()

    def _cover(self, table: TopicTable, look: Look, is_late: IsLate) -> bool:
        found, regex = look.found(table), look.query.regex
        return regex is None or self.tables.outcomes.of(table, regex).cover(regex, found, table.keys, is_late)

    def _labels(self, namespaces: Namespaces) -> Iterator[LabelIndex]:
        return (table.index for _, table in self.tables.live(namespaces))
