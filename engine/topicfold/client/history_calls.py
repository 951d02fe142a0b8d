"""One function for each route about histories and older versions of topics. No I/O."""

from __future__ import annotations

from topicfold.client.answers import Topic, Written
from topicfold.client.call import Answer, Call, ChangeOptions, Query, change
from topicfold.client.history_answers import HistoryPage
from topicfold.client.paths import domain_query, native_topic_path


def get_history(topic: str, limit: int, before: str) -> Call[HistoryPage]:
    """Ask for a page of a topic's history."""

    def read(answer: Answer) -> HistoryPage:
        return HistoryPage.of(answer.body)

    query: Query = (("limit", str(limit)), *([("before", before)] if before else ()))
    return Call("GET", f"{native_topic_path(topic)}/history", read, domain_query(topic) + query)


def get_topic_at(topic: str, at: str | int) -> Call[Topic]:
    """Ask for a topic's record as it was at an offset or a position."""
    query = (*domain_query(topic), ("at", str(at)))
    return Call("GET", native_topic_path(topic), lambda answer: Topic.of(answer.body), query)


def roll_back(topic: str, to: str | int, o: ChangeOptions) -> Call[Written]:
    """Ask to give a topic back what a version of it said."""
    return change("POST", f"{native_topic_path(topic)}/rollback", o, query=domain_query(topic), body={"to": str(to)})
