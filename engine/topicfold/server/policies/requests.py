"""What a request about a topic's policies contains: the topic, the scope, and the value."""

from __future__ import annotations

from typing import Any, NamedTuple

from starlette.requests import Request

from topicfold.errors import NotFound, PoliciesDisabled, WrongKind
from topicfold.model.names import TopicName
from topicfold.model.policy.description import Policy, Source
from topicfold.model.policy.shapes import DEFAULT_QUOTA_TYPE, QUOTA_TYPES
from topicfold.model.system_topics import is_heartbeat_namespace
from topicfold.server.asking import settled
from topicfold.server.bodies import json_body
from topicfold.server.node import Node
from topicfold.server.parameters import Choice, Flag, Integer32
from topicfold.server.paths import refuse_partition, topic_in
from topicfold.server.queries import Query, query_of
from topicfold.server.routes import GLOBAL

APPLIED = Flag("applied", "`true`: if the topic does not set it, the value of its namespace or of the node.")
QUOTA_TYPE = Choice(
    "backlogQuotaType", "Type of quota.", QUOTA_TYPES, DEFAULT_QUOTA_TYPE, refused=NotFound, title="BacklogQuotaType"
)
"""A type that there is not is a missing resource, as Pulsar has it of values that it does not know."""


class Asking(NamedTuple):
    """What a request is about. `is_global`: the policies of all clusters; `is_applied`: what lies below counts too."""

    name: TopicName
    query: Query
    is_global: bool
    is_applied: bool


def asking_in(request: Request, node: Node, policy: Policy) -> Asking:
    """Return what a request about `policy` is about; parameters that the policy has not are passed over.

    Raises:
        InvalidName: the topic's name breaks the rules, or is that of one partition.
        PoliciesDisabled: this node has no policies of topics.
        InvalidRequest: a parameter is neither true nor false.
    """
    name = topic_in(request)
    must_have_policies(node)
    query = query_of(request)
    route = policy.topic
    return Asking(
        whole_topic(name),
        query,
        route.has_global and GLOBAL.of(query),
        route.has_applied and APPLIED.of(query),
    )


def must_have_policies(node: Node) -> None:
    """Return if topics have policies here.

    Raises:
        PoliciesDisabled: they have none.
    """
    if not node.limits.policies_enabled:
        raise PoliciesDisabled("Topic level policies is disabled, to enable the topic level policy and retry.")


def whole_topic(name: TopicName) -> TopicName:
    """Return `name` unless it is that of one partition, which is refused in Pulsar's words.

    Raises:
        InvalidName: it is; policies belong to whole topics.
    """
    return refuse_partition(name, "Not allowed to set/get topic policy for a partition: {}")


def number_of(policy: Policy) -> Integer32:
    """Return the parameter that says the value of a policy whose changes have no body."""
    return Integer32(policy.topic.path, f"{policy.doc} If left out, the policy is removed.")


async def stated_value(request: Request, asking: Asking, policy: Policy, node: Node) -> Any:
    """Return what a request says the value is to be, as JSON; None where it says nothing.

    Raises:
        InvalidRequest, TooLarge, HTTPException: the body cannot be read, as `json_body` has it.
        NotFound: the parameter is no number; the status is Pulsar's.
    """
    match policy.topic.source:
        case Source.BODY:
            return await json_body(request, node)
        case Source.QUERY:
            return number_of(policy).of(asking.query)
        case Source.TRUE:
            return True


async def must_be_changeable(name: TopicName, request: Request, node: Node) -> None:
    """Return if a topic is there and may have policies: what is wrong with a value is said after that.

    Raises:
        NamespaceNotFound, TopicNotFound: it is not there, as of a barrier.
        WrongKind: a broker tries itself out on it.
    """
    await settled(request, node, name.namespace)
    node.reading.topic(name)
    if is_heartbeat_namespace(name.namespace):
        raise WrongKind(f"Not allowed to set policies of the heartbeat topic {name}", name=str(name))
