"""Each validator of watching finds in a history what its promise forbids: one that cannot fail would show nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.builders import an_id, namespace_delete, namespace_put, operation, topic_delete, topic_put
from tests.guarantees.watch_history import MOST_HELD_BYTES, Asked, Frame, History, Stream, parsed
from tests.guarantees.watch_log import WatchedLog
from tests.guarantees.watch_validators import VALIDATORS, violations
from topicfold.log.codec import encode_event
from topicfold.log.port import Entry
from topicfold.model.events import Event
from topicfold.model.topic_hash import topic_list_hash

WINDOW = 3
NAME = "persistent://public/default/orders"
MINE = an_id(1)


def logged(*events: Event) -> WatchedLog:
    """Return the log of one partition that these events are."""
    raw = (encode_event(each._replace(operations=(operation(at),))) for at, each in enumerate(events))
    return WatchedLog([Entry(0, at, each) for at, each in enumerate(raw)], 1)


LOG = logged(
    namespace_put(1),
    topic_put(2, MINE, labels={"k": "v"}),
    topic_put(3, MINE, an_id(2), labels={"k": "w"}),
    topic_put(4, MINE, an_id(3), labels={"l": "w"}),
    topic_put(5, MINE, an_id(4), labels={"k": "x"}),
    topic_delete(6, MINE, an_id(5)),
    topic_put(7, MINE, an_id(6), labels={"k": "y"}),
)
ENDED = logged(namespace_put(1), topic_put(2, MINE, labels={"k": "v"}), namespace_delete(3, MINE))


def frame(kind: str, position: int | None = None, **members: Any) -> Frame:
    """Return a frame, with a cursor at `position`."""
    return Frame(kind, members, None if position is None else {0: position})


def told(kind: str, position: int | None, **labels: str) -> Frame:
    """Return a frame about the topic, with its labels, and what it bore before where it was there."""
    old = {"old": {"labels": OLD[position]}} if kind == "MODIFIED" and position in OLD else {}
    return frame(kind, position, topic={"name": NAME, "labels": labels}, **old)


OLD = {3: {"k": "v"}}
ITEM = told("ADDED", None, k="v")
INITIAL = frame("BOOKMARK", 2, initial=True, hash=topic_list_hash([NAME]))
MODIFIED = told("MODIFIED", 3, k="w")
DELETED = told("DELETED", 4, k="w")
ADDED = told("ADDED", 5, k="x")
GONE = told("DELETED", 6, k="x")
AGAIN = told("ADDED", 7, k="y")
BOOKMARK = frame("BOOKMARK", 8, hash=topic_list_hash([NAME]))
RESET = frame("RESET", reason="because")
FUTURE = frame("ERROR", problem={"code": "future"})


def history(*streams: Stream) -> History:
    """Return what somebody received who watches topics with the key `k`."""
    return History(Asked("k", (), None, ("public/default",)), {"public/default": 0}, 1, list(streams))


def stream(*frames: Frame, since: int | None = None, node_at: int = 4, **members: Any) -> Stream:
    """Return one connection."""
    return Stream(None if since is None else {0: since}, {0: node_at}, frames=list(frames), **members)


FIRST = stream(ITEM, INITIAL, MODIFIED)

GOOD = {
    "all of it": history(stream(ITEM, INITIAL, MODIFIED, DELETED, ADDED, GONE, AGAIN)),
    "with a bookmark": history(stream(ITEM, INITIAL, MODIFIED, DELETED, ADDED, GONE, AGAIN, BOOKMARK)),
    "cut and resumed": history(
        stream(ITEM, INITIAL, MODIFIED), stream(DELETED, ADDED, GONE, since=3), stream(AGAIN, since=6, node_at=7)
    ),
    "out of the window": history(
        stream(RESET, told("ADDED", None, k="y"), frame("BOOKMARK", 7, initial=True), since=2)
    ),
    "unreadable": history(stream(RESET, ITEM, INITIAL, is_unreadable=True)),
    "from the future": history(stream(FUTURE, since=9), stream(AGAIN, since=6)),
    "a future refused": history(stream(since=9, refused=504)),
    "gone": history(
        stream(since=2, refused=410), stream(told("ADDED", None, k="y"), frame("BOOKMARK", 7, initial=True))
    ),
    "cut off after a reset": history(stream(RESET, since=2), stream(RESET, told("ADDED", None, k="y"), since=2)),
    "not ready": history(stream(refused=503), stream(since=3, refused=503)),
}

BAD: dict[str, tuple[str, History]] = {
    "a position falls": ("v1", history(stream(frame("BOOKMARK", 6), frame("BOOKMARK", 5), since=5))),
    "a bookmark that raises nothing": ("v1", history(stream(frame("BOOKMARK", 6), frame("BOOKMARK", 6), since=5))),
    "an event twice": ("v2", history(stream(ITEM, INITIAL, MODIFIED, MODIFIED))),
    "an event left out": ("v3", history(stream(ITEM, INITIAL, DELETED))),
    "an event left out behind a bookmark": ("v3", history(stream(GONE, since=4))),
    "a frame of no event": ("v4", history(stream(told("ADDED", 1, k="v"), since=0))),
    "a resumed stream brings what was known": ("v5", history(FIRST, stream(MODIFIED, since=3))),
    "a resumed stream starts anew": ("v5", history(FIRST, stream(ITEM, INITIAL, since=3))),
    "a bookmark before its events": ("v6", history(stream(frame("BOOKMARK", 3), MODIFIED, since=2))),
    "a hash of something else": ("v6", history(stream(ITEM, frame("BOOKMARK", 2, initial=True, hash="00000000")))),
    "a reset inside the window": ("v7", history(stream(RESET, ITEM, INITIAL, since=1))),
    "a reset inside the window, cut off": ("v7", history(stream(RESET, ITEM, since=6))),
    "gone inside the window": ("v7", history(stream(since=6, refused=410))),
    "gone without a position": ("v7", history(stream(refused=410))),
    "refused without a reason": ("v5", history(stream(since=6, refused=500))),
    "no reset outside of it": ("v7", history(stream(ADDED, GONE, AGAIN, since=4, node_at=8))),
    "no reset though it was unreadable": ("v7", history(stream(ITEM, INITIAL, is_unreadable=True))),
    "a future that is past": ("v8", history(stream(since=3, refused=504))),
    "old events from the future": ("v8", history(stream(GONE, AGAIN, since=9))),
    "a start state of another moment": ("v9", history(stream(told("ADDED", None, k="w"), INITIAL))),
    "a start state that lacks a topic": ("v9", history(stream(frame("BOOKMARK", 2, initial=True)))),
    "a start state with a topic twice": ("v9", history(stream(ITEM, ITEM, INITIAL))),
    "much kept for one client": ("v10", history(stream(ITEM, INITIAL, most_held=MOST_HELD_BYTES + 1))),
    "a frame of another kind": ("v11", history(stream(ITEM, INITIAL, told("ADDED", 3, k="w")))),
    "labels that were not there": ("v11", history(stream(ITEM, INITIAL, told("MODIFIED", 3, k="w", l="w")))),
    "a topic that does not match": ("v11", history(stream(ITEM, INITIAL, MODIFIED, told("MODIFIED", 4, l="w")))),
}  # fmt: skip


@pytest.mark.parametrize("received", GOOD.values(), ids=GOOD)
def test_a_good_history_passes(received: History) -> None:
    assert violations(received, LOG, WINDOW) == []


@pytest.mark.parametrize(("promise", "received"), BAD.values(), ids=BAD)
def test_what_a_promise_forbids_is_found_by_its_validator(promise: str, received: History) -> None:
    validator = next(each for each in VALIDATORS if each.__name__.startswith(f"{promise}_"))
    assert list(validator(received, LOG, WINDOW))


def test_every_validator_is_tried() -> None:
    assert {promise for promise, _ in BAD.values()} == {each.__name__.partition("_")[0] for each in VALIDATORS}


def test_going_on_over_the_end_of_a_namespace_is_found_and_a_reset_there_is_not() -> None:
    over = history(stream(ITEM, INITIAL, frame("BOOKMARK", 3)))
    anew = history(stream(ITEM, INITIAL, RESET, frame("BOOKMARK", 3, initial=True)))
    assert [said.partition("_")[0] for said in violations(over, ENDED, WINDOW)] == ["v4"]
    assert violations(anew, ENDED, WINDOW) == []


def test_what_somebody_may_not_see_is_found() -> None:
    received = GOOD["all of it"]
    hidden = replace(received, asked=replace(received.asked, roles=frozenset({"ann"})))
    assert {said.partition("_")[0] for said in violations(hidden, LOG, WINDOW)} >= {"v11", "v9"}


@pytest.mark.parametrize("cut", range(0, 200, 7))
def test_frames_are_read_from_lines_and_events_wherever_they_are_parted(cut: int) -> None:
    data = b'{"type":"RESET","reason":"x"}\n\n' + b':\n\nevent: RESET\ndata: {"type":"RESET","reason":"y"}\n\n'
    first, rest = parsed(data[:cut])
    second, rest = parsed(rest + data[cut:])
    assert [each.members["reason"] for each in first + second] == ["x", "y"]
    assert rest == b""
