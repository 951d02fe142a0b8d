"""The other end of a connection: what was found out about it, for as long as the connection lasts."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.types import Scope

from topicfold.server.auth.principal import Credential

_KEY = "topicfold.peer"


@dataclass(slots=True)
class Peer:
    """Who is at the other end.

    `certified` is who its certificate says it is, None where it has shown none or, as `is_nameless` says, one that
    names nobody. `header` is the Authorization that it sent last, `credential` what that proves: most clients send the
    same one each time, and to compare is cheaper than to hash.
    """

    certified: Credential | None = None
    header: bytes | None = None
    credential: Credential | None = None
    is_nameless: bool = False


def note_peer(scope: Scope, peer: Peer) -> None:
    """Let a request know who is at the other end of its connection."""
    scope[_KEY] = peer


def peer_of(scope: Scope) -> Peer:
    """Return who is at the other end of the connection; a stranger where there is no connection, as in tests."""
    peer: Peer | None = scope.get(_KEY)
    return Peer() if peer is None else peer
