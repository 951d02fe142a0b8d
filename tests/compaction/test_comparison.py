"""The job compares a commit's digests with what nodes state where the commit ends."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.runtime.agreeing import agreeing, look, make_orders
from tests.snapshot.test_commits import COMMIT
from topicfold.compaction.comparison import Difference, differences
from topicfold.log.memory import MemoryStore
from topicfold.snapshot.commits import Commit


async def commit_of(store: MemoryStore, digest: str | None = None, less: int = 0, level: int = 1) -> Commit:
    """Return a commit of a log with a digest record at its end, `less` records before that, with the right digest."""
    async with agreeing(store, "one") as node:
        await make_orders(node)
        await look(node)
        right = node.engine.states[0].digest().hex()
    to = len(store.entries[0]) - less
    return replace(COMMIT, partitions=1, to=(to,), from_=(0,), digests=(digest or right,), levels=(level,))


@pytest.fixture
def store() -> MemoryStore:
    """A log of one partition."""
    return MemoryStore(partitions=1)


async def told(store: MemoryStore, commit: Commit) -> list[Difference]:
    """Return what the comparison finds."""
    async with agreeing(store, "reader", digest_within_seconds=0) as node:
        return await differences(node.log, commit)


async def test_a_commit_that_is_right_agrees_with_the_nodes(store: MemoryStore) -> None:
    assert await told(store, await commit_of(store)) == []


async def test_a_commit_with_another_digest_differs_from_the_node_that_is_named(store: MemoryStore) -> None:
    commit = await commit_of(store, "00" * 16)
    found = await told(store, commit)
    assert found == [Difference(1, 0, commit.to[0] - 1, "one")]
    assert "than node one" in str(found[0])


async def test_only_what_a_record_says_of_where_the_commit_ends_is_compared(store: MemoryStore) -> None:
    assert await told(store, await commit_of(store, "00" * 16, less=1)) == []
    assert await told(store, replace(COMMIT, partitions=1, to=(0,), digests=("",), levels=(1,))) == []


async def test_a_record_of_another_level_is_not_compared(store: MemoryStore) -> None:
    assert await told(store, await commit_of(store, "00" * 16, level=2)) == []
