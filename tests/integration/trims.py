"""A compaction loop with a trim behind each commit, in a thread beside nodes: what S3 says nobody notices.

`TOPICFOLD_TEST_TRIMS=1` has one run beside all nodes of the tests that are started with `node.running`.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.integration.logs import Kept, kept_of, name_of, opened
from tests.snapshot.making import compacted_further
from topicfold.compaction.trim import Trimming
from topicfold.errors import TrimRefused, Wait, WrongLog
from topicfold.log.identity import recognise_identity
from topicfold.log.port import Log
from topicfold.settings import Settings

EVERY_SECONDS = 0.2


class Trims:
    """The loop over one log. All that it deletes is kept."""

    def __init__(self, options: Sequence[str], kept: Kept, root: Path) -> None:
        self.deleted = 0
        self.rounds = 0
        self._options = options
        self._kept = kept
        self._root = root
        self._is_over = threading.Event()
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="trims", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def end(self) -> None:
        """Return once the round that goes on is over; raise what a round failed with."""
        self._is_over.set()
        self._thread.join()
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        try:
            asyncio.run(self._rounds())
        except Exception as error:  # noqa: BLE001 -- the boundary of the thread
            self._failure = error

    async def _rounds(self) -> None:
        async with opened(self._options) as log:
            while not self._is_over.is_set():
                with self._kept.lock:
                    try:
                        await self._round(log)
                    except (Wait, TrimRefused, WrongLog) as error:
                        # A broker that is away, a log that nobody has made yet, one commit alone.
                        if "sequence" in error.values:
                            raise
                await asyncio.to_thread(self._is_over.wait, EVERY_SECONDS)

    async def _round(self, log: Log) -> None:
        identity = await recognise_identity(log)
        await self._kept.add_from(log)
        await compacted_further(log, self._root)
        trimming = Trimming(log, identity, self._root, Settings(), lambda text: None)
        plan = await trimming.plan(None)
        await trimming.carry_out(plan)
        self.deleted += plan.records
        self.rounds += 1


@contextmanager
def trims_beside(options: Sequence[str], root: Path) -> Iterator[Trims]:
    """Trim the log of these options behind the snapshot at `root`, which is made, for as long as the block lasts."""
    trims = Trims(options, kept_of[name_of(options)], root)
    trims.start()
    try:
        yield trims
    finally:
        trims.end()


@contextmanager
def trimmed(options: Sequence[str], directory: Path) -> Iterator[Sequence[str]]:
    """Yield the options of nodes on a log that is trimmed all the while; a later block goes on with its snapshot."""
    kept = kept_of[name_of(options)]
    kept.snapshot = kept.snapshot or directory / "trimmed-by"
    with trims_beside(options, kept.snapshot):
        yield [*options, "--snapshot", str(kept.snapshot)]


async def compact(options: Sequence[str], root: Path) -> None:
    """Bring the snapshot at `root` up to the end of the log of these options."""
    async with opened(options) as log:
        await compacted_further(log, root)
