"""News of policies: the policies of a topic or a namespace as they are now, as one listener is told of them.

A listener is told the folded state, in the order of the log, for each scope that differs from what it was told last. A
slow listener misses values in between but never the newest, so nothing piles up for it.

Source: PIP-428's `TopicPolicyListener` and its wrapper; level-triggered, as Kubernetes' controllers are.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

import structlog

from topicfold.errors import NewerSchema, NotReady, Undecodable
from topicfold.log import payload as payloads
from topicfold.model.events import AggregateKind
from topicfold.model.names import split_topic
from topicfold.model.policy.resolve import Policies
from topicfold.model.records import NamespaceRecord, TopicRecord
from topicfold.runtime.engine import Engine
from topicfold.runtime.listener_call import call_listener
from topicfold.runtime.unreadable import unreadable

_log = structlog.get_logger(__name__)


class PolicyScope(StrEnum):
    """Where policies hold. A topic has both scopes, a namespace only `LOCAL`."""

    LOCAL = "local"
    GLOBAL = "global"


Scopes = Mapping[PolicyScope, Policies | None]

NO_POLICIES: Scopes = MappingProxyType(dict.fromkeys(PolicyScope))


@dataclass(frozen=True, slots=True)
class News:
    """What the policies of `name`, a topic's full name or a namespace, are now in one scope; None: there are none."""

    name: str
    scope: PolicyScope
    policies: Policies | None


Listener = Callable[[News], Awaitable[None] | None]
"""Takes news. A plain function runs in a thread, so it may wait; it must not touch what belongs to the loop."""


class Follower:
    """One listener of one name: what it was told last, and the task that tells it more while there is more."""

    def __init__(self, engine: Engine, name: str, listener: Listener, *, replay: bool) -> None:
        self.name = name
        self.listener = listener
        self.has_ended = False
        self._engine = engine
        self._partition = engine.partition(namespace_of(name))
        self._told: dict[PolicyScope, Policies | None] | None = dict(NO_POLICIES) if replay else None
        self._is_due = False
        self._is_stopped = False
        self._is_calling = False
        self._task: asyncio.Task[None] | None = None
        if not replay and engine.readiness.can_be_read(self._partition):
            self._told = dict(self._now() or NO_POLICIES)

    def wake(self) -> asyncio.Task[None] | None:
        """Have the listener told what is new; return the task that does it if one had to be made."""
        self._is_due = True
        if self._task is not None and not self._task.done():
            return None
        self._task = asyncio.get_running_loop().create_task(self._tell())
        return self._task

    def stop(self) -> None:
        """Begin no further call."""
        self._is_stopped = True
        if self._task is not None and not self._is_calling:
            self._task.cancel()

    async def _tell(self) -> None:
        try:
            await self._engine.readiness.wait([self._partition], None)
        except NotReady as error:
            _log.warning("policy_listener_waits", name=self.name, reason=error.reason)
            return
        while self._is_due and not self._is_stopped:
            self._is_due = False
            now = self._now()
            if now is None:
                continue
            if self._told is None:
                self._told = dict(now)
            for scope in PolicyScope:
                if now[scope] != self._told[scope] and not self._is_stopped:
                    self._told[scope] = now[scope]
                    await self._call(News(self.name, scope, now[scope]))

    def _now(self) -> Scopes | None:
        """Return what there is now; None where it cannot be read: "no policies" would have defaults applied instead."""
        try:
            return NO_POLICIES if self.has_ended else scopes_of(self._engine, self.name)
        except (Undecodable, NewerSchema) as error:
            _log.warning("policy_listener_not_told", name=self.name, reason=error.reason)
            return None

    async def _call(self, news: News) -> None:
        self._is_calling = True
        try:
            error = await call_listener("policy-listener", self.listener, news)
        finally:
            self._is_calling = False
        if error is not None:
            _log.error("policy_listener_failed", name=news.name, scope=news.scope.value, exc_info=error)


def scopes_of(engine: Engine, name: str) -> Scopes:
    """Return what the policies of a topic (by its full name) or of a namespace are now; none where it is gone.

    Raises:
        Undecodable, NewerSchema: the stored record cannot be read.
    """
    namespace = namespace_of(name)
    kind = AggregateKind.NAMESPACE if name == namespace else AggregateKind.TOPIC
    current = engine.states[engine.partition(namespace)].current(kind, name)
    if not current.is_live:
        return NO_POLICIES
    decode = payloads.decode_namespace if kind is AggregateKind.NAMESPACE else payloads.decode_topic
    match decode(current.payload_schema, current.payload):
        case NamespaceRecord(policies=policies):
            return {PolicyScope.LOCAL: policies, PolicyScope.GLOBAL: None}
        case TopicRecord(is_ending=True):
            return NO_POLICIES
        case TopicRecord(local=local, global_=global_):
            return {PolicyScope.LOCAL: local, PolicyScope.GLOBAL: global_}
        case _:
            raise unreadable(kind, name, current.payload_schema)


def namespace_of(name: str) -> str:
    """Return the namespace of a topic's full name; that of a namespace is itself."""
    place = split_topic(name)
    return place[0] if place else name
