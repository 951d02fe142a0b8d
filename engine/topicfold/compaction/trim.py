"""Trimming: deletes the records of the log below the second newest verified commit, or below an older one; no others.

It works in this order, so that nodes can start from what is left, whatever fails in between: the commits are verified
(`verified`), each partition gets a copy of the log's header above the deleted part, the note is written that says up
to where records may be gone, and the records are deleted. Running it again continues; two at once do no harm. Needs no
Spark.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from topicfold.clock import wall_clock_ms
from topicfold.compaction.kept_rows import require_kept
from topicfold.compaction.verified import Tell, Verifier
from topicfold.errors import SnapshotDamaged
from topicfold.log.identity import identity_in, recognise_identity, restate_identity
from topicfold.log.port import Log, LogIdentity
from topicfold.runtime.engine import state_maker
from topicfold.settings import Settings
from topicfold.snapshot.commits import Commit, not_given_up, readable_commits
from topicfold.snapshot.files.unwritable import naming_unwritable
from topicfold.snapshot.trim_note import TrimNote, put_note, read_note
from topicfold.starting import engine_options, opened_log

HEADER_EVERY = 100_000
"""How far, in records, a header may be from a partition's end before it gets another: opening a log looks for one."""


class Span(NamedTuple):
    """Offsets of one partition: where it begins, where it will begin after the trim, and where it ends."""

    partition: int
    start: int
    floor: int
    end: int

    @property
    def records(self) -> int:
        """How many offsets are deleted."""
        return self.floor - self.start


@dataclass(frozen=True, slots=True)
class Plan:
    """What a trim deletes: the `spans` of every partition, given that `newest` and `second` are verified.

    That is everything below the commit `below`, which is the second or an older one, or None if none is old enough.
    `damaged` are commits that were skipped.
    """

    newest: Commit
    second: Commit
    below: Commit | None
    spans: tuple[Span, ...]
    damaged: tuple[SnapshotDamaged, ...]

    @property
    def records(self) -> int:
        """How many offsets are deleted, in all partitions."""
        return sum(span.records for span in self.spans)


def trim(settings: Settings, root: Path, grace_seconds: float, tell: Tell, *, only_plans: bool = False) -> Plan:
    """Delete the records that are covered by commits at `root` older than `grace_seconds`; return what was deleted.

    With `only_plans` nothing is deleted, and the result is what would be.

    Raises:
        TrimRefused: there are no two verified commits, or the tables that grow have not kept what would go; nothing
            was deleted.
        SnapshotUnreadable: the commits or the note cannot be read; nothing was deleted.
        SnapshotUnwritable: the note cannot be written; nothing was deleted.
        BadSetting, WrongLog, WrongSnapshot, LevelUnsupported, LogGap: log and snapshot do not belong together, or this
            version cannot use them; nothing was deleted.
        LogUnavailable, ClusterUnavailable: the log does not answer. Some records may be gone; running it again
            continues.
    """
    with naming_unwritable(root):
        return asyncio.run(_trim(settings, root, grace_seconds, tell, only_plans=only_plans))


async def _trim(settings: Settings, root: Path, grace_seconds: float, tell: Tell, *, only_plans: bool) -> Plan:
    async with opened_log(settings) as log:
        trimming = Trimming(log, await recognise_identity(log), root, settings, tell)
        plan = await trimming.plan(wall_clock_ms() - int(grace_seconds * 1000) if grace_seconds else None)
        if only_plans:
            return await trimming.forecast(plan)
        await trimming.carry_out(plan)
        # Copies of the header have been appended.
        ends = await log.end_offsets()
        return replace(plan, spans=tuple([each._replace(end=ends[each.partition]) for each in plan.spans]))


