"""From a request to its operation: finds the route, checks the caller's rights, and redirects to another node."""

from __future__ import annotations

from functools import partial

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from topicfold.runtime.engine import Engine
from topicfold.server.auth.door import Door, forget_admission, note_admission
from topicfold.server.ownership import Ownership
from topicfold.server.queries import require_no_dry_run
from topicfold.server.refused_at import BY_STATE, note_refusal
from topicfold.server.routing import RouteTable


class Dispatch:
    """What the guard lets requests through to.

    `ownership` None: this node answers for everything. `door` None: whoever comes this far may do everything.
    """

    def __init__(self, table: RouteTable, engine: Engine, ownership: Ownership | None, door: Door | None) -> None:
        self._table = table
        self._engine = engine
        self._ownership = ownership
        self._door = door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; errors are left to the guard.

        Raises:
            HTTPException: there is no such route.
            TopicfoldError: the request is refused.
        """
        request = Request(scope, receive, send)
        try:
            operation = self._table.find(scope).operation
        except HTTPException:
            # Strangers are not even told which routes there are.
            if self._door is not None:
                await self._door.identify(request)
            raise
        if self._door is not None and not self._door.lets_in(operation, request):
            await self._door.admit(operation, request)
        if self._door is not None:
            note_admission(scope, partial(self._door.admit, operation, request))
        try:
            if operation.method != "GET":
                require_no_dry_run(request)
            answer = None if self._ownership is None else self._ownership.redirect(request)
            if answer is None:
                try:
                    answer = await operation.handle(request)
                except BY_STATE:
                    note_refusal(request, self._engine)
                    raise
            await answer(scope, receive, send)
        finally:
            if self._door is not None:
                forget_admission(scope)
