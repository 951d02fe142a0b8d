"""What every log promises, whatever it is made of."""

from __future__ import annotations

import asyncio
import threading
from contextlib import nullcontext

import pytest

from tests.contracts.conftest import OpenLog
from tests.log.following import PATIENCE_SECONDS, Following, never
from tests.memory_log import MemoryLog, MemoryStore
from topicfold.errors import LogGap, LogUnavailable, TooLarge, WrongLog
from topicfold.log.codec import MAX_EVENT_BYTES
from topicfold.log.copying import copy_log
from topicfold.log.identity import establish_identity, header_value, restate_identity
from topicfold.log.kafka import producers as kafka_producers
from topicfold.log.port import Entry, Log, LogIdentity
from topicfold.model.events import HASH_NAME


def append_all(log: Log, partition: int, count: int, prefix: str = "v") -> list[bytes]:
    values = [f"{prefix}{number}".encode() for number in range(count)]
    for value in values:
        log.append(partition, value, never)
    return values


async def test_records_of_a_partition_arrive_in_the_order_one_node_appended_them(open_log: OpenLog) -> None:
    log = await open_log()
    following = Following(log)
    values = append_all(log, 1, 500)
    await following.seen(500)
    assert following.values(1) == values


async def test_every_offset_is_delivered_once_and_none_is_left_out(open_log: OpenLog) -> None:
    log = await open_log()
    following = Following(log)
    for partition in range(3):
        append_all(log, partition, 200)
    entries = await following.seen(600)
    for partition in range(3):
        assert [e.offset for e in entries if e.partition == partition] == list(range(200))


async def test_partitions_are_numbered_apart(open_log: OpenLog) -> None:
    log = await open_log()
    following = Following(log)
    log.append(0, b"a", never)
    log.append(2, b"b", never)
    assert sorted(await following.seen(2)) == [Entry(0, 0, b"a"), Entry(2, 0, b"b")]


async def test_an_append_reaches_another_handle(open_log: OpenLog) -> None:
    here, there = await open_log(), await open_log()
    following = Following(there)
    here.append(0, b"hello", never)
    assert await following.seen(1) == [Entry(0, 0, b"hello")]


async def test_two_handles_that_both_append_read_one_order(open_log: OpenLog) -> None:
    one, other = await open_log(), await open_log()
    seen_by_one, seen_by_other = Following(one), Following(other)
    for round_ in range(20):
        append_all(one, 0, 10, f"one{round_}-")
        append_all(other, 0, 10, f"other{round_}-")
        await asyncio.sleep(0)
    assert await seen_by_one.seen(400) == await seen_by_other.seen(400)


async def test_following_may_start_in_the_middle(open_log: OpenLog) -> None:
    log = await open_log()
    values = append_all(log, 0, 10)
    await Following(await open_log()).seen(10)
    following = Following(log, {0: 7, 1: 0, 2: 0})
    assert [entry.offset for entry in await following.seen(3)] == [7, 8, 9]
    assert following.values(0) == values[7:]


async def test_following_goes_on_from_what_was_there_to_what_comes(open_log: OpenLog) -> None:
    log = await open_log()
    append_all(log, 0, 5)
    await Following(await open_log()).seen(5)
    following = Following(log)
    append_all(log, 0, 5, "later")
    assert [entry.offset for entry in await following.seen(10)] == list(range(10))


async def test_a_long_log_is_replayed_in_order(open_log: OpenLog) -> None:
    log = await open_log()
    written = Following(log)
    values = append_all(log, 0, 9_000)
    await written.seen(9_000)
    replayed = Following(await open_log())
    await replayed.seen(9_000)
    assert replayed.values(0) == values
    assert replayed.batches > 1


async def test_following_from_beyond_the_end_is_a_fault_of_that_partition(open_log: OpenLog) -> None:
    log = await open_log()
    following = Following(log, {0: 0, 1: 5, 2: 0})
    error, partition = await following.faulted()
    assert isinstance(error, LogGap)
    assert partition == 1


