"""One function for each route about grants and clusters: what is sent, and how the answer is read. No I/O."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from topicfold.client.answers import Written
from topicfold.client.call import Answer, Call, ChangeOptions, change, names_in
from topicfold.client.find_calls import Texts, each_of
from topicfold.client.paths import given_segment, namespace_path, tenant_path, topic_path

Grants = dict[str, tuple[str, ...]]
"""Actions that each role may do, by role."""


def tenant_permissions(tenant: str) -> Call[Grants]:
    """Ask what roles may do in a tenant."""
    return _permissions(tenant_path(tenant))


def namespace_permissions(namespace: str) -> Call[Grants]:
    """Ask what roles may do in a namespace."""
    return _permissions(namespace_path(namespace))


def topic_permissions(topic: str) -> Call[Grants]:
    """Ask what roles may do with a topic."""
    return _permissions(topic_path(topic))


def grant_on_tenant(tenant: str, role: str, actions: Texts, o: ChangeOptions) -> Call[Written]:
    """Ask to let a role do things in a tenant."""
    return _grant(tenant_path(tenant), role, actions, o)


def grant_on_namespace(namespace: str, role: str, actions: Texts, o: ChangeOptions) -> Call[Written]:
    """Ask to let a role do things in a namespace."""
    return _grant(namespace_path(namespace), role, actions, o)


def grant_on_topic(topic: str, role: str, actions: Texts, o: ChangeOptions) -> Call[Written]:
    """Ask to let a role do things with a topic."""
    return _grant(topic_path(topic), role, actions, o)


def revoke_on_tenant(tenant: str, role: str, o: ChangeOptions) -> Call[Written]:
    """Ask to take away what a role may do in a tenant."""
    return _revoke(tenant_path(tenant), role, o)


def revoke_on_namespace(namespace: str, role: str, o: ChangeOptions) -> Call[Written]:
    """Ask to take away what a role may do in a namespace."""
    return _revoke(namespace_path(namespace), role, o)


def revoke_on_topic(topic: str, role: str, o: ChangeOptions) -> Call[Written]:
    """Ask to take away what a role may do with a topic."""
    return _revoke(topic_path(topic), role, o)


def list_clusters() -> Call[tuple[str, ...]]:
    """Ask for the names of all clusters."""
    return Call("GET", "/admin/v2/clusters", names_in)


def get_cluster(cluster: str) -> Call[dict[str, Any]]:
    """Ask for a cluster's addresses and peers."""
    return Call("GET", _cluster_path(cluster), lambda answer: dict(answer.body))


def put_cluster(cluster: str, addresses: Mapping[str, Any], o: ChangeOptions) -> Call[Written]:
    """Ask to register a cluster."""
    return change("PUT", _cluster_path(cluster), o, body=dict(addresses))


def delete_cluster(cluster: str, o: ChangeOptions) -> Call[Written]:
    """Ask to forget a cluster."""
    return change("DELETE", _cluster_path(cluster), o)


def _permissions(path: str) -> Call[Grants]:
    def read(answer: Answer) -> Grants:
        return {role: tuple(actions) for role, actions in answer.body.items()}

    return Call("GET", f"{path}/permissions", read)


def _grant(path: str, role: str, actions: Texts, o: ChangeOptions) -> Call[Written]:
    return change("POST", f"{path}/permissions/{given_segment('role', role)}", o, body=list(each_of(actions)))


def _revoke(path: str, role: str, o: ChangeOptions) -> Call[Written]:
    return change("DELETE", f"{path}/permissions/{given_segment('role', role)}", o)


def _cluster_path(cluster: str) -> str:
    return f"/admin/v2/clusters/{given_segment('cluster', cluster)}"
