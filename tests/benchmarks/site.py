"""The site of a run: its sizes, and one broker for all benchmarks, started when the first of them wants it."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
import uuid
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import TracebackType

from tests.brokers.process import KafkaProcess


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much each benchmark does. The numbers mean something at `FULL` only.

    `niceness`: how far the Spark job gives way to whatever else runs; at 19 it hardly goes on where all cores work.
    `large_events`: so many are compacted in one run; it takes ten minutes, so none unless asked for.
    """

    pairs: int
    round_trips: int
    rate_updates: int
    hot_seconds: float
    fold_events: int
    compacted_events: int
    paced_writes: int
    topics: int
    rest_seconds: float
    topic_counts: tuple[int, ...]
    diffed_topics: int
    watches: int
    watch_seconds: float
    bulk_changes: int
    niceness: int
    large_events: int = 0


FULL = Sizes(
    pairs=7,
    round_trips=400,
    rate_updates=4_000,
    hot_seconds=10.0,
    fold_events=200_000,
    compacted_events=1_990_000,
    paced_writes=1_500,
    topics=1_000_000,
    rest_seconds=1.0,
    topic_counts=(10, 10_000, 100_000),
    diffed_topics=10_000,
    watches=10_000,
    watch_seconds=10.0,
    bulk_changes=400,
    niceness=19,
)
QUICK = Sizes(
    pairs=2,
    round_trips=20,
    rate_updates=200,
    hot_seconds=1.0,
    fold_events=2_000,
    compacted_events=2_000,
    paced_writes=20,
    topics=2_000,
    rest_seconds=0.2,
    topic_counts=(10, 100),
    diffed_topics=100,
    watches=200,
    watch_seconds=0.5,
    bulk_changes=2,
    niceness=0,
)


class Site:
    """A context manager that ends the broker and removes its data."""

    def __init__(self, sizes: Sizes, broker: KafkaProcess | None = None) -> None:
        """Take the sizes, and a broker that runs already where there is one."""
        self.sizes = sizes
        self._given = broker
        self.directory = Path(tempfile.mkdtemp(prefix="topicfold-bench-"))
        self._stack = ExitStack()
        self._started = time.monotonic()

    @cached_property
    def broker(self) -> KafkaProcess:
        """The broker that was given, or one of this run's own."""
        if self._given is not None:
            return self._given
        self.say("starting Kafka")
        return self._stack.enter_context(KafkaProcess(self.directory / "kafka"))

    def say(self, text: str) -> None:
        """Tell on standard error what is going on."""
        print(f"{time.monotonic() - self._started:6.1f} s  {text}", file=sys.stderr, flush=True)

    def fresh_topic(self) -> str:
        """Return the name of a Kafka topic that nobody uses yet."""
        return f"bench-{uuid.uuid4().hex[:12]}"

    def __enter__(self) -> Site:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()
        shutil.rmtree(self.directory, ignore_errors=True)