async def test_a_fault_of_one_partition_leaves_the_others_running(open_log: OpenLog) -> None:
    log = await open_log()
    following = Following(log, {0: 0, 1: 5, 2: 0})
    await following.faulted()
    log.append(1, b"lost", never)
    log.append(2, b"fine", never)
    assert await following.seen(1) == [Entry(2, 0, b"fine")]


async def test_end_offsets_lie_above_everything_delivered_to_anybody(open_log: OpenLog) -> None:
    log, other = await open_log(), await open_log()
    following = Following(log)
    for number in range(20):
        log.append(1, b"x", never)
        await following.seen(number + 1)
        assert (await other.end_offsets())[1] >= number + 1


async def test_an_empty_log_starts_and_ends_at_zero(open_log: OpenLog) -> None:
    log = await open_log()
    assert await log.start_offsets() == {0: 0, 1: 0, 2: 0}
    assert await log.end_offsets() == {0: 0, 1: 0, 2: 0}


async def test_where_all_partitions_say_where_they_begin_and_end_all_is_known(open_log: OpenLog) -> None:
    log = await open_log()
    append_all(log, 1, 5)
    await Following(log).seen(5)
    assert await log.known_end_offsets() == await log.end_offsets() == {0: 0, 1: 5, 2: 0}
    assert await log.known_start_offsets() == await log.start_offsets() == {0: 0, 1: 0, 2: 0}


async def test_whatever_is_called_back_is_called_on_the_loop(open_log: OpenLog) -> None:
    log = await open_log()
    called: dict[str, int] = {}
    log.append(0, b"x", never)
    log.follow(
        {0: 0, 1: 5, 2: 0},
        lambda batch: called.update(deliver=threading.get_ident()),
        lambda error, partition: called.update(fault=threading.get_ident()),
    )
    async with asyncio.timeout(PATIENCE_SECONDS):
        while len(called) < 2:  # noqa: ASYNC110 -- an event set by another thread wakes nobody
            await asyncio.sleep(0.01)
    assert called == dict.fromkeys(("deliver", "fault"), threading.get_ident())


async def test_reading_gives_pages_up_to_the_end(open_log: OpenLog) -> None:
    log = await open_log()
    values = append_all(log, 0, 10)
    await Following(log).seen(10)
    first = await log.read(0, 0, 4)
    rest = await log.read(0, first[-1].offset + 1, 100)
    assert [entry.value for entry in first + rest] == values
    assert [len(first), len(rest)] == [4, 6]


async def test_reading_at_the_end_gives_nothing(open_log: OpenLog) -> None:
    log = await open_log()
    append_all(log, 0, 1)
    await Following(log).seen(1)
    assert await log.read(0, 1, 10) == []
    assert await log.read(1, 0, 10) == []


async def test_a_partitions_beginning_can_be_deleted_and_what_follows_stays_in_its_place(open_log: OpenLog) -> None:
    log, other = await open_log(), await open_log()
    values = append_all(log, 1, 5_000)
    await Following(other).seen(5_000)
    await log.delete_before(1, 4_997)
    assert await other.start_offsets() == {0: 0, 1: 4_997, 2: 0}
    assert (await other.end_offsets())[1] == 5_000
    assert [entry.value for entry in await other.read(1, 0, 10)] == values[-3:]
    following = Following(await open_log(), {0: 0, 1: 4_997, 2: 0})
    assert [entry.offset for entry in await following.seen(3)] == [4_997, 4_998, 4_999]


async def test_deleting_what_is_gone_changes_nothing(open_log: OpenLog) -> None:
    log = await open_log()
    append_all(log, 0, 5)
    await Following(log).seen(5)
    for offset in (3, 3, 1, 0):
        await log.delete_before(0, offset)
    assert (await log.start_offsets())[0] == 3


async def test_offsets_of_a_partition_that_was_emptied_go_on(open_log: OpenLog) -> None:
    log = await open_log()
    append_all(log, 0, 5)
    await Following(log).seen(5)
    await log.delete_before(0, 5)
    following = Following(await open_log(), {0: 5, 1: 0, 2: 0})
    assert await log.read(0, 0, 10) == []
    log.append(0, b"next", never)
    assert await following.seen(1) == [Entry(0, 5, b"next")]


