"""Logs for Hypothesis: events of every kind on few names, on current, stale and unknown versions."""

from __future__ import annotations

import random
from typing import NamedTuple

from hypothesis import strategies as st

from tests.builders import an_id, namespace_delete, namespace_put, operation, tenant_put, topic_delete, topic_put
from tests.state.naive_fold import NAMESPACE, TENANT, TOPIC, NaiveFold
from topicfold.model.events import GENESIS, REQUIRE_EMPTY, AggregateKind, Event, Kind

PARTITION, PARTITIONS = 1, 2
TENANTS = ("public", "acme")
NAMESPACES = ("public/default", "acme/a", "acme/pay")
LABELS = ({}, {"team": "pay"}, {"team": "ship"}, {"team": "pay", "tier": "gold"})

Log = list[Event | None]


class Step(NamedTuple):
    """One record to come: what it does, to which name, and how far it is from the current state."""

    what: str
    name: int
    base: int
    life: int
    content: int


WHATS = [
    *["put topic"] * 8, *["delete topic"] * 3, *["put namespace"] * 3, "delete namespace", "delete if empty",
    "put tenant", "delete tenant", "garbage", "barrier", "unknown kind", "other level", "again", "unreadable",
]  # fmt: skip
MOSTLY_CURRENT = st.sampled_from([0] * 9 + [1, 2, 3])

steps = st.builds(
    Step,
    st.sampled_from(WHATS),
    st.sampled_from([0, 0, 0, 0, 3, 3, 1, 4, 5]),
    MOSTLY_CURRENT,
    MOSTLY_CURRENT,
    st.integers(0, 7),
)


def log_of(plan: list[Step]) -> Log:
    """Return the records of `plan`, each written against the state that those before it come to."""
    log: Log = [namespace_put(1, name=NAMESPACES[0])]
    naive = NaiveFold(PARTITION, PARTITIONS).fold(log)
    for number, step in enumerate(plan, 2):
        record = _record(number, step, naive, log)
        log.append(record)
        naive.fold([record])
    return log


def random_log(seed: int, length: int) -> Log:
    """Return a log of that length, the same each time: events of all kinds, garbage, contended, deleted, made again."""
    chance = random.Random(seed)
    plan = [
        Step(chance.choice(WHATS), chance.choice([0, 0, 0, 3, 3, 1, 4]), chance.choice([0] * 9 + [1, 2, 3]),
             chance.choice([0] * 9 + [1, 2]), chance.randrange(8))
        for _ in range(length - 1)
    ]  # fmt: skip
    return log_of(plan)


logs = (st.lists(steps, max_size=12) | st.lists(steps, min_size=20, max_size=60)).map(log_of)


def _record(number: int, step: Step, naive: NaiveFold, log: Log) -> Event | None:
    tenant, namespace = TENANTS[step.name % 2], NAMESPACES[step.name % 3]
    topic = f"persistent://{namespace}/{'ab'[step.name // 3]}"
    by_client = bool(step.content % 2)
    operation_id = (1000 if by_client else 2000) + number % 7
    common = {"operations": (operation(operation_id, step.content % 3, by_client=by_client),)}
    life = _one_of(naive.incarnations.get(namespace, GENESIS), number, step.life)
    put = topic_put(
        number,
        life,
        _one_of(naive.version(TOPIC, topic), number, step.base),
        name=topic,
        labels=LABELS[step.content % 4],
        **common,
    )
    namespace_base = _one_of(naive.version(NAMESPACE, namespace), number, step.base)
    tenant_base = _one_of(naive.version(TENANT, tenant), number, step.base)
    match step.what:
        case "delete topic":
            return topic_delete(number, life, put.base, name=topic, **common)
        case "put namespace":
            return namespace_put(number, namespace_base, name=namespace, **common)
        case "delete namespace":
            return namespace_delete(number, namespace_base, name=namespace, **common)
        case "delete if empty":
            return namespace_delete(number, namespace_base, name=namespace, flags=REQUIRE_EMPTY, **common)
        case "put tenant":
            return tenant_put(number, tenant_base, name=tenant, **common)
        case "delete tenant":
            return tenant_put(number, tenant_base, name=tenant, **common)._replace(kind=Kind.DELETE)
        case "garbage":
            return None
        case "barrier":
            return put._replace(kind=Kind.BARRIER, aggregate_kind=AggregateKind.NONE)
        case "unknown kind":
            return put._replace(kind=77)
        case "other level":
            return put._replace(level=2)
        case "again":
            return log[step.content % len(log)]
        case "unreadable":
            return put._replace(payload=b"\xff")
        case _:
            return put


def _one_of(current: bytes, number: int, choice: int) -> bytes:
    """Return the current version, none, an earlier event's id, or one that nobody has."""
    return (current, GENESIS, an_id(max(1, number - 3)), an_id(999))[choice]
