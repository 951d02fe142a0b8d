"""Pagers: iterators over found topics that request each page when it is reached."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

from topicfold.client.call import Call
from topicfold.client.find_answers import Match, Page
from topicfold.client.find_calls import Listing


class Pager:
    """Iterates over topics, sorted by name. Each iteration starts again from the first page.

    A topic that matches throughout the iteration is returned exactly once. Each page has a position of its own.

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
    """`Pager` for `async for`."""

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
