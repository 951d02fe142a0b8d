"""One simulated run: nodes, clients and trouble on a virtual loop, then rest, then a look at everybody."""

from __future__ import annotations

import asyncio
import contextlib
from random import Random

from tests.simulation.checks import Judgement, judge
from tests.simulation.clients import Clients
from tests.simulation.closing import REST_SECONDS, Closing
from tests.simulation.evidence import Evidence
from tests.simulation.fake_log import FakeStore
from tests.simulation.history import History
from tests.simulation.node import Digests, Node
from tests.simulation.setup import Setup, setup_of
from tests.simulation.trouble import Trouble
from tests.simulation.virtual_loop import Deadlock, VirtualLoop
from tests.simulation.weather import CALM

END_SECONDS = 3_600.0


class World:
    """Everything of one run."""

    def __init__(self, setup: Setup, rng: Random, loop: VirtualLoop) -> None:
        self.setup = setup
        self.rng = rng
        self.history = History()
        self.store = FakeStore(setup.partitions, rng, loop)
        digests = Digests()
        self.nodes = [
            Node(f"n{number}", rng.choice((1, 2)) if setup.level else 1, setup, self.store, self.history, digests)
            for number in range(setup.nodes)
        ]

    async def run(self) -> None:
        """Live through the run, and end at rest: all nodes up, all records landed and folded."""
        clients = Clients(self.setup, self.rng, self.store, self.nodes, self.history)
        trouble = Trouble(self.setup, self.rng, self.store, self.nodes, self.history)
        for node in self.nodes:
            await node.start()
        await asyncio.sleep(self.rng.choice((0.0, 0.1)))
        if self.setup.begins_full:
            await clients.make_all()
        self.store.weather = self.setup.weather
        troubled = asyncio.create_task(trouble.run())
        await clients.run()
        troubled.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await troubled
        await self._rest(clients)

    async def _rest(self, clients: Clients) -> None:
        self.store.weather = CALM
        for node in self.nodes:
            if node.engine is None:
                node.crash()
                await node.start()
            if node.log is not None:
                node.log.pace, node.log.outage_ends = 1.0, -1.0
        self.store.land_all()
        await asyncio.sleep(REST_SECONDS)
        for node in self.nodes:
            node.check_end()
        await Closing(self.setup, clients, self.nodes, self.history).run()

    async def stop(self) -> None:
        """Stop all nodes."""
        for node in self.nodes:
            await node.stop()
            node.crash()


def simulate(seed: int) -> Judgement:
    """Run the history that `seed` means, and judge it."""
    setup, rng = setup_of(seed)
    loop = VirtualLoop()
    world = World(setup, rng, loop)
    try:
        loop.run_until_complete(asyncio.wait_for(world.run(), END_SECONDS))
        evidence = Evidence(setup, world.store, world.nodes, world.history)
        judgement = judge(seed, evidence, loop.errors)
        loop.run_until_complete(world.stop())
    except (TimeoutError, Deadlock) as error:
        raise AssertionError(f"seed {seed}: somebody waits for ever") from error
    finally:
        loop.close()
    return judgement
