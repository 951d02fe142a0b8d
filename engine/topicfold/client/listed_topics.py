"""Topics that match and that the server's topic listing names for a consumer's properties, told as a watch tells them.

A listing may be a plug-in of which watches know nothing, so it is asked again and again, as Pulsar's consumers do.

Source: PIP-452.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import suppress
from dataclasses import replace

from topicfold.client import calls
from topicfold.client.call import Answer, Call, names_in
from topicfold.client.client import Client
from topicfold.client.errors import QueryUnconfirmed
from topicfold.client.find import PAGE_SIZE
from topicfold.client.find_answers import Match
from topicfold.client.find_calls import Asked, Listing
from topicfold.client.frames import Added, Bookmark, Deleted, Frame, Modified
from topicfold.errors import InvalidRequest, ListingFailed, NamespaceNotFound, Resync, Wait
from topicfold.model.names import PERSISTENT, partition_base
from topicfold.model.namespaces import is_pattern
from topicfold.wire import headers
from topicfold.wire.confirmation import properties_text

_HINT = (
    "Have the server list by properties (TOPICFOLD_TOPIC_LISTING=by-properties), or leave them out. The default topic "
    "listing, all, ignores them, and an older server does not say what it uses."
)

_log = logging.getLogger(__name__)

PERIOD_SECONDS = 1.0
"""The shortest that Pulsar's `patternAutoDiscoveryPeriod` can be."""


class ListedTopics:
    """Frames of the persistent topics that `asked` asks for, as far as listings name them for `properties`.

    While the server is away, or its listing fails, nothing is told, and where its log is another one now, it is asked
    again; what it refuses is raised, and `QueryUnconfirmed` where its listing does not go by these very properties, or
    its finding by this very query: they would name more.
    Patterns of namespaces are refused, for listings are asked for by name.
    A namespace that is not there is refused at the beginning; one that ends later has no topics until it is back.
    """

    def __init__(self, client: Client, asked: Asked, properties: Mapping[str, str]) -> None:
        if pattern := next(filter(is_pattern, asked.namespaces), None):
            raise InvalidRequest(
                f"a topic listing is of one namespace, and properties are asked of {pattern}",
                hint="Name the namespaces, or leave the properties out.",
            )
        self._client = client
        self._asked = asked
        self._properties = properties
        self._closed = threading.Event()

    def __iter__(self) -> Iterator[Frame]:
        told = self._found({each: self._named(each) for each in self._asked.namespaces})
        yield from (Added("", topic) for topic in told.values())
        yield Bookmark("", is_initial=True)
        while not self._closed.wait(PERIOD_SECONDS):
            try:
                topics = self._found(self._named_where_there())
            except RuntimeError:
                if self._closed.is_set():
                    return  # the client that asks is closed as well
                raise
            except (Wait, Resync, ListingFailed, NamespaceNotFound) as error:
                # A namespace that ends between its listing and the finding is not there the next time, and a position
                # of the log of before is not sent again.
                _log.warning("%s; trying again", error.reason)
                continue
            yield from differences(told, topics)
            told = topics

    def close(self) -> None:
        """End the iteration."""
        self._closed.set()

    def _named_where_there(self) -> dict[str, Set[str]]:
        """Return what listings name, by namespace, without namespaces that are not there."""
        named = {}
        for namespace in self._asked.namespaces:
            with suppress(NamespaceNotFound):
                named[namespace] = self._named(namespace)
        return named

    def _named(self, namespace: str) -> Set[str]:
        """Return the full names that the listing of a namespace names, of partitioned topics too."""
        asked = properties_text(self._properties)
        names, confirmed = self._client.perform(listing_by(namespace, self._properties))
        if confirmed != asked:
            url = self._client.url
            raise QueryUnconfirmed(url=url, asked=f"properties {asked}", confirmed=confirmed, hint=_HINT)
        return with_partitioned(names)

    def _found(self, named: Mapping[str, Set[str]]) -> dict[str, Match]:
        """Return the topics that match, of those that listings named, in these namespaces."""
        if not named:
            return {}
        asked = replace(self._asked, namespaces=tuple(named))
        found = self._client.page_through(Listing(asked, PAGE_SIZE))
        names = frozenset().union(*named.values())
        return {topic.name: topic for topic in found if topic.name in names}


def with_partitioned(names: Iterable[str]) -> Set[str]:
    """Return `names` of a listing, and those of the partitioned topics whose partitions are among them."""
    return {whole for name in names for whole in (name, partition_base(name) or name)}


def listing_by(
    namespace: str, properties: Mapping[str, str], *, with_system_topics: bool = False
) -> Call[tuple[tuple[str, ...], str | None]]:
    """Ask for full names, and what the server says that its listing goes by, None where it does not say."""

    def read(answer: Answer) -> tuple[tuple[str, ...], str | None]:
        return names_in(answer), answer.headers.get(headers.PROPERTIES.lower())

    asked = calls.list_topics(namespace, PERSISTENT, {}, properties, with_system_topics=with_system_topics)
    return Call(asked.method, asked.path, read, asked.query)


def differences(old: Mapping[str, Match], new: Mapping[str, Match]) -> Iterator[Frame]:
    """Yield the frames that turn the one set of topics into the other."""
    for name, topic in old.items():
        if name not in new:
            yield Deleted("", topic)
    for name, topic in new.items():
        if name not in old:
            yield Added("", topic)
        elif topic != old[name]:
            yield Modified("", topic, old[name].labels)
