"""HTTP connections: uvicorn's, with a time for the head of a request to arrive, our problems, and no trailers.

Whatever is sent that is no body is limited. What comes behind a body is not read as if it had come before it. Of
requests that come before others are answered, only few are read ahead. A client that does not read what it was
answered is cut off: else its connection would last as long as it does, answer and all.
Source: RFC 9110 section 6.5.1.
"""

from __future__ import annotations

import asyncio
import re
from typing import cast

import orjson
from starlette.types import Scope
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from topicfold.clock import random_id
from topicfold.errors import InvalidRequest, TooLarge, TopicfoldError
from topicfold.server.auth.certificates import credential_of_certificate
from topicfold.server.auth.peer import Peer, note_peer
from topicfold.server.connections.exchange import note_garbled
from topicfold.server.connections.long_answer import MAX_SECONDS
from topicfold.server.connections.request_parser import RequestParser
from topicfold.server.connections.stream import Line, note_line
from topicfold.server.guard import MAX_HEADER_BYTES
from topicfold.wire.headers import PROBLEM_TYPE
from topicfold.wire.problems import problem_of

HEAD_SECONDS = 30.0
MAX_HEAD_BYTES = 2 * 1024 * 1024
"""So much may come until there is a head, or more of a body. Below, a head that is too large is refused in words;
beyond, the connection is cut."""
MAX_KEPT_BYTES = 64 * 1024
"""So much of a head is kept, and what came with it; the rest of one that is larger is passed over. Kept, many small
headers take ten times the memory that they take on the way, and nobody knows yet who sends them."""
PIECE_BYTES = 8 * 1024
"""So much is read at once. Requests that wait for their turn take fifty times their bytes, and there may be thousands
in what the operating system hands over."""
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_END_OF_HEAD = b"\r\n\r\n"
_ABSOLUTE = re.compile(rb"[^/?]+://([^/?#]*)")


class _Answer:
    """What one answer is written to: its head goes out with the beginning of its body, even if that is empty.

    Each by itself takes a call of the system, and wakes the client.
    """

    __slots__ = ("_head", "_transport")

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._head: bytes | None = b""

    def write(self, data: bytes) -> None:
        """Keep the head; send all else."""
        if self._head is None or data == _CONTINUE:
            self._transport.write(data)
        elif self._head:
            self._send_head(self._head, data)
        else:
            self._head = data

    def close(self) -> None:
        """Close; of an answer that has no beginning of a body, nothing is sent."""
        self._transport.close()

    def is_closing(self) -> bool:
        """Return whether nothing can be sent any more."""
        return self._transport.is_closing()

    def _send_head(self, head: bytes, data: bytes) -> None:
        self._head = None
        if len(data) <= MAX_KEPT_BYTES:
            self._transport.write(head + data)
        else:
            self._transport.write(head)
            self._transport.write(data)


