"""Strict reading of request bodies: UTF-8 JSON with no duplicate key, no NaN, no depth, within the size limit."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from typing import Any

import orjson
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request

from topicfold.errors import InvalidRequest, Overloaded, TooLarge
from topicfold.server.connections.exchange import is_garbled
from topicfold.server.guard import HEADERS_KEY, MAX_BODY_BYTES
from topicfold.server.node import Node

MAX_DEPTH = 32
MERGE_PATCH_TYPE = "application/merge-patch+json"
METADATA_TYPE = "application/vnd.partitioned-topic-metadata+json"
"""What Pulsar's clients say of partitions with properties."""
_TOO_DEEP = f"the body is nested more than {MAX_DEPTH} levels deep"
_LARGE_BYTES = 16 * 1024
_NESTING = frozenset((dict, list))
_NO_MEMORY = "Not enough memory"
"""How orjson says so, as of a body that is wrong."""
_TAKEN_TYPES = ("", "application/json", "text/plain", METADATA_TYPE)


class _Duplicate(ValueError):
    """A key that an object holds twice."""


async def json_body(request: Request, node: Node) -> Any:
    """Return the body as JSON values, None where it is empty.

    Whatever charset its type names, a body is UTF-8.

    Raises:
        InvalidRequest: it is not JSON as we take it, or its chunks are none; says where.
        TooLarge: above `MAX_BODY_BYTES`; the rest is not read.
        HTTPException: its type is none that holds JSON, or it took longer than a request may.
        ClientDisconnect: the client left.
        Overloaded: there is not enough memory to read it.
    """
    media_type = request.scope[HEADERS_KEY].get(b"content-type", b"").decode("latin-1")
    taken = (*_TAKEN_TYPES, MERGE_PATCH_TYPE) if request.method == "PATCH" else _TAKEN_TYPES
    if media_type.partition(";")[0].strip().lower() not in taken:
        raise HTTPException(415, f"Content-Type {media_type[:80]!r} is not supported; send application/json")
    seconds = node.settings.request_timeout_seconds
    try:
        async with asyncio.timeout(seconds):
            raw = await _raw_body(request)
    except TimeoutError:
        raise HTTPException(408, f"the body did not arrive within {seconds:g} s") from None
    return await parse_json(raw) if raw.strip() else None


async def parse_json(raw: bytes) -> Any:
    """Return what `raw` says; others have their turn before and after each step with what is large.

    >>> asyncio.run(parse_json(b'{"labels": {"team": "pay"}}'))
    {'labels': {'team': 'pay'}}

    Raises:
        InvalidRequest: not JSON, not UTF-8, NaN or Infinity, a lone surrogate, nested too deeply, or a key twice.
        Overloaded: there is not enough memory to tell.
    """
    is_large = len(raw) > _LARGE_BYTES
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        if error.msg.startswith(_NO_MEMORY):
            raise Overloaded(
                "this node has not enough memory to read the body", hint="Send it again in a few seconds."
            ) from None
        raise InvalidRequest(f"the body is not JSON: {error}") from None
    if is_large:
        await asyncio.sleep(0)
    # With as many colons as members, no text holds one, and no member took the place of another.
    if raw.count(b":") != _count_members(value, MAX_DEPTH):
        if is_large:
            await asyncio.sleep(0)
        try:
            _TWICE.raw_decode(raw.decode().lstrip())
        except _Duplicate as error:
            raise InvalidRequest(f"the body holds the key {str(error)[:80]!r} twice in one object") from None
        except RecursionError:
            # Only orjson's own limit holds for a value whose place another took.
            raise InvalidRequest(_TOO_DEEP) from None
    if is_large:
        await asyncio.sleep(0)
    return value


async def _raw_body(request: Request) -> bytes:
    chunks: list[bytes] = []
    size = 0
    while True:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        if is_garbled(request.scope):
            raise InvalidRequest("the body breaks the rules of HTTP/1.1")
        chunk = message.get("body", b"")
        size += len(chunk)
        if size > MAX_BODY_BYTES:
            raise TooLarge(f"the body is larger than {MAX_BODY_BYTES} bytes", limit=MAX_BODY_BYTES)
        chunks.append(chunk)
        if not message.get("more_body"):
            return b"".join(chunks)


def _count_members(value: Any, left: int) -> int:
    """Return how many members all objects of a value hold together.

    Raises:
        InvalidRequest: more levels than are `left` are nested in it.
    """
    kind = type(value)
    if kind not in _NESTING:
        return 0
    if not left:
        raise InvalidRequest(_TOO_DEEP)
    members, within = (len(value), value.values()) if kind is dict else (0, value)
    for inner in within:
        if type(inner) in _NESTING:
            members += _count_members(inner, left - 1)
    return members


def _without_twins(pairs: list[tuple[str, Any]]) -> None:
    if len(dict(pairs)) < len(pairs):
        raise _Duplicate(Counter([key for key, _ in pairs]).most_common(1)[0][0])


_TWICE = json.JSONDecoder(object_pairs_hook=_without_twins)
"""Reads for duplicate keys alone: orjson, like most, takes the last of them silently."""
