"""The topics of one namespace: one row each, in columns, found by number or by key.

A topic keeps its number as long as the namespace lives, even when deleted, so its tombstone keeps its version. Sets
hold numbers; names are only produced at the edge. The fold notes a topic's new state with `change`; `store` then writes
the rows of all topics that changed and indexes them, before anybody reads.

Memory: about 60 bytes a row, plus the name, the payload and the postings.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from typing import NamedTuple

from pyroaring import BitMap

from topicfold.model.events import GENESIS, AggregateKind
from topicfold.model.finding.pattern import SEPARATOR
from topicfold.model.finding.selector import Equals, Selector
from topicfold.model.made import made
from topicfold.model.names import NON_PERSISTENT, local_of_key
from topicfold.model.records import NO_GRANTS, Grants, Step
from topicfold.model.system_topics import is_system_topic
from topicfold.state.aggregate import ABSENT, Aggregate, Etag, add_hashes, hash_of
from topicfold.state.change import TopicRow
from topicfold.state.columns import ROW, Columns
from topicfold.state.indexed import NOTHING, DecodeIndexed, Indexed
from topicfold.state.indexes.grant_index import GrantIndex
from topicfold.state.indexes.kafka_name_index import KafkaNameIndex
from topicfold.state.indexes.label_index import NO_LABELS, PAIR_BYTES, LabelIndex
from topicfold.state.indexes.name_index import NameIndex
from topicfold.state.pieces import ByteColumn
from topicfold.state.selection import select

_TOPIC = int(AggregateKind.TOPIC)
_HASH_AT = 44
_SHOWN = struct.Struct("<16x16sH2xq16x")
"""The parts of a row that `shown` returns: the ETag and the offset."""


class ShownColumns(NamedTuple):
    """What finding shows of many topics, in columns of equal length.

    `labels` are members of a JSON object; `versions` are the ETag's event and place, and the offset.
    """

    keys: list[str]
    labels: list[bytes]
    partitions: list[int]
    kafka_names: list[str | None]
    versions: list[tuple[bytes, int, int]]


FOREIGN = f"{NON_PERSISTENT}://"
"""The beginning of the keys of topics that are not persistent."""


class TopicTable:
    """The topics of a namespace and their indexes. Only the fold changes it.

    - `numbers`, `keys`: number by key, and key by number, deleted topics included.
    - `partitions`: the number of partitions of partitioned topics, and of no others.
    - `kafka_names`: names of Kafka topics that do not follow from the topics' own; `named` finds topics by them.
    - `pending`: topics with a step left to do in Kafka; `ending`: those of them whose end is decided, so that nobody is
      shown them.
    - `grants`: the grants of topics that have any.
    - `non_persistent`: topics of that domain; `system`: Pulsar's own topics; both with deleted ones.
    - `names`: finds live topics by pattern, with `separator` between segments.
    """

    __slots__ = ("__weakref__", "_decode", "_labels", "_payloads", "_rows", "_unstored", "digest_sum", "ending",
                 "granted", "grants", "index", "kafka_names", "keys", "live", "named", "names", "non_persistent",
                 "numbers", "partitions", "pending", "system", "undecodable")  # fmt: skip

    def __init__(self, decode: DecodeIndexed, separator: str = SEPARATOR) -> None:
        self._decode = decode
        self.numbers: dict[str, int] = {}
        self.keys: list[str] = []
        self.live = BitMap()
        self.undecodable = BitMap()
        self.non_persistent = BitMap()
        self.system = BitMap()
        self.partitions: dict[int, int] = {}
        self.kafka_names: dict[int, str] = {}
        self.named = KafkaNameIndex()
        self.pending: set[int] = set()
        self.ending = BitMap()
        self.grants: dict[int, Grants] = {}
        self.granted = GrantIndex()
        self.index = LabelIndex()
        self.names = NameIndex(self.numbers, self.keys, separator)
        self.digest_sum = 0
        self._rows = bytearray()
        self._payloads = ByteColumn()
        self._labels = ByteColumn()
        self._unstored: dict[int, tuple[str, Aggregate]] = {}

    def restore(self, columns: Columns) -> None:
        """Fill an empty table with topics, all at once. The table takes over `columns`.

        For the topics in `decoded`, what is indexed is read from their payloads, whatever the columns say.

        Cost: 0.1 µs a topic, plus the cost of `put` for each of `decoded`, plus that of restoring the indexes.
        """
        self.keys += columns.keys
        self.numbers.update(columns.numbers)
        self._rows = columns.rows
        self._payloads.restore(columns.payloads)
        self._labels.restore(columns.labels)
        self.live = columns.live
        self.non_persistent, self.system = columns.non_persistent, columns.system
        self.partitions, self.kafka_names = columns.partitions, columns.kafka_names
        for number, kafka_name in self.kafka_names.items():
            self.named.replace(number, None, kafka_name)
        self.index = columns.label_index
        self.names.restore(columns.by_length, columns.places)
        self.digest_sum = columns.digest_sum
        for number in columns.decoded:
            self._reindex(number, self.row(number))

    def get(self, key: str) -> Aggregate:
        """Return the topic with that key: live, deleted or absent; as it was changed last, even if not stored yet."""
        number = self.numbers.get(key)
        if number is None:
            return ABSENT
        return self._unstored[number][1] if number in self._unstored else self.row(number)

    def row(self, number: int) -> Aggregate:
        """Return the topic with that number, live or deleted."""
        version, event_id, place, schema, offset, _ = ROW.unpack_from(self._rows, number * ROW.size)
        etag, payload = made(Etag, (event_id, place)), self._payloads.of(number)
        return made(Aggregate, (version, number in self.live, etag, schema, payload, offset, GENESIS))

    def stored(self, number: int) -> tuple[Etag, int, bytes]:
        """Return the ETag of the topic with that number, the number of its payload's schema, and the payload."""
        _, event_id, place, schema, _, _ = ROW.unpack_from(self._rows, number * ROW.size)
        return made(Etag, (event_id, place)), schema, self._payloads.of(number)

    def shown(self, number: int) -> TopicRow | None:
        """Return what finding and watching show of the topic with that number; None if it is deleted or ending."""
        if number not in self.live or number in self.ending:
            return None
        return self._shown(number, self._labels.of(number), _SHOWN.unpack_from(self._rows, number * ROW.size))

    def shown_all(self, numbers: Sequence[int]) -> list[TopicRow | None]:
        """Return what `shown` returns for each. Cost: half of that, if they are not in the processor's caches.

        All labels are fetched before the first is used, so that the processor waits for many at a time.
        """
        labels = self._labels.of_each(numbers)
        heads = [_SHOWN.unpack_from(self._rows, number * ROW.size) for number in numbers]
        live, ending = self.live, self.ending
        return [
            self._shown(number, ids, head) if number in live and number not in ending else None
            for number, ids, head in zip(numbers, labels, heads, strict=True)
        ]

    def count_labels(self, numbers: Sequence[int]) -> int:
        """Return how many labels the topics with these numbers have in total."""
        return sum(map(len, self._labels.of_each(numbers))) // PAIR_BYTES

    def shown_columns(self, numbers: Sequence[int]) -> ShownColumns:
        """Return what `shown` returns for each of `numbers`, in columns; all of these topics must be shown now.

        Cost: a third of `shown_all`; each column is fetched at once, so that the processor waits for many at a time.
        """
        labels = self._labels.of_each(numbers)
        return ShownColumns(
            list(map(self.keys.__getitem__, numbers)),
            self.index.members(labels),
            list(map(self.partitions.get, numbers, repeat(0))),
            list(map(self.kafka_names.get, numbers)),
            [_SHOWN.unpack_from(self._rows, number * ROW.size) for number in numbers],
        )

    def keyed(self, numbers: Sequence[int], rows: Sequence[TopicRow | None]) -> list[tuple[str, TopicRow]]:
        """Return the keys of the topics with these numbers, each with its row, without those whose row is None."""
        keys = list(map(self.keys.__getitem__, numbers))
        return [(key, row) for key, row in zip(keys, rows, strict=True) if row is not None]

    def _shown(self, number: int, labels: bytes, head: tuple[bytes, int, int]) -> TopicRow:
        event_id, place, offset = head
        pairs, etag = self.index.pairs(labels), made(Etag, (event_id, place))
        partitions, kafka_name = self.partitions.get(number, 0), self.kafka_names.get(number)
        return made(TopicRow, (pairs, partitions, kafka_name, etag, offset, self.grants.get(number, NO_GRANTS)))

    def put(self, name: str, key: str, topic: Aggregate) -> int:
        """Set the state of the topic `key` (full name `name`), with its labels and all indexes; return its number.

        Cost: that of `change` and `store`.
        """
        number = self.change(name, key, topic)
        self.store()
        return number

    def change(self, name: str, key: str, topic: Aggregate) -> int:
        """Note the state of the topic `key` (full name `name`), to be stored with `store`; return its number."""
        number = self.numbers.get(key)
        if number is None:
            number = self.numbers[key] = len(self.keys)
            self.keys.append(key)
            if key.startswith(FOREIGN):
                self.non_persistent.add(number)
            if is_system_topic(local_of_key(key)):
                self.system.add(number)
            self._payloads.append(b"")
            self._labels.append(NO_LABELS)
            self._rows.extend(bytes(ROW.size))
        self._unstored[number] = name, topic
        return number

    def store(self) -> None:
        """Write the row of each topic that was changed since the last time, and index it, once.

        Cost: O(payload + labels that differ) for each.
        """
        for number, (name, topic) in self._unstored.items():
            self._store(number, name, topic)
        self._unstored.clear()

    def _store(self, number: int, name: str, topic: Aggregate) -> None:
        was_live, (_, schema, payload) = number in self.live, self.stored(number)
        if topic.is_live and not was_live:
            self.live.add(number)
            self.names.add(number)
        elif was_live and not topic.is_live:
            self.live.discard(number)
            self.names.discard(number)
        new_hash = hash_of(_TOPIC, name, topic)
        self.digest_sum = add_hashes(self.digest_sum, new_hash, self.stored_hash(number))
        ROW.pack_into(
            self._rows, number * ROW.size, topic.version, topic.etag.event_id, topic.etag.place, topic.payload_schema,
            topic.offset, new_hash.to_bytes(16, "big"),
        )  # fmt: skip
        self._payloads[number] = topic.payload
        if (topic.is_live, topic.payload_schema, topic.payload) != (was_live, schema, payload):
            self._reindex(number, topic)

    def _reindex(self, number: int, topic: Aggregate) -> None:
        """Update all indexes except the names to what the payload of `topic`, which has that number, says.

        If that cannot be read, the topic has no labels and is listed in `undecodable`.
        """
        indexed = self.indexed(topic)
        if indexed is None:
            self.undecodable.add(number)
            indexed = NOTHING
        elif self.undecodable:
            self.undecodable.discard(number)
        if indexed.partitions:
            self.partitions[number] = indexed.partitions
        elif self.partitions:
            self.partitions.pop(number, None)
        if indexed.kafka_name is not None or self.kafka_names:
            self._name(number, indexed.kafka_name)
        if indexed.pending:
            self.pending.add(number)
        elif self.pending:
            self.pending.discard(number)
        if indexed.pending is Step.END:
            self.ending.add(number)
        elif self.ending:
            self.ending.discard(number)
        if indexed.grants or self.grants:
            self._grant(number, indexed.grants)
        labels = self._labels.of(number)
        if indexed.labels or labels:
            self._labels[number] = self.index.replace(number, labels, indexed.labels)

    def _name(self, number: int, kafka_name: str | None) -> None:
        self.named.replace(number, self.kafka_names.get(number), kafka_name)
        if kafka_name is not None:
            self.kafka_names[number] = kafka_name
        else:
            self.kafka_names.pop(number, None)

    def _grant(self, number: int, grants: Grants) -> None:
        self.granted.replace(number, self.grants.get(number, NO_GRANTS), grants)
        if grants:
            self.grants[number] = grants
        else:
            self.grants.pop(number, None)

    def labels(self, number: int) -> dict[str, str]:
        """Return the labels of the topic with that number; none if it is deleted or undecodable."""
        return self.index.labels(self._labels.of(number))

    def stored_hash(self, number: int) -> int:
        """Return the hash that was stored with the row, for checking against a fresh one."""
        start = number * ROW.size
        return int.from_bytes(self._rows[start + _HASH_AT : start + ROW.size], "big")

    def indexed(self, topic: Aggregate) -> Indexed | None:
        """Return the parts of `topic` to be indexed; None if it cannot be read. Cost: O(payload)."""
        return self._decode(topic.payload_schema, topic.payload) if topic.is_live else NOTHING

    @property
    def label_ids(self) -> ByteColumn:
        """The numbers, in `index`, of each topic's pairs. Not to be changed."""
        return self._labels

    def matching(self, labels: Mapping[str, str]) -> BitMap:
        """Return the live topics that have all of `labels`; all live topics if none are given. Not to be changed."""
        return select(self.index, self.live, Selector(tuple([Equals(key, value) for key, value in labels.items()])))

    def mentioning(self, numbers: Iterable[int], texts: Sequence[bytes]) -> list[int]:
        """Return those of `numbers` whose payloads contain all of `texts`; the last text is searched for first.

        No other topic's record can contain them. Cost: 0.1 to 0.5 µs a topic if that text is rare, 2 % of decoding
        records.
        """
        payload = self._payloads.of
        found = list(numbers)
        for text in reversed(texts):
            found = [number for number in found if text in payload(number)]
        return found

    def keys_of(self, numbers: BitMap) -> list[str]:
        """Return the keys of `numbers`, in the order of numbers.

        Cost: 30 ns a number; half of that if nearly all are wanted, because then whole ranges are copied, and a quarter
        if all are.
        """
        keys = self.keys
        left_out = numbers.flip(0, len(keys))
        if not left_out:
            return keys.copy()
        if len(left_out) * 32 > len(keys):
            return [keys[number] for number in numbers]
        found: list[str] = []
        start = 0
        for number in left_out:
            found += keys[start:number]
            start = number + 1
        return found + keys[start:]

    def __len__(self) -> int:
        return len(self.live)

    def __iter__(self) -> Iterator[int]:
        return iter(self.live)
