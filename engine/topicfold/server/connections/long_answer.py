"""Answers too long to be made at once: the body is made only as fast as its client reads. How many there may be."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import structlog
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from topicfold.errors import Overloaded, TopicfoldError
from topicfold.runtime.cut import NamespaceCut
from topicfold.server.connections.principal_counts import PrincipalCounts
from topicfold.server.connections.stream import close_body, line_of, open_body

_log = structlog.get_logger(__name__)

MAX_SECONDS = 120.0
"""For how long a client may take to read one answer: what it is made of is kept for it."""
MAX_LONG_ANSWERS = 64
"""Answers of more than is written at once that are on their way."""
MAX_LONG_ANSWERS_OF_ONE = 16
"""Those of one principal, with authentication: who does not read his leaves room for others."""


@dataclass(frozen=True, slots=True)
class LongAnswers:
    """How many are being sent, and to whom. Where it `knows_principals`, none of them has all."""

    knows_principals: bool
    counts: PrincipalCounts = field(default_factory=PrincipalCounts)

    def take(self, principal: str) -> Callable[[], None]:
        """Count one more to `principal`, and return what is to be called when it is over.

        Raises:
            Overloaded: there must not be one more.
        """
        is_one_too_many = self.knows_principals and self.counts[principal] >= MAX_LONG_ANSWERS_OF_ONE
        if is_one_too_many or self.counts.total() >= MAX_LONG_ANSWERS:
            limit, to = (MAX_LONG_ANSWERS_OF_ONE, f" to {principal}") if is_one_too_many else (MAX_LONG_ANSWERS, "")
            raise Overloaded(
                f"{limit} long answers are being sent{to}",
                hint="Try again in a few seconds, or ask for pages with limit.",
            )
        self.counts.take(principal)
        return partial(self.counts.give_back, principal)


class LongAnswer(Response):
    """A successful answer whose body comes in `parts`, made from `cuts`.

    When no more of it is wanted, the cuts are closed and `on_end` is called.

    One that cannot be sent to its end cuts the connection: HTTP tells the client that it is not whole.
    """

    def __init__(
        self,
        parts: AsyncIterator[bytes],
        headers: Mapping[str, str],
        cuts: Sequence[NamespaceCut],
        on_end: Callable[[], None],
        seconds: float = MAX_SECONDS,
    ) -> None:
        super().__init__()
        self._parts = parts
        self._said = headers
        self._cuts = cuts
        self._on_end = on_end
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the answer."""
        request = Request(scope, receive)
        try:
            await open_body(send, self._said)
            async with asyncio.timeout(self._seconds):
                async for part in self._parts:
                    # Others have their turn meanwhile.
                    if await request.is_disconnected():
                        return
                    await send({"type": "http.response.body", "body": part, "more_body": True})
            await close_body(send)
        except (TimeoutError, TopicfoldError) as error:
            reason = str(error) or f"not sent whole in {self._seconds:g} s"
            _log.warning("answer_cut", path=scope["path"], reason=reason)
            line_of(scope).abort()
            await asyncio.sleep(0)
        finally:
            for cut in self._cuts:
                cut.close()
            self._on_end()
