"""Methods of a client for histories of topics: read them, read an older version, roll back to it."""

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
    """Histories of topics, also of deleted ones. They reach back as far as the log, and to the namespace's creation."""

    @asks
    def history(self, topic: str, *, limit: int = DEFAULT_PAGE, before: str = "") -> Call[HistoryPage]:
        """Return who changed what of a topic, when and why: up to `limit` changes (at most 1,000), newest first.

        `before` is the `before` of the previous page.
        """
        name = self._in_full(topic)
        query: Query = (*domain_query(name), ("limit", str(limit)), *([("before", before)] if before else ()))
        return Call("GET", f"{native_topic_path(name)}/history", lambda answer: HistoryPage.of(answer.body), query)

    @asks
    def get_topic_at(self, topic: str, at: str | int) -> Call[Topic]:
        """Return a topic's record as it was at an offset of its history (after that change), or at a position."""
        name = self._in_full(topic)
        return Call("GET", native_topic_path(name), calls.topic_in, (*domain_query(name), ("at", str(at))))

    @asks
    def roll_back(self, topic: str, to: str | int, **options: Unpack[ChangeOptions]) -> Call[Written]:
        """Restore the labels, properties, policies and grants of a topic's version `to`: an ETag or an offset.

        The partitions stay as they are. If there is no such version, `VersionNotFound` names the nearest in its
        `values`.
        """
        return calls.roll_back(self._in_full(topic), to, options)
