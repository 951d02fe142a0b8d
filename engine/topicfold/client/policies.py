"""What a client can do with policies: of topics on this cluster and on all, of namespaces, and what takes effect."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

from topicfold.client import policy_calls
from topicfold.client.answers import Written
from topicfold.client.call import Call, ChangeOptions
from topicfold.client.declaring import asks
from topicfold.client.own_namespace import InOwnNamespace


class PolicyCalls(InOwnNamespace):
    """Policies by the names they are stored under, such as `retentionPolicies`; `docs/policies.md` lists them.

    A value is JSON as Pulsar has it: `{"retentionTimeInMinutes": 10080, "retentionSizeInMB": -1}`, `600`, `True`.
    Of the two policies that are maps, one entry is set at a time: `entry` is the type of a backlog quota
    (`destination_storage` if none is named) or the name of a subscription.
    """

    @asks
    def get_policy(
        self, topic: str, name: str, *, entry: str | None = None, is_global: bool = False, applied: bool = False
    ) -> Call[Any]:
        """Return a policy of a topic, None where it is unset.

        `is_global` asks for the value for all clusters, `applied` for the namespace's or the node's where there is
        none, as Pulsar answers it; what takes effect is told by `effective`.
        """
        return policy_calls.get_policy(self._in_full(topic), name, entry, is_global, applied)

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
        """Set a policy of a topic; a value that cannot hold there is `InvalidPolicy` or `PolicyUnmet`."""
        return policy_calls.set_policy(self._in_full(topic), name, value, entry, is_global, options)

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
        """Take a policy off a topic, which uncovers what lies below it."""
        return policy_calls.delete_policy(self._in_full(topic), name, entry, is_global, options)

    @asks
    def remove_policies(self, topic: str, **options: Unpack[ChangeOptions]) -> Call[Written]:
        """Take all policies off a topic, those for all clusters too; its labels stay."""
        return policy_calls.delete_policies(self._in_full(topic), options)

    @asks
    def effective(self, topic: str, *, at: str | int | None = None) -> Call[Mapping[str, Any]]:
        """Return what takes effect on a topic, by policy, each with where it comes from.

        With `at`, an offset or a position, as of then; but the broker's values are always those of now.
        """
        return policy_calls.get_effective(self._in_full(topic), at)

    @asks
    def get_namespace_policy(self, namespace: str, name: str, *, applied: bool = False) -> Call[Any]:
        """Return a policy of a namespace, None where it is unset; with `applied` the node's in its place."""
        return policy_calls.get_namespace_policy(namespace, name, applied)

    @asks
    def set_namespace_policy(
        self, namespace: str, name: str, value: Any, *, entry: str | None = None, **options: Unpack[ChangeOptions]
    ) -> Call[Written]:
        """Set a policy of a namespace; it holds for all its topics that say nothing else."""
        return policy_calls.set_namespace_policy(namespace, name, value, entry, options)

    @asks
    def remove_namespace_policy(
        self, namespace: str, name: str, *, entry: str | None = None, **options: Unpack[ChangeOptions]
    ) -> Call[Written]:
        """Take a policy off a namespace."""
        return policy_calls.delete_namespace_policy(namespace, name, entry, options)
