"""The door of a node with authentication: who asks, then whether they may, for every operation that is not public."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from starlette.requests import Request
from starlette.types import Scope

from topicfold.model.permissions import Access
from topicfold.server.auth.authenticator import Authenticator
from topicfold.server.auth.authorizer import Authorizer
from topicfold.server.auth.principal import note_principal
from topicfold.server.routes import Operation

Admission = Callable[[], Awaitable[None]]
"""Returns as long as who asked may still do what they asked for; raises what `Door.admit` raises once they may not."""

_KEY = "topicfold.admission"


@dataclass(frozen=True, slots=True)
class Door:
    """Lets requests in, or says why not."""

    authenticator: Authenticator
    authorizer: Authorizer

    def lets_in(self, operation: Operation, request: Request) -> bool:
        """Return whether that is plain from what is remembered: who asks, and that they may. Then the request says who.

        Most requests come in this way, without a wait. A no is for `admit` to look into.

        Raises:
            InvalidName, InvalidRequest: the request names nothing that there could be.
        """
        if operation.needs is Access.PUBLIC:
            return True
        principal = self.authenticator.remembered(request.scope)
        if principal is None:
            return False
        note_principal(request.scope, principal)
        return self.authorizer.permits(principal, operation, request)

    async def admit(self, operation: Operation, request: Request) -> None:
        """Return if who asks is known and may do `operation`; from then on the request says who it is.

        Raises:
            Unauthenticated: nobody can tell who asks.
            Forbidden: they may not.
            InvalidName, InvalidRequest: the request names nothing that there could be.
            KeysUnavailable, NotReady: nobody can tell now.
        """
        await self.identify(request)
        await self.authorizer.authorize(operation, request)

    async def identify(self, request: Request) -> None:
        """Return if who asks is known, whatever they want.

        Raises:
            Unauthenticated: nobody can tell who asks.
            KeysUnavailable: nobody can tell now.
        """
        note_principal(request.scope, await self.authenticator.authenticate(request.scope))


def note_admission(scope: Scope, admission: Admission) -> None:
    """Let an answer that goes on look again whether it may, until that is forgotten."""
    scope[_KEY] = admission


def forget_admission(scope: Scope) -> None:
    """Let an answer that has ended go: request and admission hold each other, and with them a connection."""
    scope.pop(_KEY, None)


def admission_of(scope: Scope) -> Admission | None:
    """Return how to look again whether a request may still be answered; None where everybody may do everything."""
    return scope.get(_KEY)
