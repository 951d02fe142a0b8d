"""Notes: what an enforcer leaves on the log for those after it, about one Kafka cluster.

Defaults of a node's settings are in no history: what they told Kafka is noted before it is done. And a pass over all
topics that took away whatever was left of former policies notes where the log was when it began: what a policy told
before that position is no reason to take an override for Topicfold's own.

They are kept in the record of a tenant whose name no user can write, where others have grants: to each cluster, by its
bootstrap servers, `setting=value` of each saying, and the position under `CLEAN`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from types import MappingProxyType

import structlog

from topicfold.errors import FixRequest, InvalidRequest, OutcomeUnknown, Wait
from topicfold.log.payload import decode_tenant
from topicfold.model.events import AggregateKind
from topicfold.model.policy.kafka_settings import Sayings
from topicfold.model.records import Record, TenantRecord
from topicfold.model.updates import Stored
from topicfold.runtime.asking import ACTOR, Asked
from topicfold.runtime.engine import Engine
from topicfold.runtime.revision import Revision, decode_revision
from topicfold.runtime.writing.writing import Writing

_log = structlog.get_logger(__name__)

ENFORCED = "@enforced"
"""The tenant's name. `@` is none of the characters that names may have."""
CLEAN = "clean"
_SECONDS_A_NOTE = 5.0

Lines = frozenset[str]


@dataclass(frozen=True, slots=True)
class Noted:
    """What is noted: `sayings` of defaults that Kafka may have still, and the positions that are clean."""

    sayings: Sayings
    clean: Mapping[int, int]


class Notes:
    """The notes about the cluster at `bootstrap`. One that cannot be written is told of, and nothing waits for it."""

    def __init__(self, engine: Engine, bootstrap: str) -> None:
        self._engine = engine
        self._bootstrap = bootstrap
        self._writing = Writing(engine)

    def read(self) -> Noted:
        """Return what is noted as it is folded here."""
        owner = self._engine.states[self._engine.partition(ENFORCED)].current(AggregateKind.TENANT, ENFORCED)
        record = decode_tenant(owner.payload_schema, owner.payload) if owner.is_live else None
        pairs = [each.partition("=") for each in self._lines(record)]
        clean: Mapping[int, int] = {}
        for name, _, value in pairs:
            if name == CLEAN:
                # It lies on this log; of one that was renewed it may name the former, which is the same up to here.
                # Where a later version wrote it in a form of its own, all is looked at.
                with suppress(InvalidRequest):
                    clean = decode_revision(value).positions
        return Noted(frozenset((name, value) for name, _, value in pairs if name != CLEAN), clean)

    async def add(self, sayings: Sayings) -> None:
        """Note what defaults are about to tell Kafka, beside what is noted."""
        if sayings - self.read().sayings:
            await self._write(lambda old: old | _texts(sayings), "defaults to be enforced")

    async def settle(self, sayings: Sayings, clean: Revision) -> None:
        """Note that Kafka has of former policies nothing that was said before `clean`, and of defaults just these."""
        await self._write(lambda _: _texts(sayings) | {f"{CLEAN}={clean}"}, "former policies are taken away")

    async def _write(self, change: Callable[[Lines], Lines], reason: str) -> None:
        def update(old: Stored) -> Record:
            record = old if isinstance(old, TenantRecord) else TenantRecord()
            lines = tuple(sorted(change(self._lines(record))))
            return replace(record, grants=MappingProxyType({**record.grants, self._bootstrap: lines}))

        asked = Asked(asyncio.get_running_loop().time() + _SECONDS_A_NOTE, ACTOR, reason)
        try:
            await self._writing.change_tenant(ENFORCED, update, asked)
        except (Wait, OutcomeUnknown, FixRequest) as error:
            _log.error("enforcement_not_noted", reason=error.reason, hint=error.hint)

    def _lines(self, record: Stored) -> Lines:
        grants = record.grants if isinstance(record, TenantRecord) else {}
        return frozenset(grants.get(self._bootstrap, ()))


def _texts(sayings: Sayings) -> Lines:
    return frozenset(f"{setting}={value}" for setting, value in sayings)
