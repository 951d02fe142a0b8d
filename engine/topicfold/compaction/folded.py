"""The state between batches, on the driver: positions, owners, sums of hashes, rings. It mirrors the newest commit.

Topics are not here but in the tables, so the cost of a batch depends on what it changes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from topicfold.compaction.folding.census import Place
from topicfold.compaction.folding.owners import OwnerRows
from topicfold.compaction.folding.prior import owner_rows
from topicfold.compaction.folding.rings import CAPACITIES, Ring, empty_ring
from topicfold.compaction.folding.rows import Row, topic_rows
from topicfold.compaction.plan import NamespaceDelta
from topicfold.model.events import AggregateKind
from topicfold.snapshot.commits import Commit
from topicfold.snapshot.files.data_files import read_rows
from topicfold.snapshot.rows.owner_rows import OWNER_COLUMNS, aggregate_of
from topicfold.snapshot.rows.ring_rows import last_places, ring_content
from topicfold.snapshot.tables import KINDS, NAMESPACES
from topicfold.state.aggregate import Aggregate, add_hashes, hash_of
from topicfold.state.digest import DigestMark


@dataclass(frozen=True, slots=True)
class NamespaceSum:
    """A live namespace's topics: how many are live, how many are known, and the sum of their hashes."""

    incarnation: bytes
    live_topics: int = 0
    topics: int = 0
    digest_sum: int = 0


@dataclass(frozen=True, slots=True)
class PartitionFolded:
    """One partition without its topics. `rings` are by kind: `client`, `server`."""

    position: int
    level: int
    tenants: Mapping[str, Aggregate]
    namespaces: Mapping[str, Aggregate]
    sums: Mapping[str, NamespaceSum]
    rings: Mapping[str, Ring]

    @property
    def owners(self) -> OwnerRows:
        """The part of this state that slices receive."""
        return OwnerRows(self.level, self.tenants, self.namespaces)

    def digest(self) -> bytes:
        """Return the same digest as `PartitionState.digest`."""
        total = 0
        for kind, owners in ((AggregateKind.TENANT, self.tenants), (AggregateKind.NAMESPACE, self.namespaces)):
            for name, each in owners.items():
                total = add_hashes(total, hash_of(kind, name, each))
        for topics in self.sums.values():
            total = add_hashes(total, topics.digest_sum)
        rings = [self.rings["client"].rows.tobytes()], [self.rings["server"].rows.tobytes()]
        return DigestMark(self.position, self.position, total, self.level, rings).digest()


Folded = tuple[PartitionFolded, ...]


def empty_folded(partitions: int) -> Folded:
    """Return the state of a log before its first record."""
    rings = {kind: empty_ring(kind) for kind in CAPACITIES}
    return tuple(PartitionFolded(0, 1, {}, {}, {}, rings) for _ in range(partitions))


def folded_at(root: Path, commit: Commit) -> Folded:
    """Return the state at a commit, whose files are assumed to be intact."""
    tenants: list[dict[str, Aggregate]] = [{} for _ in range(commit.partitions)]
    namespaces: list[dict[str, Aggregate]] = [{} for _ in range(commit.partitions)]
    for kind, partition, name, aggregate in _aggregates(owner_rows(root, commit.files)):
        (tenants if kind == KINDS[AggregateKind.TENANT] else namespaces)[partition][name] = aggregate
    sums = _sums(read_rows(root, commit.files, "namespaces"), commit.partitions)
    rings = _rings(read_rows(root, commit.files, "rings"), commit.partitions)
    return tuple(
        PartitionFolded(commit.to[n], commit.levels[n], tenants[n], namespaces[n], sums[n], rings[n])
        for n in range(commit.partitions)
    )


