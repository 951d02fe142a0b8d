"""What takes effect on a topic, policy by policy, and why: `GET /api/v1/topics/…/effective`.

`applied=true` under `/admin/v2` answers as Pulsar does, which differs; this answer is what really applies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from topicfold.errors import NamespaceNotFound, TopicNotFound
from topicfold.model.kafka.adoption import is_left_out, stands_for
from topicfold.model.permissions import READ_TOPIC
from topicfold.model.policy.description import EnforcedBy, Policy
from topicfold.model.policy.kafka_settings import says_something
from topicfold.model.policy.resolve import Effective
from topicfold.model.policy.table import BY_NAME
from topicfold.model.policy.values import shown_value
from topicfold.runtime.policies import TopicPolicies, policies_of, readable
from topicfold.server.answers import read_answer
from topicfold.server.asking import asked_to_read
from topicfold.server.native_topics import DOMAIN_QUERY, NATIVE_TOPIC, native_topic_in
from topicfold.server.node import Node
from topicfold.server.paths import refuse_partition
from topicfold.server.queries import one, query_of
from topicfold.server.routes import READ_ERRORS, UNREADABLE, Operation
from topicfold.server.versions import AT_QUERY, namespace_at, readable_since, topic_at
from topicfold.wire.resources import EffectiveTopic


@dataclass(frozen=True, slots=True)
class EffectivePolicies:
    """The handler."""

    node: Node

    async def get(self, request: Request) -> Response:
        """Answer every policy's value with the level it comes from, and what each level says; with `at` as of then.

        Of this node's own level no log tells: it is always that of now.
        """
        name = refuse_partition(native_topic_in(request, "at"))
        at = one(query_of(request), "at")
        node = self.node
        asked = asked_to_read(request, node)
        cut = await node.reading.settle([node.engine.partition(name.namespace)], asked)
        if at is None:
            said = policies_of(node.engine, name)
        else:
            since = await readable_since(node, request, name, asked.deadline)
            view = await topic_at(node, name, at, asked.deadline, since)
            owner, _ = await namespace_at(node, name.namespace, at, asked.deadline)
            said = TopicPolicies(node.engine, name, view.etag, readable(view), owner.policies)
        answer = {
            "name": str(name),
            "labels": dict(said.record.labels),
            "policies": {
                each: _shown(BY_NAME[each], found, _enforcer(BY_NAME[each], found, said))
                for each, found in said.effective().items()
            },
            "etag": said.etag,
        }
        return read_answer(answer, cut, said.etag)


def operations(node: Node) -> Sequence[Operation]:
    """Return what can be asked about what takes effect."""
    return (
        Operation("getEffectivePolicies", "GET", f"{NATIVE_TOPIC}/effective", EffectivePolicies(node).get,
                  "Read a topic's effective policies, and where they come from", answer=EffectiveTopic,
                  query=DOMAIN_QUERY | AT_QUERY,
                  errors=(*READ_ERRORS, NamespaceNotFound, TopicNotFound, *UNREADABLE),
                  needs=READ_TOPIC),
    )  # fmt: skip


def _enforcer(policy: Policy, found: Effective, said: TopicPolicies) -> EnforcedBy:
    """Return who makes this value come true: Kafka does not where there is no topic of its, or it is told nothing."""
    if policy.enforced_by is not EnforcedBy.KAFKA:
        return policy.enforced_by
    kafka_topic = stands_for(str(said.name), said.record.kafka_name)
    is_told = kafka_topic is not None and not is_left_out(kafka_topic)
    return (
        EnforcedBy.KAFKA if is_told and says_something(policy.name, found, said.limits.defaults) else EnforcedBy.NOTHING
    )


def _shown(policy: Policy, found: Effective, enforcer: EnforcedBy) -> dict[str, Any]:
    return {
        "value": None if found.value is None else shown_value(policy.kind, found.value),
        "origin": found.origin and found.origin.value,
        "origins": {member: origin.value for member, origin in found.origins.items()},
        "chain": {origin.value: shown_value(policy.kind, value) for origin, value in found.chain.items()},
        "enforcedBy": enforcer.value,
    }
