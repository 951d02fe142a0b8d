"""Sending calls: connections, attempts, and what a thread remembers of its last answer.

What is sent and how answers are read is in `calls` and its neighbours, when to try again in `conversation`.
"""

from __future__ import annotations

import ssl
import threading
import time
from pathlib import Path
from typing import Any, Self, TypeVar

import httpx2

from topicfold import __version__
from topicfold.client.call import Answer, Call, age_seconds
from topicfold.client.conversation import Attempt, Conversation, NoAnswer, Pause, RetryRule, conversation
from topicfold.client.errors import UnexpectedAnswer
from topicfold.errors import BadSetting, InvalidRequest, Resync
from topicfold.wire import headers

DEFAULT_URL = "http://127.0.0.1:8080"
DEFAULT_TIMEOUT_SECONDS = 30.0

_CONNECT_SECONDS = 5.0
_MAX_PORT = 65535
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
_ANOTHER_NODE = 307
_NEVER_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.ProxyError)

T = TypeVar("T")


class Sender:
    """Performs calls over connections of its own. Threads may share one."""

    def __init__(
        self,
        url: str = DEFAULT_URL,
        *,
        timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
        read_your_writes: bool = True,
        retry: RetryRule | None = None,
        token: str | None = None,
        tls_ca_file: str | Path | None = None,
        client_cert_file: str | Path | None = None,
        client_key_file: str | Path | None = None,
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        """Prepare a client; nothing is sent yet. `url` without a scheme means `http://`.

        `token`, or the certificate in `client_cert_file`, says who asks, where the server wants to know. Servers are
        trusted that the system trusts, or those that `tls_ca_file` vouches for. `transport` replaces the network, say
        in tests.

        Raises:
            InvalidRequest: `url` is not one of HTTP, or `token` is none.
            BadSetting: a file cannot be read, or holds something else.
        """
        url = url if "://" in url else f"http://{url}"
        self.url = url.rstrip("/")
        self._timeout_seconds = timeout_seconds
        self._read_your_writes = read_your_writes
        self._retry = retry or RetryRule()
        self._remembered = threading.local()
        base_url = _base_url(url)
        is_here = base_url.host in _LOOPBACK
        is_plain = base_url.scheme == "http"
        self._http = httpx2.Client(
            base_url=base_url,
            headers={"Accept": "application/json", "User-Agent": f"topicfold/{__version__}", **_authorization(token)},
            transport=transport,
            # To load all authorities takes longer than most commands. Who trusts none of them is as safe.
            verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            if is_here and is_plain
            else _tls(tls_ca_file, client_cert_file, client_key_file),
            # A proxy of the environment is never meant for this machine itself.
            trust_env=not is_here,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    @property
    def position(self) -> str:
        """The position that this thread's last answer told, or "" before the first."""
        return getattr(self._remembered, "position", "")

    @property
    def age_seconds(self) -> float | None:
        """How old what this thread last read may be: the time since the server last saw the end of the log.

        None before the first read.
        """
        return getattr(self._remembered, "age_seconds", None)

    def perform(self, call: Call[T]) -> T:
        """Return what `call` asks for, and remember the position of the answer.

        Raises:
            TopicfoldError: what the server refused with, or why there is no answer.
        """
        dialogue = conversation(
            call,
            url=self.url,
            position=self.position if self._read_your_writes else "",
            timeout_seconds=self._timeout_seconds,
            rule=self._retry,
            clock=time.monotonic,
        )
        try:
            answer = self._drive(dialogue, call)
        except Resync:
            self._remembered.position = ""
            raise
        try:
            result, age = call.read(answer), age_seconds(answer)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise UnexpectedAnswer(
                f"{self.url} does not answer {call.method} {call.path} as Topicfold does",
                url=self.url,
                status=answer.status,
            ) from error
        self._remembered.position = answer.headers.get(headers.LOG_POSITION.lower(), self.position)
        if age is not None:
            self._remembered.age_seconds = age
        return result

    def _drive(self, dialogue: Conversation, call: Call[Any]) -> Answer:
        outcome: Answer | NoAnswer | None = None
        while True:
            try:
                step = dialogue.send(outcome)
            except StopIteration as end:
                answer: Answer = end.value
                return answer
            match step:
                case Attempt():
                    outcome = self._send(call, step)
                case Pause(seconds):
                    time.sleep(seconds)
                    outcome = None

    def _send(self, call: Call[Any], attempt: Attempt) -> Answer | NoAnswer:
        request = self._http.build_request(
            call.method,
            call.path,
            params=list(call.query) or None,
            json=call.body,
            headers=list(attempt.headers),
            timeout=httpx2.Timeout(attempt.timeout_seconds, connect=min(attempt.timeout_seconds, _CONNECT_SECONDS)),
        )
        try:
            response = self._http.send(request)
            if response.status_code == _ANOTHER_NODE and "location" in response.headers:
                response = self._http.send(_redirected(request, response.headers["location"]))
        except httpx2.TimeoutException as error:
            reason = f"timed out after {attempt.timeout_seconds:.3g} s"
            return NoAnswer(reason, was_sent=not isinstance(error, _NEVER_SENT))
        except (httpx2.TransportError, httpx2.DecodingError) as error:
            return NoAnswer(str(error) or type(error).__name__, was_sent=not isinstance(error, _NEVER_SENT))
        return Answer(response.status_code, {k.lower(): v for k, v in response.headers.items()}, _body(response))


def _redirected(request: httpx2.Request, location: str) -> httpx2.Request:
    """Return the same request for the node that the server names as the namespace's own.

    The token goes with it: the nodes are one service. A node is sent to once, and no further.
    """
    headers = [(name, value) for name, value in request.headers.raw if name.lower() != b"host"]
    return httpx2.Request(
        request.method,
        request.url.join(location),
        headers=headers,
        content=request.content,
        extensions=request.extensions,
    )


def _authorization(token: str | None) -> dict[str, str]:
    """Return the header that says who asks.

    Raises:
        InvalidRequest: no header can carry `token`.
    """
    if not token:
        return {}
    if not (token.isascii() and token.isprintable()):
        raise InvalidRequest("the token holds characters that no header can carry")
    return {"Authorization": f"Bearer {token}"}


def _tls(
    ca_file: str | Path | None, cert_file: str | Path | None, key_file: str | Path | None
) -> ssl.SSLContext | bool:
    """Return which servers are trusted, and what is shown to them; True is what the system trusts, and nothing.

    Raises:
        BadSetting: a file cannot be read, or holds something else.
    """
    if key_file is not None and cert_file is None:
        raise BadSetting("client_key_file needs client_cert_file, the certificate that it belongs to")
    if ca_file is None and cert_file is None:
        return True
    try:
        context = ssl.create_default_context(cafile=ca_file)
    except OSError as error:
        raise BadSetting(f"tls_ca_file {ca_file}: {error.strerror or error}") from None
    if cert_file is not None:
        try:
            context.load_cert_chain(cert_file, key_file)
        except OSError as error:
            raise BadSetting(f"client_cert_file {cert_file}: {error.strerror or error}") from None
    return context


def _base_url(url: str) -> httpx2.URL:
    """Return `url` parsed.

    Raises:
        InvalidRequest: it is not one of HTTP.
    """
    try:
        parsed = httpx2.URL(url)
    except httpx2.InvalidURL as error:
        raise InvalidRequest(f"{url!r} is not a URL: {error}") from error
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise InvalidRequest(f"{url!r} is not the URL of a server", hint=f"Write it like {DEFAULT_URL}.")
    if parsed.port is not None and not 1 <= parsed.port <= _MAX_PORT:
        raise InvalidRequest(f"{url!r} is not the URL of a server: ports are 1 to {_MAX_PORT}")
    return parsed


def _body(response: httpx2.Response) -> Any:
    try:
        return response.json() if response.content else None
    except ValueError:
        return None
