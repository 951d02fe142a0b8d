"""Limits on long answers: how many are made at once, and how many of their bytes are being made or sent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from topicfold.errors import Overloaded
from topicfold.runtime.fair_semaphore import FairSemaphore
from topicfold.server.connections.principal_counts import PrincipalCounts

MADE_AT_ONCE = 4
"""Listings that are made at once, a slice of each in a turn of the loop; the others wait for theirs."""


class InFlight:
    """Bytes of answers: at most `limit`, and at most `limit_of_one` to one asker; one alone may have more.

    Who makes one has a `turn`, as few have at once: hundreds that only give way to the loop would each work in every
    turn of it, and whoever asks for something small would wait for all of them again and again.
    """

    def __init__(self, limit: int, limit_of_one: int) -> None:
        self._limit = limit
        self._limit_of_one = limit_of_one
        self._bytes = PrincipalCounts()
        self._turns = FairSemaphore(MADE_AT_ONCE)

    @asynccontextmanager
    async def turn(self, asker: str, deadline: float) -> AsyncIterator[None]:
        """Have a turn for as long as the block makes an answer, waited for until `deadline` by the loop's clock.

        Raises:
            Overloaded: others had all of them until then.
        """
        try:
            async with asyncio.timeout_at(deadline):
                await self._turns.acquire(asker)
        except TimeoutError:
            hint = "Try again in a few seconds, or list page by page with GET /api/v1/topics."
            raise Overloaded("too many topic listings are requested at once", hint=hint) from None
        try:
            yield
        finally:
            self._turns.release()

    def take(self, asker: str, size: int) -> None:
        """Count an answer of `size` bytes.

        Raises:
            Overloaded: there is no room for it now.
        """
        used, used_by_one = self._bytes.total(), self._bytes[asker]
        is_one_too_many = used_by_one and used_by_one + size > self._limit_of_one
        if is_one_too_many or (used and used + size > self._limit):
            found, to, limit = (
                (used_by_one, f" to {asker}", self._limit_of_one) if is_one_too_many else (used, "", self._limit)
            )
            raise Overloaded(
                f"{found} bytes of long answers{to} are being made or sent, and at most {limit} may be",
                hint="Try again in a few seconds, or list less: by labels, or page by page with GET /api/v1/topics.",
                limit=limit,
            )
        self._bytes.take(asker, size)

    @contextmanager
    def making(self, asker: str, size: int) -> Iterator[None]:
        """Count `size` bytes as long as the block makes an answer of them.

        Raises:
            Overloaded: there is no room for them now.
        """
        self.take(asker, size)
        try:
            yield
        finally:
            self.give_back(asker, size)

    def give_back(self, asker: str, size: int) -> None:
        """Count an answer no more: it is sent, or nobody is there to read it."""
        self._bytes.give_back(asker, size)
