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

_REMEMBERED_PAIRS = 16_384


class TopicWriter:
    """Writes topics of one namespace. Cost: 1 µs a topic."""

    def __init__(self, identity: LogIdentity, namespace: str) -> None:
        self._namespace = namespace
        self._start = topic_of_key(namespace, "")
        self._position = partition_tokens(identity.incarnation, partition_of(namespace, identity.partitions))

    def write(self, key: str, row: TopicRow) -> bytes:
        """Return the topic that is called `key` in the namespace, as JSON."""
        labels, partitions, kafka_name, (event_id, place), offset, _ = row
        return b'{"name":%b,"labels":{%b},"partitions":%d,"version":"%b.%d","position":"%b"%b}' % (
            orjson.dumps(topic_of_key(self._namespace, key) if "://" in key else self._start + key),
            b",".join(map(_written_pair, labels)),
            partitions,
            hexlify(event_id),
            place,
            self._position(offset + 1),
            b"" if kafka_name is None else b',"kafkaName":%b' % orjson.dumps(kafka_name),
        )


class _Pairs(dict[tuple[str, str], bytes]):
    """Labels as members of an object, each written once; all of them again when there are too many."""

    def __missing__(self, pair: tuple[str, str]) -> bytes:
        if len(self) >= _REMEMBERED_PAIRS:
            self.clear()
        written = self[pair] = orjson.dumps({pair[0]: pair[1]})[1:-1]
        return written


_written_pair = _Pairs().__getitem__
