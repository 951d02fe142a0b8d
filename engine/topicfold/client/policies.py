"""Methods of a client for policies: local and global ones of topics, those of namespaces, and effective ones."""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, Unpack

from topicfold.client.answer_shape import EFFECTIVE
from topicfold.client.answers import Written
from topicfold.client.call import Answer, Call, ChangeOptions, Query, change, change_headers, mapping_of, written_if_any
from topicfold.client.declaring import asks
from topicfold.client.own_namespace import InOwnNamespace
from topicfold.client.paths import domain_query, given_segment, namespace_path, native_topic_path, topic_path
from topicfold.errors import InvalidPolicy, InvalidRequest
from topicfold.model.policy.description import Empty, NamespaceRoute, Policy, Source, TopicRoute
from topicfold.model.policy.shapes import DEFAULT_QUOTA_TYPE
from topicfold.model.policy.table import BY_NAME
from topicfold.model.policy.values import Kind, MapOf, Shape, read_value
from topicfold.wire import headers

_PLACE = re.compile(r"\{\w+\}")


class PolicyCalls(InOwnNamespace):
    """Policies by the names they are stored under, such as `retentionPolicies`; `docs/policies.md` lists them.

    Values are those of Pulsar's JSON: `{"retentionTimeInMinutes": 10080, "retentionSizeInMB": -1}`, `600`, `True`.
    Two policies are maps, of which one entry is set at a time: `entry` is the type of a backlog quota
    (default: `destination_storage`) or the name of a subscription.
    """

    @asks
    def get_policy(
        self, topic: str, name: str, *, entry: str | None = None, is_global: bool = False, applied: bool = False
    ) -> Call[Any]:
        """Return a policy of a topic, or None if it is not set.

        `is_global` returns the value for all clusters. `applied` returns, if the topic does not set the policy, the
        value of its namespace or of the node, as Pulsar would; for what really takes effect, see `effective`.

        Raises:
            InvalidRequest: there is no such policy, or not in this scope.
        """
        policy = _scoped(name, is_global)
        if applied and not policy.topic.has_applied:
            raise InvalidRequest(f"{name} has no applied value", hint="`effective` returns what takes effect.")
        path = _topic_policy_path(self._in_full(topic), policy, entry, policy.topic.read_path)
        return Call("GET", path, _value, query=_scope(is_global) + _asked(applied))

    @asks
    def set_policy(
        self,
        topic: str,
        name: str,
        value: Any,
        *,
        entry: str | None = None,
        is_global: bool = False,
        **options: Unpack[ChangeOptions],
    ) -> Call[Written]:
        """Set a policy of a topic; raise `InvalidPolicy` or `PolicyUnmet` if the value is not allowed.

        Raises:
            InvalidRequest: there is no such policy, or not in this scope.
        """
        policy = _scoped(name, is_global)
        query, body = _sent(policy, policy.topic, value)
        query = _scope(is_global) + _quota_type(policy, entry) + query
        path = _topic_policy_path(self._in_full(topic), policy, entry)
        return change(policy.topic.method, path, options, query=query, body=body)

    @asks
    def remove_policy(
        self,
        topic: str,
        name: str,
        *,
        entry: str | None = None,
        is_global: bool = False,
        **options: Unpack[ChangeOptions],
    ) -> Call[Written]:
        """Remove a policy from a topic, so that the value of the next lower level applies again.

        Raises:
            InvalidRequest: there is no such policy, not in this scope, or it cannot be removed.
        """
        policy = _scoped(name, is_global)
        if not policy.topic.can_remove:
            raise InvalidRequest(f"{name} cannot be removed, only set")
        query = _scope(is_global) + _quota_type(policy, entry)
        return change("DELETE", _topic_policy_path(self._in_full(topic), policy, entry), options, query=query)

    @asks
    def remove_policies(self, topic: str, **options: Unpack[ChangeOptions]) -> Call[Written]:
        """Remove all policies from a topic, local and global ones; its labels stay."""
        path = f"{topic_path(self._in_full(topic))}/policies"
        return Call("DELETE", path, written_if_any, headers=change_headers(options))

    @asks
    def effective(self, topic: str, *, at: str | int | None = None) -> Call[Mapping[str, Any]]:
        """Return the effective policies of a topic, each with the level that it comes from.

        With `at`, an offset or a position, they are those of that moment, except that the broker's values are always
        the current ones.
        """
        name = self._in_full(topic)
        query = (*domain_query(name), *(() if at is None else (("at", str(at)),)))
        return Call("GET", f"{native_topic_path(name)}/effective", mapping_of(EFFECTIVE), query=query)

    @asks
    def get_namespace_policy(self, namespace: str, name: str, *, applied: bool = False) -> Call[Any]:
        """Return a policy of a namespace, or None if it is not set; with `applied`, the node's value instead of None.

        Raises:
            InvalidRequest: namespaces have no such policy.
        """
        route = _namespace_route(_policy(name))
        if applied and not route.has_applied:
            raise InvalidRequest(f"{name} of a namespace has no applied value")
        path = f"{namespace_path(namespace)}/{route.read_path or route.path}"
        return Call("GET", path, _value, query=_asked(applied))

    @asks
    def set_namespace_policy(
        self, namespace: str, name: str, value: Any, *, entry: str | None = None, **options: Unpack[ChangeOptions]
    ) -> Call[Written]:
        """Set a policy of a namespace; it applies to all of its topics that do not override it."""
        policy = _policy(name)
        route = _namespace_route(policy)
        query, body = _sent(policy, route, value)
        path = f"{namespace_path(namespace)}/{route.path}"
        return change(route.method, path, options, query=_quota_type(policy, entry) + query, body=body)

    @asks
    def remove_namespace_policy(
        self, namespace: str, name: str, *, entry: str | None = None, **options: Unpack[ChangeOptions]
    ) -> Call[Written]:
        """Remove a policy from a namespace.

        Raises:
            InvalidRequest: namespaces have no such policy, or it cannot be removed.
        """
        policy = _policy(name)
        route = _namespace_route(policy)
        if not route.has_delete and route.empty is not Empty.REMOVES:
            raise InvalidRequest(f"{name} of a namespace cannot be removed, only set")
        method = "DELETE" if route.has_delete else route.method
        path = f"{namespace_path(namespace)}/{route.remove_path or route.path}"
        return change(method, path, options, query=_quota_type(policy, entry))


