"""Turns the headers of a request into what the engine wants to know about it (`Asked`)."""

from __future__ import annotations

import asyncio
import re
from functools import partial
from typing import Any
from urllib.parse import unquote_to_bytes

import orjson
from starlette.requests import Request

from topicfold.errors import InvalidRequest
from topicfold.model.permissions import LIST_TOPIC
from topicfold.model.records import NamespaceRecord
from topicfold.runtime.asking import Asked, Consistency, Cut
from topicfold.runtime.engine import Engine
from topicfold.runtime.revision import Revision, parse_revision
from topicfold.server.absence import said_of_absent_namespace
from topicfold.server.auth.principal import actor_of
from topicfold.server.connections.exchange import REQUEST_ID
from topicfold.server.connections.stream import is_client_gone
from topicfold.server.guard import HEADERS_KEY, Headers
from topicfold.server.node import Node
from topicfold.wire import headers as names

_ETAG = re.compile(r'"([\x21\x23-\x7e]{1,256})"')
_IF_MATCH = names.IF_MATCH.lower().encode()
_IF_NONE_MATCH = names.IF_NONE_MATCH.lower().encode()
_IDEMPOTENCY_KEY = names.IDEMPOTENCY_KEY.lower().encode()
_MIN_POSITION = names.MIN_POSITION.lower().encode()
_CHANGE_REASON = names.CHANGE_REASON.lower().encode()
_PULSAR = "/admin/"
_CONSISTENCY = names.CONSISTENCY.lower().encode()


def asked_to_read(request: Request, node: Node) -> Asked:
    """Return the circumstances of a read.

    Without a header that says more, a read under `/admin/v2` waits for a barrier: Pulsar's tools send no position.

    Raises:
        InvalidRequest: a header is malformed.
        Resync: the minimum position is one of another log.
    """
    if _takes_what_is_here(request):
        return Asked(_deadline(node))
    headers: Headers = request.scope[HEADERS_KEY]
    minimum = minimum_in(headers, node.engine)
    if _is_linearizable(headers):
        consistency = Consistency.LINEARIZABLE
    else:
        consistency = Consistency.BARRIER if minimum is None else Consistency.LOCAL
    return Asked(_deadline(node), minimum=minimum, consistency=consistency)


async def settled(request: Request, node: Node, *owners: str) -> Cut:
    """Return the cut that a read of these tenants or namespaces, of all for none, is answered from, once it is folded.

    Raises:
        InvalidRequest, Resync: as `asked_to_read`.
        NotReady, PositionTimeout, LogUnavailable: as `Reading.settle`.
    """
    partitions = [*map(node.engine.partition, owners)] or node.engine.states
    if _takes_what_is_here(request) and (cut := node.reading.cut(partitions)) is not None:
        return cut
    return await node.reading.settle(partitions, asked_to_read(request, node))


async def settled_namespace(request: Request, node: Node, name: str) -> tuple[NamespaceRecord, str, Cut]:
    """Return a live namespace's record and ETag, and the cut that they are from.

    Raises:
        InvalidRequest, Resync, NotReady, PositionTimeout, LogUnavailable: as `settled`.
        NamespaceNotFound: it is not there.
        Undecodable, NewerSchema: its record cannot be read.
    """
    cut = await settled(request, node, name)
    with said_of_absent_namespace(name):
        record, etag = node.reading.namespace(name)
    return record, etag, cut


async def settled_if_live(request: Request, node: Node, name: str) -> Cut:
    """Return the cut that a read of a live namespace is answered from, whatever its record.

    Raises:
        InvalidRequest, Resync, NotReady, PositionTimeout, LogUnavailable: as `settled`.
        NamespaceNotFound: it is not there.
    """
    cut = await settled(request, node, name)
    with said_of_absent_namespace(name):
        node.reading.require_namespace(name)
    return cut


def _takes_what_is_here(request: Request) -> bool:
    """Return whether a read waits for nothing."""
    headers: Headers = request.scope[HEADERS_KEY]
    is_plain = _MIN_POSITION not in headers and _CONSISTENCY not in headers
    return is_plain and not request.scope["path"].startswith(_PULSAR)


def asked_to_find(request: Request, node: Node) -> Asked:
    """Return the circumstances of a read that may take long: it is given up where the client is gone.

    Raises:
        InvalidRequest: a header is malformed.
        Resync: the minimum position is one of another log.
    """
    return asked_to_read(request, node)._replace(is_given_up=partial(is_client_gone, request.scope))


