"""What counts as this machine: the only place that is served without authentication."""

from __future__ import annotations

from ipaddress import ip_address


def is_loopback(host: str) -> bool:
    """Return whether `host`, without a port, names this machine and nothing else.

    >>> [is_loopback(host) for host in ("localhost", "127.8.0.1", "::1", "0.0.0.0", "127.0.0.1.example.org")]
    [True, True, True, False, False]
    """
    if host.lower() == "localhost":
        return True
    try:
        return "%" not in host and ip_address(host).is_loopback
    except ValueError:
        return False


def host_of(netloc: str) -> str:
    """Return the host in `host[:port]`, IPv6 without its brackets; "" where it is malformed.

    >>> [host_of(text) for text in ("localhost:8080", "[::1]:80", "::1", "a:b")]
    ['localhost', '::1', '', '']
    """
    host, colon, port = netloc.rpartition(":") if not netloc.endswith("]") else (netloc, "", "")
    if not colon:
        host = netloc
    elif not (port.isascii() and port.isdecimal()):
        return ""
    if host.startswith("[") and host.endswith("]"):
        return host[1:-1]
    return "" if ":" in host else host
