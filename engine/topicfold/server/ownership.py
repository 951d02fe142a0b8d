"""Ownership: which node answers requests for a namespace, if the operator wants that. By default, any node does.

A redirect only saves nodes work; nothing is correct because of it. It leads only to addresses from the settings, does
not reveal what exists, and carries `authoritative=true`. The node that gets such a request answers it, so two nodes
that disagree redirect a request no more than once. Only a namespace in the path counts, under `/admin/v2` and `/api/v1`
alike. A page in a browser may speak only to its own node, and is answered there.

Source: Pulsar's redirects to the broker that owns a bundle; the review of PIP-451.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import Response

from topicfold.server.guard import HEADERS_KEY
from topicfold.server.parameters import Flag
from topicfold.server.paths import namespace_in
from topicfold.server.queries import AUTHORITATIVE
from topicfold.server.routes import Operation, parameters_of
from topicfold.settings import Settings

ANSWERED_HERE = Flag(AUTHORITATIVE, "`true`: answer here, even if another node owns the namespace.")
_OF_A_BROWSER = b"sec-fetch-site"


class Ownership:
    """Who answers for which namespace. `owners` are addresses by `tenant/namespace` or `tenant/*`, `own` is ours."""

    def __init__(self, owners: Mapping[str, str], own: str) -> None:
        self._owners = owners
        self._own = own

    @classmethod
    def of(cls, settings: Settings) -> Self | None:
        """Return what the settings say of owners, None where every node answers for everything."""
        return cls(settings.owners, settings.advertised_url or "") if settings.owners else None

    def redirect(self, request: Request) -> Response | None:
        """Return the answer that sends a request to the node it should go to, None where that is this one.

        Raises:
            InvalidName: the path names no namespace.
        """
        if "namespace" not in request.path_params or _OF_A_BROWSER in request.scope[HEADERS_KEY]:
            return None
        owner = self._owner_of(namespace_in(request))
        if owner == self._own:
            return None
        query = request.scope["query_string"].decode("latin-1")
        if _is_authoritative(query):
            return None
        kept = [part for part in query.split("&") if part and part.partition("=")[0] != AUTHORITATIVE]
        target = f"{owner}{request.scope['path']}?{'&'.join([*kept, f'{AUTHORITATIVE}=true'])}"
        return Response(None, 307, {"location": target})

    def _owner_of(self, namespace: str) -> str:
        """Return the address of the node that answers for `namespace`: the one named for it before its tenant's."""
        tenant = namespace.partition("/")[0]
        return self._owners.get(namespace) or self._owners.get(f"{tenant}/*") or self._own


def may_redirect(operation: Operation) -> bool:
    """Return whether some request for `operation` may be sent on to another node."""
    return "namespace" in parameters_of(operation.path)


def _is_authoritative(query: str) -> bool:
    return any(name == AUTHORITATIVE and value.lower() == "true" for name, value in parse_qsl(query))