def with_owners(folded: Folded, changed: pa.Table, ended: Collection[Place]) -> Folded:
    """Return the state after these rows of tenants and namespaces. Namespaces in `ended` lose their topics.

    `ended` is needed because nothing ensures that a new life has a new id: whoever wrote the log may have reused one.
    """
    tenants = [dict(each.tenants) for each in folded]
    namespaces = [dict(each.namespaces) for each in folded]
    sums = [dict(each.sums) for each in folded]
    for kind, partition, name, aggregate in _aggregates(changed):
        if kind == KINDS[AggregateKind.TENANT]:
            tenants[partition][name] = aggregate
            continue
        namespaces[partition][name] = aggregate
        before = sums[partition].pop(name, None)
        if aggregate.is_live:
            is_same = (partition, name) not in ended
            sums[partition][name] = before if before and is_same else NamespaceSum(aggregate.incarnation)
    return tuple(
        replace(each, tenants=tenants[n], namespaces=namespaces[n], sums=sums[n]) for n, each in enumerate(folded)
    )


def with_topics(folded: Folded, deltas: Sequence[NamespaceDelta]) -> Folded:
    """Return the state after adding the slices' deltas to their namespaces, in the lives that these have now."""
    sums = [dict(each.sums) for each in folded]
    for delta in deltas:
        before = sums[delta.partition][delta.namespace]
        sums[delta.partition][delta.namespace] = NamespaceSum(
            before.incarnation,
            before.live_topics + delta.live_topics,
            before.topics + delta.topics,
            add_hashes(before.digest_sum, delta.digest_sum),
        )
    return tuple(replace(each, sums=sums[n]) for n, each in enumerate(folded))


def namespace_rows(folded: Folded) -> pa.Table:
    """Return the table `namespaces`."""
    rows = [
        (n, name, each.incarnation, each.live_topics, each.topics, each.digest_sum.to_bytes(16, "big"))
        for n, partition in enumerate(folded)
        for name, each in partition.sums.items()
    ]
    columns = zip(*rows, strict=True) if rows else [()] * len(NAMESPACES)
    return pa.table(
        [pa.array(each, field.type) for each, field in zip(columns, NAMESPACES, strict=True)], schema=NAMESPACES
    )


def owner_table(folded: Folded) -> pa.Table:
    """Return all tenants and namespaces as rows of the table `topics`."""
    return topic_rows(
        [
            Row(kind, name, name if kind == AggregateKind.NAMESPACE else "", "", n, each)
            for n, partition in enumerate(folded)
            for kind, owners in (
                (AggregateKind.TENANT, partition.tenants),
                (AggregateKind.NAMESPACE, partition.namespaces),
            )
            for name, each in sorted(owners.items())
        ]
    )


def _aggregates(rows: pa.Table) -> list[tuple[str, int, str, Aggregate]]:
    return [
        (row["kind"], row["partition"], row["name"], aggregate_of(row))
        for row in rows.select(OWNER_COLUMNS).to_pylist()
    ]


def _sums(rows: pa.Table, partitions: int) -> list[dict[str, NamespaceSum]]:
    sums: list[dict[str, NamespaceSum]] = [{} for _ in range(partitions)]
    for row in rows.to_pylist():
        sums[row["partition"]][row["namespace"]] = NamespaceSum(
            row["incarnation"], row["live_topics"], row["topics"], int.from_bytes(row["digest_sum"], "big")
        )
    return sums


def _rings(rows: pa.Table, partitions: int) -> list[dict[str, Ring]]:
    """Return the rings, given the table `rings`, which may also hold operations that have since been dropped."""
    numbers, owners = rows["number"].to_numpy(), rows["partition"].to_numpy()
    kinds = rows["ring"].to_numpy(zero_copy_only=False)
    content = ring_content(rows)
    found = []
    for partition in range(partitions):
        rings = {}
        for kind, capacity in CAPACITIES.items():
            places = np.flatnonzero((owners == partition) & (kinds == kind))
            places = last_places(places, numbers, capacity)
            number = int(numbers[places[-1]]) + 1 if len(places) else 0
            rings[kind] = Ring(capacity, content[places], number)
        found.append(rings)
    return found
