"""Where a log begins then, and which old commits stay."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.compaction.trimming import aged, aged_further, trim_and_vacuum, trimming_of
from tests.memory_log import MemoryLog, MemoryStore
from tests.runtime.nodes import running
from tests.snapshot.making import compacted_further
from topicfold.compaction.trim import HEADER_EVERY
from topicfold.log.identity import identity_in, recognise_identity
from topicfold.model.events import CLIENT_RING, SERVER_RING
from topicfold.snapshot.commits import read_commit, sequences
from topicfold.snapshot.trim_note import read_note


@pytest.mark.parametrize(
    ("until_ms", "below"), [(None, 4), (9_000, 4), (4_000, 4), (3_999, 3), (1_000, 1), (999, None)]
)
async def test_what_younger_commits_added_stays(root: Path, until_ms: int | None, below: int | None) -> None:
    store = MemoryStore(partitions=1)
    await aged(store, root, 5)
    trimming = await trimming_of(store, root)
    plan = await trimming.plan(until_ms)
    assert (plan.below and plan.below.sequence) == below
    await trimming.carry_out(plan)
    assert store.starts[0] == (read_commit(root, below).to[0] if below else 0)


async def test_an_old_commit_that_was_given_up_takes_nothing_that_the_verified_ones_lack(root: Path) -> None:
    store = MemoryStore(partitions=1)
    await aged(store, root, 2)
    given_up = read_commit(root, 2)
    (root / given_up.own_files[0].path).write_bytes(b"damaged")
    start = read_commit(root, 1).to[0]
    log = MemoryLog(store)
    for length in (3, 6):
        await compacted_further(log, root, {0: start + length})
    trimming = await trimming_of(store, root)
    plan = await trimming.plan(given_up.time_ms)
    assert (plan.below and plan.below.sequence) == 1
    await trimming.carry_out(plan)
    async with running(store, snapshot=root) as node:
        assert node.engine.states[0].position == len(store.entries[0])


async def test_a_log_does_not_begin_where_a_commit_ends_that_was_given_up_for_nothing_can_be_folded_from_there(
    root: Path,
) -> None:
    store = MemoryStore(partitions=1)
    await aged(store, root, 2)
    (root / read_commit(root, 2).own_files[0].path).write_bytes(b"damaged")
    await aged_further(store, root, 3)
    trimming = await trimming_of(store, root)
    plan = await trimming.plan(2_000)
    assert (plan.below and plan.below.sequence) == 1
    await trim_and_vacuum(trimming, root, 2_000)
    assert sequences(root) == [5, 4, 3, 1]


async def test_the_commit_where_the_log_begins_stays_and_the_next_to_trim_to(root: Path) -> None:
    store = MemoryStore(partitions=1)
    await aged(store, root, 6)
    trimming = await trimming_of(store, root)
    await trim_and_vacuum(trimming, root, 2_000)
    assert sequences(root) == [6, 5, 3, 2]
    await trim_and_vacuum(trimming, root, 2_500)
    assert sequences(root) == [6, 5, 3, 2]
    await trim_and_vacuum(trimming, root, 4_500)
    assert sequences(root) == [6, 5, 3]
    assert store.starts[0] == read_commit(root, 3).to[0]


async def test_watchers_of_a_node_that_starts_then_go_on_from_wherever_the_log_begins(root: Path) -> None:
    store = MemoryStore(partitions=1)
    await aged(store, root, 6)
    trimming = await trimming_of(store, root)
    await trim_and_vacuum(trimming, root, 2_000)
    floor = store.starts[0]
    options = {"client_ring": CLIENT_RING, "server_ring": SERVER_RING}
    for position, reached in ((floor, floor), (floor - 1, read_commit(root, 6).to[0])):
        async with running(store, first_id=10**9, snapshot=root, **options) as node:
            await node.engine.window_refill.reach({0: position})
            assert node.engine.watches.window.start(0) == reached


async def test_before_any_is_old_enough_one_waits_to_become_so(root: Path) -> None:
    store = MemoryStore(partitions=1)
    await aged(store, root, 5)
    trimming = await trimming_of(store, root)
    await trim_and_vacuum(trimming, root, 500)
    assert sequences(root) == [5, 4, 1]
    assert (await trimming.plan(1_000)).records == read_commit(root, 1).to[0]


async def test_every_partition_that_loses_its_beginning_has_a_copy_of_the_header(root: Path) -> None:
    store = MemoryStore(partitions=1)
    await aged(store, root)
    identity = await recognise_identity(MemoryLog(store))
    trimming = await trimming_of(store, root)
    await trimming.carry_out(await trimming.plan(None))
    end = len(store.entries[0])
    assert identity_in(store.entries[0][end - 1].value) == identity
    assert read_note(root, identity.incarnation.hex(), 1).headers == (end - 1,)
    # As long as that one stays and is near, no other is made.
    span = (await trimming.plan(None)).spans[0]
    assert await trimming._has_header(span._replace(floor=end - 1), end - 1)
    assert not await trimming._has_header(span._replace(floor=end), end - 1)
    assert not await trimming._has_header(span._replace(end=end + HEADER_EVERY), end - 1)
