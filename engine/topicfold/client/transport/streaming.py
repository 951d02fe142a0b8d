"""Requests that are answered with a stream of frames, and how such an answer begins."""

from __future__ import annotations

import httpx2

from topicfold.client.call import Answer
from topicfold.client.transport.sending import CONNECT_SECONDS, refusing_what_cannot_be_sent
from topicfold.client.transport.whole_answers import headers_of
from topicfold.client.watching import READ_SECONDS, WATCH_PATH, Open
from topicfold.wire import headers

OPENED = 200

_TIMEOUT = httpx2.Timeout(READ_SECONDS, connect=CONNECT_SECONDS, pool=CONNECT_SECONDS)
# Compressed, frames would wait for each other.
_HEADERS = {"Accept": headers.NDJSON_TYPE, "Accept-Encoding": "identity"}


def opening(http: httpx2.Client | httpx2.AsyncClient, step: Open) -> httpx2.Request:
    """Return the request that asks for a stream.

    Raises:
        InvalidRequest: its URL would be too long, or of what UTF-8 cannot write.
    """
    with refusing_what_cannot_be_sent():
        return http.build_request(
            "GET", f"{step.url}{WATCH_PATH}", params=list(step.query), headers=_HEADERS, timeout=_TIMEOUT
        )


def opening_of(response: httpx2.Response) -> Answer:
    """Return how a response begins that is read as it comes."""
    return Answer(response.status_code, headers_of(response), None)
