"""What the judge has before it: the run's history, its final log, and the log folded by the reference."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from tests.simulation.effects import Found, effect
from tests.simulation.fake_log import FakeStore
from tests.simulation.history import Call, History
from tests.simulation.node import Node
from tests.simulation.operations import UNREADABLE, Method, Operation
from tests.simulation.reference import NOTHING, Accepted, Carried, Key, Reference, Thing, View, topics_alive
from tests.simulation.setup import Setup
from topicfold.model.events import AggregateKind, Verdict, is_refusal


@dataclass(frozen=True, slots=True)
class Violation:
    """A promise that was broken. `rule` is its number in the guarantees; `subject` the aggregate concerned; by `moment`
    it was broken."""

    rule: str
    text: str
    subject: str = ""
    moment: float = math.inf


class Evidence:
    """One finished run. `applied` has, for each request id, what accepted events made of it."""

    def __init__(self, setup: Setup, store: FakeStore, nodes: list[Node], history: History) -> None:
        self.setup = setup
        self.store = store
        self.nodes = nodes
        self.history = history
        self.folds = [
            Reference(partition, setup.partitions, entries, setup.client_ring, setup.server_ring)
            for partition, entries in enumerate(store.entries)
        ]
        self.calls = {call.request_id: call for call in history.calls}
        self.applied: dict[str, list[Carried]] = {}
        for fold in self.folds:
            for accepted in self.ours(fold):
                for _, carried in accepted.carried:
                    self.applied.setdefault(carried.request_id, []).append(carried)

    def ours(self, fold: Reference) -> Iterator[Accepted]:
        """Yield the accepted events that an engine wrote."""
        return (each for each in fold.accepted if (fold.partition, each.offset) not in self.store.foreign)

    def instants(self, began: float, ended: float) -> Iterator[tuple[View, ...]]:
        """Yield all partitions' views at each moment between two at which anything could be seen."""
        landed = {moment for times in self.store.landed_at for moment in times if began <= moment <= ended}
        for moment in sorted({began, ended, *landed}):
            yield tuple(fold.at[self.store.length_at(fold.partition, moment)] for fold in self.folds)

    def is_tenant_missing(self, tenant: str, began: float, ended: float) -> bool:
        """Whether there was a moment without a live record of `tenant` and without a live namespace of it."""
        return any(
            all(
                thing.found is None or (name != tenant and not name.startswith(f"{tenant}/"))
                for view in views
                for (kind, name), thing in view.items()
                if kind != AggregateKind.TOPIC
            )
            for views in self.instants(began, ended)
        )

    def is_tenant_in_use(self, call: Call) -> bool:
        """Whether a namespace of the call's tenant lived somewhere while the call was answered."""
        return any(
            kind == AggregateKind.NAMESPACE and thing.found is not None and name.startswith(f"{call.operation.name}/")
            for fold in self.folds
            for position in range(call.span.ends_before[fold.partition], call.span.ends_after[fold.partition] + 1)
            for (kind, name), thing in fold.at[position].items()
        )


def key_of(operation: Operation) -> Key:
    """Return under which key views hold the aggregate of an operation."""
    return int(operation.kind), operation.name


def verdict_on(call: Call, view: View, thing: Thing) -> tuple[Verdict, Found]:
    """Return what `call` must come to at `view`, where its aggregate is `thing`."""
    operation = call.operation
    owner = view.get((int(AggregateKind.NAMESPACE), operation.namespace), NOTHING)
    if operation.kind is AggregateKind.TOPIC and owner.found is None:
        return Verdict.NAMESPACE_NOT_FOUND, thing.found
    if call.if_match not in ("", "*", thing.etag) and thing.found is not None:
        return Verdict.PRECONDITION_FAILED, thing.found
    if thing.found is UNREADABLE and not operation.method.replaces_whole:
        return Verdict.UNDECODABLE, thing.found
    alive = len(topics_alive(view, operation.name)) if operation.method is Method.DELETE_NAMESPACE else 0
    verdict, found = effect(operation, thing.found, alive)
    if call.if_match and thing.found is None and not is_refusal(verdict):
        return Verdict.PRECONDITION_FAILED, None
    return verdict, found
