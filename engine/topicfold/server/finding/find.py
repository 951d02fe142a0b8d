"""Finding topics under `/api/v1`: by labels, wildcards and a regular expression at once, over several namespaces.

With `limit` page by page, sorted by full name: each page is as of its own position, and a topic that matches all the
while is on exactly one page. Without it all at once and as of one position, as fast as the client reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from topicfold.errors import (
    InvalidPattern,
    InvalidRegex,
    InvalidSelector,
    NamespaceNotFound,
    Overloaded,
    TenantNotFound,
    TopicfoldError,
)
from topicfold.model.permissions import LIST_NAMESPACE
from topicfold.runtime.asking import Asked, Cut
from topicfold.runtime.cut import Cuts
from topicfold.runtime.finding.found import Found
from topicfold.server.asking import asked_to_find
from topicfold.server.auth.principal import actor_of
from topicfold.server.finding.found_answer import FoundAnswer
from topicfold.server.finding.found_items import RECORDS_AT_ONCE, FoundItems
from topicfold.server.finding.page_place import PagePlace, page_place
from topicfold.server.finding.past import AT_QUERY, found_then
from topicfold.server.finding.topic_query import NAMES, PARAMETERS, Wanted, wanted_in
from topicfold.server.listing import counted_if_long
from topicfold.server.node import Node
from topicfold.server.parameters import Choice, Count
from topicfold.server.queries import Query, one, query_of
from topicfold.server.routes import READ_ERRORS, Operation
from topicfold.wire import headers as names
from topicfold.wire.resources import FoundTopics

FIND_PATH = "/api/v1/topics"
MAX_PAGE = 1000
LIMIT = Count(
    "limit",
    "Topics per page, fewer if records are long; if left out, all topics as of one moment.",
    MAX_PAGE,
    "Leave it out for all topics at once.",
)
FIELDS = Choice(
    "fields",
    "`record`: include policies, properties and everything else in the record.",
    ("record",),
    hint="Leave it out for labels and versions.",
)

QUERY_ERRORS: tuple[type[TopicfoldError], ...] = (
    *READ_ERRORS, NamespaceNotFound, TenantNotFound, InvalidSelector, InvalidPattern, InvalidRegex,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Finder:
    """The handler."""

    node: Node

    async def find(self, request: Request) -> Response:
        """Answer the topics that match: a page of them, or all of them from one cut.

        Raises:
            InvalidRequest, InvalidSelector, InvalidPattern, InvalidRegex: the query is malformed, all of it refused.
            NamespaceNotFound, TenantNotFound: there is none of that name, or no such namespace at the time of `at`.
            Resync: `continue` is of another log, or what was at `at` cannot be told any more.
            Forbidden: `at`, and who asks may not list all topics of a namespace.
            Overloaded: too many or too long answers are being sent, or too much of the past is being made, or an
                expression takes too long.
        """
        node = self.node
        query = query_of(request, (*NAMES, *AT_QUERY, LIMIT.name, FIELDS.name, "continue"))
        wanted = wanted_in(request, query, node)
        limit = LIMIT.of(query)
        items = FoundItems(node, request, bool(FIELDS.of(query)), of_past="at" in query)
        place = _place(query, wanted, node)
        asked = asked_to_find(request, node)
        if (at := one(query, "at")) is not None:
            then = await found_then(request, node, wanted, at, place, asked)
            return await self._answered(request, FoundAnswer(wanted, *then, items, place), limit, Cuts())
        if place is not None:
            asked = asked._replace(minimum=place.revision.merged(asked.minimum))
        found, cut = await found_now(request, node, wanted, asked)
        answer = FoundAnswer(wanted, found, cut, items, place)
        return await self._answered(request, answer, limit, node.engine.tables.cuts)

    async def _answered(self, request: Request, answer: FoundAnswer, limit: int | None, cuts: Cuts) -> Response:
        """Return a page, or everything; `cuts` are those of the tables in which it was found."""
        most = RECORDS_AT_ONCE if answer.items.as_records else MAX_PAGE
        if limit is None and answer.found.count > most:
            on_end = self.node.long_answers.take(actor_of(request.scope))
            return answer.whole(cuts, on_end)
        page = await answer.page(limit or MAX_PAGE)
        return counted_if_long(page, request, self.node.in_flight, "ask for smaller pages with limit")


async def found_now(request: Request, node: Node, wanted: Wanted, asked: Asked) -> tuple[Found, Cut]:
    """Return the topics that match and that who asks may list, as of the moment that this returns.

    Raises:
        NamespaceNotFound, TenantNotFound: there is none of that name.
        PositionTimeout, NotReady, LogUnavailable, Overloaded: it cannot be told yet, or now.
    """
    partitions = wanted.namespaces.partitions(node.engine.identity.partitions)
    settled = await node.reading.settle(partitions, asked)
    node.reading.require_namespaces(wanted.namespaces)
    found = await node.finding.find(wanted.namespaces, wanted.query, partial(node.listable, request), asked=asked)
    return found, Cut(node.engine.revision(partitions).merged(asked.minimum), settled.age_seconds)


def _place(query: Query, wanted: Wanted, node: Node) -> PagePlace | None:
    """Return the place after which to go on, None for the first page.

    Raises:
        InvalidRequest, Resync: as `page_place`.
    """
    text = one(query, "continue")
    return None if text is None else page_place(text, wanted.text, node.engine.identity)


def operations(node: Node) -> Sequence[Operation]:
    """Return how topics are found."""
    return (
        Operation("findTopics", "GET", FIND_PATH, Finder(node).find, "Find topics", answer=FoundTopics,
                  needs=LIST_NAMESPACE,
                  query=PARAMETERS | AT_QUERY | LIMIT.declared | FIELDS.declared | {
                      "continue": "The `continue` of the previous page.",
                  },
                  headers=(names.QUERY,), errors=(*QUERY_ERRORS, Overloaded)),
    )  # fmt: skip
