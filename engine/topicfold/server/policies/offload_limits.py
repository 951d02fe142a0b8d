"""Members of a namespace's offload policies that Pulsar reads and sets each at a path of its own.

Source: Pulsar's `Namespaces` resource: `offloadThreshold`, `offloadThresholdInSeconds`, `offloadDeletionLagMs`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from topicfold.errors import InvalidPolicy, NamespaceNotFound
from topicfold.model.permissions import ADMINISTER_NAMESPACE, READ_NAMESPACE
from topicfold.model.policy.changes import Change, change_namespace, remove_value, set_entry
from topicfold.model.policy.description import NO_ANSWER
from topicfold.model.policy.shapes import LONG
from topicfold.model.policy.table import BY_NAME
from topicfold.model.policy.values import read_value
from topicfold.server.absence import said_of_absent_namespace
from topicfold.server.answers import written_answer
from topicfold.server.asking import asked_to_write, settled_namespace
from topicfold.server.bodies import json_body
from topicfold.server.node import Node
from topicfold.server.paths import namespace_in
from topicfold.server.policies.answers import empty_where_unset, policy_answer
from topicfold.server.routes import NAMESPACE_PATH, READ_ERRORS, UNREADABLE, WRITE_ERRORS, Operation
from topicfold.wire.policy_schema import schema_of

_POLICY = BY_NAME["offloadPolicies"]


@dataclass(frozen=True, slots=True)
class OffloadLimit:
    """The handlers of one member. `unset` is the answer where there is none; where that is nothing, it has a DELETE."""

    node: Node
    path: str
    member: str
    title: str
    unset: Any

    async def get(self, request: Request) -> Response:
        """Answer the member."""
        name = namespace_in(request)
        record, etag, cut = await settled_namespace(request, self.node, name)
        value = record.policies.get(_POLICY.name, {}).get(self.member)
        return policy_answer(LONG, value, self.unset, cut, etag, is_stored=True)

    async def set(self, request: Request) -> Response:
        """Set the member and keep the others.

        Raises:
            InvalidPolicy: there must be a value, and it must be a number.
        """
        given = await json_body(request, self.node)
        value = read_value(LONG, given, self.path, refuses_unknown=self.node.limits.refuses_unknown)
        return await self._change(request, set_entry(_POLICY.name, self.member, value), value)

    async def remove(self, request: Request) -> Response:
        """Remove the member; it is no error if there is none."""
        return await self._change(request, remove_value(_POLICY.name, self.member), None)

    async def _change(self, request: Request, change: Change, meaning: Any) -> Response:
        name = namespace_in(request)
        asked = asked_to_write(request, self.node, self.member, meaning)
        with said_of_absent_namespace(name):
            updater = change_namespace(name, change)
            written = await self.node.writing.change_namespace(name, updater, asked, stated=_POLICY.name)
            return written_answer(written)


def operations(node: Node) -> Sequence[Operation]:
    """Return what can be done with these members."""
    size, age = "managedLedgerOffloadThresholdInBytes", "managedLedgerOffloadThresholdInSeconds"
    lag = "managedLedgerOffloadDeletionLagInMillis"
    limits = (
        OffloadLimit(node, "offloadThreshold", size, "size, in bytes, at which to offload", -1),
        OffloadLimit(node, "offloadThresholdInSeconds", age, "age, in seconds, at which to offload", -1),
        OffloadLimit(node, "offloadDeletionLagMs", lag, "time, in ms, to keep what was offloaded", NO_ANSWER),
    )
    return [operation for limit in limits for operation in _operations_of(limit)]


def _operations_of(limit: OffloadLimit) -> Iterator[Operation]:
    path = f"{NAMESPACE_PATH}/{limit.path}"
    noun = f"Namespace{limit.path[0].upper()}{limit.path[1:]}"
    title = f"a namespace's {limit.title}"
    permission = _POLICY.topic.permission
    changing = (*WRITE_ERRORS, NamespaceNotFound, *UNREADABLE)
    yield Operation(
        f"get{noun}", "GET", path, limit.get, f"Read {title}", answer=schema_of(LONG),
        empty=empty_where_unset(limit.unset), errors=(*READ_ERRORS, NamespaceNotFound, *UNREADABLE),
        needs=READ_NAMESPACE, policy=permission,
    )  # fmt: skip
    yield Operation(
        f"set{noun}", "PUT", path, limit.set, f"Set {title}", 204, body=schema_of(LONG),
        errors=(*changing, InvalidPolicy), needs=ADMINISTER_NAMESPACE, policy=permission,
    )  # fmt: skip
    if limit.unset is NO_ANSWER:
        yield Operation(
            f"remove{noun}", "DELETE", path, limit.remove, f"Remove {title}", 204, errors=changing,
            needs=ADMINISTER_NAMESPACE, policy=permission,
        )  # fmt: skip
