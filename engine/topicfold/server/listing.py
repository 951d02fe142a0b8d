"""Listings under `/admin/v2`, as Pulsar has them: full names, a partitioned topic's as those of its partitions.

What is listed is what the node's topic listing chooses, of what exists, bears the labels asked for, and may be known
to who asks; Pulsar's own topics are left out last.

Source: PIP-452; `maxTopicListInFlightHeapMemSizeMB` of PIP-442.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from urllib.parse import unquote_plus

import orjson
from pyroaring import BitMap
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from topicfold.errors import InvalidName, InvalidRequest, ListingFailed, NamespaceNotFound, Overloaded
from topicfold.model.names import NON_PERSISTENT, PERSISTENT
from topicfold.model.namespaces import Namespaces
from topicfold.runtime.asking import Cut
from topicfold.runtime.finding.listed_names import count_names, listed_names, listing_query
from topicfold.runtime.finding.listings import Chosen
from topicfold.runtime.finding.topic_listing import ListingMode
from topicfold.server.absence import said_of_absent_namespace
from topicfold.server.answers import JSON_TYPE, joined, read_headers
from topicfold.server.asking import asked_to_read
from topicfold.server.auth.principal import actor_of
from topicfold.server.connections.in_flight import InFlight
from topicfold.server.connections.long_answer import MAX_SECONDS
from topicfold.server.connections.stream import client_has_read, line_of
from topicfold.server.node import Node
from topicfold.server.parameters import SYSTEM_TOPICS, Declared
from topicfold.server.paths import MALFORMED_ESCAPE, namespace_in
from topicfold.server.queries import LABEL_FILTERS, Query, equalities, label_filter, query_of
from topicfold.server.routes import READ_ERRORS
from topicfold.wire import headers
from topicfold.wire.confirmation import properties_text

LISTED = SYSTEM_TOPICS.declared | {
    f"{LABEL_FILTERS[0]}*": "`k1:v1,k2:v2`: only topics that have all of these labels. "
    "If repeated, each is one pair, taken literally.",
}
PROPERTIES: Declared = {
    "properties*": "`k1=v1,k2=v2`: properties for the node's topic listing; the listing `all` ignores them.",
    "property*": "`k=v`: one such property, taken literally; can be repeated.",
}
LISTING_ERRORS = (*READ_ERRORS, NamespaceNotFound, Overloaded, ListingFailed)

_CHUNK = 1024
_BYTES_A_NAME = 160
"""What a name takes while an answer is made of it: as a text, and twice as JSON."""
_SHORT_BYTES = 1 << 20
"""What a connection may hold in any case."""
_DOMAIN_OF_MODE = {
    ListingMode.PERSISTENT: PERSISTENT,
    ListingMode.NON_PERSISTENT: NON_PERSISTENT,
    ListingMode.ALL: None,
}


def listing_properties(query: Query) -> dict[str, str]:
    """Return the properties of a listing. As Pulsar reads them: what is no pair among `properties` is passed over.

    >>> listing_properties({"properties": ["team=pay,a%3Db=c=d,,=x,y,%ff=1"], "property": ["note=x,y"]})
    {'team': 'pay', 'a=b': 'c=d', 'note': 'x,y'}

    Raises:
        InvalidName: one of `property` is no pair, or a key is given two values.
    """
    properties: dict[str, str] = {}
    for piece in ",".join(query.get("properties", ())).split(","):
        key, equals, value = piece.partition("=")
        try:
            pair = _decoded(key), _decoded(value)
        except ValueError:
            continue
        if equals and pair[0]:
            properties[pair[0]] = pair[1]
    try:
        return properties | equalities(query, "property")
    except InvalidRequest as error:
        # 412, as PIP-468 has it.
        raise InvalidName(error.reason, hint=error.hint) from None


async def answer_listing(node: Node, request: Request, mode: ListingMode, properties: Mapping[str, str]) -> Response:
    """Return the names that a request for a listing is answered with.

    Raises:
        InvalidRequest: the query is malformed.
        NamespaceNotFound: there is no such namespace.
        ListingFailed: the topic listing does not work.
        Overloaded: too many bytes of listings are on their way, or too many listings are asked for at once.
    """
    namespace = namespace_in(request)
    query = query_of(request)
    labels = label_filter(query)
    with_system_topics = SYSTEM_TOPICS.of(query)
    asked = asked_to_read(request, node)
    partitions = [node.engine.partition(namespace)]
    settled = await node.reading.settle(partitions, asked)
    with said_of_absent_namespace(namespace):
        node.reading.require_namespace(namespace)
        chosen = await node.listings.choose(namespace, mode, properties)

        def choosable(namespace: str) -> BitMap:
            if node.engine.tables.of(namespace) is not chosen.table:
                raise Overloaded(f"{namespace} was ended while it was listed", hint="List it again.")
            listable = node.listable(request, namespace)
            return chosen.numbers if listable is None else chosen.numbers & listable

        query_for_all = listing_query(labels, with_system_topics=with_system_topics)
        async with node.in_flight.turn(actor_of(request.scope), asked.deadline):
            found = await node.finding.find(Namespaces((namespace,)), query_for_all, choosable)
            node.reading.require_namespace(namespace)
            cut = Cut(node.engine.revision(partitions).merged(asked.minimum), settled.age_seconds)
            with node.in_flight.making(asked.actor, _BYTES_A_NAME * count_names(found)):
                body = await _body(chosen, await listed_names(found, _DOMAIN_OF_MODE[mode]))
    said = read_headers(cut)
    if properties and node.listings.takes_properties:
        said[headers.PROPERTIES] = properties_text(properties)
    return CountedAnswer(Response(body, 200, said, JSON_TYPE), request, node.in_flight)


async def _body(chosen: Chosen, names: list[str]) -> bytes:
    """Return those of `names` that were chosen as JSON.

    They are let go as they are written: to free a million at once would hold the loop.
    """

    def written() -> Iterator[bytes]:
        for start in range(0, len(names), _CHUNK):
            some = names[start : start + _CHUNK]
            names[start : start + _CHUNK] = [""] * len(some)
            yield orjson.dumps(chosen.of(some))[1:-1]

    return await joined(written(), b"[]")


class CountedAnswer(Response):
    """An answer that is counted as long as it is on its way.

    Raises:
        Overloaded: there is no room for it.
    """

    def __init__(self, answer: Response, request: Request, in_flight: InFlight) -> None:
        super().__init__()
        self._answer = answer
        self._in_flight = in_flight
        self._asker = actor_of(request.scope)
        self._size = len(answer.body)
        in_flight.take(self._asker, self._size)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the answer, and wait until the client has read most of it."""
        try:
            await self._answer(scope, receive, send)
            async with asyncio.timeout(MAX_SECONDS):
                await client_has_read(scope)
        except TimeoutError:
            line_of(scope).abort()
        finally:
            self._in_flight.give_back(self._asker, self._size)


def counted_if_long(answer: Response, request: Request, in_flight: InFlight, instead: str) -> Response:
    """Return an answer, counted where it is long: nobody is kept from short ones by those who ask for much.

    `instead` says what else to do than to wait.

    Raises:
        Overloaded: there is no room for it now.
    """
    if len(answer.body) <= _SHORT_BYTES:
        return answer
    try:
        return CountedAnswer(answer, request, in_flight)
    except Overloaded as error:
        raise Overloaded(error.reason, hint=f"Try again in a few seconds, or {instead}.") from None


def _decoded(text: str) -> str:
    """Return a text percent-decoded once more, as Pulsar's admin clients encode it.

    Raises:
        ValueError: an escape is malformed, or what comes out is not UTF-8.
    """
    if MALFORMED_ESCAPE.search(text):
        raise ValueError(f"{text!r} holds a malformed escape")
    return unquote_plus(text, errors="strict")
