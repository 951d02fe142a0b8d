"""What both clients have in common: where they send, what each request carries, what they remember of answers. No I/O.

`blocking` and `awaiting` do the I/O. What is sent and how answers are read is said by the methods of clients
(`declaring`), when to try again in `conversation`.
"""

from __future__ import annotations

import os
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Generic, Never, TypeVar, Unpack
from weakref import WeakSet

import httpx2

from topicfold.client.argument_types import taking_what_it_states
from topicfold.client.call import Answer, Call, age_seconds, refusing_half_characters, require_confirmed
from topicfold.client.errors import UnexpectedAnswer
from topicfold.client.transport.connecting import DEFAULT_URL, Identity, http_options, node_url
from topicfold.client.transport.conversation import Attempt, Outcome, Pause, RetryRule, conversation
from topicfold.client.transport.environment import proxy_of
from topicfold.client.transport.silence import BROKE_OFF, HUNG_UP, NoAnswer, Server
from topicfold.errors import InvalidRequest, Resync, TopicfoldError
from topicfold.model.names import DEFAULT_NAMESPACE, parse_namespace
from topicfold.wire import headers
from topicfold.wire.positions import covering

DEFAULT_TIMEOUT_SECONDS = 30.0
_MAX_TIMEOUT_SECONDS = 86_400
"""A day: with no end at all, sockets raise an error of their own."""
CONNECT_SECONDS = 5.0
FAILURES = (httpx2.TransportError, httpx2.DecodingError)
"""What the HTTP library raises when there is no answer."""

_ANOTHER_NODE = 307
_NEVER_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.ProxyError)
_DISCONNECTED = "Server disconnected"
"""How the library begins where a connection was closed instead of an answer."""
_BROKE_OFF = "peer closed connection without sending complete message body"
"""The same where it was closed in the middle of one."""

T = TypeVar("T")
FramesT = TypeVar("FramesT")
HttpT = TypeVar("HttpT", httpx2.Client, httpx2.AsyncClient)
TransportT = TypeVar("TransportT", httpx2.BaseTransport, httpx2.AsyncBaseTransport)
Performance = Generator[Attempt | Pause, Outcome, T]


class Sender(ABC, Generic[HttpT, TransportT]):
    """Prepares requests and reads answers, for one that sends them."""

    @taking_what_it_states
    def __init__(
        self,
        url: str = DEFAULT_URL,
        *,
        namespace: str = DEFAULT_NAMESPACE,
        timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
        read_your_writes: bool = True,
        retry: RetryRule | None = None,
        transport: TransportT | None = None,
        **identity: Unpack[Identity],
    ) -> None:
        """Prepare a client; nothing is sent yet. A `url` without a scheme means `http://`.

        `url` may name several nodes, separated by commas. Each call goes to the one that answered last, at first to the
        first, and on to the next where it does not answer, or is not ready.

        `namespace` is where calls find and watch topics if they name no namespace, and where a topic named without a
        namespace is. `transport` replaces the network, for instance in tests. The client authenticates with `token`, or
        what a function returns that is given for it, or with the certificate in `client_cert_file`, whose key is in
        `client_key_file` or beside it. It trusts the certificate authorities in `tls_ca_file`, or those of the system
        if none is given. Files that change are read again for the next connection.

        Raises:
            InvalidRequest: `url` is not of HTTP URLs, `token` is malformed, or `timeout_seconds` is out of range; or an
                argument has the wrong type.
            InvalidName: `namespace` is not a valid name.
            BadSetting: a file cannot be read or has the wrong content, or the environment's proxy cannot be used.
        """
        if not 0 < timeout_seconds <= _MAX_TIMEOUT_SECONDS:
            raise InvalidRequest(
                f"timeout_seconds {timeout_seconds}: expected seconds above 0, at most {_MAX_TIMEOUT_SECONDS}"
            )
        named = [each if "://" in each else f"http://{each}" for each in map(str.strip, url.split(","))]
        nodes = [node_url(each) for each in named]
        urls = [each.rstrip("/") for each in named]
        self.url = ",".join(urls)
        self.namespace = parse_namespace(namespace)
        self._timeout_seconds = timeout_seconds
        self._read_your_writes = read_your_writes
        self._retry = retry or RetryRule()
        self._position = ""
        self._age_seconds: float | None = None
        self._options = http_options(nodes, identity)
        is_through_proxies = transport is None and self._options["trust_env"]
        self._server = Server(urls[0], proxy=proxy_of(nodes[0]) if is_through_proxies else "", others=tuple(urls[1:]))
        self._transport: TransportT | None = transport
        self._begin()
        _SENDERS.add(self)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.url}, namespace {self.namespace}>"

    def __reduce__(self) -> Never:
        """Say why it cannot be copied, or handed to a process that was not forked from this one.

        Raises:
            TypeError: always.
        """
        raise TypeError(f"{type(self).__name__} holds connections, and can be neither copied nor pickled: make another")

    @property
    def position(self) -> str:
        """The position that covers all answers so far, or "" before the first."""
        return self._position

    @property
    def age_seconds(self) -> float | None:
        """How old the last answer may be: the time since the server last saw the end of the log.

        None before the first read.
        """
        return self._age_seconds

    def ending(self, frames: FramesT) -> FramesT:
        """Return `frames`, which will be closed when this is."""
        with self._remembering:
            self._open.add(frames)
        return frames

    def _to_be_ended(self) -> list[Any]:
        with self._remembering:
            return list(self._open)

    def _begin(self) -> None:
        """Have locks, connections and watches of this process's own, also where it was forked from one that had some.

        The parent's lock may be held by a thread that is not here, and answers to the parent would arrive here too.
        """
        self._remembering = threading.Lock()
        self._open: WeakSet[Any] = WeakSet()
        self._http: HttpT = self._connect()

    @abstractmethod
    def _connect(self) -> HttpT:
        """Return the HTTP client that will send."""

    def _performance(self, call: Call[T]) -> Performance[T]:
        """Yield the attempts and pauses of `call`; return what it asks for, and remember the answer's position.

        Raises:
            TopicfoldError: what the server refused with, or why there is no answer.
        """
        position = self._position if self._read_your_writes else ""
        try:
            answer = yield from conversation(
                call,
                server=self._server,
                position=position,
                timeout_seconds=self._timeout_seconds,
                rule=self._retry,
                clock=time.monotonic,
                refused=self._remember_refusal,
            )
        except TopicfoldError as error:
            # Where an earlier attempt's outcome is unknown, the refusal is but the cause of what is raised.
            for each in (error, error.__cause__):
                if isinstance(each, Resync):
                    self._forget(each.values.get("position"))
            raise
        require_confirmed(call.confirms, answer, self.url)
        try:
            result = call.read(answer)
            self._remember(answer)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise UnexpectedAnswer(
                f"{self.url} does not answer {call.method} {call.path} as Topicfold does",
                url=self.url,
                status=answer.status,
            ) from error
        return result

    def _remember(self, answer: Answer) -> None:
        """Remember from where in the log an answer comes, if it says so, and how old it may be.

        Raises:
            ValueError: the age is no number.
        """
        age = age_seconds(answer)
        with self._remembering:
            self._position = covering(self._position, answer.headers.get(headers.LOG_POSITION.lower(), ""))
            self._age_seconds = self._age_seconds if age is None else age

    def _remember_refusal(self, answer: Answer) -> None:
        """Remember the same of a refusal, which is one whatever else it says."""
        with suppress(ValueError):
            self._remember(answer)

    def _forget(self, position: object) -> None:
        """Forget what was remembered, if it is this position: of another log."""
        with self._remembering:
            if position == self._position:
                self._position = ""

    def _request(self, call: Call[Any], attempt: Attempt) -> httpx2.Request:
        timeout = httpx2.Timeout(attempt.timeout_seconds, connect=min(attempt.timeout_seconds, CONNECT_SECONDS))
        with refusing_what_cannot_be_sent():
            return self._http.build_request(
                call.method,
                f"{attempt.url}{call.path}",
                params=list(call.query) or None,
                json=call.body,
                headers=list(attempt.headers),
                timeout=timeout,
            )


