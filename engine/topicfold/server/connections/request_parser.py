"""Requests as bytes: httptools' parser, to which one that asks for another protocol is a request like any other.

Java's own HTTP client asks for HTTP/2 on each new connection, whatever body it sends. The library takes what comes
behind such a head for bytes of the other protocol, so that the body would be lost, or be read as the next request.
Source: RFC 9110 section 7.8; a server may pass over Upgrade.
"""

from __future__ import annotations

from array import array
from typing import Protocol

import httptools


class Upgradable(Protocol):
    """What the parser tells of the requests that it reads."""

    def head_without_upgrade(self) -> bytes:
        """Return the head that was read last, without what asks for another protocol."""


class RequestParser:
    """Reads the head of a request that asks for another protocol twice: the second time without asking."""

    def __init__(self, protocol: Upgradable) -> None:
        self._protocol = protocol
        self._begin()

    @property
    def is_to_repeat(self) -> bool:
        """Whether the head that is being read is read once more; CONNECT cannot be anything else."""
        return self.should_upgrade() and self.get_method() != b"CONNECT"

    def feed_data(self, data: bytes | bytearray | memoryview | array[int]) -> None:
        """Read on.

        Raises:
            HttpParserError: it is not HTTP, or asks for a tunnel.
        """
        rest = memoryview(data)
        while True:
            try:
                self._feed_data(rest)
            except httptools.HttpParserUpgrade as upgrade:
                if not self.is_to_repeat:
                    raise httptools.HttpParserError("a tunnel is asked for") from upgrade
                rest = rest[upgrade.args[0] :]
                head = self._protocol.head_without_upgrade()
                self._begin()
                self._feed_data(head)
            else:
                return

    def _begin(self) -> None:
        """Read on with a new parser of the library: where the head says "Connection: close", one reads nothing more."""
        parser = httptools.HttpRequestParser(self._protocol)
        self._feed_data = parser.feed_data
        self.get_http_version = parser.get_http_version
        self.get_method = parser.get_method
        self.should_keep_alive = parser.should_keep_alive
        self.should_upgrade = parser.should_upgrade
