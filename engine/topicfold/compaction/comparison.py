"""Whether a commit's digests are those that nodes state on the log: the job's part in agreement.

What a digest record says of its own position is compared where a batch ends with it, as it does wherever the log was
quiet for some seconds. Nodes refold on a difference; a commit that is wrong is never trimmed by, nor started from.
"""

from __future__ import annotations

from typing import NamedTuple

from topicfold.log.codec import decode_event
from topicfold.log.digest_record import statements_in
from topicfold.log.port import Log
from topicfold.model.events import Kind
from topicfold.snapshot.commits import Commit


class Difference(NamedTuple):
    """A node stated another digest of `partition` at `position` than the commit of that number has."""

    sequence: int
    partition: int
    position: int
    node: str

    def __str__(self) -> str:
        return (
            f"commit {self.sequence} has another digest of partition {self.partition} at {self.position} "
            f"than node {self.node}"
        )


async def differences(log: Log, commit: Commit) -> list[Difference]:
    """Return where nodes say otherwise than `commit`. Reads one record of each partition.

    Raises:
        LogUnavailable: the log did not answer in time.
    """
    found = []
    for partition, (to, digest, level) in enumerate(zip(commit.to, commit.digests, commit.levels, strict=True)):
        for _, offset, value in await log.read(partition, to - 1, 1) if to else ():
            event = decode_event(value)
            if event is None or (event.kind, event.level, offset) != (Kind.DIGEST, level, to - 1):
                continue
            for statement in statements_in(event, partition):
                if statement.position == offset and statement.digest.hex() != digest:
                    found.append(Difference(commit.sequence, partition, offset, event.name))
    return found