class Connection(HttpToolsProtocol):
    """One client's connection."""

    url = b""
    parser: RequestParser  # type: ignore[assignment]  # it is used as the library's
    _unread = b""
    _fruitless_bytes = 0
    _passed_over: bytes | None = None
    _head_timer: asyncio.TimerHandle | None = None
    _read_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Begin to wait for a head; TLS has shaken hands by now, and verified whatever certificate it was shown."""
        super().connection_made(transport)
        self.parser = RequestParser(self)
        certificate = transport.get_extra_info("peercert")
        certified = credential_of_certificate(certificate) if certificate else None
        self._peer = Peer(certified, is_nameless=bool(certificate) and certified is None)
        self._line = Line(transport, self.flow)
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._head_arrived()
        self._was_read()
        self._unset_keepalive_if_required()
        self._unread = b""
        super().connection_lost(exc)
        self._line.lost()

    def data_received(self, data: bytes) -> None:
        """Take bytes; those behind a request that waits for its turn are kept until it has had it."""
        self._unread += data
        self._read_on()

    def _read_on(self) -> None:
        while self._unread and not self.pipeline:
            piece, self._unread = self._unread[:PIECE_BYTES], self._unread[PIECE_BYTES:]
            self._take(piece)
        if self.pipeline and not self.transport.is_closing():
            self.flow.pause_reading()

    def _take(self, data: bytes) -> None:
        """Take a few bytes; a head, a chunk's line or trailers that have no end cut the connection."""
        self._fruitless_bytes += len(data)
        if self._fruitless_bytes > MAX_HEAD_BYTES:
            self.transport.abort()
        elif self.transport.is_closing():
            return
        elif self._passed_over is not None:
            self._pass_over(data)
        else:
            super().data_received(data)
            # The end of a head may have begun before what is shorter than it.
            if (
                self._head_timer is not None
                and self._fruitless_bytes > MAX_KEPT_BYTES
                and len(data) >= len(_END_OF_HEAD)
            ):
                self._begin_to_pass_over(data)

    def on_message_begin(self) -> None:
        """Begin to wait for this request's head, unless that has begun already."""
        super().on_message_begin()
        scope = cast("Scope", self.scope)
        note_peer(scope, self._peer)
        note_line(scope, self._line)
        if self._head_timer is None:
            self._await_head()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header, and no trailer."""
        if self._head_timer is not None:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Hand the request to the application, unless its head comes once more."""
        if not self.parser.is_to_repeat:
            self._head_arrived()
            self._hear_host_of_target()
            super().on_headers_complete()
            if self.scope["method"] != "HEAD":
                self.cycle.transport = _Answer(self.transport)  # type: ignore[assignment]  # all that is used of one

    def on_body(self, body: bytes) -> None:
        """Hand over what came of the body."""
        self._fruitless_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Tell the application that there is no more, unless this was but a head that comes once more."""
        if not self.parser.is_to_repeat:
            super().on_message_complete()

    def on_response_complete(self) -> None:
        """Go on with the next request; wait for the client to read, if there is much, or nothing follows."""
        super().on_response_complete()
        self._read_on()
        if self.flow.write_paused or self.transport.is_closing():
            self._await_reader()

    def timeout_keep_alive_handler(self) -> None:
        """Close, as soon as the client has read what it was sent."""
        super().timeout_keep_alive_handler()
        self._await_reader()

    def resume_writing(self) -> None:
        """Take note that the client has read most of what it was sent."""
        super().resume_writing()
        if not self.transport.is_closing():
            self._was_read()

    def give_up_body(self) -> None:
        """Cut the connection if a body is still to come: nothing was done for it, and nobody will answer."""
        if self.cycle is not None and self.cycle.more_body:
            self.transport.abort()

    def head_without_upgrade(self) -> bytes:
        """Return the head of the request that has just come, without Upgrade."""
        line = b"%b %b HTTP/%b" % (self.parser.get_method(), self.url, self.parser.get_http_version().encode())
        kept = [b"%b: %b" % header for header in self.headers if header[0] != b"upgrade"]
        return b"\r\n".join([line, *kept, b"", b""])

    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP with a problem document, and close.

        While requests are answered that came before it, it only makes theirs the last answers: a 400 would be taken for
        one of them, though what was asked may be done.
        """
        asked = self.cycle
        if asked is not None and not asked.response_complete:
            self._head_arrived()
            asked.keep_alive = False
            if asked.more_body:
                note_garbled(cast("Scope", asked.scope))
                asked.more_body = False
                asked.message_event.set()
            return
        error: TopicfoldError = InvalidRequest(msg.rstrip("."), hint="The request breaks the rules of HTTP/1.1.")
        if self._passed_over is not None:
            size = f"{self._fruitless_bytes} bytes of path and headers"
            error = TooLarge(f"{size}, at most {MAX_HEADER_BYTES} are allowed", limit=MAX_HEADER_BYTES)
        elif len(self.url) > MAX_HEADER_BYTES:
            error = TooLarge(f"the path has {len(self.url)} bytes, at most {MAX_HEADER_BYTES} are allowed")
        problem = problem_of(error, random_id().hex(), under_admin=False)
        body = orjson.dumps(problem)
        head = f"content-type: {PROBLEM_TYPE}\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
        self.transport.write(STATUS_LINE[problem["status"]] + head.encode() + body)
        self.transport.close()
        self._await_reader()

    def _hear_host_of_target(self) -> None:
        """Take the host in the request's target for its Host, where there is one: a proxy is asked so, and us too.

        A target that ends with it is the one of "/". Source: RFC 9112 section 3.2.2, RFC 9110 section 4.2.3.
        """
        if named := _ABSOLUTE.match(self.url):
            if self.url[named.end() : named.end() + 1] != b"/":
                self.url = b"%b/%b" % (named[0], self.url[named.end() :])
            self.headers[:] = [(name, named[1] if name == b"host" else value) for name, value in self.headers]

    def _begin_to_pass_over(self, data: bytes) -> None:
        """Forget the head that has come so far, which ends with `data`: it is too large whatever follows."""
        self.url = b""
        if self.headers:
            self.headers.clear()
        self.parser = RequestParser(self)
        self._passed_over = data[1 - len(_END_OF_HEAD) :]

    def _pass_over(self, data: bytes) -> None:
        """Pass over more of a head that is too large; once it has ended, say so."""
        seen = (self._passed_over or b"") + data
        self._passed_over = seen[1 - len(_END_OF_HEAD) :]
        if _END_OF_HEAD in seen:
            self.send_400_response("")

    def _await_head(self) -> None:
        self._fruitless_bytes = 0
        self._head_timer = self.loop.call_later(HEAD_SECONDS, self._head_is_late)

    def _head_is_late(self) -> None:
        """Cut the connection, unless it is we who do not read on."""
        if self.pipeline:
            self._head_timer = self.loop.call_later(HEAD_SECONDS, self._head_is_late)
        else:
            self.transport.abort()

    def _head_arrived(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None
            self._fruitless_bytes = 0

    def _await_reader(self) -> None:
        if self._read_timer is None:
            self._read_timer = self.loop.call_later(MAX_SECONDS, self.transport.abort)

    def _was_read(self) -> None:
        if self._read_timer is not None:
            self._read_timer.cancel()
            self._read_timer = None