_SENDERS: WeakSet[Sender[Any, Any]] = WeakSet()


def _begin_in_child() -> None:
    for each in list(_SENDERS):
        each._begin()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_in_child)


@contextmanager
def refusing_what_cannot_be_sent() -> Iterator[None]:
    """Say in our words that the block made a request whose URL is too long, or of what UTF-8 or JSON cannot write.

    Raises:
        InvalidRequest: it did.
    """
    try:
        with refusing_half_characters():
            yield
    except httpx2.InvalidURL as error:
        raise InvalidRequest(
            f"this request cannot be sent: {error}", hint="Ask for less at once, say for fewer namespaces or patterns."
        ) from None
    except (TypeError, ValueError) as error:
        raise InvalidRequest(f"this request cannot be written as JSON: {error}") from None


def redirected(request: httpx2.Request, response: httpx2.Response) -> httpx2.Request | None:
    """Return the same request for the node that `response` names as the namespace's own; None if it names none.

    The token goes with it: the nodes are one service, and what is encrypted stays so. A node is sent to once, and no
    further.
    """
    if response.status_code != _ANOTHER_NODE:
        return None
    try:
        place = request.url.join(response.headers["location"])
    except (KeyError, httpx2.InvalidURL):
        return None
    if not place.host or place.scheme not in ("https", request.url.scheme):
        return None
    headers = [(name, value) for name, value in request.headers.raw if name.lower() != b"host"]
    return httpx2.Request(
        request.method,
        place,
        headers=headers,
        content=request.content,
        extensions=request.extensions,
    )


def silence_of(
    error: httpx2.TransportError | httpx2.DecodingError, timeout_seconds: float, onward: httpx2.Request | None = None
) -> NoAnswer:
    """Return what the failure of an attempt says about it; `onward` is what was sent on to another node."""
    timed_out = isinstance(error, httpx2.TimeoutException)
    match error:
        case httpx2.ConnectTimeout():
            reason = f"timed out after {min(timeout_seconds, CONNECT_SECONDS):.3g} s"
        case httpx2.TimeoutException():
            reason = f"timed out after {timeout_seconds:.3g} s"
        case httpx2.RemoteProtocolError() if str(error).startswith(_DISCONNECTED):
            reason = HUNG_UP
        case httpx2.RemoteProtocolError() if str(error).startswith(_BROKE_OFF):
            reason = BROKE_OFF
        case _:
            reason = str(error) or type(error).__name__
    url = "" if onward is None else f"{onward.url.scheme}://{onward.url.netloc.decode()}"
    return NoAnswer(reason, was_sent=not isinstance(error, _NEVER_SENT), url=url, timed_out=timed_out)
