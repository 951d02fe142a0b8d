"""The guard: what is decided about a request before any route sees it, and the one place where errors become answers.

Pure ASGI. Refuses foreign hosts (DNS rebinding) and foreign pages (cross-site requests), doubled headers, bodies
that are encoded or too large. Routes see the path as it was sent, still percent-encoded, so that an encoded slash
never becomes a separator: each name is decoded once, by its route (`paths`).

Source: the Fetch Metadata specification; OWASP on DNS rebinding.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from functools import lru_cache

import structlog
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Receive, Scope, Send

from topicfold.errors import Forbidden, InvalidRequest, Overloaded, TooLarge, TopicfoldError, Unauthenticated
from topicfold.loopback import host_of, is_loopback
from topicfold.process.shortage import shortage_in
from topicfold.server.auth.audit import write_audit
from topicfold.server.connections.exchange import REQUEST_ID, Exchange, as_read, is_dry_run
from topicfold.server.metrics import Metrics
from topicfold.server.problems import problem_answer
from topicfold.wire import headers as names

_log = structlog.get_logger(__name__)

HEADERS_KEY = "topicfold.headers"
"""Where in the scope the headers are, as a dict of lower-case names to the only or first value."""

MAX_BODY_BYTES = 256 * 1024
MAX_HEADER_BYTES = 32 * 1024
"""A token, and a position in a log of as many partitions as there may be, take 22 KiB of them."""
MAX_TOKEN_BYTES = 8 * 1024

_SINGLE = frozenset(
    name.lower().encode()
    for name in (
        "Host", "Origin", "Sec-Fetch-Site", "Content-Type", "Content-Length", "Content-Encoding", "Transfer-Encoding",
        "Authorization", names.IF_MATCH, names.IDEMPOTENCY_KEY, names.MIN_POSITION, names.CHANGE_REASON,
        names.CONSISTENCY, names.REQUEST_ID,
    )
)  # fmt: skip
AUTHORIZATION = b"authorization"
_REQUEST_ID_FORM = re.compile(rb"[\x21-\x7e]{1,128}")

Headers = dict[bytes, bytes]


class Guard:
    """The outermost layer of the application.

    `allowed_hosts` are values of Host to take beside loopback's, with a port or for any port.
    """

    def __init__(self, app: ASGIApp, allowed_hosts: Iterable[str], metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics
        named = [host.lower() for host in allowed_hosts]
        allowed = frozenset((*named, *(host[1:-1] for host in named if host.endswith("]"))))

        @lru_cache(maxsize=64)
        def is_ours(netloc: str) -> bool:
            host = host_of(netloc)
            return is_loopback(host) or netloc.lower() in allowed or host.lower() in allowed

        self._is_ours = is_ours

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer why not."""
        started = time.monotonic()
        exchange = Exchange(receive, send)
        failure: Exception | None = None
        scope = as_read(scope)
        try:
            headers = take_headers(scope, exchange)
            scope[HEADERS_KEY] = headers
            self._check(scope, headers, exchange)
            await self._app(scope, exchange.receive, exchange.send)
        except ClientDisconnect as error:
            failure = error
        except (TopicfoldError, HTTPException) as error:
            failure = error
            if not exchange.has_started:
                await self._refuse(error, scope, exchange)
        except Exception as error:
            failure = error
            _log.exception("request_failed", request_id=exchange.request_id, method=scope["method"])
            if exchange.has_started:
                raise
            await self._refuse(_told(error, scope["method"]), scope, exchange)
        finally:
            if failure is not None or scope["method"] != "GET":
                write_audit(scope, exchange, failure)
            is_left = isinstance(failure, ClientDisconnect)
            # An error and this frame would hold each other, and the request's body, until they are collected: seldom.
            failure = None
        if is_left:
            return
        self._metrics.request(scope, exchange.status, exchange.answered_at - started, is_dry_run=is_dry_run(scope))

    async def _refuse(self, error: TopicfoldError | HTTPException, scope: Scope, exchange: Exchange) -> None:
        await problem_answer(error, scope, exchange.request_id)(scope, exchange.receive, exchange.send)

    def _check(self, scope: Scope, headers: Headers, exchange: Exchange) -> None:
        """Decide whether this request may come in, and make its path the one that was sent.

        Raises:
            Forbidden, InvalidRequest, TooLarge: it may not.
            HTTPException: its body is encoded.
        """
        if b"host" not in headers and scope.get("http_version") == "1.1":
            raise InvalidRequest("a request of HTTP/1.1 must have a Host header")
        host = headers.get(b"host", b"").decode("latin-1")
        if not (self._is_ours(host) or _is_connected_to(scope, host)):
            raise Forbidden(
                f"Host {host[:80]!r} is not served here",
                hint="Use localhost, or name the host in TOPICFOLD_ALLOWED_HOSTS.",
            )
        if scope["method"] != "GET":
            _check_origin(headers, host)
        _check_body(headers, exchange)
        try:
            scope["path"] = scope["raw_path"].decode("ascii")
        except UnicodeDecodeError:
            raise InvalidRequest("the path holds bytes that must be percent-encoded") from None


