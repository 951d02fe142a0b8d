"""Verifies commits: the engine loads the verified commit before, folds on from it, and compares the digests.

If there is none before, the engine folds from the log's beginning. So for everything that led to a verified commit,
Spark's fold and the engine's agree. Folding on from a commit that is not verified would not do: if it is wrong, both
folds come to the same wrong result. Needs no Spark.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from topicfold.compaction.folding.prior import newest_events
from topicfold.compaction.log_facts import facts_of, require_beginning, require_overlap
from topicfold.errors import SnapshotDamaged, TrimRefused
from topicfold.log.gaps import ends_before
from topicfold.log.port import Log
from topicfold.log.same_records import require_same_records
from topicfold.runtime.refold import refold
from topicfold.snapshot.commits import Commit, not_given_up, readable_commits
from topicfold.snapshot.intact import require_intact
from topicfold.snapshot.loading import require_own, restore
from topicfold.snapshot.tables import STATE_TABLES
from topicfold.state.fold import NewState, PartitionState

WANTED = 2
"""How many verified commits are needed: a node can start from any of them, with what is left of the log."""

Tell = Callable[[str], None]
"""Takes a line about what is being done, for people."""


class Verifier:
    """Verifies commits under `root` against their log. `damaged` are those that were skipped.

    `compact` is the command that makes a commit, for hints.
    """

    def __init__(self, log: Log, root: Path, incarnation: bytes, new_state: NewState, tell: Tell, compact: str) -> None:
        self.damaged: list[SnapshotDamaged] = []
        self._log = log
        self._root = root
        self._incarnation = incarnation
        self._new_state = new_state
        self._tell = tell
        self._compact = compact

    async def newest(self, known: Collection[str]) -> tuple[Commit, ...]:
        """Verify the newest `WANTED` undamaged commits, and return them, the newest first.

        `known` has the SHA-256 of commits that were verified before.

        Raises:
            TrimRefused: fewer can be verified, or one has other digests than the engine gets.
            WrongSnapshot, LevelUnsupported: they are of another log, or by a newer version; or fewer can be verified,
                and no more can be made, as the log was trimmed beyond them.
            LogGap: the log ends before the newest commit does, or its records differ from those they were made from.
            LogUnavailable: the log did not answer in time.
            SnapshotUnreadable: the commits cannot be listed or read, or memory, open files or rights do not suffice.

        Cost: folds what the log holds beyond the newest known commit; without a known one, all that it holds.
        """
        commits = self._commits()
        found = len(commits)
        if commits:
            await self._require_end(commits[0])
        while True:
            try:
                verified = await self._verified(commits, known)
                break
            except SnapshotDamaged as error:
                self.damaged.append(error)
                commits = [each for each in commits if each.sequence != error.values["sequence"]]
        if len(verified) < WANTED:
            if not self.damaged:
                await self._require_continuation(commits)
            raise self._too_few(found, len(verified))
        return verified

    async def _require_continuation(self, commits: Sequence[Commit]) -> None:
        """Check that another commit could be made: `commits` are those there are, the newest first.

        Raises:
            WrongSnapshot, WrongLog: it could not, as the log does not continue the newest, or lacks its beginning.
        """
        facts = await facts_of(self._log)
        if commits:
            require_overlap(facts, commits[0].to)
        else:
            require_beginning(facts, self._root)

    def _too_few(self, found: int, verified: int) -> TrimRefused:
        hint = f"{self._compact} makes one; run it once more when the log has grown"
        if self.damaged:
            hint = f"{self.damaged[0].reason}. {self.damaged[0].hint}"
        elif verified < min(found, WANTED):
            hint = (
                "The log no longer holds what comes before the others: something else than trimming deleted it. "
                f"{self._compact} makes new commits"
            )
        holds = f"{verified}, of {found} in all" if found else "none at all"
        return TrimRefused(f"two verified commits are needed, but {self._root} holds {holds}", hint=hint)

    def _commits(self) -> list[Commit]:
        """Return the commits that can be read, the newest first; none that was given up."""
        found = []
        for commit in readable_commits(self._root, self.damaged.append):
            require_own(commit, self._incarnation, self._log.partitions)
            found.append(commit)
        return [*not_given_up(found)]

    async def _require_end(self, commit: Commit) -> None:
        ends = await self._log.end_offsets()
        for partition, to in enumerate(commit.to):
            if ends[partition] < to:
                raise ends_before(partition, ends[partition], to)

    async def _verified(self, commits: Sequence[Commit], known: Collection[str]) -> tuple[Commit, ...]:
        """Return those of the first `WANTED` commits that are verified, the newest first.

        Raises:
            SnapshotDamaged: one of them is damaged.
            LogGap: one was made from other records than the log holds now, even if it was verified against those.
            TrimRefused: one has other digests than the engine gets.
        """
        newest = commits[:WANTED]
        for commit in newest:
            await asyncio.to_thread(require_intact, self._root, commit, STATE_TABLES)
            events = await asyncio.to_thread(newest_events, self._root, commit.files)
            await require_same_records(self._log, events)
        verified: list[Commit] = []
        before: dict[int, PartitionState] | None = None
        for place, commit in reversed([*enumerate(newest, 1)]):
            if commit.sha256 in known:
                self._tell(f"commit {commit.sequence} was verified before")
                before = None
            elif await self._is_reached(commit, before or await self._base(commits[place:], known)):
                before = await self._restored(commit)
            else:
                continue
            verified.insert(0, commit)
        return tuple(verified)

    async def _base(self, older: Sequence[Commit], known: Collection[str]) -> dict[int, PartitionState]:
        """Return the state to fold on from: that of the newest known commit, else nothing, for the log's beginning.

        If the log was trimmed and no known commit is left, it is the state of the oldest commit that the log
        continues: what was below it was deleted only after a commit above had been verified.
        """
        starts = await self._log.start_offsets()
        reached = [each for each in older if all(to >= starts[partition] for partition, to in enumerate(each.to))]
        oldest_first = reached[::-1] if any(starts.values()) else []
        for commit in (*(each for each in reached if each.sha256 in known), *oldest_first):
            try:
                return await self._restored(commit)
            except SnapshotDamaged as error:
                self.damaged.append(error)
        return {}

    async def _restored(self, commit: Commit) -> dict[int, PartitionState]:
        self._tell(f"loading commit {commit.sequence}")
        return await asyncio.to_thread(restore, self._root, commit, self._new_state)

    async def _is_reached(self, commit: Commit, before: Mapping[int, PartitionState]) -> bool:
        """Return True if folding on from `before`, or from the log's beginning, gives the digests of `commit`.

        Returns False if the log does not hold everything in between.

        Raises:
            TrimRefused: it gives other digests.
        """
        for partition in range(commit.partitions):
            if not await self._reaches(commit, partition, before.get(partition)):
                return False
        return True

    async def _reaches(self, commit: Commit, partition: int, before: PartitionState | None) -> bool:
        """Do the same as `_is_reached` for one partition."""
        to = commit.to[partition]
        start = before.position if before else 0
        if start < to:
            self._tell(f"folding partition {partition} from {start} to {to}, for commit {commit.sequence}")
        state = await refold(self._log, before or self._new_state(partition), to)
        if state is None:
            return False
        if state.position != to or state.digest().hex() != commit.digests[partition]:
            raise TrimRefused(
                f"commit {commit.sequence} is not what the engine comes to: partition {partition}, folded from {start} "
                f"to {to}, has another digest",
                hint="Keep the log, and start no node from that commit: compact into a new directory, or upgrade "
                "whichever of job and nodes is older.",
                sequence=commit.sequence,
                partition=partition,
            )
        return True
