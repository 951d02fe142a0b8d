"""Policies of topics under `/admin/v2`: GET, POST or PUT, and DELETE for each, made from the table of policies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from topicfold.errors import (
    InvalidPolicy,
    NamespaceNotFound,
    NotFound,
    PeerCluster,
    PoliciesDisabled,
    PolicyUnmet,
    TopicNotFound,
    UnknownCluster,
    WrongKind,
)
from topicfold.model.permissions import ADMINISTER_NAMESPACE, READ_TOPIC, UPDATE_TOPIC
from topicfold.model.policy.changes import QUOTAS, delete_policies
from topicfold.model.policy.description import Policy, Source
from topicfold.model.policy.table import POLICIES
from topicfold.server.answers import unwritten_answer, written_answer
from topicfold.server.asking import asked_to_write
from topicfold.server.node import Node
from topicfold.server.parameters import Declared
from topicfold.server.paths import topic_in
from topicfold.server.policies.answers import done_without_body, empty_where_unset
from topicfold.server.policies.entries import BacklogQuota, SubscriptionRate
from topicfold.server.policies.requests import APPLIED, whole_topic
from topicfold.server.policies.topic_policy import TopicPolicy
from topicfold.server.routes import GLOBAL, READ_ERRORS, TOPIC_PATH, UNREADABLE, WRITE_ERRORS, Operation
from topicfold.wire.policy_schema import schema_of

_ENTRY_BY_ENTRY: Mapping[str, type[TopicPolicy]] = {QUOTAS: BacklogQuota, "subscriptionPolicies": SubscriptionRate}
_MISSING = (NamespaceNotFound, TopicNotFound, PoliciesDisabled, *UNREADABLE)
_WRITE_ERRORS = (
    *WRITE_ERRORS, *_MISSING, NotFound, InvalidPolicy, PolicyUnmet, PeerCluster, UnknownCluster, WrongKind,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class AllPolicies:
    """The handler that takes all policies off a topic."""

    node: Node

    async def delete(self, request: Request) -> Response:
        """Take all policies off a topic, in both scopes; neither it nor its namespace need be there."""
        name = whole_topic(topic_in(request))
        asked = asked_to_write(request, self.node, "delete policies")
        try:
            return written_answer(await self.node.writing.change_topic(name, delete_policies(), asked))
        except NamespaceNotFound:
            engine = self.node.engine
            return unwritten_answer(engine.revision([engine.partition(name.namespace)]).merged(asked.minimum))


def operations(node: Node) -> Sequence[Operation]:
    """Return what can be done with the policies of topics."""
    made = [operation for policy in POLICIES for operation in _operations_of(node, policy)]
    delete = Operation("deleteTopicPolicies", "DELETE", f"{TOPIC_PATH}/policies", AllPolicies(node).delete,
                       "Remove all of a topic's own policies", 204, errors=(*WRITE_ERRORS, *UNREADABLE),
                       needs=ADMINISTER_NAMESPACE,
                       policy="MAX_PRODUCERS")  # fmt: skip
    return (*made, delete)


def _operations_of(node: Node, policy: Policy) -> Iterator[Operation]:
    route = policy.topic
    handlers = _ENTRY_BY_ENTRY.get(policy.name, TopicPolicy)(node, policy)
    path, name = f"{TOPIC_PATH}/{route.path}", policy.name[0].upper() + policy.name[1:]
    scope: Declared = GLOBAL.declared if route.has_global else {}
    yield Operation(
        f"getTopic{name}", "GET", f"{TOPIC_PATH}/{route.read_path or route.path}", handlers.get,
        f"Read a topic's {policy.title}", answer=schema_of(handlers.shown_kind),
        query=scope | (APPLIED.declared if route.has_applied else {}),
        empty=empty_where_unset(route.unset, route.absent),
        errors=(*READ_ERRORS, *_MISSING), needs=READ_TOPIC, policy=route.permission,
    )  # fmt: skip
    yield Operation(
        f"setTopic{name}", route.method, path, handlers.set, f"Set a topic's {policy.title}", 204,
        body=schema_of(handlers.stated_kind) if route.source is Source.BODY else None,
        without_body=done_without_body(route.empty),
        query={**scope, **handlers.parameters()}, errors=_WRITE_ERRORS, needs=UPDATE_TOPIC, policy=route.permission,
    )  # fmt: skip
    if route.can_remove:
        query = {**scope, **(handlers.parameters() if route.source is Source.BODY else {})}
        yield Operation(
            f"removeTopic{name}", "DELETE", path, handlers.remove, f"Remove a topic's {policy.title}", 204,
            query=query, errors=_WRITE_ERRORS, needs=UPDATE_TOPIC, policy=route.permission,
        )  # fmt: skip
