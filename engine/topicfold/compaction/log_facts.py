"""What the job knows about a log: its identity, where it begins and ends, and whether it continues a snapshot."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from topicfold.errors import WrongLog, WrongSnapshot
from topicfold.log.identity import recognise_identity
from topicfold.log.port import Log, LogIdentity
from topicfold.settings import Settings
from topicfold.snapshot.commits import NO_COMMIT_HINT
from topicfold.starting import opened_log


@dataclass(frozen=True, slots=True)
class LogFacts:
    """What is known about a log at some moment. `start` and `end` are offsets by partition."""

    identity: LogIdentity
    start: tuple[int, ...]
    end: tuple[int, ...]


async def log_facts(settings: Settings) -> LogFacts:
    """Return the log's identity, and where it begins and ends.

    Raises:
        BadSetting, WrongLog, WrongSnapshot: there is no such log.
        LogUnavailable, ClusterUnavailable: it does not answer.
    """
    async with opened_log(settings) as log:
        return await facts_of(log)


async def facts_of(log: Log) -> LogFacts:
    """Return the same for a log that is already open.

    Raises:
        WrongLog: it is not one of our logs.
        LogUnavailable: it does not answer.
    """
    identity = await recognise_identity(log)
    start, end = await log.start_offsets(), await log.end_offsets()
    numbers = range(identity.partitions)
    return LogFacts(identity, tuple(start[n] for n in numbers), tuple(end[n] for n in numbers))


def require_beginning(facts: LogFacts, root: Path) -> None:
    """Check that the log still has its beginning, as there is no commit at `root` to continue from.

    Raises:
        WrongSnapshot: the log begins later.
    """
    for partition, start in enumerate(facts.start):
        if start:
            raise WrongSnapshot(
                f"{root} holds no commit, and partition {partition} of the log begins at offset {start}: "
                "everything before was trimmed",
                hint=NO_COMMIT_HINT,
            )


def require_overlap(facts: LogFacts, positions: tuple[int, ...]) -> None:
    """Check that the log holds everything from `positions` on.

    Raises:
        WrongLog: it ends before them.
        WrongSnapshot: it begins after them.
    """
    require_end(facts, positions)
    for partition, (position, start) in enumerate(zip(positions, facts.start, strict=True)):
        if start > position:
            raise WrongSnapshot(
                f"partition {partition} of the log begins at offset {start}, the snapshot ends at {position}: "
                "the records between are gone",
                hint="If this is an older copy of the snapshot, restore the newest. If somebody else deleted the "
                "records, as a retention does, nodes that still run know what they have folded: see docs/recovery.md "
                "before you stop one.",
            )


def require_end(facts: LogFacts, positions: tuple[int, ...]) -> None:
    """Check that the log does not end before `positions`.

    Raises:
        WrongLog: it does.
    """
    for partition, (position, end) in enumerate(zip(positions, facts.end, strict=True)):
        if end < position:
            raise WrongLog(
                f"partition {partition} of the log ends at offset {end}, the snapshot at {position}: "
                "the log has lost records",
                hint="Restore the log. To go on from what it still has, name a new directory for the snapshot.",
            )