def asked_to_write(request: Request, node: Node, *meaning: Any) -> Asked:
    """Return the circumstances of a change. `meaning` is what it does, however it was spelt, as JSON values.

    Two requests with the same Idempotency-Key are the same if their meanings are.

    Raises:
        InvalidRequest: a header is malformed.
        Resync: the minimum position is one of another log.
    """
    headers: Headers = request.scope[HEADERS_KEY]
    _is_linearizable(headers)
    key = _key(headers)
    return Asked(
        _deadline(node),
        actor=actor_of(request.scope),
        reason=_reason(headers),
        request_id=headers[REQUEST_ID].decode(),
        method=request.scope["method"],
        key=key,
        body=b"" if key is None else orjson.dumps(meaning, option=orjson.OPT_SORT_KEYS),
        if_none_match=_if_none_match(headers),
        if_match=_if_match(headers),
        minimum=minimum_in(headers, node.engine),
        sees=lambda name: node.has(request, LIST_TOPIC, name),
    )


def _deadline(node: Node) -> float:
    return asyncio.get_running_loop().time() + node.settings.request_timeout_seconds


def minimum_in(headers: Headers, engine: Engine) -> Revision | None:
    """Return the position that a request must be answered at or behind, None where it names none.

    Raises:
        InvalidRequest: it is malformed.
        Resync: it is one of another log.
    """
    raw = headers.get(_MIN_POSITION)
    if raw is None:
        return None
    identity = engine.identity
    return parse_revision(raw.decode("latin-1"), identity.incarnation, identity.partitions)


def _is_linearizable(headers: Headers) -> bool:
    raw = headers.get(_CONSISTENCY)
    if raw is None:
        return False
    if raw.decode("latin-1").lower() != names.LINEARIZABLE:
        raise InvalidRequest(f"{names.CONSISTENCY} can only be {names.LINEARIZABLE}", hint="Or leave it out.")
    return True


def _key(headers: Headers) -> str | None:
    raw = headers.get(_IDEMPOTENCY_KEY)
    if raw is None:
        return None
    key = raw.decode("latin-1")
    limit = names.MAX_IDEMPOTENCY_KEY_LENGTH
    if not key or len(key) > limit or not (key.isascii() and key.isprintable()):
        raise InvalidRequest(f"{names.IDEMPOTENCY_KEY} must be 1 to {limit} printable ASCII characters")
    return key


def _if_none_match(headers: Headers) -> bool:
    """Return whether If-None-Match is given: `*`, for any other would change what nobody has seen.

    Source: RFC 9110, 13.1.2.
    """
    raw = headers.get(_IF_NONE_MATCH)
    if raw is None:
        return False
    if raw.strip() != b"*" or _IF_MATCH in headers:
        raise InvalidRequest(
            f"{names.IF_NONE_MATCH} of a change can only be *, without {names.IF_MATCH}", hint="Or leave it out."
        )
    return True


def _if_match(headers: Headers) -> str:
    """Return the one ETag of If-Match or `*`, or "" where it is not given; weak ETags and lists are not taken.

    Source: RFC 9110, 13.1.1.
    """
    raw = headers.get(_IF_MATCH)
    if raw is None:
        return ""
    text = raw.decode("latin-1").strip()
    if text == "*":
        return text
    match = _ETAG.fullmatch(text)
    if match is None:
        raise InvalidRequest(
            f"{names.IF_MATCH} {text[:80]!r} is not one strong ETag",
            hint="Send one ETag, in double quotes, and without the W/ that a proxy which compresses puts before it.",
        )
    return match[1]


def _reason(headers: Headers) -> str:
    """Return why the change is made: percent-escapes decoded, then UTF-8, else Latin-1."""
    raw = headers.get(_CHANGE_REASON)
    if raw is None:
        return ""
    octets = unquote_to_bytes(raw)
    try:
        text = octets.decode()
    except UnicodeDecodeError:
        text = octets.decode("latin-1")
    limit = names.MAX_CHANGE_REASON_LENGTH
    if len(text) > limit:
        raise InvalidRequest(f"{names.CHANGE_REASON} has {len(text)} characters, at most {limit} are allowed")
    if not text.isprintable():
        raise InvalidRequest(f"{names.CHANGE_REASON} holds characters that cannot be printed")
    return text
