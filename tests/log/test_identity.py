"""How a log is told from another; what holds on every adapter is in `tests/contracts`."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.memory_log import MemoryLog, MemoryStore
from topicfold.errors import LogUnavailable, WrongLog
from topicfold.log.codec import encode_event
from topicfold.log.identity import (
    establish_identity,
    header_value,
    identity_in,
    recognise_identity,
    restate_identity,
)
from topicfold.log.port import Failed, LogIdentity
from topicfold.model.events import GENESIS, HASH_NAME, AggregateKind, Event, Kind

IDENTITY = LogIdentity(b"i" * 16, 3, HASH_NAME)


@given(
    st.binary(min_size=16, max_size=16),
    st.integers(1, 0xFFFF),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
)
def test_a_header_states_the_identity_it_was_made_of(incarnation: bytes, partitions: int, hash_name: str) -> None:
    identity = LogIdentity(incarnation, partitions, hash_name)
    assert identity_in(header_value(identity)) == identity


def test_no_byte_of_a_header_can_change_unnoticed() -> None:
    value = header_value(IDENTITY)
    for place in range(len(value)):
        damaged = bytearray(value)
        damaged[place] ^= 0xFF
        assert identity_in(bytes(damaged)) is None


@pytest.mark.parametrize("kind", [kind for kind in Kind if kind != Kind.HEADER])
def test_other_events_state_no_identity(kind: Kind) -> None:
    event = Event(1, kind, 0, b"e" * 16, AggregateKind.TOPIC, "x", 3, GENESIS, GENESIS, (), 0, b"", b"")
    assert identity_in(encode_event(event)) is None


async def test_the_first_header_decides() -> None:
    store = MemoryStore(partitions=3)
    store.append(0, header_value(IDENTITY))
    store.append(0, header_value(LogIdentity(b"z" * 16, 3, HASH_NAME)))
    assert await establish_identity(MemoryLog(store), b"n" * 16) == IDENTITY


async def test_partitions_that_lack_a_header_get_a_copy_of_the_log_s_own() -> None:
    store = MemoryStore(partitions=3)
    store.append(0, header_value(IDENTITY))
    store.append(2, b"a record")
    await establish_identity(MemoryLog(store), b"n" * 16)
    assert [len(entries) for entries in store.entries] == [1, 1, 1]
    assert store.entries[1][0].value == header_value(IDENTITY)


async def test_a_partition_that_cannot_be_reached_gets_its_copy_when_it_can(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore(partitions=3)
    log = MemoryLog(store)
    identity = LogIdentity(bytes(16), 3, HASH_NAME)
    store.append(0, header_value(identity))

    async def silent() -> dict[int, int]:
        raise LogUnavailable("partition 1 is silent")

    with monkeypatch.context() as patch:
        for whole, known in (("start_offsets", {0: 0, 2: 0}), ("end_offsets", {0: 1, 2: 0})):
            patch.setattr(log, whole, silent)
            patch.setattr(log, f"known_{whole}", lambda known=known: answered(known))
        assert await establish_identity(log, b"n" * 16) == identity
    assert [len(entries) for entries in store.entries] == [1, 0, 1]
    assert await establish_identity(log, b"n" * 16) == identity
    assert [len(entries) for entries in store.entries] == [1, 1, 1]


async def answered(known: dict[int, int]) -> dict[int, int]:
    return known


async def test_a_header_far_from_the_beginning_is_found() -> None:
    store = MemoryStore(partitions=3)
    for _ in range(2_500):
        store.append(0, b"garbage")
    store.append(0, header_value(IDENTITY))
    assert await establish_identity(MemoryLog(store), b"n" * 16) == IDENTITY


async def test_a_log_that_takes_no_header_is_not_opened() -> None:
    class Refusing(MemoryLog):
        def append(self, partition: int, value: bytes, failed: Failed) -> None:
            failed(LogUnavailable("the disk is full"))

    with pytest.raises(LogUnavailable, match="the disk is full"):
        await establish_identity(Refusing(MemoryStore(partitions=3)), b"n" * 16)


async def test_a_topic_of_somebody_s_data_is_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("topicfold.log.identity._HEADER_WITHIN", 500)
    store = MemoryStore(partitions=1)
    for _ in range(5_000):
        store.append(0, b"an order")
    log = MemoryLog(store)
    pages = []
    monkeypatch.setattr(log, "read", lambda *page, read=log.read: pages.append(page) or read(*page))
    with pytest.raises(WrongLog, match="has no header"):
        await establish_identity(log, b"n" * 16)
    assert sum(limit for _, _, limit in pages) < 2_000


async def test_the_header_of_a_trimmed_log_is_found_however_far_behind_its_beginning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("topicfold.log.identity._HEADER_WITHIN", 5)
    log = MemoryLog(store := MemoryStore(partitions=3))
    for _ in range(20):
        store.append(0, b"an event")
    store.append(0, header_value(IDENTITY))
    await log.delete_before(0, 10)
    assert await recognise_identity(log) == IDENTITY


async def test_a_partition_all_of_which_was_deleted_gets_a_copy_too() -> None:
    log = MemoryLog(store := MemoryStore(partitions=3))
    store.append(0, header_value(IDENTITY))
    store.append(1, b"a record")
    await log.delete_before(1, 1)
    await establish_identity(log, b"n" * 16)
    assert [entry.value for entry in await log.read(1, 1, 10)] == [header_value(IDENTITY)]


async def test_a_log_that_nobody_has_begun_is_said_to_be_empty() -> None:
    with pytest.raises(WrongLog, match=r"^the log is empty: no server has started it$") as caught:
        await recognise_identity(MemoryLog(MemoryStore(partitions=3)))
    assert caught.value.hint == "Start one on it: topicfold serve --log FILE, or --kafka HOST:PORT"


async def test_a_copy_of_the_header_is_found_behind_what_others_append_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log = MemoryLog(MemoryStore(1))
    identity = await establish_identity(log, b"L" * 16)
    append = log.append

    def append_behind_others(partition: int, value: bytes, failed: Failed) -> None:
        for each in (b"one", b"another"):
            append(partition, each, failed)
        append(partition, value, failed)

    monkeypatch.setattr(log, "append", append_behind_others)
    [found] = await log.read(0, await restate_identity(log, identity, 0), 1)
    assert identity_in(found.value) == identity


def test_a_header_of_no_partitions_is_none() -> None:
    assert identity_in(header_value(LogIdentity(b"L" * 16, 0, HASH_NAME))) is None
