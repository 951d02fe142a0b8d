"""A job without Spark, as a process of its own that can be killed: `job_process ROOT CUTS [STAGE]`.

It takes the same log every time, from its beginning, in batches cut by the seed CUTS. At STAGE of its second batch it
kills itself, as a machine that loses power would.
"""

from __future__ import annotations

import os
import random
import signal
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.compaction.folds import Placed, placed, run_here
from tests.state.histories import PARTITION, PARTITIONS, random_log
from topicfold.compaction import batch, compactor
from topicfold.compaction.compactor import Compactor
from topicfold.compaction.delta import publishing
from topicfold.compaction.folding import outputs
from topicfold.log.port import LogIdentity
from topicfold.model.events import HASH_NAME

IDENTITY = LogIdentity(b"L" * 16, PARTITIONS, HASH_NAME)
LENGTH = 120

STAGES = {
    "before anything is written": (batch, "require_whole", 2, "before"),
    "between two files": (outputs, "write_rows", 5, "after"),
    "before the commit": (compactor, "put_commit", 2, "before"),
    "after the commit": (compactor, "put_commit", 2, "after"),
    "between two tables": (publishing, "write_version", 8, "after"),
    "before the row of the commit": (publishing, "_append_commit", 2, "before"),
    "after the row of the commit": (publishing, "_append_commit", 2, "after"),
}
"""Where the process dies: module, function, which of its calls, before or after it."""


def the_log(seed: int = 4) -> list[Placed]:
    """Return a log with everything in it."""
    return placed(PARTITION, random_log(seed, LENGTH))


def batches(cuts: int) -> list[list[Placed]]:
    """Return the log in batches, cut by this seed."""
    log = the_log()
    places = sorted({0, *random.Random(cuts).sample(range(1, LENGTH), 5), LENGTH})
    return [log[start:end] for start, end in pairwise(places)]


def run(root: Path, cuts: int) -> None:
    """Take every batch."""
    with pytest.MonkeyPatch.context() as patch:
        # Whether `topics` is written anew hangs on its size, which is small here: have both ways taken.
        patch.setattr(batch, "_must_rewrite", lambda commit: commit is None or commit.sequence % 3 == 0)
        job = Compactor(root, IDENTITY)
        for each in batches(cuts):
            job.take(run_here(each), slices=2)
        job.close()


def _dying(function: Callable[..., Any], call: int, when: str) -> Callable[..., Any]:
    calls = 0

    def dies(*arguments: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == call and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        found = function(*arguments, **named)
        if calls == call:
            os.kill(os.getpid(), signal.SIGKILL)
        return found

    return dies


if __name__ == "__main__":
    if len(sys.argv) > 3:
        module, name, call, when = STAGES[sys.argv[3]]
        setattr(module, name, _dying(getattr(module, name), call, when))
    run(Path(sys.argv[1]), int(sys.argv[2]))
