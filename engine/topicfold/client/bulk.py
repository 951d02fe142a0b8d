"""Much at once: reading the topics of many namespaces, and one call for each of many things, several in flight."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TypedDict, TypeVar, Unpack

from topicfold.client.answers import Topic
from topicfold.client.client import Client
from topicfold.client.find_calls import SelectorForm

_AT_ONCE = 8
_NAMESPACES_A_QUERY = 50

T = TypeVar("T")
R = TypeVar("R")


class Wanted(TypedDict, total=False):
    """Which topics, as `Client.find_topics` has it."""

    selector: SelectorForm | None
    labels: Mapping[str, str]
    match: Sequence[str] | None
    regex: str | None
    with_system_topics: bool
    limit: int | None


def topics_in(client: Client, namespaces: Sequence[str], **wanted: Unpack[Wanted]) -> Iterator[Topic]:
    """Yield the topics of any number of namespaces, some namespaces a query.

    Raises:
        NamespaceNotFound: one of these is missing.
    """
    for start in range(0, len(namespaces), _NAMESPACES_A_QUERY):
        yield from client.find_topics(namespaces[start : start + _NAMESPACES_A_QUERY], **wanted).topics


def all_namespaces(client: Client) -> list[str]:
    """Return the names of all namespaces of all tenants that one may see."""
    return [name for tenant in client.list_tenants() for name in client.list_namespaces(tenant)]


def each_at_once(name: str, call: Callable[[T], R], things: Collection[T]) -> Iterator[R]:
    """Yield what `call` returns for each of `things`, several at once, in the order they end; `name` is the threads'.

    What it raises ends it all: then some calls are made and some are not.
    """
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix=name) as workers:
        try:
            for future in as_completed([workers.submit(call, thing) for thing in things]):
                yield future.result()
        finally:
            workers.shutdown(wait=False, cancel_futures=True)
