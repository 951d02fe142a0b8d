"""Each defect that a watch could have is found by the histories: what they do not find they do not show."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pytest

from tests.guarantees.watch_clients import Pipe
from tests.guarantees.watch_world import lived
from topicfold.runtime import cut
from topicfold.runtime.watching.group import Group
from topicfold.runtime.watching.index import WatchIndex
from topicfold.runtime.watching.pump import Pump
from topicfold.runtime.watching.rest import Rest
from topicfold.runtime.watching.subject import Subject
from topicfold.runtime.watching.watcher import Watcher
from topicfold.runtime.watching.watches import Watches
from topicfold.runtime.watching.window import Window
from topicfold.server.auth.viewer import Viewer
from topicfold.state.change import TopicDelta

TRIES = 60
Patch = pytest.MonkeyPatch
Mutant = Callable[[Patch], None]


def bookmarks_that_say_nothing_new(patch: Patch) -> None:
    patch.setattr(Group, "has_moved", lambda self, positions: True)
    patch.setattr(Watcher, "lacking", lambda self, frames, joined: b"".join(frame.data for frame in frames))


def forgets_what_the_group_had_sent(patch: Patch) -> None:
    def park(self: Watcher) -> None:
        self._said = self._positions.copy()
        self._group = self._sent = None
        self._news.set()

    patch.setattr(Watcher, "park", park)


def sends_what_was_known_at_the_join(patch: Patch) -> None:
    patch.setattr(Watcher, "lacking", lambda self, frames, joined: b"".join(frame.data for frame in frames))


def bookmarks_before_all_is_matched(patch: Patch) -> None:
    match = Pump._match

    async def bookmarks_first(self: Pump, noted: Any, work: Any) -> None:
        while self._due:
            await self._bookmark(self._due.popitem()[0], work)
        await match(self, noted, work)

    patch.setattr(Pump, "_match", bookmarks_first)


def leaves_out_what_a_turn_had_no_room_for(patch: Patch) -> None:
    between = Window.between
    patch.setattr(Window, "between", lambda *asked: between(*asked)[:2])


def looks_only_at_what_a_topic_bears_now(patch: Patch) -> None:
    candidates = WatchIndex.candidates

    def only_after(self: WatchIndex, delta: TopicDelta) -> Any:
        return candidates(self, delta._replace(before=None))

    patch.setattr(WatchIndex, "candidates", only_after)


def reads_a_cut_as_it_is_now(patch: Patch) -> None:
    patch.setattr(cut._Past, "rows", lambda self, numbers, taken: self.table.shown_all(numbers))


def goes_on_over_the_end_of_a_namespace(patch: Patch) -> None:
    async def nothing(*_: object) -> None:
        pass

    patch.setattr(Pump, "_reset", nothing)


def calls_positions_too_old_that_are_not(patch: Patch) -> None:
    patch.setattr(Window, "floor", lambda self, partition, position: max(0, position - 5))


def goes_on_from_what_the_window_lost(patch: Patch) -> None:
    patch.setattr(Watches, "is_too_old", lambda self, positions: False)


def tells_anybody_of_anything(patch: Patch) -> None:
    patch.setattr(Viewer, "sees", lambda self, namespace, grants: True)


def tells_what_was_allowed_then(patch: Patch) -> None:
    patch.setattr(Rest, "_is_hidden_now", lambda *_: False)


def resets_whoever_sees_single_topics(patch: Patch) -> None:
    patch.setattr(Rest, "_is_hidden_now", lambda self, subject, *_: subject.viewer is not None)


def calls_what_was_there_added(patch: Patch) -> None:
    kind_of = Subject.kind_of

    def never_modified(self: Subject, delta: TopicDelta, labels: Any) -> str | None:
        kind = kind_of(self, delta, labels)
        return "ADDED" if kind == "MODIFIED" else kind

    patch.setattr(Subject, "kind_of", never_modified)


def keeps_an_old_hash(patch: Patch) -> None:
    patch.setattr(Watches, "names_hash", lambda self, subject, look: "00000000")


def does_not_wait_for_the_future(patch: Patch) -> None:
    async def at_once(self: Watcher, reaching: Any) -> None:
        reaching.close()

    patch.setattr(Watcher, "_reach", at_once)


def ends_without_the_rest(patch: Patch) -> None:
    patch.setattr(Watcher, "end", Watcher.abandon)


def sends_to_who_does_not_read(patch: Patch) -> None:
    def take(self: Watcher, data: bytes, positions: Any) -> bool:
        if data:
            self._sink.write(data)
        self._sent = positions
        return True

    patch.setattr(Watcher, "take", take)


def catches_up_without_waiting_for_the_reader(patch: Patch) -> None:
    async def at_once(self: Pipe) -> None:
        await asyncio.sleep(0)

    patch.setattr(Pipe, "drained", at_once)


MUTANTS: Mapping[Mutant, Iterable[str]] = {
    bookmarks_that_say_nothing_new: ("v1",),
    forgets_what_the_group_had_sent: ("v2", "v5", "v1"),
    sends_what_was_known_at_the_join: ("v1", "v2"),
    bookmarks_before_all_is_matched: ("v1", "v6"),
    leaves_out_what_a_turn_had_no_room_for: ("v3",),
    looks_only_at_what_a_topic_bears_now: ("v3",),
    reads_a_cut_as_it_is_now: ("v9",),
    goes_on_over_the_end_of_a_namespace: ("v4",),
    calls_positions_too_old_that_are_not: ("v7",),
    goes_on_from_what_the_window_lost: ("v7",),
    tells_anybody_of_anything: ("v11",),
    tells_what_was_allowed_then: ("v11",),
    resets_whoever_sees_single_topics: ("v7",),
    sends_to_who_does_not_read: ("v10",),
    catches_up_without_waiting_for_the_reader: ("v10",),
    calls_what_was_there_added: ("v11",),
    keeps_an_old_hash: ("v6",),
    does_not_wait_for_the_future: ("v8", "v3", "v1"),
    ends_without_the_rest: ("ended",),
}


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
async def test_a_defect_is_found(mutant: Mutant, monkeypatch: Patch) -> None:
    mutant(monkeypatch)
    found: set[str] = set()
    for seed in range(TRIES):
        small = mutant is goes_on_from_what_the_window_lost
        wrong = await lived(seed, window=20 if small else 100_000, lags=mutant is does_not_wait_for_the_future)
        found |= {each.partition("): ")[2].partition("_")[0].split(" ")[0] for each in wrong}
        if found.intersection(MUTANTS[mutant]):
            return
    raise AssertionError(f"{mutant.__name__} was not found, but {found}")
