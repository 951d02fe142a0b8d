"""The outcome of a change: settles every answer that said `unknown`, for the caller who asked for the change.

For anybody else, the same id stands for an operation of their own, which does not exist.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from topicfold.errors import OperationNotFound
from topicfold.model.events import AggregateKind, Verdict, is_refusal
from topicfold.model.permissions import Access
from topicfold.runtime.writing.refusals import refusal
from topicfold.runtime.writing.update import Target
from topicfold.server.answers import read_answer
from topicfold.server.asking import asked_to_read
from topicfold.server.auth.principal import actor_of
from topicfold.server.node import Node
from topicfold.server.paths import decoded
from topicfold.server.queries import query_of
from topicfold.server.routes import READ_ERRORS, Operation
from topicfold.wire.resources import OperationState

_OPERATION_ID = re.compile(r"(0|[1-9][0-9]{0,4})-([0-9a-f]{32})")


@dataclass(frozen=True, slots=True)
class Operations:
    """The handler."""

    node: Node

    async def get(self, request: Request) -> Response:
        """Answer what became of an operation of who asks, within the ring's horizon; any other is `not_seen`.

        Raises:
            OperationNotFound: no operation of this log can have that id.
        """
        query_of(request, ())
        text = decoded(request.path_params["operation"])
        match = _OPERATION_ID.fullmatch(text)
        engine = self.node.engine
        if match is None or int(match[1]) not in engine.states:
            raise OperationNotFound(
                f"{text[:80]!r} is not an operation of this log", hint="Send X-Operation-Id as it was received."
            )
        partition, handle = int(match[1]), bytes.fromhex(match[2])
        cut = await self.node.reading.settle([partition], asked_to_read(request, self.node))
        settled = self.node.reading.operation(partition, actor_of(request.scope), handle)
        answer: dict[str, Any] = {"operation": text, "state": "not_seen", "asOf": str(cut.revision)}
        if settled is not None and not is_refusal(settled.verdict):
            is_changed = settled.verdict == Verdict.CHANGED
            answer |= {"state": "applied", "etag": str(settled.etag), "changed": is_changed}
        elif settled is not None:
            target = Target(AggregateKind.NONE, "", "", partition)
            answer |= {"state": "refused", "code": refusal(settled.verdict, None, target, "").code}
        return read_answer(answer, cut)


def operations(node: Node) -> Sequence[Operation]:
    """Return what can be asked about operations."""
    return (
        Operation("getOperation", "GET", "/api/v1/operations/{operation}", Operations(node).get,
                  "Read the outcome of a change", answer=OperationState, needs=Access.ANYONE,
                  errors=(*READ_ERRORS, OperationNotFound)),
    )  # fmt: skip