def take_headers(scope: Scope, exchange: Exchange) -> Headers:
    """Return the headers by name; a request without an id gets that of `exchange`, which else takes the request's.

    Raises:
        InvalidRequest: one that has one meaning is given twice, or the request's id is malformed.
        Unauthenticated: a token is given twice, or is what makes it all too large.
        TooLarge: together with the path above `MAX_HEADER_BYTES`.
    """
    headers: Headers = {}
    size = len(scope["raw_path"]) + len(scope["query_string"]) + len(": \r\n") * len(scope["headers"])
    for name, value in scope["headers"]:
        size += len(name) + len(value)
        if name not in headers:
            headers[name] = value.strip(b" \t")
        elif name == AUTHORIZATION:
            raise Unauthenticated("header Authorization is given twice")
        elif name in _SINGLE:
            raise InvalidRequest(f"header {name.decode('latin-1')} is given twice")
    if size > MAX_HEADER_BYTES:
        if len(headers.get(AUTHORIZATION, b"")) > MAX_TOKEN_BYTES:
            raise Unauthenticated(f"the token is longer than {MAX_TOKEN_BYTES} bytes")
        raise TooLarge(
            f"{size} bytes of path and headers, at most {MAX_HEADER_BYTES} are allowed", limit=MAX_HEADER_BYTES
        )
    request_id = headers.get(REQUEST_ID)
    if request_id is not None:
        if not _REQUEST_ID_FORM.fullmatch(request_id):
            raise InvalidRequest(f"{names.REQUEST_ID} must be 1 to 128 visible ASCII characters")
        exchange.request_id = request_id.decode()
    headers[REQUEST_ID] = exchange.request_id.encode()
    return headers


def _told(failure: Exception, method: str) -> TopicfoldError:
    """Return what whoever asked is told of a failure. Of a change nobody says that it was not made."""
    if method == "GET" and (shortage := shortage_in(failure)):
        hint = "Ask again in a few seconds. If it stays so, let this node have more, and restart it."
        return Overloaded(f"this node cannot answer now: {shortage}", hint=hint)
    return TopicfoldError(f"the server failed: {type(failure).__name__}")


def _is_connected_to(scope: Scope, netloc: str) -> bool:
    """Return whether `netloc` is the address that the client has connected to.

    A page whose name was made to lead here still has that name; one with this address came from here. Probes of
    Kubernetes and targets of Prometheus say no other.
    """
    server = scope.get("server")
    address = "" if server is None else server[0].lower().removeprefix("::ffff:")
    return address != "" and host_of(netloc).lower() == address


def _check_origin(headers: Headers, host: str) -> None:
    if headers.get(b"sec-fetch-site", b"").lower() == b"cross-site":
        raise Forbidden("a page of another site sent this request (Sec-Fetch-Site: cross-site)")
    origin = headers.get(b"origin")
    if origin is not None and origin.decode("latin-1").partition("://")[2].lower() != host.lower():
        raise Forbidden(f"a page of {origin.decode('latin-1')[:80]!r} sent this request, not one of {host!r}")


def _check_body(headers: Headers, exchange: Exchange) -> None:
    length = headers.get(b"content-length")
    is_chunked = b"transfer-encoding" in headers
    if not is_chunked and length in (None, b"0"):
        exchange.unread_body = False
        return
    encoding = headers.get(b"content-encoding", b"identity").decode("latin-1")
    if encoding.lower() != "identity":
        raise HTTPException(415, f"Content-Encoding {encoding[:40]!r}: only unencoded bodies are accepted")
    if length is None:
        return
    if is_chunked or not length.isdigit():
        raise InvalidRequest("Content-Length must be one number, and cannot be combined with Transfer-Encoding")
    if len(length) > 12 or int(length) > MAX_BODY_BYTES:
        raise TooLarge(f"the body is larger than {MAX_BODY_BYTES} bytes", limit=MAX_BODY_BYTES)
