"""What a node remembers of its own events, and that it is never too much."""

from __future__ import annotations

import pytest

from tests.builders import an_id
from topicfold.model.records import TopicRecord
from topicfold.runtime.writing import own_events
from topicfold.runtime.writing.group_commit import GroupCommit
from topicfold.runtime.writing.own_events import OwnEvents


def with_record(payload: bytes = b"") -> GroupCommit:
    return GroupCommit(record=TopicRecord(), payload=payload)


def test_an_event_comes_back_once_and_a_rivals_never_does() -> None:
    own = OwnEvents()
    own.add(an_id(1), with_record())
    assert [own.came_back(an_id(each)) for each in (2, 1, 1)] == [False, True, False]


def test_the_last_events_are_remembered_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_events, "MAX_EVENTS", 2)
    monkeypatch.setattr(own_events, "MAX_RECORDS", 1)
    own = OwnEvents()
    for each in range(3):
        own.add(an_id(each), with_record())
    assert [own.record_at(an_id(each)) for each in range(3)] == [None, None, TopicRecord()]
    assert [own.came_back(an_id(each)) for each in range(3)] == [False, True, True]


def test_a_long_record_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_events, "MAX_RECORD_BYTES", 2)
    own = OwnEvents()
    own.add(an_id(1), with_record(b"ab"))
    own.add(an_id(2), with_record(b"abc"))
    assert [own.record_at(an_id(each)) for each in (1, 2)] == [TopicRecord(), None]
