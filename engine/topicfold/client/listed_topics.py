"""Topics that match and that the server's topic listing names for a consumer's properties, told as a watch tells them.

A listing may be a plug-in of which watches know nothing, so it is asked again and again, as Pulsar's consumers do.

Source: PIP-452.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping

from topicfold.client.client import Client
from topicfold.client.find import PAGE_SIZE
from topicfold.client.find_answers import Match
from topicfold.client.find_calls import Asked, Listing
from topicfold.client.frames import Added, Bookmark, Deleted, Frame, Modified
from topicfold.errors import Wait
from topicfold.model.names import partition_base

PERIOD_SECONDS = 1.0
"""The shortest that Pulsar's `patternAutoDiscoveryPeriod` can be."""


class ListedTopics:
    """Frames of the persistent topics that `asked` asks for, as far as listings name them for `properties`.

    While the server is away nothing is told; what it refuses is raised.
    """

    def __init__(self, client: Client, asked: Asked, properties: Mapping[str, str]) -> None:
        self._client = client
        self._asked = asked
        self._properties = properties
        self._closed = threading.Event()

    def __iter__(self) -> Iterator[Frame]:
        told = self._topics()
        yield from (Added("", topic) for topic in told.values())
        yield Bookmark("", is_initial=True)
        while not self._closed.wait(PERIOD_SECONDS):
            try:
                topics = self._topics()
            except Wait:
                continue
            yield from differences(told, topics)
            told = topics

    def close(self) -> None:
        """End the iteration."""
        self._closed.set()

    def _topics(self) -> dict[str, Match]:
        listed: set[str] = set()
        for namespace in self._asked.namespaces:
            for name in self._client.list_topics(namespace, properties=self._properties):
                listed |= {name, partition_base(name) or name}
        found = self._client.page_through(Listing(self._asked, PAGE_SIZE))
        return {topic.name: topic for topic in found if topic.name in listed}


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
