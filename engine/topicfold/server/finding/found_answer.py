"""The answer to a query for topics: one shape, written as a page or, in parts, as the whole.

    {"position": "AQ…", "counts": {"matched": 2, "namespaces": {"public/default": 2}},
     "items": [{"name": …, "labels": …, "partitions": …, "version": …, "position": …}, …], "continue": "AQ…"}

What stands before the items is known before the first of them is written.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from typing import Any

import orjson
from starlette.responses import Response

from topicfold.model.names import recorded_topic
from topicfold.model.topic_hash import MAX_HASHED, topic_list_hash
from topicfold.runtime.asking import Cut
from topicfold.runtime.cut import Cuts, NamespaceCut
from topicfold.runtime.finding.found import Found, Section
from topicfold.runtime.past.history import MAX_PAGE_BYTES
from topicfold.server.answers import JSON_TYPE, read_headers
from topicfold.server.connections.long_answer import LongAnswer
from topicfold.server.finding.found_items import FoundItems
from topicfold.server.finding.page_place import PagePlace
from topicfold.server.finding.topic_query import Wanted
from topicfold.wire import headers as names

Picked = list[tuple[Section, list[int]]]
"""Topics by section, in order."""


@dataclass(frozen=True, slots=True)
class FoundAnswer:
    """What was found at `cut`, to be told from after `place` on. Answer before the fold goes on."""

    wanted: Wanted
    found: Found
    cut: Cut
    items: FoundItems
    place: PagePlace | None

    async def page(self, limit: int) -> Response:
        """Return up to `limit` topics, fewer where their records are long, and what leads to those after them."""
        head, is_known = self._head()
        picked = [] if is_known else self.found.after(self.place.last if self.place else None, limit + 1)
        end: dict[str, str] = {}
        fitting = self._fitting(picked, limit)
        if sum(len(numbers) for _, numbers in picked) > fitting:
            picked = _first(fitting, picked)
            section, numbers = next(each for each in reversed(picked) if each[1])
            last = recorded_topic(section.names(numbers[-1:])[0])
            end["continue"] = PagePlace(last, self.cut.revision).text(self.wanted.text)
        written = await self.items.page([(section.namespace, section.table, numbers) for section, numbers in picked])
        return Response(b"%b%b%b" % (head, b",".join(written), _tail(end)), 200, self._headers, JSON_TYPE)

    def whole(self, cuts: Cuts, on_end: Callable[[], None]) -> Response:
        """Return all topics from one cut, made while they are sent; `on_end` is called when that is over."""
        head, is_known = self._head()
        last = self.place.last if self.place else None
        taken = [
            cuts.open(section.namespace, section.table, numbers)
            for section, numbers in ([] if is_known else self.found.all_after(last))
        ]
        headers = {"content-type": JSON_TYPE, **self._headers}
        return LongAnswer(self._parts(head, taken), headers, taken, on_end)

    async def _parts(self, head: bytes, cuts: Sequence[NamespaceCut]) -> AsyncIterator[bytes]:
        yield head
        separator = b""
        for cut in cuts:
            for numbers in cut.chunks(self.items.at_once):
                yield separator + b",".join(await self.items.of_cut(cut, numbers))
                separator = b","
            cut.close()
        yield _tail({})

    def _fitting(self, picked: Picked, limit: int) -> int:
        """Return how many of `picked` go onto a page of `limit`; of their records the last may be beyond the bytes."""
        if not self.items.as_records:
            return limit
        records = (len(section.table.row(number).payload) for section, numbers in picked for number in numbers)
        return sum(1 for before in islice(accumulate(records, initial=0), limit) if before < MAX_PAGE_BYTES)

    @property
    def _headers(self) -> dict[str, str]:
        return read_headers(self.cut) | {names.QUERY: self.wanted.text}

    def _head(self) -> tuple[bytes, bool]:
        """Return what stands before the items, and whether who asks has them already."""
        said: dict[str, Any] = {
            "position": str(self.cut.revision),
            "counts": {"matched": self.found.count, "namespaces": self.found.counts()},
        }
        if self.wanted.as_topic_list and self.place is None:
            said["hash"] = self._hash()
            said["changed"] = said["hash"] is None or said["hash"] != self.wanted.known_hash
        return orjson.dumps(said)[:-1] + b',"items":[', not said.get("changed", True)

    def _hash(self) -> str | None:
        """Return the hash of all names that were found, None where they are many."""
        if self.found.count > MAX_HASHED:
            return None
        return topic_list_hash(name for section in self.found.sections for name in section.names(section.numbers))


def _first(count: int, picked: Picked) -> Picked:
    """Return the first `count` topics of `picked`."""
    kept: Picked = []
    for section, numbers in picked:
        kept.append((section, numbers[:count]))
        count -= len(kept[-1][1])
    return kept


def _tail(end: dict[str, str]) -> bytes:
    """Return what stands after the items."""
    return b"]" + (b"," + orjson.dumps(end)[1:] if end else b"}")
