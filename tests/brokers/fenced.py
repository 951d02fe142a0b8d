"""The only broker of a cluster, by the little of Kafka's protocol that tells who is in it; fenced when told so.

A controller fences a broker that shuts down, or was halted for longer than its session. Such a broker answers whoever
asks still, and names none, not even itself. A real one does so for a moment only.

Source: Kafka's protocol guide, ApiVersions 0 and Metadata 8.
"""

from __future__ import annotations

import math
import socketserver
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_API_VERSIONS, _METADATA = 18, 3
_METADATA_VERSION = 8
_UNSUPPORTED_VERSION, _UNKNOWN_TOPIC = 35, 3
_HEADER = struct.Struct(">hhi")
_SIZE = struct.Struct(">i")


class FencedBroker(socketserver.ThreadingTCPServer):
    """Broker 1, on 127.0.0.1; it knows no topic. Fenced after so many more `answers` about topics."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Connection)
        self.answers = math.inf

    @property
    def bootstrap(self) -> str:
        """Where clients find it."""
        return f"127.0.0.1:{self.server_address[1]}"

    def metadata(self, body: bytes) -> bytes:
        """Return the answer to a question about topics."""
        named = _SIZE.unpack_from(body)[0]
        topics, at = b"", _SIZE.size
        for _ in range(named):
            size = 2 + struct.unpack_from(">h", body, at)[0]
            topics += struct.pack(">h", _UNKNOWN_TOPIC) + body[at : at + size] + struct.pack(">?ii", False, 0, 0)
            at += size
        brokers = [] if self.answers <= 0 else [struct.pack(">i", 1) + _text("127.0.0.1") + self._port + _text(None)]
        self.answers -= named > 0
        return b"".join(
            (
                struct.pack(">ii", 0, len(brokers)), *brokers, _text("cluster"), struct.pack(">i", 1),
                struct.pack(">i", max(0, named)), topics, struct.pack(">i", 0),
            )
        )  # fmt: skip

    @property
    def _port(self) -> bytes:
        return struct.pack(">i", self.server_address[1])


class _Connection(socketserver.StreamRequestHandler):
    server: FencedBroker

    def handle(self) -> None:
        """Answer requests until the client leaves."""
        while size := self.rfile.read(_SIZE.size):
            request = self.rfile.read(_SIZE.unpack(size)[0])
            api, version, correlation = _HEADER.unpack_from(request)
            client = struct.unpack_from(">h", request, _HEADER.size)[0]
            body = request[_HEADER.size + 2 + max(0, client) :]
            answer = self.server.metadata(body) if api == _METADATA else _versions(version)
            self.wfile.write(_SIZE.pack(4 + len(answer)) + _SIZE.pack(correlation) + answer)


def _versions(asked: int) -> bytes:
    error = 0 if asked == 0 else _UNSUPPORTED_VERSION
    known = ((_METADATA, 0, _METADATA_VERSION), (_API_VERSIONS, 0, 0))
    return struct.pack(">hi", error, len(known)) + b"".join(struct.pack(">hhh", *each) for each in known)


def _text(text: str | None) -> bytes:
    return struct.pack(">h", -1) if text is None else struct.pack(">h", len(text)) + text.encode()


@contextmanager
def fenced_broker() -> Iterator[FencedBroker]:
    """Run one that is not fenced yet."""
    with FencedBroker() as broker:
        thread = threading.Thread(target=broker.serve_forever, daemon=True)
        thread.start()
        try:
            yield broker
        finally:
            broker.shutdown()
            thread.join()
