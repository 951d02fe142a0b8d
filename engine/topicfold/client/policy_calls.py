"""One function for each thing that can be done with policies, whichever policy it is: the table says how. No I/O.

A policy goes by the name it is stored under. `entry` names one entry of a policy that is a map: a type of backlog
quota, `destination_storage` if none is named, or a subscription.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from topicfold.client.answers import Written
from topicfold.client.call import Answer, Call, ChangeOptions, Query, change, change_headers, mapping_in, written_if_any
from topicfold.client.paths import domain_query, given_segment, namespace_path, native_topic_path, topic_path
from topicfold.errors import InvalidPolicy, InvalidRequest
from topicfold.model.policy.description import Empty, NamespaceRoute, Policy, Source, TopicRoute
from topicfold.model.policy.shapes import DEFAULT_QUOTA_TYPE
from topicfold.model.policy.table import BY_NAME
from topicfold.model.policy.values import Kind, MapOf, Shape, read_value

_PLACE = re.compile(r"\{\w+\}")


def get_policy(topic: str, name: str, entry: str | None, is_global: bool, applied: bool) -> Call[Any]:
    """Ask for a policy of a topic.

    Raises:
        InvalidRequest: there is no such policy, or not in this scope.
    """
    policy = _policy(name)
    _check_scope(policy, is_global)
    if applied and not policy.topic.has_applied:
        raise InvalidRequest(f"{name} has no applied value", hint="What takes effect is told by `effective`.")
    path = _topic_policy_path(topic, policy, entry, policy.topic.read_path)
    return Call("GET", path, _value, query=_scope(is_global) + _asked(applied))


def set_policy(
    topic: str, name: str, value: Any, entry: str | None, is_global: bool, o: ChangeOptions
) -> Call[Written]:
    """Ask to set a policy of a topic.

    Raises:
        InvalidRequest: there is no such policy, or not in this scope.
        InvalidPolicy: it cannot be set to such a value.
    """
    policy = _policy(name)
    _check_scope(policy, is_global)
    query, body = _sent(policy, policy.topic, value)
    query = _scope(is_global) + _quota_type(policy, entry) + query
    return change(policy.topic.method, _topic_policy_path(topic, policy, entry), o, query=query, body=body)


def delete_policy(topic: str, name: str, entry: str | None, is_global: bool, o: ChangeOptions) -> Call[Written]:
    """Ask to take a policy off a topic.

    Raises:
        InvalidRequest: there is no such policy, not in this scope, or it cannot be taken off.
    """
    policy = _policy(name)
    _check_scope(policy, is_global)
    if not policy.topic.can_remove:
        raise InvalidRequest(f"{name} cannot be removed, only set")
    query = _scope(is_global) + _quota_type(policy, entry)
    return change("DELETE", _topic_policy_path(topic, policy, entry), o, query=query)


def delete_policies(topic: str, o: ChangeOptions) -> Call[Written]:
    """Ask to take all policies off a topic, in both scopes."""
    return Call("DELETE", f"{topic_path(topic)}/policies", written_if_any, headers=change_headers(o))


def get_namespace_policy(namespace: str, name: str, applied: bool) -> Call[Any]:
    """Ask for a policy of a namespace.

    Raises:
        InvalidRequest: namespaces have no such policy.
    """
    route = _namespace_route(_policy(name))
    if applied and not route.has_applied:
        raise InvalidRequest(f"{name} of a namespace has no applied value")
    return Call("GET", f"{namespace_path(namespace)}/{route.read_path or route.path}", _value, query=_asked(applied))


def set_namespace_policy(namespace: str, name: str, value: Any, entry: str | None, o: ChangeOptions) -> Call[Written]:
    """Ask to set a policy of a namespace.

    Raises:
        InvalidRequest: namespaces have no such policy.
        InvalidPolicy: it cannot be set to such a value.
    """
    policy = _policy(name)
    route = _namespace_route(policy)
    query, body = _sent(policy, route, value)
    path = f"{namespace_path(namespace)}/{route.path}"
    return change(route.method, path, o, query=_quota_type(policy, entry) + query, body=body)


def delete_namespace_policy(namespace: str, name: str, entry: str | None, o: ChangeOptions) -> Call[Written]:
    """Ask to take a policy off a namespace.

    Raises:
        InvalidRequest: namespaces have no such policy, or it cannot be taken off.
    """
    policy = _policy(name)
    route = _namespace_route(policy)
    if not route.has_delete and route.empty is not Empty.REMOVES:
        raise InvalidRequest(f"{name} of a namespace cannot be removed, only set")
    method = "DELETE" if route.has_delete else route.method
    path = f"{namespace_path(namespace)}/{route.remove_path or route.path}"
    return change(method, path, o, query=_quota_type(policy, entry))


def get_effective(topic: str, at: str | int | None) -> Call[Mapping[str, Any]]:
    """Ask what takes effect on a topic, or did, policy by policy, and where it comes from."""
    once = () if at is None else (("at", str(at)),)
    return Call("GET", f"{native_topic_path(topic)}/effective", mapping_in, query=(*domain_query(topic), *once))


def _policy(name: str) -> Policy:
    found = BY_NAME.get(name)
    if found is None:
        close = get_close_matches(name, BY_NAME, n=1)
        hint = f"Did you mean {close[0]}?" if close else f"Policies: {', '.join(BY_NAME)}."
        raise InvalidRequest(f"there is no policy {name!r}", hint=hint)
    return found


def _check_scope(policy: Policy, is_global: bool) -> None:
    if is_global and not policy.topic.has_global:
        raise InvalidRequest(f"{policy.name} has no value for all clusters", hint="Set it without is_global.")


def _namespace_route(policy: Policy) -> NamespaceRoute:
    if policy.namespace is None:
        raise InvalidRequest(f"{policy.name} is no policy of namespaces", hint="Set it on topics.")
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
    """Return the policy; None where it is unset, which some answer with 204 and some with an empty body."""
    return answer.body
