"""Much at once: reading the topics of many namespaces, and one call for each of many things, several in flight."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from itertools import islice
from queue import SimpleQueue
from typing import TypedDict, TypeVar, Unpack
from urllib.parse import quote

from topicfold.client.answers import Topic
from topicfold.client.client import Client
from topicfold.client.find_answers import Match
from topicfold.client.find_calls import SelectorForm
from topicfold.model.label_report import LabelCounts, count_labels
from topicfold.model.names import recorded_topic

_AT_ONCE = 8
NAMESPACES_A_QUERY = 100
_BYTES_A_QUERY = 16 * 1024
"""What a server takes of both, the latter with room for whatever else is asked."""

T = TypeVar("T")
R = TypeVar("R")


class Wanted(TypedDict, total=False):
    """Which topics, as `Client.topics`, `Client.find_topics` and `Client.watch` have it."""

    selector: SelectorForm | None
    labels: Mapping[str, str] | None
    match: Sequence[str] | None
    regex: str | None
    with_system_topics: bool


class WantedNow(Wanted, total=False):
    """The same, and so many at most."""

    limit: int | None


def topics_in(client: Client, namespaces: Sequence[str], **wanted: Unpack[WantedNow]) -> Collection[Topic]:
    """Return the topics of any number of namespaces, some namespaces a query; each once, whatever patterns overlap.

    Raises:
        NamespaceNotFound: one of these is missing.
    """
    found = (topic for some in _parts(namespaces) for topic in client.find_topics(namespaces=some, **wanted).topics)
    return {topic.name: topic for topic in found}.values()


def matches_in(
    client: Client, namespaces: Sequence[str], at: str | None, page_size: int | None, **wanted: Unpack[Wanted]
) -> Collection[Match]:
    """Return what `topics_in` does, but not the topics' whole records, which take a server ten times as long to write.

    With `at`, as they were at that time or position. With `page_size` only the first so many of each query.

    Raises:
        NamespaceNotFound: one of these is missing; with `at`, none of the namespaces of a query was there.
        Resync: it cannot be told any more.
    """
    found = (
        topic
        for some in _parts(namespaces)
        for topic in islice(client.topics(namespaces=some, at=at, page_size=page_size, **wanted), page_size)
    )
    return {topic.name: topic for topic in found}.values()


def label_counts(client: Client, namespaces: Sequence[str]) -> LabelCounts:
    """Return how many topics of any number of namespaces bear each label, several queries at once.

    Raises:
        NamespaceNotFound: one of these is missing.
    """

    def count(some: Sequence[str]) -> LabelCounts:
        found = client.topics(namespaces=some)
        return count_labels((recorded_topic(topic.name).namespace, topic.labels) for topic in found)

    topics: dict[str, int] = {}
    bearing: dict[tuple[str, str, str], int] = {}
    for counts in each_at_once("topicfold-counting", count, list(_parts(namespaces))):
        topics.update(counts.topics)
        bearing.update(counts.bearing)
    return LabelCounts(topics, bearing)


def count_topics(client: Client, namespaces: Sequence[str]) -> int:
    """Return how many topics any number of namespaces have, Pulsar's own among them.

    Raises:
        NamespaceNotFound: one of these is missing.
    """
    listings = (client.topics(namespaces=some, with_system_topics=True, page_size=1) for some in _parts(namespaces))
    return sum(next(listing.pages()).counts["matched"] for listing in listings)


def all_namespaces(client: Client) -> list[str]:
    """Return the names of all namespaces of all tenants that one may see."""
    return [name for tenant in client.list_tenants() for name in client.list_namespaces(tenant)]


def _parts(namespaces: Sequence[str]) -> Iterator[Sequence[str]]:
    part: list[str] = []
    size = 0
    for namespace in namespaces:
        more = len(f"&namespace={quote(namespace, safe='')}")
        if len(part) == NAMESPACES_A_QUERY or size + more > _BYTES_A_QUERY:
            yield part
            part, size = [], 0
        part.append(namespace)
        size += more
    if part:
        yield part


def each_at_once(name: str, call: Callable[[T], R], things: Collection[T]) -> Iterator[R]:
    """Yield what `call` returns for each of `things`, several at once, in the order they end; `name` is the threads'.

    What it raises ends it all, once the calls under way have ended: then some are made and some are not. Whoever is
    interrupted does not wait for these.
    """
    todo = deque(things)
    ended: SimpleQueue[Future[R]] = SimpleQueue()

    def work() -> None:
        with suppress(IndexError):
            while True:
                ended.put(_called(call, todo.popleft()))

    # An executor's threads would be waited for, by the interpreter too when it ends.
    workers = [threading.Thread(target=work, name=name, daemon=True) for _ in range(min(_AT_ONCE, len(things)))]
    for worker in workers:
        worker.start()
    try:
        for _ in things:
            yield ended.get().result()
    except Exception:
        todo.clear()
        for worker in workers:
            worker.join()
        raise
    finally:
        todo.clear()


def _called(call: Callable[[T], R], thing: T) -> Future[R]:
    future: Future[R] = Future()
    try:
        future.set_result(call(thing))
    except BaseException as error:  # noqa: BLE001 - raised where the result is asked for
        future.set_exception(error)
    return future
