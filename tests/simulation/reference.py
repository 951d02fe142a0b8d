"""The judge's own fold: a log, folded once more by other code, with the state at every position kept.

Slow and plain on purpose. It shares the bytes' parser with the engine, and nothing that decides.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tests.simulation.effects import Found
from tests.simulation.operations import UNREADABLE
from topicfold.log import codec
from topicfold.log import payload as payloads
from topicfold.log.port import Entry
from topicfold.model.events import Event, partition_of

Key = tuple[int, str]
_NONE = bytes(16)
_TENANT, _NAMESPACE, _TOPIC = 1, 2, 3
_PUT, _DELETE, _LEVEL = 1, 2, 5
_NOT_EMPTY = 2
_DECODERS = {_TENANT: payloads.decode_tenant, _NAMESPACE: payloads.decode_namespace, _TOPIC: payloads.decode_topic}


class Thing(NamedTuple):
    """One aggregate at one position."""

    version: bytes = _NONE
    found: Found = None
    etag: str = f"{'00' * 16}.0"
    incarnation: bytes = _NONE
    schema: int = 0


NOTHING = Thing()
View = Mapping[Key, Thing]


class Carried(NamedTuple):
    """One operation of an accepted event, and the ETag after it. `is_again` if the ring knew it already."""

    offset: int
    place: int
    verdict: int
    etag: str
    request_id: str
    is_again: bool


class Accepted(NamedTuple):
    """One accepted event: what it stood on and what it left."""

    offset: int
    event: Event
    before: Thing
    after: Thing
    carried: tuple[tuple[bytes, Carried], ...]


class Reference:
    """One partition: `at[n]` is the view after n records, `levels[n]` the level."""

    def __init__(
        self, partition: int, partitions: int, entries: Sequence[Entry], client_ring: int, server_ring: int
    ) -> None:
        self.partition = partition
        self.at: list[View] = [{}]
        self.levels = [1]
        self.accepted: list[Accepted] = []
        self.by_operation: dict[bytes, list[Carried]] = {}
        self.rings: list[tuple[Mapping[bytes, Carried], Mapping[bytes, Carried]]] = [({}, {})]
        self._partitions = partitions
        self._capacities = (server_ring, client_ring)
        for entry in entries:
            self._fold(entry.offset, codec.decode_event(entry.value))

    def _fold(self, offset: int, event: Event | None) -> None:
        view, level, rings = self.at[-1], self.levels[-1], self.rings[-1]
        if event is not None and event.level == level:
            if event.kind == _LEVEL:
                level += 1
            elif event.kind in (_PUT, _DELETE) and self._accepts(view, event):
                view, rings = self._accept(offset, event, view)
        self.at.append(view)
        self.levels.append(level)
        self.rings.append(rings)

    def _accepts(self, view: View, event: Event) -> bool:
        key = (event.aggregate_kind, event.name)
        owner = owner_of(key)
        if owner is None or partition_of(owner, self._partitions) != self.partition:
            return False
        if event.aggregate_kind == _TOPIC:
            namespace = view.get((_NAMESPACE, owner), NOTHING)
            if namespace.found is None or namespace.incarnation != event.namespace_id:
                return False
        return view.get(key, NOTHING).version == event.base

    def _accept(
        self, offset: int, event: Event, view: View
    ) -> tuple[View, tuple[Mapping[bytes, Carried], Mapping[bytes, Carried]]]:
        key = (event.aggregate_kind, event.name)
        old = view.get(key, NOTHING)
        stays = (
            key[0] == _NAMESPACE and event.kind == _DELETE and event.flags & 1 and bool(topics_alive(view, event.name))
        )
        etag, carried = old.etag, []
        trail = codec.decode_audit(event.audit)
        rings: tuple[OrderedDict[bytes, Carried], ...] = tuple(OrderedDict(ring) for ring in self.rings[-1])
        for place, operation in enumerate(event.operations, 1):
            verdict = _NOT_EMPTY if stays else operation.verdict
            if verdict == 0:
                etag = f"{event.event_id.hex()}.{place}"
            asked_by = trail.operations[place - 1].request_id if trail and place <= len(trail.operations) else ""
            ring = rings[operation.by_client]
            one = Carried(offset, place, verdict, etag, asked_by, operation.id in ring)
            carried.append((operation.id, one))
            self.by_operation.setdefault(operation.id, []).append(one)
            ring.setdefault(operation.id, one)
            if len(ring) > self._capacities[operation.by_client]:
                ring.popitem(last=False)
        new = old._replace(version=event.event_id) if stays else _left_by(event, old, etag)
        after = {**view, key: new}
        if key[0] == _NAMESPACE and new.incarnation != old.incarnation:
            after = {each: thing for each, thing in after.items() if each[0] != _TOPIC or owner_of(each) != event.name}
        self.accepted.append(Accepted(offset, event, old, new, tuple(carried)))
        return after, (rings[0], rings[1])


def owner_of(key: Key) -> str | None:
    """Return whose partition an aggregate lives in, None where the name is none."""
    kind, name = key
    if kind == _TOPIC:
        domain, _, path = name.partition("://")
        parts = path.split("/")
        return (
            "/".join(parts[:2])
            if domain in ("persistent", "non-persistent") and len(parts) == 3 and all(parts)
            else None
        )
    slashes = name.count("/")
    if kind == _NAMESPACE:
        return name if slashes == 1 and all(name.split("/")) else None
    return name if kind == _TENANT and name and not slashes else None


def topics_alive(view: View, namespace: str) -> list[str]:
    """Return the names of the live topics of a namespace."""
    return [
        name
        for (kind, name), thing in view.items()
        if kind == _TOPIC and thing.found is not None and owner_of((kind, name)) == namespace
    ]


def _left_by(event: Event, old: Thing, etag: str) -> Thing:
    if event.kind == _DELETE:
        return Thing(event.event_id, None, etag)
    record = _DECODERS[event.aggregate_kind](event.payload_schema, event.payload)
    incarnation = _NONE
    if event.aggregate_kind == _NAMESPACE:
        incarnation = event.event_id if old.found is None else old.incarnation
    return Thing(event.event_id, UNREADABLE if record is None else record, etag, incarnation, event.payload_schema)
