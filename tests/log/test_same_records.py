"""A snapshot is of a log whose records are those that it was made of, as far as they are there still."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.builders import an_id, namespace_put, topic_put
from tests.memory_log import MemoryLog, MemoryStore
from topicfold.errors import LogGap, LogUnavailable
from topicfold.log.codec import encode_event
from topicfold.log.port import Entry
from topicfold.log.same_records import require_same_records


class TrimmedLog(MemoryLog):
    """A log that begins at `floor`; `is_strict`: it does not answer who reads below, as Kafka does not."""

    floor = 0
    is_strict = False
    is_silent = False

    async def start_offsets(self) -> Mapping[int, int]:
        return dict.fromkeys(range(self.partitions), self.floor)

    async def read(self, partition: int, offset: int, limit: int) -> list[Entry]:
        if self.is_silent or (self.is_strict and offset < self.floor):
            raise LogUnavailable("no answer")
        return await super().read(partition, max(offset, self.floor), limit)


@pytest.fixture
def log() -> TrimmedLog:
    """A log of two partitions: events 1 and 2 in the second, and then what is no event."""
    store = MemoryStore(partitions=2)
    for event in (namespace_put(1), topic_put(2, an_id(1))):
        store.append(1, encode_event(event))
    store.append(1, b"garbage")
    return TrimmedLog(store)


async def test_the_record_that_the_snapshot_has_last_is_there(log: TrimmedLog) -> None:
    await require_same_records(log, {})
    await require_same_records(log, {1: (0, an_id(1))})
    await require_same_records(log, {1: (1, an_id(2))})


@pytest.mark.parametrize(("offset", "event_id"), [(0, 2), (1, 1), (2, 2)])
async def test_another_record_in_its_place_is_another_log(log: TrimmedLog, offset: int, event_id: int) -> None:
    with pytest.raises(LogGap, match=f"another record at offset {offset} than the snapshot") as caught:
        await require_same_records(log, {1: (offset, an_id(event_id))})
    assert caught.value.values == {"partition": 1, "expected": offset, "found": offset}


@pytest.mark.parametrize("is_strict", [False, True])
async def test_a_record_that_was_trimmed_says_nothing_of_it_and_hides_no_other(
    log: TrimmedLog, is_strict: bool
) -> None:
    log.floor, log.is_strict = 1, is_strict
    await require_same_records(log, {1: (0, an_id(9))})
    await require_same_records(log, {0: (0, an_id(9)), 1: (1, an_id(2))})
    with pytest.raises(LogGap):
        await require_same_records(log, {0: (0, an_id(9)), 1: (1, an_id(1))})


async def test_a_log_that_ends_before_it_is_told_by_others(log: TrimmedLog) -> None:
    await require_same_records(log, {1: (9, an_id(9))})


async def test_one_that_does_not_answer_is_not_taken_for_trimmed(log: TrimmedLog) -> None:
    log.is_silent = True
    with pytest.raises(LogUnavailable):
        await require_same_records(log, {1: (0, an_id(1))})
    log.floor = 1
    await require_same_records(log, {1: (0, an_id(1))})
