"""HTTP to nodes on this machine, without TLS.

A client of httpx2 else reads the system's certificates first, which takes the processor 20 ms: for each request where
`httpx2.get` makes it, and for each look at whether a node is ready.
"""

from __future__ import annotations

import ssl
from functools import partial
from typing import Any

import httpx2

_OPTIONS: dict[str, Any] = {"verify": ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), "timeout": 60}


def client(**options: Any) -> httpx2.Client:
    """Return a client, to be closed."""
    return httpx2.Client(**_OPTIONS | options)


def async_client(**options: Any) -> httpx2.AsyncClient:
    """Return a client for asyncio, to be closed."""
    return httpx2.AsyncClient(**_OPTIONS | options)


def request(method: str, url: str, **options: Any) -> httpx2.Response:
    """Return the answer to one request."""
    return httpx2.request(method, url, **_OPTIONS | options)


get = partial(request, "GET")
put = partial(request, "PUT")
post = partial(request, "POST")
delete = partial(request, "DELETE")
