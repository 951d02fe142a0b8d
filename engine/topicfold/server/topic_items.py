"""Topics as findings and frames show them, written straight as JSON: a page has a thousand, and a namespace a million.

    {"name": "persistent://public/default/orders", "labels": {"team": "pay"}, "partitions": 0,
     "version": "0123….1", "position": "AQ…"}

`version` is the record's ETag, `position` where it can be read; `kafkaName` comes last, where one is recorded.
"""

from __future__ import annotations

from binascii import hexlify

import orjson

from topicfold.log.port import LogIdentity
from topicfold.model.events import partition_of
from topicfold.model.names import topic_of_key
from topicfold.runtime.revision import partition_tokens
from topicfold.state.change import TopicRow
from topicfold.state.topic_table import ShownColumns

_FORM = b'{"name":%b,"labels":{%b},"partitions":%d,"version":"%b.%d","position":"%b"%b}'


class TopicWriter:
    """Writes topics of one namespace."""

    def __init__(self, identity: LogIdentity, namespace: str) -> None:
        self._namespace = namespace
        self._start = topic_of_key(namespace, "")
        self._position = partition_tokens(identity.incarnation, partition_of(namespace, identity.partitions))

    def write(self, key: str, row: TopicRow) -> bytes:
        """Return the topic that is called `key` in the namespace, as JSON. Cost: 2 µs."""
        labels, partitions, kafka_name, version, offset, _ = row
        members = orjson.dumps(dict(labels))[1:-1]
        return self._written(key, members, partitions, kafka_name, (*version, offset))

    def write_all(self, columns: ShownColumns) -> list[bytes]:
        """Return topics of the namespace as JSON, each as `write` does. Cost: 1 µs a topic."""
        return list(map(self._written, *columns))

    def _written(
        self, key: str, labels: bytes, partitions: int, kafka_name: str | None, version: tuple[bytes, int, int]
    ) -> bytes:
        event_id, place, offset = version
        return _FORM % (
            orjson.dumps(topic_of_key(self._namespace, key) if "://" in key else self._start + key),
            labels,
            partitions,
            hexlify(event_id),
            place,
            self._position(offset + 1),
            b"" if kafka_name is None else b',"kafkaName":%b' % orjson.dumps(kafka_name),
        )
