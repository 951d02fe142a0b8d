"""The handlers of one policy of topics, made from the policy's description.

A value is checked by itself before anything is written, but an error in it is reported only after the topic was found
to exist. Conditions between the value and other records are checked inside the update.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from topicfold.errors import Forbidden, InvalidPolicy, PolicyUnmet
from topicfold.model.policy.changes import QUOTAS, RETENTION, Change, change_topic, holding, remove_value, set_value
from topicfold.model.policy.description import Empty, Policy, Source
from topicfold.model.policy.resolve import Policies, applied
from topicfold.model.policy.shapes import QUOTA_TYPES
from topicfold.model.policy.values import Kind, ListOf, Value, plain_value, read_value
from topicfold.runtime.policies import TopicPolicies, below_topics, policies_of
from topicfold.server.answers import written_answer
from topicfold.server.asking import asked_to_write, settled
from topicfold.server.node import Node
from topicfold.server.parameters import Declared
from topicfold.server.policies.answers import policy_answer
from topicfold.server.policies.requests import Asking, asking_in, must_be_changeable, number_of, stated_value


@dataclass(frozen=True, slots=True)
class TopicPolicy:
    """The handlers of one policy, and below them what a policy that is asked for entry by entry does otherwise."""

    node: Node
    policy: Policy

    async def get(self, request: Request) -> Response:
        """Answer what is set, or with `applied=true` what Pulsar takes for what takes effect."""
        node, route = self.node, self.policy.topic
        asking = asking_in(request, node, self.policy)
        entry = self.entry_in(request, asking)
        cut = await settled(request, node, asking.name.namespace)
        said = policies_of(node.engine, asking.name)
        own = said.own(is_global=asking.is_global)
        value = self.applied(said, own, entry) if asking.is_applied else self.stored(own, entry)
        unset = route.absent if own is None and route.absent is not None else route.unset
        return policy_answer(self.shown_kind, value, unset, cut, said.etag, is_stored=not asking.is_applied)

    async def set(self, request: Request) -> Response:
        """Set the policy. What an empty body does differs from policy to policy."""
        asking = asking_in(request, self.node, self.policy)
        stated = await stated_value(request, asking, self.policy, self.node)
        entry = self.entry_in(request, asking)
        if stated is None and self.policy.topic.empty is Empty.REMOVES:
            return await self._remove(request, asking, entry)
        if stated is None and self.policy.topic.empty is Empty.IGNORED:
            return await self._leave(request, asking)
        try:
            value = self._checked(stated, entry)
        except (InvalidPolicy, PolicyUnmet, Forbidden):
            await must_be_changeable(asking.name, request, self.node)
            raise
        change = self.removal(entry) if value == self.policy.topic.unsets else self.setting(value, entry)
        if change is None:
            return await self._leave(request, asking)
        if self.policy.name in (RETENTION, QUOTAS):
            below = partial(below_topics, self.node.engine, asking.name.namespace)
            change = holding(change, self.policy.name, below, (entry,) if entry else QUOTA_TYPES)
        meaning = ("set", self.policy.name, entry, asking.is_global, plain_value(value))
        return await self._change(request, asking, change, meaning)

    async def remove(self, request: Request) -> Response:
        """Remove the policy; it is no error if there is none."""
        asking = asking_in(request, self.node, self.policy)
        return await self._remove(request, asking, self.entry_in(request, asking))

    @property
    def stated_kind(self) -> Kind:
        """What a request that sets the policy states."""
        return self.policy.kind

    @property
    def shown_kind(self) -> Kind:
        """What a request that reads the policy is answered with."""
        return self.policy.kind

    def parameters(self) -> Declared:
        """Return the query parameters that a change takes beside `isGlobal`."""
        if self.policy.topic.source is not Source.QUERY:
            return {}
        return number_of(self.policy).declared

    def entry_in(self, request: Request, asking: Asking) -> str:
        """Return the entry that a request is about, "" for the whole policy."""
        return ""

    def stored(self, own: Policies | None, entry: str) -> Value:
        """Return what is set in one scope, None for nothing."""
        return None if own is None else own.get(self.policy.name)

    def applied(self, said: TopicPolicies, own: Policies | None, entry: str) -> Value:
        """Return what Pulsar answers to `applied=true`."""
        if self.policy.topic.applied_sees_both:
            own = {**(said.record.global_ or {}), **(said.record.local or {})}
        return applied(self.policy, own, said.namespace(), said.limits)

    def check(self, value: Value, entry: str) -> None:
        """Check a value by itself.

        Raises:
            InvalidPolicy, PolicyUnmet, Forbidden: it may not be set.
        """
        self.policy.check(value, self.node.limits)

    def setting(self, value: Value, entry: str) -> Change | None:
        """Return the change that sets the policy; None where the value comes to nothing."""
        return set_value(self.policy.name, value)

    def removal(self, entry: str) -> Change:
        """Return the change that removes the policy, or one entry of it."""
        left = self.policy.topic.left
        return remove_value(self.policy.name, entry) if left is None else set_value(self.policy.name, left)

    def _checked(self, stated: Any, entry: str) -> Value:
        if stated is None and self.policy.topic.empty is Empty.UNMET:
            stated = [] if isinstance(self.stated_kind, ListOf) else {}
        refuses_unknown = self.node.limits.refuses_unknown
        value = read_value(self.stated_kind, stated, self.policy.title, refuses_unknown=refuses_unknown)
        self.check(value, entry)
        return value

    async def _remove(self, request: Request, asking: Asking, entry: str) -> Response:
        skips = not self.policy.topic.removal_makes_policies
        meaning = ("remove", self.policy.name, entry, asking.is_global)
        return await self._change(request, asking, self.removal(entry), meaning, skip_if_absent=skips)

    async def _leave(self, request: Request, asking: Asking) -> Response:
        """Change nothing, of a topic that must be there all the same."""
        return await self._change(request, asking, _kept, ("leave", self.policy.name), skip_if_absent=True)

    async def _change(
        self,
        request: Request,
        asking: Asking,
        change: Change,
        meaning: tuple[Any, ...],
        *,
        skip_if_absent: bool = False,
    ) -> Response:
        name = asking.name
        updater = change_topic(str(name), change, is_global=asking.is_global, skip_if_absent=skip_if_absent)
        asked = asked_to_write(request, self.node, *meaning)
        return written_answer(await self.node.writing.change_topic(name, updater, asked, stated=self.policy.name))


def _kept(policies: Policies) -> Policies:
    return policies
