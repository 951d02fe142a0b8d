"""What must hold of every node at rest: its state is what the log means, and its indexes agree with it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tests.simulation.evidence import Evidence, Violation
from tests.simulation.reference import Key, Reference
from topicfold.model.events import AggregateKind
from topicfold.model.names import topic_of_key
from topicfold.state import invariants
from topicfold.state.aggregate import Aggregate
from topicfold.state.fold import PartitionState
from topicfold.state.operations import OperationRing


class _Seen(NamedTuple):
    version: bytes
    is_live: bool
    etag: str
    incarnation: bytes


def check_states(evidence: Evidence) -> Iterator[Violation]:
    """Yield every difference between a node's state and the reference at the same position."""
    for node in evidence.nodes:
        if node.engine is None:
            continue
        for state in node.engine.states.values():
            yield from (Violation("R5", f"{node.name}: {text}") for text in invariants.check(state))
            fold = evidence.folds[state.partition]
            for text, subject in _differences(state, fold):
                yield Violation("I1", f"{node.name} at {state.partition}/{state.position}: {text}", subject)


def _differences(state: PartitionState, fold: Reference) -> Iterator[tuple[str, str]]:
    here = dict(_aggregates(state))
    there = {
        key: _Seen(thing.version, thing.found is not None, thing.etag, thing.incarnation)
        for key, thing in fold.at[state.position].items()
    }
    for key in {**here, **there}:
        if here.get(key) != there.get(key):
            yield f"{key[1]} is {here.get(key)}, the log says {there.get(key)}", key[1]
    if state.level != fold.levels[state.position]:
        yield f"level {state.level}, the log says {fold.levels[state.position]}", ""
    rings = (state.operations.by_server, state.operations.by_client)
    for ring, carried in zip(rings, fold.rings[state.position], strict=True):
        if _remembered(ring, carried) != [(each.verdict, each.etag) for each in carried.values()]:
            yield "operations are not remembered as the log says", ""
        if len(ring) != len(carried):
            yield f"{len(ring)} operations are remembered, the log says {len(carried)}", ""


def _aggregates(state: PartitionState) -> Iterator[tuple[Key, _Seen]]:
    for name, tenant in state.tenants.items():
        yield (int(AggregateKind.TENANT), name), _seen(tenant)
    for name, namespace in state.namespaces.items():
        yield (int(AggregateKind.NAMESPACE), name), _seen(namespace)
    for owner, table in state.topics.items():
        for number, key in enumerate(table.keys):
            yield (int(AggregateKind.TOPIC), topic_of_key(owner, key)), _seen(table.row(number))


def _seen(aggregate: Aggregate) -> _Seen:
    return _Seen(aggregate.version, aggregate.is_live, str(aggregate.etag), aggregate.incarnation)


def _remembered(ring: OperationRing, ids: object) -> list[tuple[int, str] | None]:
    assert isinstance(ids, dict)
    found = [ring.get(operation_id) for operation_id in ids]
    return [None if each is None else (each.verdict, str(each.etag)) for each in found]
