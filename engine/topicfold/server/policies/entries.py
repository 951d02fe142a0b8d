"""Policies that are requested entry by entry: backlog quotas by type, dispatch rates by subscription."""

from __future__ import annotations

from types import MappingProxyType

from starlette.requests import Request

from topicfold.errors import InvalidName
from topicfold.model.policy.changes import Change, set_entry
from topicfold.model.policy.resolve import Policies, applied
from topicfold.model.policy.shapes import BACKLOG_QUOTA, DEFAULT_QUOTA_TYPE, DISPATCH_RATE
from topicfold.model.policy.table import BY_NAME
from topicfold.model.policy.unset import is_no_dispatch_rate
from topicfold.model.policy.values import MAX_TEXT_LENGTH, Kind, Value
from topicfold.runtime.policies import TopicPolicies
from topicfold.server.parameters import Declared
from topicfold.server.paths import decoded
from topicfold.server.policies.requests import QUOTA_TYPE, Asking
from topicfold.server.policies.topic_policy import TopicPolicy

_RATE = "dispatchRate"


class BacklogQuota(TopicPolicy):
    """Quotas by type: all are read at once, each is set and removed by itself."""

    __slots__ = ()

    @property
    def stated_kind(self) -> Kind:
        """One quota."""
        return BACKLOG_QUOTA

    def parameters(self) -> Declared:
        """Return the type of a quota."""
        return QUOTA_TYPE.declared

    def entry_in(self, request: Request, asking: Asking) -> str:
        """Return the type of the quota that a change is about.

        Raises:
            NotFound: there is no such type; the status is Pulsar's.
        """
        return DEFAULT_QUOTA_TYPE if request.method == "GET" else QUOTA_TYPE.of(asking.query)

    def check(self, value: Value, entry: str) -> None:
        """Check one quota by itself.

        Raises:
            InvalidPolicy: it does not say what happens at its limit.
        """
        self.policy.check({entry: value}, self.node.limits)

    def setting(self, value: Value, entry: str) -> Change | None:
        """Return the change that sets one quota and keeps the other."""
        return set_entry(self.policy.name, entry, value)


class SubscriptionRate(TopicPolicy):
    """The dispatch rate of one subscription, which the path names."""

    __slots__ = ()

    @property
    def stated_kind(self) -> Kind:
        """One rate."""
        return DISPATCH_RATE

    @property
    def shown_kind(self) -> Kind:
        """One rate."""
        return DISPATCH_RATE

    def entry_in(self, request: Request, asking: Asking) -> str:
        """Return the subscription; as in topics' names, `+` means a space.

        Raises:
            InvalidName: it is too long, or holds what cannot be printed.
        """
        name = decoded(request.path_params["subName"].replace("+", "%20"))
        if not name.strip() or len(name) > MAX_TEXT_LENGTH or not name.isprintable():
            raise InvalidName(
                f"subscription {name[:80]!a}: expected 1 to {MAX_TEXT_LENGTH} printable characters", name=name
            )
        return name

    def stored(self, own: Policies | None, entry: str) -> Value:
        """Return the rate of the subscription in one scope."""
        subscriptions: Policies = {} if own is None else own.get(self.policy.name, {})
        return subscriptions.get(entry, {}).get(_RATE)

    def applied(self, said: TopicPolicies, own: Policies | None, entry: str) -> Value:
        """Return the rate of the subscription, else the one of all subscriptions as Pulsar applies it."""
        rate = self.stored(own, entry)
        if rate is not None:
            return rate
        return applied(BY_NAME["subscriptionDispatchRate"], own, said.namespace(), said.limits)

    def setting(self, value: Value, entry: str) -> Change | None:
        """Return the change that sets the rate; None for one that limits nothing, which Pulsar passes over."""
        if is_no_dispatch_rate(value):
            return None
        return set_entry(self.policy.name, entry, MappingProxyType({_RATE: value}))
