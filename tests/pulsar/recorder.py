"""A server that only notes requests: shows what a client sends, whatever server it is meant for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any


@dataclass(frozen=True, slots=True)
class Sent:
    """One request; `body` is None where there was none."""

    method: str
    target: str
    content_type: str | None = None
    body: Any = None


@dataclass(slots=True)
class Recorder:
    """What has been sent so far, oldest first."""

    url: str
    sent: list[Sent] = field(default_factory=list)


@contextmanager
def recorder() -> Iterator[Recorder]:
    """Answer 204 to every request on a free port of loopback, meanwhile."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    noted = Recorder(f"http://127.0.0.1:{server.server_port}")
    server.note = noted.sent.append  # type: ignore[attr-defined]
    thread = Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield noted
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        sent = Sent(self.command, self.path, self.headers.get("content-type"), json.loads(body) if body else None)
        self.server.note(sent)  # type: ignore[attr-defined]
        self.send_response(204)
        self.end_headers()

    do_GET = do_PUT = do_POST = do_DELETE = _answer  # noqa: N815 - as the base class calls them

    def log_message(self, *_: Any) -> None:
        """Say nothing on standard error."""
