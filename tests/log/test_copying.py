"""Copying a log to another place: what may go wrong there. That any adapter takes a copy is in `tests/contracts`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from tests.memory_log import MemoryLog, MemoryStore
from topicfold.errors import LogUnavailable, TopicfoldError, WrongLog
from topicfold.log.copying import BATCH, CopiedSpan, copy_log
from topicfold.log.identity import header_value
from topicfold.log.port import Failed, LogIdentity
from topicfold.model.events import HASH_NAME

IDENTITY = LogIdentity(b"i" * 16, 2, HASH_NAME)


def log_of(records: int, partitions: int = 2) -> MemoryStore:
    """Return a log whose partitions have a header and so many records."""
    store = MemoryStore(partitions)
    for partition in range(partitions):
        store.append(partition, header_value(IDENTITY))
        for number in range(records):
            store.append(partition, f"{partition}:{number}".encode())
    return store


async def copied(source: MemoryStore, target: MemoryStore) -> list[CopiedSpan]:
    steps = Steps()
    spans = await copy_log(MemoryLog(source), IDENTITY, MemoryLog(target), steps.begin)
    assert steps.done == steps.total == sum(math.ceil((span.end - span.start) / BATCH) for span in spans)
    return list(spans)


class Steps:
    """Counts the steps of a copy."""

    def __init__(self) -> None:
        self.total = self.done = 0

    @contextmanager
    def begin(self, total: int) -> Iterator[Callable[[], None]]:
        self.total = total
        yield self._step

    def _step(self) -> None:
        self.done += 1


async def test_a_copy_holds_each_record_at_its_offset() -> None:
    source, target = log_of(2_500), MemoryStore(2)
    assert await copied(source, target) == [CopiedSpan(0, 0, 2_501, 2_501), CopiedSpan(1, 0, 2_501, 2_501)]
    assert target.entries == source.entries


async def test_what_is_there_already_is_compared_and_only_the_rest_copied() -> None:
    source, target = log_of(1_500), log_of(1_200)
    assert [span.copied for span in await copied(source, target)] == [300, 300]
    assert target.entries == source.entries
    assert [span.copied for span in await copied(source, target)] == [0, 0]


async def test_a_copy_of_a_trimmed_log_begins_where_that_does() -> None:
    source, target = log_of(1_500), MemoryStore(2)
    source.delete_before(1, 1_300)
    assert [span.copied for span in await copied(source, target)] == [1_501, 201]
    assert (target.entries, target.starts) == (source.entries, [0, 1_300])


async def test_a_copy_of_a_trimmed_log_that_was_interrupted_is_gone_on_with() -> None:
    source, target = log_of(1_500), MemoryStore(2)
    source.delete_before(0, 1_300)
    for _ in range(700):
        target.append(0, b"")
    await copied(source, target)
    assert (target.entries, target.starts) == (source.entries, source.starts)


@pytest.mark.parametrize("records", [3, 5])
async def test_a_place_that_holds_anything_else_is_left_as_it_is(records: int) -> None:
    source, target = log_of(4), MemoryStore(2)
    target.append(1, b"somebody's")
    for number in range(records):
        target.append(1, f"1:{number}".encode())
    with pytest.raises(WrongLog, match="no copy of this log: at offset 0 of partition 1 it has another"):
        await copied(source, target)
    assert target.entries[0] == []


async def test_records_that_a_trimmed_log_has_no_more_are_not_deleted_elsewhere() -> None:
    source, target = log_of(4), log_of(4)
    source.delete_before(1, 3)
    with pytest.raises(WrongLog, match="at offset 0 of partition 1"):
        await copied(source, target)
    assert target.starts == [0, 0]


async def test_a_copy_that_somebody_has_written_to_is_no_copy() -> None:
    source, target = log_of(4), log_of(4)
    target.append(1, b"later")
    with pytest.raises(WrongLog, match="at offset 5 of partition 1"):
        await copied(source, target)


async def test_partitions_that_the_log_does_not_state_are_left_out() -> None:
    source, target = log_of(3, partitions=5), MemoryStore(2)
    await copied(source, target)
    assert target.entries == source.entries[:2]


async def test_a_place_with_another_number_of_partitions_is_refused() -> None:
    with pytest.raises(WrongLog, match="the place for the copy has 3 partitions, and the log has 2"):
        await copied(log_of(1), MemoryStore(3))


async def test_a_place_that_takes_no_record_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def append(self: MemoryLog, partition: int, value: bytes, failed: Failed) -> None:
        error: TopicfoldError = LogUnavailable("no room")
        failed(error)

    monkeypatch.setattr(MemoryLog, "append", append)
    with pytest.raises(LogUnavailable, match="no room"):
        await copied(log_of(3), MemoryStore(2))
