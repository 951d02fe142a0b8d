"""One request and its answer, as they pass through the guard."""

from __future__ import annotations

import asyncio
import time

from starlette.types import Message, Receive, Scope, Send

from topicfold.clock import random_id
from topicfold.wire import headers

LINGER_SECONDS = 0.5
REQUEST_ID = headers.REQUEST_ID.lower().encode()

_GARBLED = "topicfold.garbled"
_DRY_RUN = "topicfold.dry_run"
_ASKED = "topicfold.method"


class Exchange:
    """One request and its answer: names the request in the answer, and closes where a body was left unread.

    `unread_body` is true as long as some of the request's body may still come. `answered_at` is when the answer began,
    by the monotonic clock: the loop's, which is uvloop's, counts whole milliseconds, longer than most reads take.
    """

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send
        self.request_id = random_id().hex()
        self.status = 0
        self.answered_at = 0.0
        self.unread_body = True
        self._closes = False

    @property
    def has_started(self) -> bool:
        """Whether the answer is on its way."""
        return self.status != 0

    async def receive(self) -> Message:
        """Return the next part of the request."""
        message = await self._receive()
        if not message.get("more_body"):
            self.unread_body = False
        return message

    async def send(self, message: Message) -> None:
        """Send the next part of the answer."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.answered_at = time.monotonic()
            answer_headers = [*message["headers"], (REQUEST_ID, self.request_id.encode())]
            if self.unread_body:
                self._closes = True
                answer_headers.append((b"connection", b"close"))
            message = {**message, "headers": answer_headers}
        elif self._closes and not message.get("more_body"):
            await self._send({**message, "more_body": True})
            await self._linger()
            message = {"type": "http.response.body"}
        await self._send(message)

    async def _linger(self) -> None:
        """Read on for a moment: to close on a client that still sends would take the answer from it."""
        try:
            async with asyncio.timeout(LINGER_SECONDS):
                while self.unread_body:
                    await self.receive()
        except TimeoutError:
            return


def as_read(scope: Scope) -> Scope:
    """Return `scope`, that of a GET where HEAD is asked: answered the same, and the server leaves the body out."""
    return {**scope, "method": "GET", _ASKED: "HEAD"} if scope["method"] == "HEAD" else scope


def method_asked(scope: Scope) -> str:
    """Return the method that the client sent."""
    method: str = scope.get(_ASKED, scope["method"])
    return method


def note_garbled(scope: Scope) -> None:
    """Let whoever reads a request's body know that it ends in what is not HTTP."""
    scope[_GARBLED] = True


def is_garbled(scope: Scope) -> bool:
    """Return whether what came last of a request's body was not HTTP."""
    return _GARBLED in scope


def note_dry_run(scope: Scope) -> None:
    """Let whoever writes a request down know that it is to change nothing."""
    scope[_DRY_RUN] = True


def is_dry_run(scope: Scope) -> bool:
    """Return whether a request was understood as one that is to change nothing."""
    return _DRY_RUN in scope
