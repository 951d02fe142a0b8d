"""One queued update: its aggregate, the change, who wants it and why, and how far it has come."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import NamedTuple

from topicfold.model.events import AggregateKind, Audit, Operation
from topicfold.model.updates import Refuse, Updater
from topicfold.state.operations import Settled


class Target(NamedTuple):
    """The aggregate that an update is about, and the partition it lives in. `namespace` is "" for tenants."""

    kind: AggregateKind
    name: str
    namespace: str
    partition: int


@dataclass(frozen=True, slots=True)
class Base:
    """What events were written against: they are decided when the aggregate moves off it."""

    level: int
    incarnation: bytes
    version: bytes


@dataclass(slots=True, eq=False)
class Update:
    """One queued update.

    `handle` is what its actor knows the operation by. `if_match` "" compares nothing, "*" wants a live record;
    `if_none_match` wants none. `replaces_whole` may repair a record that cannot be read. `alone` keeps it from sharing
    an event: namespaces' deletes. `in_attempt` is true while an undecided event carries it, `is_fresh` once a barrier
    asked for after its arrival has passed. `waiters` are those who still want to know. `refusal` says why it was
    refused in the last run, `failure` what its updater raised there. `log_said` is why the log gave up on an event that
    carried it.
    """

    target: Target
    operation: Operation
    updater: Updater
    audit: Audit
    settled: asyncio.Future[Settled]
    handle: bytes = b""
    if_match: str = ""
    if_none_match: bool = False
    replaces_whole: bool = False
    alone: bool = False
    require_empty: bool = False
    in_attempt: bool = False
    is_fresh: bool = False
    waiters: list[asyncio.Future[None]] = field(default_factory=list)
    refusal: Refuse | None = None
    failure: Exception | None = None
    log_said: str = ""