async def test_what_is_beyond_the_end_cannot_be_deleted(open_log: OpenLog) -> None:
    log = await open_log()
    append_all(log, 0, 5)
    await Following(log).seen(5)
    with pytest.raises(LogGap):
        await log.delete_before(0, 6)
    assert (await log.start_offsets())[0] == 0
    assert len(await log.read(0, 0, 10)) == 5


async def test_following_from_what_was_deleted_is_a_fault_of_that_partition_and_never_a_jump(open_log: OpenLog) -> None:
    log = await open_log()
    append_all(log, 1, 5)
    await Following(await open_log()).seen(5)
    await log.delete_before(1, 3)
    following = Following(log)
    error, partition = await following.faulted()
    assert isinstance(error, LogGap)
    assert partition == 1
    log.append(1, b"lost", never)
    log.append(2, b"fine", never)
    assert await following.seen(1) == [Entry(2, 0, b"fine")]


async def test_who_has_come_further_than_what_is_deleted_notices_nothing(open_log: OpenLog) -> None:
    log, other = await open_log(), await open_log()
    following = Following(log)
    append_all(log, 0, 5)
    await following.seen(5)
    await other.delete_before(0, 5)
    other.append(0, b"next", never)
    assert (await following.seen(6))[-1] == Entry(0, 5, b"next")
    assert following.faults == []


async def test_a_log_whose_beginning_is_deleted_is_known_by_a_copy_of_its_header(open_log: OpenLog) -> None:
    log = await open_log()
    identity = await establish_identity(log, b"i" * 16)
    for partition in range(3):
        offset = await restate_identity(log, identity, partition)
        await log.delete_before(partition, offset)
    assert await establish_identity(await open_log(), b"n" * 16) == identity
    assert await log.end_offsets() == {0: 2, 1: 2, 2: 2}


async def test_a_log_whose_header_is_deleted_is_nobodys(open_log: OpenLog) -> None:
    log = await open_log()
    await establish_identity(log, b"i" * 16)
    await log.delete_before(0, 1)
    with pytest.raises(WrongLog, match="no header"):
        await establish_identity(await open_log(), b"n" * 16)


