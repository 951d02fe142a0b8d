"""Ports for servers that are started later, each in a process of its own."""

from __future__ import annotations

import socket
from random import Random

_FIRST, _LAST = 20_000, 32_767
"""Below those that a system gives to whoever asks for any: those may be taken before the server is up."""

_random = Random()
_given: set[int] = set()


def free_ports(count: int) -> list[int]:
    """Return ports on which nothing listens, and which nobody in this process was given before."""
    found: list[int] = []
    while len(found) < count:
        port = _random.randint(_FIRST, _LAST)
        if port not in _given and _is_free(port):
            _given.add(port)
            found.append(port)
    return found


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
