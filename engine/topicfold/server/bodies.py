"""Strict reading of request bodies: UTF-8 JSON with no duplicate key, no NaN, no depth, within the size limit."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import orjson
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request

from topicfold.errors import InvalidRequest, Overloaded, TooLarge
from topicfold.server.exchange import is_garbled
from topicfold.server.guard import HEADERS_KEY, MAX_BODY_BYTES
from topicfold.server.node import Node

MAX_DEPTH = 32
MERGE_PATCH_TYPE = "application/merge-patch+json"
METADATA_TYPE = "application/vnd.partitioned-topic-metadata+json"
"""What Pulsar's clients say of partitions with properties."""
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
    return parse_json(raw) if raw.strip() else None


def parse_json(raw: bytes) -> Any:
    """Return what `raw` says.

    >>> parse_json(b'{"labels": {"team": "pay"}}')
    {'labels': {'team': 'pay'}}

    Raises:
        InvalidRequest: not JSON, not UTF-8, NaN or Infinity, a lone surrogate, nested too deeply, or a key twice.
        Overloaded: there is not enough memory to tell.
    """
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        if error.msg.startswith(_NO_MEMORY):
            raise Overloaded(
                "this node has not enough memory to read the body", hint="Send it again in a few seconds."
            ) from None
        raise InvalidRequest(f"the body is not JSON: {error}") from None
    if isinstance(value, (dict, list)):
        _check_depth(value, MAX_DEPTH)
        try:
            _TWICE.raw_decode(raw.decode().lstrip())
        except _Duplicate as error:
            raise InvalidRequest(f"the body holds the key {str(error)[:80]!r} twice in one object") from None
        except ValueError:
            raise InvalidRequest("the body holds a number that is too long") from None
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


def _check_depth(value: Any, left: int) -> None:
    if not isinstance(value, (dict, list)):
        return
    if not left:
        raise InvalidRequest(f"the body is nested more than {MAX_DEPTH} levels deep")
    for inner in value.values() if isinstance(value, dict) else value:
        _check_depth(inner, left - 1)


def _without_twins(pairs: list[tuple[str, Any]]) -> None:
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            raise _Duplicate(key)
        seen.add(key)


_TWICE = json.JSONDecoder(object_pairs_hook=_without_twins)
"""Reads for duplicate keys alone: orjson, like most, takes the last of them silently."""
