"""Answers too long to be made at once: a body that is made as fast as its client reads, and no faster."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping

import structlog
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from topicfold.errors import TopicfoldError
from topicfold.server.stream import close_body, line_of, open_body

_log = structlog.get_logger(__name__)

MAX_SECONDS = 120.0
"""For how long a client may take to read one answer: what it is made of is kept for it."""


class LongAnswer(Response):
    """A successful answer whose body comes in `parts`; `on_end` is called when no more of them are wanted.

    One that cannot be sent to its end cuts the connection: HTTP tells the client that it is not whole.
    """

    def __init__(
        self, parts: AsyncIterator[bytes], headers: Mapping[str, str], on_end: Callable[[], None], seconds: float
    ) -> None:
        super().__init__()
        self._parts = parts
        self._said = headers
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
            _log.warning("answer_cut", path=scope["path"], reason=str(error) or f"not read in {self._seconds:g} s")
            line_of(scope).abort()
            await asyncio.sleep(0)
        finally:
            self._on_end()
