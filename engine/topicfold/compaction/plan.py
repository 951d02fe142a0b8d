"""What a batch's slices receive and return. Both travel between driver and executors."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple

from topicfold.compaction.comparison import Stated
from topicfold.compaction.folding.census import Census, Count, Place
from topicfold.compaction.folding.owners import OwnerRows
from topicfold.compaction.folding.records import Seen
from topicfold.snapshot.commits import DataFile


@dataclass(frozen=True, slots=True)
class Plan:
    """One batch, to be folded onto the state in `files`.

    `start` has the positions before it, `owners` the tenants and namespaces, both by partition. `rewrites`: `topics`
    is rewritten, instead of adding to `topics_tail`. `census` is empty until slices have asked for one.
    `whole_operations`: slices return all operations, because some were repeated, so the driver has to find out one by
    one which stay in the rings.
    """

    root: Path
    sequence: int
    slices: int
    start: tuple[int, ...]
    owners: tuple[OwnerRows, ...]
    files: tuple[DataFile, ...]
    rewrites: bool
    census: Census = field(default_factory=Census)
    whole_operations: bool = False

    @property
    def label(self) -> str:
        """What the names of the batch's files begin with."""
        return f"{self.sequence:012}"


class NamespaceDelta(NamedTuple):
    """What a slice's topics add to a namespace, in the life it has at the batch's end."""

    partition: int
    namespace: str
    live_topics: int
    topics: int
    digest_sum: int


@dataclass(frozen=True, slots=True)
class SliceResult:
    """The result of one slice of a batch.

    If `asked` is not empty, nothing was written: the batch must be folded again with a census of these namespaces, to
    which this slice contributes `counts`. All slices know the same `stops`, `levels`, `asked` and `ended`.

    - `seen`: by partition, the records that this slice answers for.
    - `stops`, `levels`: where this version must not go on, by partition; and each partition's level at the end.
    - `ended`: namespaces whose life from before the batch ended in it.
    - `owners`: the changed tenants and namespaces, as an Arrow stream of `topics`; only the first slice sends them.
    - `operations`: those of accepted events that this slice answers for, as many as fit in the rings; topics' in the
      log's order, then owners'. The bytes of an array of `rings.OPERATIONS`.
    - `passed`: the operations before those, as `rings.PASSED`.
    - `stated`: the digests that nodes state for the positions where the slice's part of each partition ends.
    """

    seen: Mapping[int, Seen]
    stops: Mapping[int, int]
    levels: tuple[int, ...]
    asked: tuple[Place, ...] = ()
    counts: tuple[Count, ...] = ()
    ended: tuple[Place, ...] = ()
    namespaces: tuple[NamespaceDelta, ...] = ()
    files: tuple[DataFile, ...] = ()
    owners: bytes = b""
    operations: bytes = b""
    passed: bytes = b""
    accepted: int = 0
    stated: tuple[Stated, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)

    def facts(self) -> str:
        """Return all fields except bytes as JSON."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return json.dumps({name: value for name, value in values.items() if not isinstance(value, bytes)})

    @classmethod
    def of(cls, facts: str, owners: bytes, operations: bytes, passed: bytes) -> SliceResult:
        """Return the result, given its `facts` and its fields of bytes."""
        plain: dict[str, Any] = json.loads(facts)
        return cls(
            {int(partition): Seen(*each) for partition, each in plain["seen"].items()},
            {int(partition): offset for partition, offset in plain["stops"].items()},
            tuple(plain["levels"]),
            tuple((partition, namespace) for partition, namespace in plain["asked"]),
            tuple(Count(*each) for each in plain["counts"]),
            tuple((partition, namespace) for partition, namespace in plain["ended"]),
            tuple(NamespaceDelta(*each) for each in plain["namespaces"]),
            tuple(DataFile(*each) for each in plain["files"]),
            owners,
            operations,
            passed,
            plain["accepted"],
            tuple(Stated(*each) for each in plain["stated"]),
            plain["seconds"],
        )
