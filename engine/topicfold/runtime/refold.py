"""Refolding: folds a partition once more, separately, to compare the result with the state in memory.

It starts from a given state, of a snapshot or the log's beginning, and works in slices, so nobody waits for it. Until
it ends, the partition is in memory twice.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from topicfold.log.codec import decode_event
from topicfold.log.port import Log
from topicfold.runtime.slices import Slice
from topicfold.state.digest import DigestMark
from topicfold.state.fold import PartitionState

_BATCH = 1_000


Base = Callable[[int, int], Awaitable[PartitionState | None]]
"""Takes a partition and a position; returns its state as a snapshot up to there has it, for folding on from.

It is fresh and nobody else's; None where there is none. Must not hold up the loop.
"""


async def refold(log: Log, state: PartitionState, position: int) -> PartitionState | None:
    """Return `state`, which is nobody else's, folded on up to `position`; None where the log lacks what that takes.

    Raises:
        LogUnavailable: the log did not answer in time.
        LevelUnsupported: the log moved to a level that this version does not know.

    Cost: O(records since the state).
    """
    turn = Slice()
    while state.position < position:
        entries = await log.read(state.partition, state.position, min(_BATCH, position - state.position))
        if not entries:
            return None
        for _, offset, value in entries:
            if offset != state.position:
                return None
            state.apply(offset, decode_event(value))
            await turn.rest()
    return state


async def digest_in_slices(mark: DigestMark) -> bytes:
    """Return the digest of `mark`, letting others have their turn meanwhile."""
    turn = Slice()
    for found in mark.hashing():
        if found:
            return found
        await turn.rest()
    raise AssertionError("a mark has a digest")


async def lay_out_in_slices(state: PartitionState) -> None:
    """Make `state` ready to be marked at little cost: lay out its rings, letting others have their turn meanwhile."""
    turn = Slice()
    for ring in (state.operations.by_client, state.operations.by_server):
        while ring.lay_out():
            await turn.rest()
