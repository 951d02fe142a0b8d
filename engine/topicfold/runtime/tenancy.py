"""Tenants and their namespaces, which are in different partitions: read after a barrier in all of them."""

from __future__ import annotations

from collections.abc import Collection

from topicfold.model.events import AggregateKind
from topicfold.runtime.asking import Asked
from topicfold.runtime.engine import Engine
from topicfold.state.aggregate import Aggregate


async def look_at(engine: Engine, partitions: Collection[int], asked: Asked) -> None:
    """Return once `partitions` are folded up to what the log held when this was called.

    Raises:
        NotReady, LogUnavailable, PositionTimeout: they are not in time.
    """
    await engine.readiness.wait(partitions, engine.options.ready_timeout_seconds)
    await engine.barriers.wait(partitions, asked.deadline)


def namespaces_of(engine: Engine, tenant: str) -> list[str]:
    """Return the live namespaces of a tenant as they are folded here, sorted. Cost: O(all that ever bore its name)."""
    return sorted(
        name for state in engine.states.values() for name in state.names_of.get(tenant, ()) if name in state.topics
    )


async def tenant_exists(engine: Engine, name: str, asked: Asked) -> bool:
    """Return whether a tenant exists; a no needs two looks that saw the same versions.

    Raises:
        NotReady, LogUnavailable, PositionTimeout: it could not be looked at in time.
    """
    before: tuple[object, ...] | None = None
    while True:
        await look_at(engine, engine.states, asked)
        seen = _versions(engine, name)
        if any(owner.is_live for owner in seen):
            return True
        if seen == before:
            return False
        before = seen


def _versions(engine: Engine, name: str) -> tuple[Aggregate, ...]:
    """Return the tenant's record and those of all namespaces that ever bore its name."""
    states = engine.states
    tenant = states[engine.partition(name)].current(AggregateKind.TENANT, name)
    return (tenant, *(state.namespaces[each] for state in states.values() for each in state.names_of.get(name, ())))
