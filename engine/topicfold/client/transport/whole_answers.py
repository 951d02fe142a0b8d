"""Reads an answer whole, if it is not longer than any of Topicfold's: whoever sends it could fill all memory."""

from __future__ import annotations

import httpx2

from topicfold.client.call import NO_JSON, TOO_LONG, Answer
from topicfold.text.json_text import read_json

MAX_ANSWER_BYTES = 2 * 1024**3
"""The records of a million topics with five labels each take a quarter of it."""


def read_whole(response: httpx2.Response) -> Answer:
    """Return what `response` is, and close it.

    Raises:
        httpx2.TransportError, httpx2.DecodingError: it breaks off or is garbled, or nothing comes for too long.
    """
    body = _Body(response)
    try:
        for chunk in response.iter_bytes():
            if not body.takes(chunk):
                break
    finally:
        response.close()
    return body.answer()


async def read_whole_awaiting(response: httpx2.Response) -> Answer:
    """Return what `response` is, and close it, as `read_whole` does.

    Raises:
        httpx2.TransportError, httpx2.DecodingError: as that does.
    """
    body = _Body(response)
    try:
        async for chunk in response.aiter_bytes():
            if not body.takes(chunk):
                break
    finally:
        await response.aclose()
    return body.answer()


def headers_of(response: httpx2.Response) -> dict[str, str]:
    """Return the headers of a response, by lower-case names."""
    return {name.lower(): value for name, value in response.headers.items()}


class _Body:
    """What was read of an answer's body so far."""

    def __init__(self, response: httpx2.Response) -> None:
        self._status, self._headers = response.status_code, headers_of(response)
        self._content = bytearray()

    def takes(self, chunk: bytes) -> bool:
        """Return whether there may be more after `chunk`."""
        self._content += chunk
        return len(self._content) <= MAX_ANSWER_BYTES

    def answer(self) -> Answer:
        """Return the answer."""
        return Answer(self._status, self._headers, self._read())

    def _read(self) -> object:
        if len(self._content) > MAX_ANSWER_BYTES:
            return TOO_LONG
        try:
            return read_json(self._content) if self._content else None
        except ValueError:
            return NO_JSON
