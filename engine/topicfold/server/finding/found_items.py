"""Items of a find: topics as every frame shows them and, with `fields=record`, their whole records as well."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import starmap
from typing import Any

import orjson
from starlette.requests import Request

from topicfold.errors import Resync
from topicfold.log.codec import decode_event
from topicfold.log.payload import MAX_PAYLOAD_BYTES, decode_topic
from topicfold.model.names import recorded_topic, topic_of_key
from topicfold.model.permissions import READ_NAMESPACE, READ_TOPIC
from topicfold.runtime.cut import NamespaceCut
from topicfold.runtime.past.history import MAX_PAGE_BYTES
from topicfold.runtime.reading import TopicView
from topicfold.runtime.slices import CHUNK, Slice
from topicfold.server.node import Node
from topicfold.server.topic_items import TopicWriter
from topicfold.state.change import TopicRow
from topicfold.state.topic_table import TopicTable
from topicfold.wire.resources import topic_item

Row = tuple[str, TopicRow]
"""A topic's key, and what was shown of it."""

RECORDS_AT_ONCE = MAX_PAGE_BYTES // MAX_PAYLOAD_BYTES
"""Records that are written at once whatever their length."""
LABELS_AT_ONCE = 8_192
"""Labels that are written at once: a thousand topics with eight each."""

_READERS_ONLY = ("policies", "properties")


@dataclass(frozen=True, slots=True)
class FoundItems:
    """Writes items for who sent `request`; `as_records` with what records hold.

    What was is for those who may read the namespace: a grant on a topic is one on what that is now.
    """

    node: Node
    request: Request
    as_records: bool
    of_past: bool = False

    @property
    def at_once(self) -> int:
        """How many are written as one part of an answer that goes on."""
        return RECORDS_AT_ONCE if self.as_records else CHUNK

    async def page(self, picked: Sequence[tuple[str, TopicTable, Sequence[int]]]) -> list[bytes]:
        """Return topics that are shown now, by namespace, as JSON, all as they are now.

        Raises:
            LogUnavailable, Resync: a record that has changed meanwhile cannot be had of the log.
        """
        if self._is_soon_written((table, numbers) for _, table, numbers in picked):
            return [written for each in picked for written in self._as_now(*each)]
        rows = [table.keyed(numbers, table.shown_all(numbers)) for _, table, numbers in picked]
        found = []
        for (namespace, table, _), some in zip(picked, rows, strict=True):
            found += await self._written(namespace, table, some)
        return found

    async def of_cut(self, cut: NamespaceCut, numbers: Sequence[int]) -> list[bytes]:
        """Return topics that were just taken of `cut` as JSON, each as it was then.

        Raises:
            LogUnavailable, Resync: a record that has changed meanwhile cannot be had of the log.
        """
        if cut.is_unchanged(numbers) and self._is_soon_written([(cut.table, numbers)]):
            return self._as_now(cut.namespace, cut.table, numbers)
        return await self._written(cut.namespace, cut.table, cut.rows(numbers))

    def _is_soon_written(self, picked: Iterable[tuple[TopicTable, Sequence[int]]]) -> bool:
        """Return whether topics are so little to write that all of them may be in one turn of the loop."""
        return not self.as_records and sum(starmap(TopicTable.count_labels, picked)) <= LABELS_AT_ONCE

    def _as_now(self, namespace: str, table: TopicTable, numbers: Sequence[int]) -> list[bytes]:
        return TopicWriter(self.node.engine.identity, namespace).write_all(table.shown_columns(numbers))

    async def _written(self, namespace: str, table: TopicTable, rows: Sequence[Row]) -> list[bytes]:
        """Return topics of a namespace as JSON, each as it was when its row was read.

        In slices, for records and labels may be large; records that have changed since then are read from the log.

        Raises:
            LogUnavailable: the log does not answer.
            Resync: it no longer holds such a record.
        """
        write = TopicWriter(self.node.engine.identity, namespace).write
        work = Slice()
        written: list[bytes] = []
        for key, row in rows:
            item = write(key, row)
            if self.as_records:
                record = orjson.dumps(await self._record(namespace, table, key, row))
                item = b"%b,%b" % (item[:-1], record[1:])
            written.append(item)
            await work.rest()
        return written

    async def _record(self, namespace: str, table: TopicTable, key: str, row: TopicRow) -> dict[str, Any]:
        """Return what a record adds to its row; to who may list topics and no more nothing that policies say."""
        stored = table.row(table.numbers[key])
        schema, payload = stored.payload_schema, stored.payload
        if stored.offset != row.offset:
            schema, payload = await self._payload_at(namespace, row.offset)
        view = TopicView(topic_of_key(namespace, key), str(row.etag), decode_topic(schema, payload))
        item = topic_item(view)
        for member in ("name", "labels", "partitions"):
            del item[member]
        if row.kafka_name is not None:
            del item["kafkaName"]
        if not self._may_read(namespace, key):
            for member in _READERS_ONLY:
                item.pop(member)
        return item

    def _may_read(self, namespace: str, key: str) -> bool:
        """Return whether who asks may do more than list a topic."""
        node, request = self.node, self.request
        if node.has(request, READ_NAMESPACE, namespace):
            return True
        return not self.of_past and node.has(request, READ_TOPIC, recorded_topic(topic_of_key(namespace, key)))

    async def _payload_at(self, namespace: str, offset: int) -> tuple[int, bytes]:
        engine = self.node.engine
        entries = await engine.log.read(engine.partition(namespace), offset, 1)
        event = decode_event(entries[0].value) if entries and entries[0].offset == offset else None
        if event is None:
            raise Resync("the log no longer holds a record that was found")
        return event.payload_schema, event.payload
