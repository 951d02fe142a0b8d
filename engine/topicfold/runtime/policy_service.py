"""The policies of topics, for programs that run an engine in the same process: PIP-428's service contract.

An update is a function of the current policies. It runs again if another change came first, and is answered once it is
folded here. A topic's name, and the name of any of its partitions, mean the whole topic.

Source: PIP-428 (`TopicPoliciesService`), without its caches: the folded state is the cache.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from topicfold.errors import NamespaceNotFound, NotReady, PoliciesDisabled
from topicfold.model.names import TopicName, parse_namespace, parse_topic
from topicfold.model.policy.changes import change_topic, delete_policies
from topicfold.model.policy.resolve import Origin, Policies
from topicfold.model.policy.values import plain_value
from topicfold.model.policy.whole import check_changed, put_whole, read_policies
from topicfold.model.updates import Refuse
from topicfold.runtime.asking import Asked, Written
from topicfold.runtime.engine import Engine
from topicfold.runtime.listeners import Listeners
from topicfold.runtime.policies import below_topics
from topicfold.runtime.policy_news import Listener, PolicyScope, scopes_of
from topicfold.runtime.writing.writing import Writing

Mutator = Callable[[dict[str, Any]], dict[str, Any] | None]
"""Takes a topic's policies by name, as JSON values of its own to change; returns others to put in their place, or None.

A null, or a name taken out, unsets a policy. It is called once for each state that it meets: again where another
update was first."""


class TopicPoliciesService:
    """The policies of one node's topics. Stop it before the engine.

    `actor` is who made its changes, for the history. On a node whose topics have no policies every call but those of
    listeners is `PoliciesDisabled`.
    """

    def __init__(self, engine: Engine, *, actor: str = "in process") -> None:
        self._engine = engine
        self._actor = actor
        self._writing = Writing(engine)
        self._listeners = Listeners(engine)
        self._is_stopped = False

    @property
    def listeners(self) -> int:
        """How many listeners there are, each counted for every name it listens to."""
        return len(self._listeners)

    async def update(
        self, topic: TopicName | str, mutator: Mutator, *, is_global: bool = False, skip_if_absent: bool = False
    ) -> Written:
        """Change the policies of one scope, and return when that can be read here.

        What `mutator` keeps of what it was given, or gives back, can change nothing later. With `skip_if_absent` it
        is not called where the topic never had policies in that scope.

        Raises:
            InvalidPolicy, InvalidRequest, PolicyUnmet, WrongKind: what it leaves may not be, by itself or beside what
                there is; carries all violations.
            TopicNotFound, NamespaceNotFound: there is no such topic.
            Undecodable, NewerSchema: its record cannot be read.
            Wait, OutcomeUnknown: as every write. Whatever `mutator` raises is raised again, and nothing is changed.
        """
        self._require_usable()
        name = _whole(topic)
        engine = self._engine

        met: list[tuple[Policies, Policies]] = []

        def change(old: Policies) -> Policies | Refuse:
            # An attempt that is sent again must be the same attempt, whatever the mutator depends on.
            if not met or met[-1][0] != old:
                met.append((old, self._mutated(old, mutator, is_global)))
            return put_whole(met[-1][1], below_topics(engine, name.namespace))(old)

        updater = change_topic(str(name), change, is_global=is_global, skip_if_absent=skip_if_absent)
        return await self._writing.change_topic(name, updater, self._asked())

    async def get(self, topic: TopicName | str, scope: PolicyScope = PolicyScope.LOCAL) -> Policies | None:
        """Return a topic's policies of one scope, None where it has none or is not there.

        Waits until the node has folded what the log held at its start: "none" is never said for "not known yet".

        Raises:
            NotReady: that took too long.
            Undecodable, NewerSchema: the stored record cannot be read.
        """
        self._require_usable()
        name = _whole(topic)
        engine = self._engine
        partition = engine.partition(name.namespace)
        await engine.readiness.wait([partition], engine.options.ready_timeout_seconds)
        return scopes_of(engine, str(name))[scope]

    async def delete(self, topic: TopicName | str, *, keep_global: bool = False) -> None:
        """Take all policies off a topic; one that has none or is not there, nor its namespace, is as it should be.

        Raises:
            Undecodable, NewerSchema: the stored record cannot be read.
            Wait, OutcomeUnknown: as every write.
        """
        self._require_usable()
        try:
            await self._writing.change_topic(_whole(topic), delete_policies(keeps_global=keep_global), self._asked())
        except NamespaceNotFound:
            return

    def register_listener(self, topic: TopicName | str, listener: Listener, *, replay: bool = True) -> None:
        """Tell `listener` what the policies of a topic, or of a namespace as `tenant/namespace`, are from now on.

        Returns at once. With `replay` it is first told what there is now; see `Listeners.add`.

        Raises:
            NotReady: stopped.
        """
        self._listeners.add(_subject(topic), listener, replay=replay)

    def unregister_listener(self, topic: TopicName | str, listener: Listener) -> None:
        """Tell `listener` no more of a topic or a namespace; nothing happens where it is not told."""
        self._listeners.remove(_subject(topic), listener)

    async def stop(self) -> None:
        """End all listening and take no more calls. Updates on their way are for the engine to answer, or to fail.

        A plain function that was called is left to end in its thread. A listener may call this, and goes on to its end.
        """
        self._is_stopped = True
        await self._listeners.close()

    def _mutated(self, old: Policies, mutator: Mutator, is_global: bool) -> Policies:
        given = plain_value(old)
        returned = mutator(given)
        level = Origin.GLOBAL if is_global else Origin.TOPIC
        new = read_policies(given if returned is None else returned, level=level)
        check_changed(old, new, self._engine.options.limits)
        return new

    def _require_usable(self) -> None:
        if self._is_stopped:
            raise NotReady("this service is stopped")
        if not self._engine.options.limits.policies_enabled:
            raise PoliciesDisabled("policies of topics are disabled on this node")

    def _asked(self) -> Asked:
        return Asked(self._engine.deadline(), actor=self._actor)


def _whole(topic: TopicName | str) -> TopicName:
    """Return the name of the whole topic that `topic`, maybe one of its partitions, belongs to.

    Raises:
        InvalidName: it breaks the rules.
    """
    return (parse_topic(topic) if isinstance(topic, str) else topic).whole


def _subject(name: TopicName | str) -> str:
    """Return the topic or namespace that is listened to, as the log calls it."""
    if isinstance(name, str) and "://" not in name and name.count("/") == 1:
        return parse_namespace(name)
    return str(_whole(name))
