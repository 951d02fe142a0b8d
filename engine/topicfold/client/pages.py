"""Pagers: topics that were found, one after another, each page asked for when it is reached."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

from topicfold.client.call import Call
from topicfold.client.find_answers import Match, Page
from topicfold.client.find_calls import Listing


class Pager:
    """Iterates over topics, sorted by name. Each iteration asks anew, from the first page on.

    A topic that matches from the first page to the last comes exactly once; each page is as of its own position.

        for topic in client.topics("team=pay"):
            print(topic.name, topic.labels)
    """

    def __init__(self, listing: Listing, perform: Callable[[Call[Page]], Page]) -> None:
        self._listing = listing
        self._perform = perform

    def __iter__(self) -> Iterator[Match]:
        for page in self.pages():
            yield from page.topics

    def pages(self) -> Iterator[Page]:
        """Yield the pages, with their positions and counts."""
        page = self._perform(self._listing.page())
        yield page
        while page.next:
            page = self._perform(self._listing.page(page.next))
            yield page


class AsyncPager:
    """The same for `async for`."""

    def __init__(self, listing: Listing, perform: Callable[[Call[Page]], Awaitable[Page]]) -> None:
        self._listing = listing
        self._perform = perform

    async def __aiter__(self) -> AsyncIterator[Match]:
        async for page in self.pages():
            for topic in page.topics:
                yield topic

    async def pages(self) -> AsyncIterator[Page]:
        """Yield the pages, with their positions and counts."""
        page = await self._perform(self._listing.page())
        yield page
        while page.next:
            page = await self._perform(self._listing.page(page.next))
            yield page