class Trimming:
    """One trim of one log, given the snapshot at `root`."""

    def __init__(self, log: Log, identity: LogIdentity, root: Path, settings: Settings, tell: Tell) -> None:
        self._log = log
        self._identity = identity
        self._root = root
        self._new_state = state_maker(identity, engine_options(settings))
        self._tell = tell
        self._compact = settings.compact_command(root)

    async def plan(self, until_ms: int | None = None) -> Plan:
        """Return what may be deleted now: what is below the second newest verified commit.

        Unless `until_ms` is None, also below the newest commit made at that time (in ms since 1970) or before. So a
        trimmed log always begins where a commit ends, and everything that it holds can be folded from there.

        Raises:
            TrimRefused, WrongSnapshot, LevelUnsupported, LogGap, SnapshotUnreadable: nothing may be deleted.
            LogUnavailable: the log did not answer in time.
        """
        note = self._note()
        verifier = Verifier(
            self._log, self._root, self._identity.incarnation, self._new_state, self._tell, self._compact
        )
        newest, second = await verifier.newest(note.verified)
        below = second if until_ms is None else self._newest_within(second, until_ms)
        starts, ends = await self._log.start_offsets(), await self._log.end_offsets()
        spans = []
        for partition, start in sorted(starts.items()):
            floor = max(start, below.to[partition] if below else 0)
            spans.append(Span(partition, start, floor, ends[partition]))
        if below and any(span.records for span in spans):
            begins = min(note.staying, default=0)
            await asyncio.to_thread(require_kept, self._root, begins, below, self._compact)
        return Plan(newest, second, below, tuple(spans), tuple(verifier.damaged))

    async def forecast(self, plan: Plan) -> Plan:
        """Return `plan` with the ends that partitions will have once it is carried out, if nobody else appends.

        Raises:
            LogUnavailable: the log did not answer in time.
        """
        noted = zip(plan.spans, self._note().headers, strict=True)
        spans = [span._replace(end=span.end + await self._needs_header(span, at)) for span, at in noted]
        return replace(plan, spans=tuple(spans))

    async def carry_out(self, plan: Plan) -> None:
        """Delete what `plan` says.

        Raises:
            LogUnavailable: the log did not answer in time, or does not allow it; running it again continues.
        """
        note = self._note()
        headers = await self._headers(plan.spans, note.headers)
        floors = tuple(span.floor for span in plan.spans)
        noted = replace(
            note,
            floors=floors,
            headers=headers,
            verified=(plan.newest.sha256, plan.second.sha256),
            staying=self._staying(plan, note.staying),
            time_ms=wall_clock_ms(),
        )
        put_note(self._root, noted)
        for span in plan.spans:
            if span.records:
                self._tell(f"deleting partition {span.partition} up to {span.floor}")
                await self._log.delete_before(span.partition, span.floor)

    def _note(self) -> TrimNote:
        return read_note(self._root, self._identity.incarnation.hex(), self._identity.partitions)

    def _newest_within(self, second: Commit, until_ms: int) -> Commit | None:
        """Return the newest commit made at `until_ms` or before that ends beyond `second` in no partition."""
        for commit in self._usable():
            is_within = all(to <= most for to, most in zip(commit.to, second.to, strict=True))
            if is_within and commit.time_ms <= until_ms:
                return commit
        return None

    def _usable(self) -> Iterator[Commit]:
        """Yield the commits that can be read, the newest first; none that was given up: nothing continues from it."""
        return not_given_up(readable_commits(self._root))

    def _staying(self, plan: Plan, before: Sequence[int]) -> tuple[int, ...]:
        """Return the commits to keep: where the log begins; the next one to trim to, once it is old enough; and the
        two verified ones, from which later ones will be verified."""
        begins = max(plan.below.sequence if plan.below else 0, min(before, default=0))
        later = [commit.sequence for commit in self._usable() if commit.sequence > begins]
        following = [sequence for sequence in later if sequence in before] or later
        return tuple(sorted({begins, min(following, default=begins), plan.second.sequence, plan.newest.sequence}))

    async def _headers(self, spans: Sequence[Span], noted: Sequence[int]) -> tuple[int, ...]:
        """Return, by partition, the offset of a copy of the header that stays, appended if there was none."""
        headers = []
        for span, at in zip(spans, noted, strict=True):
            if await self._needs_header(span, at):
                at = await restate_identity(self._log, self._identity, span.partition)
            headers.append(at)
        return tuple(headers)

    async def _needs_header(self, span: Span, offset: int) -> bool:
        """Return whether records of a partition are deleted, and `offset` has no copy of the header that stays."""
        return bool(span.records) and not await self._has_header(span, offset)

    async def _has_header(self, span: Span, offset: int) -> bool:
        if offset < span.floor or offset < span.end - HEADER_EVERY:
            return False
        found = await self._log.read(span.partition, offset, 1)
        return bool(found) and found[0].offset == offset and identity_in(found[0].value) == self._identity