async def test_an_event_of_the_largest_size_comes_back_whole(open_log: OpenLog) -> None:
    log = await open_log()
    following = Following(log)
    value = bytes(range(256)) * (MAX_EVENT_BYTES // 256)
    for _ in range(6):
        log.append(0, value, never)
    assert {entry.value for entry in await following.seen(6)} == {value}


async def test_an_event_above_the_largest_size_is_refused_and_leaves_no_trace(open_log: OpenLog) -> None:
    log = await open_log()
    with pytest.raises(TooLarge):
        log.append(0, bytes(MAX_EVENT_BYTES + 1), never)
    assert (await log.end_offsets())[0] == 0


async def test_an_empty_value_is_a_record_like_any_other(open_log: OpenLog) -> None:
    log = await open_log()
    following = Following(log)
    log.append(0, b"", never)
    assert await following.seen(1) == [Entry(0, 0, b"")]


async def test_a_closed_log_refuses_everything(open_log: OpenLog) -> None:
    log = await open_log()
    await log.close()
    with pytest.raises(LogUnavailable):
        log.append(0, b"x", never)
    with pytest.raises(LogUnavailable):
        Following(log)
    for question in (
        log.read(0, 0, 1),
        log.start_offsets(),
        log.end_offsets(),
        log.known_start_offsets(),
        log.known_end_offsets(),
        log.check_settings(),
        log.delete_before(0, 0),
    ):
        with pytest.raises(LogUnavailable):
            await question


async def test_a_log_may_be_closed_twice(open_log: OpenLog) -> None:
    log = await open_log()
    Following(log)
    await asyncio.gather(log.close(), log.close())
    await log.close()


async def test_nothing_is_delivered_after_closing(open_log: OpenLog) -> None:
    log, other = await open_log(), await open_log()
    silent, following = Following(log), Following(other)
    await log.close()
    append_all(other, 0, 3)
    await following.seen(3)
    assert silent.entries == []


async def test_what_was_appended_before_closing_is_there_after_opening_again(
    open_log: OpenLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A busy machine's broker may take longer to answer a new producer than the second that it is given.
    monkeypatch.setattr(kafka_producers, "_FLUSH_SECONDS", 60.0)
    log = await open_log()
    values = append_all(log, 0, 50)
    await log.close()
    following = Following(await open_log())
    await following.seen(50)
    assert following.values(0) == values


async def test_a_good_log_has_no_setting_that_refuses_writes(open_log: OpenLog) -> None:
    log = await open_log()
    assert not [problem for problem in await log.check_settings() if problem.refuses_writes]


async def test_racing_openers_agree_on_who_the_log_is(open_log: OpenLog) -> None:
    logs = [await open_log() for _ in range(4)]
    found = await asyncio.gather(*(establish_identity(log, bytes([n]) * 16) for n, log in enumerate(logs, 1)))
    assert len(set(found)) == 1
    assert found[0].partitions == 3


async def test_every_partition_begins_with_the_header(open_log: OpenLog) -> None:
    log = await open_log()
    identity = await establish_identity(log, b"i" * 16)
    for partition in range(3):
        assert (await log.read(partition, 0, 1))[0].value == header_value(identity)


async def test_a_log_opened_again_is_the_same_log(open_log: OpenLog) -> None:
    first = await establish_identity(await open_log(), b"a" * 16)
    assert await establish_identity(await open_log(), b"b" * 16) == first


async def test_a_log_made_with_another_number_of_partitions_is_refused(open_log: OpenLog) -> None:
    await begins_with(log := await open_log(), header_value(LogIdentity(b"i" * 16, 5, HASH_NAME)))
    with pytest.raises(WrongLog, match="5 partitions"):
        await establish_identity(log, b"n" * 16)


async def test_a_log_spread_by_another_hash_is_refused(open_log: OpenLog) -> None:
    await begins_with(log := await open_log(), header_value(LogIdentity(b"i" * 16, 3, "murmur2")))
    with pytest.raises(WrongLog, match="murmur2"):
        await establish_identity(log, b"n" * 16)


async def test_records_without_a_header_are_not_a_log(open_log: OpenLog) -> None:
    await begins_with(log := await open_log(), b"garbage")
    with pytest.raises(WrongLog, match="no header"):
        await establish_identity(log, b"n" * 16)


async def test_garbage_before_the_header_is_passed_over(open_log: OpenLog) -> None:
    identity = LogIdentity(b"i" * 16, 3, HASH_NAME)
    await begins_with(log := await open_log(), b"garbage", header_value(identity))
    assert await establish_identity(log, b"n" * 16) == identity


async def begins_with(log: Log, *values: bytes) -> None:
    following = Following(log)
    for value in values:
        log.append(0, value, never)
    await following.seen(len(values))


async def test_a_log_opened_twice_is_in_one_place_and_no_copy_of_itself(open_log: OpenLog) -> None:
    log, again = await open_log(), await open_log()
    identity = await establish_identity(log, b"i" * 16)
    assert await log.place() == await again.place()
    assert await log.place() != await MemoryLog(MemoryStore(3)).place()
    with pytest.raises(WrongLog, match="the log itself"):
        await copy_log(log, identity, again, lambda _: nullcontext(lambda: None))


async def test_a_log_takes_the_copy_of_another_that_was_trimmed(open_log: OpenLog) -> None:
    store, identity = MemoryStore(partitions=3), LogIdentity(b"i" * 16, 3, HASH_NAME)
    for partition in range(3):
        for value in [b"gone", b"gone", header_value(identity), b"", b"last"]:
            store.append(partition, value)
        store.delete_before(partition, partition)
    log = await open_log()
    for copied in (5, 0):
        spans = await copy_log(MemoryLog(store), identity, log, lambda _: nullcontext(lambda: None))
        assert [(each.start, each.end, each.copied) for each in spans] == [
            (partition, 5, max(0, copied - partition)) for partition in range(3)
        ]
    assert await log.start_offsets() == {0: 0, 1: 1, 2: 2}
    for partition in range(3):
        assert await log.read(partition, 0, 10) == store.page(partition, 0, 10)
