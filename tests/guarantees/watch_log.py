"""What a log says to whoever watches topics, folded in the plainest way.

It shares the parsers of bytes with the engine, and nothing that decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from topicfold.log.codec import decode_event
from topicfold.log.payload import decode_topic
from topicfold.log.port import Entry
from topicfold.model.events import Event, Verdict

_NAMESPACE, _TOPIC = 2, 3
_PUT, _DELETE = 1, 2
_REQUIRE_EMPTY = 1
_NONE = bytes(16)


class Row(NamedTuple):
    """A live topic."""

    labels: Mapping[str, str]
    grants: Mapping[str, tuple[str, ...]]


class Step(NamedTuple):
    """An event that changed a topic: its full name, and what it was before and after, None where not live."""

    offset: int
    namespace: str
    name: str
    before: Row | None
    after: Row | None


class End(NamedTuple):
    """An event that ended a namespace; `had_topics`: some ended with it."""

    offset: int
    namespace: str
    had_topics: bool


class _Namespace(NamedTuple):
    version: bytes
    is_live: bool
    incarnation: bytes


class _Topic(NamedTuple):
    version: bytes
    is_live: bool
    row: Row | None


class WatchedLog:
    """`steps` has for each partition what happened in it, `ends` where it ends."""

    def __init__(self, entries: Iterable[Entry], partitions: int) -> None:
        self.steps: dict[int, list[Step | End]] = {partition: [] for partition in range(partitions)}
        self.ends = dict.fromkeys(range(partitions), 0)
        self._namespaces: dict[str, _Namespace] = {}
        self._topics: dict[str, dict[str, _Topic]] = {}
        for entry in entries:
            self.ends[entry.partition] = entry.offset + 1
            event = decode_event(entry.value)
            if event is not None and event.kind in (_PUT, _DELETE):
                found = self._topic(entry.offset, event) if event.aggregate_kind == _TOPIC else None
                if event.aggregate_kind == _NAMESPACE:
                    found = self._namespace(entry.offset, event)
                if found is not None:
                    self.steps[entry.partition].append(found)

    def at(self, partition: int, position: int, namespaces: Iterable[str]) -> dict[str, Row]:
        """Return the live topics of `namespaces`, all of that partition, by their names, as of `position`."""
        rows: dict[str, Row] = {}
        for step in self.steps[partition]:
            if step.offset >= position or step.namespace not in namespaces:
                continue
            if isinstance(step, End):
                rows = {name: row for name, row in rows.items() if f"://{step.namespace}/" not in name}
            elif step.after is None:
                rows.pop(step.name, None)
            else:
                rows[step.name] = step.after
        return rows

    def _namespace(self, offset: int, event: Event) -> End | None:
        old = self._namespaces.get(event.name, _Namespace(_NONE, is_live=False, incarnation=_NONE))
        if event.base != old.version:
            return None
        topics = self._topics.get(event.name, {})
        if event.kind == _DELETE and event.flags & _REQUIRE_EMPTY and any(each.is_live for each in topics.values()):
            self._namespaces[event.name] = old._replace(version=event.event_id)
            return None
        is_live = event.kind == _PUT
        incarnation = old.incarnation if is_live and old.is_live else event.event_id
        self._namespaces[event.name] = _Namespace(event.event_id, is_live, incarnation)
        if is_live or not old.is_live:
            return None
        self._topics.pop(event.name, None)
        return End(offset, event.name, any(each.is_live for each in topics.values()))

    def _topic(self, offset: int, event: Event) -> Step | None:
        namespace = "/".join(event.name.partition("://")[2].split("/")[:2])
        life = self._namespaces.get(namespace)
        if life is None or not life.is_live or life.incarnation != event.namespace_id:
            return None
        topics = self._topics.setdefault(namespace, {})
        old = topics.get(event.name, _Topic(_NONE, is_live=False, row=None))
        if event.base != old.version:
            return None
        record = decode_topic(event.payload_schema, event.payload) if event.kind == _PUT else None
        # One whose end is decided is shown to nobody, though Kafka may not have followed yet.
        is_shown = record is not None and not record.is_ending
        after = Row(dict(record.labels), dict(record.grants)) if record is not None and is_shown else None
        before = old.row
        topics[event.name] = _Topic(event.event_id, event.kind == _PUT, after)
        if not any(operation.verdict == Verdict.CHANGED for operation in event.operations):
            return None
        return Step(offset, namespace, event.name, before, after)
