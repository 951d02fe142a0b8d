"""Differences between two records of one aggregate, member by member: for history, never for a verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, assert_never

from topicfold.model.policy.values import plain_value
from topicfold.model.records import NamespaceRecord, Record, TenantRecord, TopicRecord

Path = tuple[str, ...]
"""The path of a member in a record: names from the outside in, as they are shown."""


class Difference(NamedTuple):
    """One member that differs. Values are JSON values; None stands for a missing one."""

    path: Path
    old: Any
    new: Any

    @property
    def shown(self) -> Difference:
        """This difference with secrets masked, because reports of changes are kept, and end up in logs."""
        if "Secret" not in self.path[-1]:
            return self
        return Difference(self.path, *(None if each is None else "****" for each in (self.old, self.new)))


def differences(old: Record | None, new: Record | None) -> tuple[Difference, ...]:
    """Return all differences, in the order of the record's members; None stands for a record that is not live.

    >>> differences(TopicRecord(labels={"tier": "lead"}), TopicRecord(labels={"tier": "gold"}))
    (Difference(path=('labels', 'tier'), old='lead', new='gold'),)
    """
    before, after = dict(_members(old)), dict(_members(new))
    order = list(dict.fromkeys(path[0] for path in (*before, *after, ("policies",))))
    found = (*_compared(before, after), *_emptied(old, new))
    return tuple(sorted(found, key=lambda each: (order.index(each.path[0]), each.path)))


def part_differences(path: Path, old: Any, new: Any) -> tuple[Difference, ...]:
    """Return all differences between two values of the member at `path`, by path; None stands for a missing one.

    >>> part_differences(("labels",), {"tier": "lead"}, {})
    (Difference(path=('labels', 'tier'), old='lead', new=None),)
    """
    return tuple(sorted(_compared(dict(_parts(path, old)), dict(_parts(path, new)))))


def _compared(before: Mapping[Path, Any], after: Mapping[Path, Any]) -> Iterator[Difference]:
    for path in dict.fromkeys((*before, *after)):
        if before.get(path) != after.get(path):
            yield Difference(path, before.get(path), after.get(path))


def _emptied(old: Record | None, new: Record | None) -> Iterator[Difference]:
    """Yield the scopes that had policies once and have none any more, of which nothing is remembered now."""
    if isinstance(old, TopicRecord) and isinstance(new, TopicRecord):
        for name, before, after in (("local", old.local, new.local), ("global", old.global_, new.global_)):
            if not (before or after) and before != after:
                yield Difference(("policies", name), None if before is None else {}, None if after is None else {})


def _members(record: Record | None) -> Iterator[tuple[Path, Any]]:
    """Yield the members of a record, down to values that are not maps."""
    match record:
        case None:
            return
        case TopicRecord():
            yield ("partitions",), record.partitions
            yield from _parts(("kafkaName",), record.kafka_name)
            yield from _parts(("labels",), record.labels)
            yield from _parts(("properties",), record.properties)
            yield from _parts(("policies", "local"), record.local)
            yield from _parts(("policies", "global"), record.global_)
            yield from _parts(("grants",), record.grants)
            yield from _parts(("pending",), record.pending and record.pending.step.value)
        case NamespaceRecord():
            yield from _parts(("properties",), record.properties)
            yield from _parts(("policies",), record.policies)
            yield from _parts(("grants",), record.grants)
        case TenantRecord():
            yield ("adminRoles",), list(record.admin_roles)
            yield ("allowedClusters",), list(record.allowed_clusters)
            yield from _parts(("grants",), record.grants)
        case _:
            assert_never(record)


def _parts(path: Path, value: Any) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, Mapping):
        for name, part in value.items():
            if isinstance(part, Mapping) and not part:
                yield (*path, name), {}
            else:
                yield from _parts((*path, name), part)
    elif value is not None:
        yield path, plain_value(value)
