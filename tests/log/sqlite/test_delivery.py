"""What the thread of a SQLite log hands to the loop: in order, and a batch in each turn of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.log.following import never
from tests.turning import counted_turns
from topicfold.errors import LogUnavailable, OperatorNeeded, TopicfoldError, WrongLog
from topicfold.log.port import Entry
from topicfold.log.sqlite.delivery import Follow, SqliteDelivery
from topicfold.log.sqlite.file import Bounds, SqliteFile


@pytest.fixture
def file(tmp_path: Path) -> Iterator[SqliteFile]:
    """A log's file with one partition, without a record."""
    file = SqliteFile(tmp_path / "log.db", 1)
    yield file
    file.close()


def post(call: Callable[..., None], *arguments: object) -> None:
    """Have the loop call something, as a log's thread does."""
    asyncio.get_running_loop().call_soon(call, *arguments)


async def test_however_many_batches_wait_each_has_a_turn_of_the_loop_and_faults_come_behind_them(
    file: SqliteFile,
) -> None:
    told: list[tuple[int, object]] = []

    def deliver(entries: object) -> None:
        told.append((turns(), entries))

    def fault(error: TopicfoldError, partition: int | None) -> None:
        told.append((turns(), "fault"))

    delivery = SqliteDelivery(post)
    delivery.begin(Follow({0: 0}, deliver, fault))
    delivery.fetch(file)
    batches = [[Entry(0, offset, b"value")] for offset in range(5)]
    async with counted_turns() as turns:
        for batch in batches:
            delivery.deliver_own(file, batch)
        delivery.fail(OperatorNeeded("the disk is gone"))
        for _ in range(20):
            await asyncio.sleep(0)
    assert [each for _, each in told] == [*batches, "fault"]
    assert len({at for at, _ in told}) == len(told)


async def test_of_a_large_batch_each_turn_of_the_loop_takes_a_part(file: SqliteFile) -> None:
    told: list[tuple[int, list[Entry]]] = []
    delivery = SqliteDelivery(post)
    delivery.begin(Follow({0: 0}, lambda entries: told.append((turns(), list(entries))), lambda *_: None))
    delivery.fetch(file)
    batch = [Entry(0, offset, b"value") for offset in range(1_000)]
    async with counted_turns() as turns:
        delivery.deliver_own(file, batch)
        for _ in range(30):
            await asyncio.sleep(0)
    assert [each for _, some in told for each in some] == batch
    assert max(len(some) for _, some in told) <= 128
    assert len({at for at, _ in told}) == len(told)


async def test_what_is_committed_while_it_looks_is_looked_for_again(tmp_path: Path) -> None:
    ours, theirs = (SqliteFile(tmp_path / "log.db", 1) for _ in range(2))
    told: list[Entry] = []
    delivery = SqliteDelivery(lambda call, *arguments: call(*arguments))
    delivery.begin(Follow({0: 0}, told.extend, lambda error, partition: never(error)))
    bounds, others = ours.bounds, [b"x"]

    def committed_behind() -> list[Bounds]:
        found = bounds()
        while others:
            theirs.append([(0, others.pop())])
        return found

    ours.bounds = committed_behind  # type: ignore[method-assign]
    for _ in range(2):
        delivery.fetch(ours)
        await asyncio.sleep(0)
    assert told == [Entry(0, 0, b"x")]
    ours.close()
    theirs.close()


async def test_what_was_committed_behind_a_stranger_s_record_waits_until_that_is_read(tmp_path: Path) -> None:
    ours, theirs = (SqliteFile(tmp_path / "log.db", 1) for _ in range(2))
    told: list[Entry] = []
    delivery = SqliteDelivery(post)
    delivery.begin(Follow({0: 0}, told.extend, lambda error, partition: never(error)))
    expected = theirs.append([(0, b"theirs")])
    own = ours.append([(0, b"ours")])
    delivery.deliver_own(ours, own)
    await asyncio.sleep(0)
    assert told == []
    delivery.fetch(ours)
    await asyncio.sleep(0)
    assert told == [*expected, *own]
    ours.close()
    theirs.close()


def restore_and_grow(file: SqliteFile, end: int) -> None:
    """Leave in `file` what a restored copy with one record has once somebody has appended others up to `end`."""
    file._connection.execute("DELETE FROM records WHERE offset > 0")
    file._connection.execute("UPDATE partitions SET next_offset = 1")
    file.append([(0, b"instead")] * (end - 1))


