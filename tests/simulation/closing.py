"""The last look at a run: at rest every node answers for everything there is, and takes writes to it.

An event that was lost without a word holds up its aggregate on the node that sent it until it is given up; whoever
asks that node about it afterwards finds out whether it was.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection

from tests.simulation.clients import Clients
from tests.simulation.history import History
from tests.simulation.node import Node
from tests.simulation.operations import Method, Operation
from tests.simulation.setup import Setup
from topicfold.errors import AlreadyExists, NewerSchema, TopicfoldError, Wait
from topicfold.model.events import AggregateKind
from topicfold.model.names import topic_of_key
from topicfold.runtime.asking import Written
from topicfold.runtime.writing.updates import RESEND_AFTER_SECONDS

REST_SECONDS = RESEND_AFTER_SECONDS + 4.0
"""All that was lost is given up within this, and what replaces it is folded everywhere."""
ANSWER_SECONDS = 1.0

_Expected = tuple[type[Written] | type[TopicfoldError], ...]


class Closing:
    """Asks all nodes, and notes in the history which of them do not answer as they must."""

    def __init__(self, setup: Setup, clients: Clients, nodes: Collection[Node], history: History) -> None:
        self._clients = clients
        self._nodes = nodes
        self._history = history
        self._unreadable: _Expected = (Written, NewerSchema) if setup.unreadable else ()

    async def run(self) -> None:
        """Ask all nodes for what changes nothing (or replaces what cannot be read), then for changes.

        In this order, because a change by one node frees what is held up on another.
        """
        for node in self._nodes:
            await self._ask(node, [(made, None) for made in _alive(node)], (AlreadyExists, *self._unreadable))
        for node in self._nodes:
            new = Operation(Method.CREATE_TENANT, AggregateKind.TENANT, f"last-{node.name}")
            await self._ask(node, [(new, None)], (Written,))
            changes = [_change(made, node.name) for made in _alive(node)]
            await self._ask(node, changes, (Written, AlreadyExists, *self._unreadable))

    async def _ask(self, node: Node, asked: list[tuple[Operation, str | None]], expected: _Expected) -> None:
        """Put operations, each with its key if it has one, to a node at once."""
        calls = (self._clients.call(node, operation, key, seconds=ANSWER_SECONDS) for operation, key in asked)
        excused: _Expected = (Wait,) if _has_stopped(node) else ()
        for (operation, _), answer in zip(asked, await asyncio.gather(*calls), strict=True):
            if not isinstance(answer, expected + excused):
                text = f"{node.name} answers {answer!r} to {operation.method.value} {operation.name}"
                self._history.wrong.append(f"rest {text} when all is well again")


def _has_stopped(node: Node) -> bool:
    """Whether a node gave up a partition, as it must at a level that it does not know."""
    return node.engine is not None and bool(node.engine.reader.faults)


def _alive(node: Node) -> list[Operation]:
    """Return what would make each tenant, namespace and topic that lives in a node's state."""
    if node.engine is None:
        return []
    found = []
    for state in node.engine.states.values():
        kinds = (
            (Method.CREATE_TENANT, AggregateKind.TENANT, state.tenants),
            (Method.CREATE_NAMESPACE, AggregateKind.NAMESPACE, state.namespaces),
        )
        for method, kind, owners in kinds:
            found += [Operation(method, kind, name) for name, owner in owners.items() if owner.is_live]
        for namespace, table in state.topics.items():
            names = (topic_of_key(namespace, key) for number, key in enumerate(table.keys) if table.row(number).is_live)
            found += [Operation(Method.CREATE_TOPIC, AggregateKind.TOPIC, name, namespace) for name in names]
    return found


def _change(made: Operation, node: str) -> tuple[Operation, str | None]:
    """Return a write to what `made` makes. A namespace has none but its end, so a refusal is logged on it instead."""
    match made.kind:
        case AggregateKind.TENANT:
            return Operation(Method.UPDATE_TENANT, made.kind, made.name, marker=f"last-{node}"), None
        case AggregateKind.NAMESPACE:
            return made, f"last-{node}"
        case _:
            labels = (("k0", f"last-{node}"),)
            return Operation(Method.SET_LABELS, made.kind, made.name, made.namespace, labels), None
