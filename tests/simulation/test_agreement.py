"""A node whose memory is spoilt somewhere in a history finds out by what the others say, and only it stops."""

from __future__ import annotations

import asyncio
from random import Random

import pytest

from tests.simulation.node import DIGEST_SECONDS, Node
from tests.simulation.setup import setup_of
from tests.simulation.virtual_loop import VirtualLoop
from tests.simulation.world import World
from topicfold.errors import StateDiverged
from topicfold.model.events import AggregateKind
from topicfold.runtime.agreement import LOOK_EVERY_SECONDS
from topicfold.runtime.engine import Engine
from topicfold.state.aggregate import ABSENT, add_hashes, hash_of
from topicfold.state.fold import PartitionState

ENOUGH_SECONDS = 20 * (DIGEST_SECONDS + LOOK_EVERY_SECONDS)


def spoil(state: PartitionState) -> None:
    """Have a tenant in memory of which the log knows nothing."""
    phantom = ABSENT._replace(version=b"phantom!phantom!", is_live=True)
    state.tenants["phantom"] = phantom
    state._digest_sum = add_hashes(state._digest_sum, hash_of(AggregateKind.TENANT, "phantom", phantom))


async def spoil_one(nodes: list[Node], rng: Random) -> tuple[Engine, int, int]:
    """Spoil one partition of one node that runs, some time; return which, and where that was."""
    await asyncio.sleep(rng.uniform(0, 1))
    while True:
        engine = rng.choice(nodes).engine
        partition = rng.randrange(len(engine.states)) if engine else 0
        if engine and engine.readiness.is_ready(partition):
            spoil(engine.states[partition])
            return engine, partition, engine.states[partition].position
        await asyncio.sleep(0.01)


async def history(world: World, rng: Random) -> bool:
    """Return whether the spoilt node stopped, as it must if anything happened afterwards; no other may."""
    spoiling = asyncio.ensure_future(spoil_one(world.nodes, rng))
    await world.run()
    await asyncio.sleep(ENOUGH_SECONDS)
    spoilt, partition, position = await spoiling
    stopped = {
        (node.engine, each)
        for node in world.nodes
        if node.engine
        for each, fault in node.engine.reader.faults.items()
        if isinstance(fault, StateDiverged)
    }
    assert stopped <= {(spoilt, partition)}
    if any(node.engine is spoilt for node in world.nodes) and spoilt.states[partition].accepted_to > position:
        assert stopped, "nobody noticed"
    return bool(stopped)


@pytest.mark.parametrize("start", range(0, 40, 10))
def test_only_the_node_whose_memory_is_spoilt_stops_and_nothing_stays_unnoticed(start: int) -> None:
    stopped = 0
    for seed in range(start, start + 10):
        setup, rng = setup_of(seed)
        if setup.level:
            continue
        loop = VirtualLoop()
        world = World(setup, rng, loop)
        stopped += loop.run_until_complete(history(world, Random(seed)))
        loop.run_until_complete(world.stop())
        loop.close()
    assert stopped >= 2