def _policy(name: str) -> Policy:
    found = BY_NAME.get(name)
    if found is None:
        close = get_close_matches(name, BY_NAME, n=1)
        hint = f"Did you mean {close[0]}?" if close else f"Policies: {', '.join(BY_NAME)}."
        raise InvalidRequest(f"there is no policy {name!r}", hint=hint)
    return found


def _scoped(name: str, is_global: bool) -> Policy:
    policy = _policy(name)
    if is_global and not policy.topic.has_global:
        raise InvalidRequest(f"{name} has no value for all clusters", hint="Set it without is_global.")
    return policy


def _namespace_route(policy: Policy) -> NamespaceRoute:
    if policy.namespace is None:
        raise InvalidRequest(f"{policy.name} is not a policy of namespaces", hint="Set it on topics.")
    return policy.namespace


def _topic_policy_path(topic: str, policy: Policy, entry: str | None, read_path: str = "") -> str:
    """Return the path of a policy; of one that has a place for an entry in it, that of the entry."""
    path = read_path or policy.topic.path
    if "{" not in path:
        return f"{topic_path(topic)}/{path}"
    if not entry:
        raise InvalidRequest(f"{policy.name} is set entry by entry", hint="Name the entry.")
    return f"{topic_path(topic)}/{_PLACE.sub(given_segment('entry', entry), path)}"


def _quota_type(policy: Policy, entry: str | None) -> Query:
    if isinstance(policy.kind, MapOf) and policy.kind.keys:
        return (("backlogQuotaType", entry or DEFAULT_QUOTA_TYPE),)
    return ()


def _scope(is_global: bool) -> Query:
    return (("isGlobal", "true"),) if is_global else ()


def _asked(applied: bool) -> Query:
    return (("applied", "true"),) if applied else ()


def _sent(policy: Policy, route: TopicRoute | NamespaceRoute, value: Any) -> tuple[Query, Any]:
    """Return the parameter and the body that say `value`.

    Raises:
        InvalidPolicy: the server would take it for another value, or for none: Pulsar passes over members that it does
            not know, and does not ask what a policy that is turned on is set to.
    """
    read = read_value(_stated_kind(policy), value, policy.name, refuses_unknown=True)
    match route.source:
        case Source.BODY:
            return (), value
        case Source.QUERY:
            return ((route.path, str(read)),), None
        case Source.TRUE if not read:
            reason = "can only be set to true; remove it to have it off"
            raise InvalidPolicy(policy.name, [{"path": "", "reason": reason}])
        case Source.TRUE:
            return (), None


def _stated_kind(policy: Policy) -> Kind:
    """Return the kind of what is set at once: of a map one entry, or the member of it that the path ends with."""
    if not isinstance(policy.kind, MapOf):
        return policy.kind
    entry, end = policy.kind.value, policy.topic.path.rpartition("/")[2]
    members = entry.members if isinstance(entry, Shape) else ()
    return next((member.kind for member in members if member.name == end), entry)


def _value(answer: Answer) -> Any:
    """Return the policy; None where it is unset, which some answer with 204 and some with an empty body.

    Raises:
        KeyError: it is not said as of where in the log: something else answers.
    """
    answer.headers[headers.LOG_POSITION.lower()]
    return answer.body
