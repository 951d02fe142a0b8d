"""Frames as bytes."""

from __future__ import annotations

import json

import pytest

from topicfold.errors import NotReady
from topicfold.log.codec import encode_audit
from topicfold.log.port import LogIdentity
from topicfold.model.events import Audit, AuditTrail
from topicfold.model.records import NO_GRANTS
from topicfold.server.frames import Frames
from topicfold.state.aggregate import Etag
from topicfold.state.change import TopicDelta, TopicRow

IDENTITY = LogIdentity(bytes(16), 1, "x")
LINES, EVENTS = Frames(IDENTITY, as_events=False), Frames(IDENTITY, as_events=True)
OLD = TopicRow((("team", "pay"),), 0, None, Etag(bytes(16), 1), 4, NO_GRANTS)
NEW = TopicRow((("team", "né\n\u2028\r"),), 3, None, Etag(bytes(16), 2), 5, {"ann": ("consume",)})
MADE = (Audit("ann", "", ""), Audit("bob", "why", ""), Audit("ann", "", ""))
AUDIT = encode_audit(AuditTrail(MADE, 1_700_000_000_000, -1))


def delta(before: TopicRow | None, after: TopicRow | None) -> TopicDelta:
    """Return a change of one topic."""
    return TopicDelta("public/default", "orders", before, after, 5)


def test_a_change_tells_what_is_and_was_and_who_did_it_each_once() -> None:
    frame = json.loads(LINES.change("MODIFIED", delta(OLD, NEW), AUDIT, "cursor"))
    assert list(frame) == ["type", "cursor", "topic", "old", "actors", "time"]
    assert (frame["cursor"], frame["old"], frame["actors"]) == ("cursor", {"labels": {"team": "pay"}}, ["ann", "bob"])
    assert frame["time"] == "2023-11-14T22:13:20.000Z"
    topic = frame["topic"]
    assert topic["name"] == "persistent://public/default/orders"
    assert (topic["labels"], topic["partitions"], topic["version"]) == ({"team": "né\n\u2028\r"}, 3, f"{'0' * 32}.2")


def test_nobody_is_told_of_grants() -> None:
    assert b"consume" not in LINES.change("ADDED", delta(None, NEW), b"", "cursor")


def test_what_is_gone_is_told_as_it_was_last() -> None:
    for after in (None, NEW):
        frame = json.loads(LINES.change("DELETED", delta(OLD, after), AUDIT, "cursor"))
        assert frame["topic"]["labels"] == {"team": "pay"}
        assert "old" not in frame


def test_a_change_of_what_was_not_there_is_a_defect() -> None:
    with pytest.raises(ValueError, match="was not there"):
        LINES.change("DELETED", delta(None, NEW), AUDIT, "cursor")


@pytest.mark.parametrize("audit", [b"\xff", encode_audit(AuditTrail((), 1 << 62, -1))])
def test_an_audit_trail_that_cannot_be_read_names_nobody_and_no_time(audit: bytes) -> None:
    frame = json.loads(LINES.change("ADDED", delta(None, NEW), audit, "cursor"))
    assert (frame["actors"], frame["time"]) == ([], None)


def test_every_frame_is_one_line_or_one_event_whatever_labels_hold() -> None:
    made = [
        (each.item("a/b", "x", NEW), each.change("ADDED", delta(None, NEW), AUDIT, "c"), each.reset("r\n"))
        for each in (LINES, EVENTS)
    ]
    assert all(frame.count(b"\n") == 1 and frame.endswith(b"\n") for frame in made[0])
    for frame, ids in zip(made[1], (0, 1, 1), strict=True):
        lines = frame.split(b"\n")
        assert [line.partition(b": ")[0] for line in lines[ids:]] == [b"event", b"data", b"", b""]
        assert b"\r" not in frame


def test_bookmarks_say_what_they_are() -> None:
    assert json.loads(LINES.bookmark("c", initial=True, names_hash=None)) == {
        "type": "BOOKMARK", "cursor": "c", "initial": True,
    }  # fmt: skip
    assert EVENTS.bookmark("c", initial=False, names_hash="00000000") == (
        b'id: c\nevent: BOOKMARK\ndata: {"type":"BOOKMARK","cursor":"c","hash":"00000000"}\n\n'
    )


def test_an_error_is_the_problem_that_an_answer_would_be() -> None:
    frame = json.loads(LINES.error(NotReady("later"), "r1"))
    assert (frame["type"], frame["problem"]["code"], frame["problem"]["status"]) == ("ERROR", "not_ready", 503)
    assert frame["problem"]["requestId"] == "r1"


def test_pings_mean_nothing() -> None:
    assert (LINES.ping, EVENTS.ping) == (b"\n", b":\n\n")
