"""The fold rule once more, as DESIGN words it and as slow as it likes: the oracle of the real one."""

from __future__ import annotations

from collections.abc import Iterable

from topicfold.model.events import Event, partition_of

GENESIS = bytes(16)
TENANT, NAMESPACE, TOPIC = 1, 2, 3


class NaiveFold:
    """State of one partition: `versions`, and the payloads of `live` aggregates, by (kind, name)."""

    def __init__(self, partition: int, partitions: int) -> None:
        self.place = (partition, partitions)
        self.versions: dict[tuple[int, str], bytes] = {}
        self.live: dict[tuple[int, str], bytes] = {}
        self.incarnations: dict[str, bytes] = {}
        self.operations: dict[bytes, int] = {}

    def version(self, kind: int, name: str) -> bytes:
        """Return the id of the last accepted event, zeros for none."""
        return self.versions.get((kind, name), GENESIS)

    def topics_of(self, namespace: str) -> list[tuple[int, str]]:
        """Return the topics of a namespace, dead ones too."""
        return [(kind, name) for kind, name in self.versions if kind == TOPIC and f"://{namespace}/" in name]

    def fold(self, events: Iterable[Event | None]) -> NaiveFold:
        """Fold all `events`."""
        for event in events:
            if event is not None and self.accepts(event):
                self.take(event)
        return self

    def accepts(self, event: Event) -> bool:
        """Return the verdict."""
        owner = event.name.split("://")[1].rpartition("/")[0] if event.aggregate_kind == TOPIC else event.name
        return (
            event.level == 1
            and event.kind in (1, 2)
            and event.event_id != bytes(16)
            and event.aggregate_kind in (TENANT, NAMESPACE, TOPIC)
            and partition_of(owner, self.place[1]) == self.place[0]
            and event.base == self.version(event.aggregate_kind, event.name)
            and (event.aggregate_kind != TOPIC or self.incarnations.get(owner) == event.namespace_id)
        )

    def take(self, event: Event) -> None:
        """Let an accepted event take effect."""
        what = (event.aggregate_kind, event.name)
        topics = self.topics_of(event.name) if event.aggregate_kind == NAMESPACE else []
        refused = event.kind == 2 and event.flags & 1 and any(topic in self.live for topic in topics)
        self.versions[what] = event.event_id
        for operation in event.operations:
            self.operations.setdefault(operation.id, 2 if refused else operation.verdict)
        if refused:
            return
        if event.kind == 1:
            self.live[what] = event.payload
            if event.aggregate_kind == NAMESPACE:
                self.incarnations.setdefault(event.name, event.event_id)
            return
        self.live.pop(what, None)
        if event.aggregate_kind == NAMESPACE and self.incarnations.pop(event.name, None):
            for topic in topics:
                del self.versions[topic]
                self.live.pop(topic, None)
