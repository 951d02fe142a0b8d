"""Methods of a client for histories: read them, read an older version, roll back to it."""

from __future__ import annotations

from typing import Unpack

from topicfold.client import calls
from topicfold.client.answers import Topic, Written
from topicfold.client.call import Call, ChangeOptions, Query
from topicfold.client.declaring import asks
from topicfold.client.history_answers import HistoryPage
from topicfold.client.own_namespace import InOwnNamespace
from topicfold.client.paths import domain_query, native_namespace_path, native_topic_path, segment
from topicfold.model.names import check_tenant

DEFAULT_PAGE = 50


class HistoryCalls(InOwnNamespace):
    """Histories of topics, namespaces and tenants, also of deleted ones. They reach back as far as the log.

    Those of topics begin at the creation of the namespace.
    """

    @asks
    def history(self, topic: str, *, limit: int = DEFAULT_PAGE, before: str = "") -> Call[HistoryPage]:
        """Return who changed what of a topic, when and why: up to `limit` changes (at most 1,000), newest first.

        `before` is the `before` of the previous page.
        """
        name = self._in_full(topic)
        return _page(native_topic_path(name), domain_query(name), limit, before)

    @asks
    def namespace_history(self, namespace: str, *, limit: int = DEFAULT_PAGE, before: str = "") -> Call[HistoryPage]:
        """Return the same of a namespace. Changes of its topics are no part of it."""
        return _page(native_namespace_path(namespace), (), limit, before)

    @asks
    def tenant_history(self, tenant: str, *, limit: int = DEFAULT_PAGE, before: str = "") -> Call[HistoryPage]:
        """Return the same of a tenant: its roles, clusters and grants."""
        return _page(f"/api/v1/tenants/{segment(check_tenant(tenant))}", (), limit, before)

    @asks
    def get_topic_at(self, topic: str, at: str | int) -> Call[Topic]:
        """Return a topic's record as it was at an offset of its history (after that change), or at a position."""
        name = self._in_full(topic)
        return Call("GET", native_topic_path(name), calls.topic_in, (*domain_query(name), ("at", str(at))))

    @asks
    def roll_back(self, topic: str, to: str | int, **options: Unpack[ChangeOptions]) -> Call[Written]:
        """Restore the labels, properties and policies of a topic's version `to`: an ETag or an offset.

        Partitions and grants stay as they are. If there is no such version, `VersionNotFound` names the nearest in its
        `values`.
        """
        return calls.roll_back(self._in_full(topic), to, options)

    @asks
    def roll_back_namespace(self, namespace: str, to: str | int, **options: Unpack[ChangeOptions]) -> Call[Written]:
        """Restore the properties and policies of a namespace's version `to`, as `roll_back` does for a topic."""
        return calls.roll_back_namespace(namespace, to, options)


def _page(path: str, query: Query, limit: int, before: str) -> Call[HistoryPage]:
    query = (*query, ("limit", str(limit)), *([("before", before)] if before else ()))
    return Call("GET", f"{path}/history", lambda answer: HistoryPage.of(answer.body), query)
