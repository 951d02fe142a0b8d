"""The age of the snapshot: it rises if the job that makes it has stopped or fails.

The directory is read in a thread of its own, and nobody waits for that, because a mounted directory may never answer.
The age then continues to rise, as it does if no commit can be read.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from topicfold.errors import TopicfoldError
from topicfold.snapshot.commits import readable_commits
from topicfold.state.fold import PartitionState

EVERY_SECONDS = 60.0
_SOON_SECONDS = 1.0


class SnapshotAge:
    """Looks at the snapshot at `root` from `start` to `stop`; at nothing for None."""

    def __init__(
        self,
        root: Path | None,
        states: Mapping[int, PartitionState],
        is_ready: Callable[[int], bool],
        clock_ms: Callable[[], int],
    ) -> None:
        """Take `is_ready`, which tells whether a partition is folded up: before, nobody knows what the log has."""
        self._root = root
        self._states = states
        self._is_ready = is_ready
        self._clock_ms = clock_ms
        self._whole_at_ms = -math.inf
        self._is_stopped = threading.Event()

    @property
    def seconds(self) -> float | None:
        """For how long the snapshot has lacked what is in the log; infinite before there is a commit.

        Of a log that rests it does not rise. None where there is no snapshot to look at.
        """
        return None if self._root is None else max(0.0, (self._clock_ms() - self._whole_at_ms) / 1000)

    def start(self) -> None:
        """Look now, and each minute from then on."""
        if self._root is not None:
            threading.Thread(target=self._run, args=(self._root,), name="topicfold-snapshot-age", daemon=True).start()

    def stop(self) -> None:
        """Look no more; a look that has begun is left to itself."""
        self._is_stopped.set()

    def look(self, root: Path) -> None:
        """Note up to when the newest commit that can be read has everything. Blocks on files.

        Never later than now: by a clock that was ahead the age would be none for as long as it was.

        Raises:
            SnapshotUnreadable, WrongSnapshot: there is none that can be.
        """
        now, knows_log = self._clock_ms(), self._knows_log()
        positions = [state.position for state in self._states.values()]
        newest = next(readable_commits(root), None)
        if newest is not None:
            lacks_nothing = all(to >= position for to, position in zip(newest.to, positions, strict=True))
            whole_at_ms = max(self._whole_at_ms, now if knows_log and lacks_nothing else newest.time_ms)
            self._whole_at_ms = min(now, whole_at_ms)

    def _knows_log(self) -> bool:
        return all(map(self._is_ready, self._states))

    def _run(self, root: Path) -> None:
        while not self._is_stopped.is_set():
            # `topicfold doctor` tells of what cannot be read; a commit of a log with other partitions is none of ours.
            with suppress(TopicfoldError, ValueError):
                self.look(root)
            self._is_stopped.wait(EVERY_SECONDS if self._knows_log() else _SOON_SECONDS)
