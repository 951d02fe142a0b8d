"""The core of the job: takes batches from any source, and adds each to the snapshot exactly once.

Only the newest commit decides: records below its positions are skipped, and a gap above them is an error. So a batch
may be repeated, a checkpoint may be lost, and another job may work on the same snapshot.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from topicfold.compaction.batch import Base, Run, fold_batch, require_no_stop
from topicfold.compaction.comparison import Difference, differences
from topicfold.compaction.delta.alterations import Alteration
from topicfold.compaction.delta.merging import merge_small_files
from topicfold.compaction.delta.publishing import (
    drop_gone,
    lost_growth,
    noted_sequence,
    publish,
    require_usable,
    restore_lost,
)
from topicfold.compaction.delta.vacuum import KEPT_COMMITS, vacuum
from topicfold.compaction.folded import empty_folded, folded_at
from topicfold.compaction.plan import SliceResult
from topicfold.errors import SnapshotDamaged
from topicfold.log.port import LogIdentity
from topicfold.snapshot.claims import Claims
from topicfold.snapshot.commits import Commit, put_commit, read_commit, require_log, sequences
from topicfold.snapshot.intact import require_intact
from topicfold.snapshot.loading import require_level
from topicfold.snapshot.tables import GROWING_TABLES, STATE_TABLES

_PAUSE_SECONDS = 0.2
_TIDY_EVERY = 20


@dataclass(frozen=True, slots=True)
class Done:
    """A batch that was committed and published, and the seconds that each of its parts took, summed over slices.

    `differences` are the digests stated by nodes that differ from the commit's. `altered` is what somebody else did to
    rows of the tables before.
    """

    commit: Commit
    events: int
    accepted: int
    seconds: Mapping[str, float] = field(default_factory=dict)
    differences: Sequence[Difference] = ()
    altered: Sequence[Alteration] = ()

    @classmethod
    def of(
        cls, commit: Commit, results: Sequence[SliceResult], seconds: Mapping[str, float], altered: Sequence[Alteration]
    ) -> Done:
        """Return what came of a batch, by what its slices say; `seconds` are those that the driver took."""
        took = dict(seconds)
        for result in results:
            for part, taken in result.seconds.items():
                took[part] = took.get(part, 0.0) + taken
        events = sum(to - start for to, start in zip(commit.to, commit.from_, strict=True))
        stated = (each for result in results for each in result.stated)
        return cls(commit, events, sum(each.accepted for each in results), took, differences(commit, stated), altered)


class Compactor:
    """One job on one snapshot."""

    def __init__(
        self, root: Path, identity: LogIdentity, *, keep: int = KEPT_COMMITS, log_start: Sequence[int] = ()
    ) -> None:
        """Open the snapshot at `root`; there need not be one yet. The log begins at `log_start`, by partition.

        Raises:
            BadSetting: `root` cannot hold a snapshot.
            WrongSnapshot, LevelUnsupported: the snapshot is of another log, or by a newer version.
            SnapshotDamaged: there are commits, but all are damaged; or a table's Delta log cannot be read.
            SnapshotUnreadable: the commits cannot be listed or read, or memory, open files or rights do not suffice.
        """
        # Executors have working directories of their own, and Delta takes `a:b` for a URL.
        self._root = root.absolute()
        self._identity = identity
        self._keep = keep
        self._log_start = log_start
        self._claims = Claims(self._root)
        self.lost: Sequence[Path] = ()
        """Files, missing or cut short, whose rows their tables lack for good, as nothing is left to fold them from."""
        require_usable(root)
        self.base = self._newest()
        self.altered: Sequence[Alteration] = ()
        """What somebody else did to rows of the tables, of what was found and undone at the start."""
        if self.base.commit:
            self.altered = publish(self._root, self.base.commit)
            restore_lost(self._root, self.base.commit)
            tables = ("commits", *(GROWING_TABLES if self.lost else ()))
            gone = drop_gone(self._root, tables, self.base.commit)
            self.lost = sorted({*self.lost, *gone})

    def take(self, run: Run, slices: int, waiting: Callable[[int], None] = lambda sequence: None) -> Done | None:
        """Have `run` fold a batch in `slices` parts; commit and publish it. None if there is nothing new.

        While another job works on the same commit, this waits, and repeatedly calls `waiting` with that commit's
        number. Whatever `waiting` raises ends the wait.

        Raises:
            LogGap: offsets are missing between the newest commit and the batch, or in it.
            LevelUnsupported: a record raises the level beyond what this version knows, and everything before it is
                committed; or another job's commit is at such a level.
            SnapshotDamaged: another job's commit cannot be read.
            SnapshotUnreadable: the snapshot cannot be listed or read; after a commit, that can happen in the vacuum.
        """
        while True:
            since = time.perf_counter()
            self.look_again()
            base = self.base
            if not self._claims.take(base.sequence, base.predecessor, base.start):
                waiting(base.sequence)
                time.sleep(_PAUSE_SECONDS)
                continue
            if self._is_overtaken():
                continue
            batch = fold_batch(self._root, self._identity, base, slices, run)
            if batch is None:
                # The next batch may be hours away, while another job may have one now.
                self._claims.drop()
                return None
            folded = time.perf_counter()
            commit = put_commit(self._root, batch.commit)
            self._claims.drop()
            if commit is None:
                continue
            self.base = Base(commit, batch.folded, commit.sequence + 1)
            altered = publish(self._root, commit)
            if commit.sequence % _TIDY_EVERY == 0:
                for table in (*GROWING_TABLES, "commits"):
                    merge_small_files(self._root, table)
                vacuum(self._root, keep=self._keep)
            require_no_stop(batch.stops)
            seconds = {"batch": folded - since, "committing": time.perf_counter() - folded}
            return Done.of(commit, batch.results, seconds, altered)

    def look_again(self) -> None:
        """Continue from another job's commit if there is a newer one.

        Raises:
            SnapshotDamaged, SnapshotUnreadable: it cannot be read.
            LevelUnsupported: it is at a level that this version does not know.
        """
        if self._is_overtaken():
            self.base = self._newest()

    def close(self) -> None:
        """Release this job's claim, so that other jobs can commit."""
        self._claims.drop()

    def _is_overtaken(self) -> bool:
        return any(number >= self.base.sequence for number in sequences(self._root)[:1])

    def _newest(self) -> Base:
        """Return the newest undamaged commit, with its state, and a number never used, not even by a removed commit.

        If growing tables lack rows of that commit, this returns an older commit from which those rows can be folded
        again, or the state before all commits, provided that the log still holds them.
        """
        found = sequences(self._root)
        sequence = max(*found[:1], noted_sequence(self._root), 0) + 1
        reason: SnapshotDamaged | None = None
        newest: Commit | None = None
        for number in found:
            try:
                commit = read_commit(self._root, number)
                require_log(
                    commit, self._identity.incarnation, self._identity.partitions,
                    "another directory for this log's snapshot",
                )  # fmt: skip
                require_level(commit)
                if newest and any(to < start for to, start in zip(commit.to, self._log_start, strict=False)):
                    break
                require_intact(self._root, commit, STATE_TABLES)
            except SnapshotDamaged as error:
                reason = reason or error
                continue
            lost = lost_growth(self._root, commit)
            if lost is None:
                newest, self.lost = commit, ()
                break
            if newest is None or lost.last > commit.sequence:
                newest, self.lost = commit, (lost.path,)
        if self.lost and self._log_start and not any(self._log_start):
            newest, self.lost, reason = None, (), None
        if newest is not None:
            return Base(newest, folded_at(self._root, newest), sequence)
        if reason is not None:
            raise reason
        return Base(None, empty_folded(self._identity.partitions), sequence)
