"""What a client can do with the histories of topics: read them, read older versions, go back to one."""

from __future__ import annotations

from typing import Unpack

from topicfold.client import calls
from topicfold.client.answers import Topic, Written
from topicfold.client.call import Call, ChangeOptions, Query
from topicfold.client.declaring import asks
from topicfold.client.history_answers import HistoryPage
from topicfold.client.own_namespace import InOwnNamespace
from topicfold.client.paths import domain_query, native_topic_path

DEFAULT_PAGE = 50


class HistoryCalls(InOwnNamespace):
    """Histories of topics, of those that were deleted too. They reach back as far as the log, within the namespace."""

    @asks
    def history(self, topic: str, *, limit: int = DEFAULT_PAGE, before: str = "") -> Call[HistoryPage]:
        """Return who changed what of a topic, when and why: up to `limit` changes (1,000 at most), the newest first.

        `before` is that of the page which this one follows.
        """
        name = self._in_full(topic)
        query: Query = (*domain_query(name), ("limit", str(limit)), *([("before", before)] if before else ()))
        return Call("GET", f"{native_topic_path(name)}/history", lambda answer: HistoryPage.of(answer.body), query)

    @asks
    def get_topic_at(self, topic: str, at: str | int) -> Call[Topic]:
        """Return a topic's record as it was right after the event at an offset of its history, or at a position."""
        name = self._in_full(topic)
        return Call("GET", native_topic_path(name), calls.topic_in, (*domain_query(name), ("at", str(at))))

    @asks
    def roll_back(self, topic: str, to: str | int, **options: Unpack[ChangeOptions]) -> Call[Written]:
        """Give a topic the labels, properties, policies and grants that it had in version `to`: an ETag or an offset.

        Its partitions stay. A version that it never had is `VersionNotFound`, with the nearest in its `values`.
        """
        return calls.roll_back(self._in_full(topic), to, options)
