"""Ports for servers that are started later, each in a process of its own."""

from __future__ import annotations

import os
import socket
from random import Random

_FIRST, _LAST = 20_000, 32_767
"""Below those that a system gives to whoever asks for any: those may be taken before the server is up."""

_WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
_WORKERS = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))

_random = Random()
_given: set[int] = set()


def free_ports(count: int) -> list[int]:
    """Return ports on which nothing listens, and which nobody in this run of the tests was given before."""
    found: list[int] = []
    while len(found) < count:
        port = _random.randrange(_FIRST + _WORKER, _LAST + 1, _WORKERS)
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
