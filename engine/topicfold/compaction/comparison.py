"""Compares a commit's digests with those that nodes state on the log: the job's part in agreement.

The digest that a record states for its own position is compared if the batch ends with that record, as it does
wherever the log was quiet for some seconds. On a difference, nodes refold. No trim relies on a wrong commit, and no
node starts from one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from topicfold.compaction.folding.records import Records, Seen
from topicfold.log.digest_record import statements_in
from topicfold.model.events import Kind
from topicfold.snapshot.commits import Commit


class Stated(NamedTuple):
    """A node stated this digest, in hex, for `partition` at `position`, where the partition was at `level`."""

    partition: int
    position: int
    level: int
    digest: str
    node: str


class Difference(NamedTuple):
    """A node stated another digest for `partition` at `position` than the commit with that number has."""

    sequence: int
    partition: int
    position: int
    node: str

    def __str__(self) -> str:
        return (
            f"commit {self.sequence} has another digest of partition {self.partition} at {self.position} "
            f"than node {self.node}"
        )


def stated_last(records: Records, seen: Mapping[int, Seen]) -> Iterator[Stated]:
    """Yield the digests that the last record seen of each partition states for its own position."""
    for row in np.flatnonzero(records.kinds == Kind.DIGEST).tolist():
        partition, offset = int(records.partitions[row]), int(records.offsets[row])
        if partition in seen and seen[partition].last == offset:
            event = records.event(row)
            for statement in statements_in(event, partition):
                if statement.position == offset:
                    yield Stated(partition, offset, event.level, statement.digest.hex(), event.name)


def differences(commit: Commit, stated: Iterable[Stated]) -> list[Difference]:
    """Return the stated digests that contradict `commit`, for the positions where it ends."""
    return [
        Difference(commit.sequence, each.partition, each.position, each.node)
        for each in stated
        if (each.position, each.level) == (commit.to[each.partition] - 1, commit.levels[each.partition])
        and each.digest != commit.digests[each.partition]
    ]