@pytest.mark.parametrize("end", [2, 3], ids=["as far", "further"])
@pytest.mark.parametrize("start", [0, 1, 2])
@pytest.mark.parametrize("is_own", [True, False])
async def test_of_a_file_that_holds_another_record_than_was_there_nothing_more_is_delivered(
    tmp_path: Path, is_own: bool, start: int, end: int
) -> None:
    ours, theirs = (SqliteFile(tmp_path / "log.db", 1) for _ in range(2))
    told: list[Entry] = []
    faults: list[tuple[TopicfoldError, int | None]] = []
    delivery = SqliteDelivery(lambda call, *arguments: call(*arguments))
    delivery.begin(Follow({0: start}, told.extend, lambda *fault: faults.append(fault)))
    delivered = theirs.append([(0, b"kept"), (0, b"lost")])[start:]
    delivery.fetch(ours)
    await asyncio.sleep(0)
    restore_and_grow(theirs, end)
    if not is_own:
        delivery.fetch(ours)
    for _ in range(2):
        delivery.deliver_own(ours, ours.append([(0, b"computed from what is lost")]))
        delivery.fetch(ours)
        await asyncio.sleep(0)
    assert told == delivered
    [(error, partition)] = faults
    assert isinstance(error, WrongLog)
    assert (error.reason, partition) == ("partition 0 holds another record at offset 1 than was read there before", 0)
    ours.close()
    theirs.close()


async def test_of_its_own_records_too_the_newest_is_what_was_there(tmp_path: Path) -> None:
    ours, theirs = (SqliteFile(tmp_path / "log.db", 1) for _ in range(2))
    told: list[Entry] = []
    faults: list[TopicfoldError] = []
    delivery = SqliteDelivery(lambda call, *arguments: call(*arguments))
    delivery.begin(Follow({0: 0}, told.extend, lambda error, _: faults.append(error)))
    delivery.fetch(ours)
    own = ours.append([(0, b"kept"), (0, b"lost")])
    delivery.deliver_own(ours, own)
    await asyncio.sleep(0)
    assert told == own
    restore_and_grow(theirs, 2)
    delivery.fetch(ours)
    assert [type(each) for each in faults] == [WrongLog]
    ours.close()
    theirs.close()


async def test_own_records_wait_while_the_file_cannot_be_looked_at(
    file: SqliteFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[Entry] = []
    delivery = SqliteDelivery(lambda call, *arguments: call(*arguments))
    delivery.begin(Follow({0: 0}, told.extend, lambda error, _: never(error)))
    delivery.fetch(file)

    def unread(_: SqliteFile) -> int:
        raise LogUnavailable("its directory cannot be looked into")

    own = file.append([(0, b"x")])
    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(SqliteFile, "version", unread)
        delivery.deliver_own(file, own)
    assert told == []
    delivery.fetch(file)
    assert told == own


async def test_no_more_of_its_own_waits_for_the_loop_than_eight_megabytes_and_the_rest_is_read_later(
    file: SqliteFile,
) -> None:
    told: list[Entry] = []
    waiting: list[Callable[[], None]] = []
    delivery = SqliteDelivery(lambda call, *arguments: waiting.append(lambda: call(*arguments)))
    delivery.begin(Follow({0: 0}, told.extend, lambda error, partition: never(error)))
    delivery.fetch(file)
    entries = [entry for _ in range(20) for entry in file.append([(0, bytes(1024 * 1024))])]
    for entry in entries:
        delivery.deliver_own(file, [entry])
    delivery.fetch(file)
    assert len(waiting) == 8
    waiting.pop(0)()
    await asyncio.sleep(0)
    # There is room again, and yet others come before it.
    own = file.append([(0, b"next")])
    delivery.deliver_own(file, own)
    entries += own
    while waiting:
        waiting.pop(0)()
        await asyncio.sleep(0)
        delivery.fetch(file)
    assert told == entries


async def test_what_was_delivered_and_trimmed_before_more_is_read_is_not_looked_for(file: SqliteFile) -> None:
    told: list[Entry] = []
    delivery = SqliteDelivery(lambda call, *arguments: call(*arguments))
    delivery.begin(Follow({0: 0}, told.extend, lambda error, partition: never(error)))
    delivery.fetch(file)
    entries = file.append([(0, b"one")])
    delivery.deliver_own(file, entries)
    file.delete_before(0, 1, 10)
    entries += file.append([(0, b"two")])
    delivery.look()
    for _ in range(2):
        delivery.fetch(file)
        await asyncio.sleep(0)
    assert told == entries


async def test_a_file_that_cannot_be_read_is_looked_at_no_more_often_than_one_without_news(
    file: SqliteFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[Entry] = []
    entries = file.append([(0, b"x")])
    delivery = SqliteDelivery(post)
    delivery.begin(Follow({0: 0}, told.extend, lambda *_: None))

    def unread(_: SqliteFile) -> list[Bounds]:
        raise LogUnavailable("its directory cannot be looked into")

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(SqliteFile, "bounds", unread)
        delivery.fetch(file)
    assert delivery.patience_seconds
    delivery.fetch(file)
    await asyncio.sleep(0)
    assert told == entries
