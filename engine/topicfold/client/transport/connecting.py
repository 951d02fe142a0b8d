"""How a client connects: to which URL, as whom, trusting whom. Settings become arguments of the HTTP library here."""

from __future__ import annotations

import re
import ssl
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import TypedDict

import httpx2

from topicfold import __version__
from topicfold.client.transport.environment import system_trust
from topicfold.client.transport.tls import RenewedTls
from topicfold.errors import BadSetting, InvalidRequest, TopicfoldError
from topicfold.loopback import is_loopback

DEFAULT_URL = "http://127.0.0.1:8080"

_MAX_PORT = 65535
_KEPT_CONNECTIONS = 20

Token = str | Callable[[], str]
"""A token, or what returns the one that is valid now: called before each request, it must not wait."""


class Identity(TypedDict, total=False):
    """How a client authenticates, and which servers it trusts; see `Sender`."""

    token: Token | None
    tls_ca_file: str | Path | None
    client_cert_file: str | Path | None
    client_key_file: str | Path | None


class HttpOptions(TypedDict):
    """Arguments that the HTTP library's two clients share."""

    headers: dict[str, str]
    auth: httpx2.Auth | None
    verify: ssl.SSLContext
    trust_env: bool
    limits: httpx2.Limits


def http_options(nodes: Sequence[httpx2.URL], identity: Identity) -> HttpOptions:
    """Return what an HTTP client of these nodes is made with.

    Raises:
        InvalidRequest: the token is none.
        BadSetting: a file cannot be read, or holds something else.
    """
    is_here = any(is_loopback(each.host) for each in nodes)
    is_tls = any(each.scheme == "https" for each in nodes)
    token, tls = identity.get("token"), _tls(identity)
    return HttpOptions(
        headers={"Accept": "application/json", "User-Agent": f"topicfold/{__version__}"},
        auth=_Proof(token or "", tls) if token or tls else None,
        verify=tls or _unnamed_trust(is_used=not is_here or is_tls),
        # A proxy of the environment is never meant for this machine itself.
        trust_env=not is_here,
        # Each watch holds a connection; calls must not wait for theirs.
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=_KEPT_CONNECTIONS),
    )


class _Proof(httpx2.Auth):
    """Has each request say who asks, and end a connection that was made with files which have changed."""

    def __init__(self, token: Token, tls: RenewedTls | None) -> None:
        """Raises InvalidRequest: no header can carry `token`."""
        self._token = token
        self._tls = tls
        if isinstance(token, str):
            _require_sendable(token)

    def auth_flow(self, request: httpx2.Request) -> Generator[httpx2.Request, httpx2.Response, None]:
        """Put the token, as it is now, on the request.

        Raises:
            InvalidRequest: no header can carry it.
            BadSetting: what returns it raised something else than our own errors, or returned no text.
        """
        if token := self._now():
            request.headers["Authorization"] = f"Bearer {token}"
        if self._tls is not None and self._tls.has_changed():
            request.headers["Connection"] = "close"
        yield request

    def _now(self) -> str:
        if isinstance(self._token, str):
            return self._token
        try:
            token: object = self._token()
        except TopicfoldError:
            raise
        except Exception as error:
            raise BadSetting(f"the token cannot be obtained: {type(error).__name__}: {error}") from error
        if not isinstance(token, str):
            raise BadSetting(f"the token cannot be obtained: what returns it returned {type(token).__name__}, not text")
        _require_sendable(token)
        return token


def _require_sendable(token: str) -> None:
    """Return if a header can carry `token`.

    Raises:
        InvalidRequest: none can.
    """
    if not (token.isascii() and token.isprintable()):
        hint = (
            "Strip it: there is white space around it, as where a file was read whole."
            if token != token.strip()
            else ""
        )
        raise InvalidRequest("the token holds characters that no header can carry", hint=hint)


def _unnamed_trust(*, is_used: bool) -> ssl.SSLContext:
    """Return what is trusted where nobody is named for it.

    To load all authorities takes longer than most commands. Who trusts none of them is as safe.

    Raises:
        BadSetting: the environment names a file of authorities that cannot be used.
    """
    return system_trust() if is_used else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _tls(identity: Identity) -> RenewedTls | None:
    """Return which servers are trusted, and what is shown to them; None where nothing is said of either.

    Raises:
        BadSetting: a file cannot be read, or holds something else, or a certificate that has expired.
    """
    ca_file, cert_file = identity.get("tls_ca_file"), identity.get("client_cert_file")
    key_file = identity.get("client_key_file")
    if key_file is not None and cert_file is None:
        raise BadSetting("client_key_file needs client_cert_file, the certificate that it belongs to")
    return None if ca_file is None and cert_file is None else RenewedTls(ca_file, cert_file, key_file)


def node_url(url: str) -> httpx2.URL:
    """Return the URL of a node, parsed.

    Raises:
        InvalidRequest: it is not one of HTTP, or has a user or a query in it, whose password or key each message
            would repeat.
    """
    try:
        parsed = httpx2.URL(url)
    except httpx2.InvalidURL as error:
        shown = re.split(r"[?#]", url.rpartition("@")[2])[0]
        raise InvalidRequest(f"{shown!r} is not a URL: {error}") from error
    if parsed.userinfo:
        raise InvalidRequest("a server's URL cannot contain a user or password", hint="Give a token instead.")
    if parsed.query or parsed.fragment:
        raise InvalidRequest("a server's URL cannot contain ? or #", hint="Leave the rest out.")
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise InvalidRequest(f"{url!r} is not the URL of a server", hint=f"Write it like {DEFAULT_URL}.")
    if parsed.port is not None and not 1 <= parsed.port <= _MAX_PORT:
        raise InvalidRequest(f"{url!r} is not the URL of a server: ports are 1 to {_MAX_PORT}")
    return parsed
