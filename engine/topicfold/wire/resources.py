"""Shapes of JSON bodies, as the server checks and documents them. The client does not import this: it has no pydantic.

Names in JSON are camelCase. What is taken under `/api/v1` refuses unknown members, what is taken under `/admin/v2`
passes over them, as Pulsar does.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema
from pydantic.alias_generators import to_camel

from topicfold.model.policy.values import plain_value
from topicfold.model.records import MAX_PARTITIONS, TopicRecord
from topicfold.runtime.reading import TopicView
from topicfold.wire.policy_schema import patch_schema, schema_of_all


class Resource(BaseModel):
    """Base of all shapes."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, strict=True, extra="forbid", frozen=True)


class PulsarResource(Resource):
    """Base of those that Pulsar defines."""

    model_config = ConfigDict(extra="ignore")


class Violation(Resource):
    """One thing wrong with a request."""

    path: str = Field(description="Where in the body, its members separated by dots.")
    reason: str


class Problem(Resource):
    """An error, as RFC 9457 has it. Some carry further members, such as `violations`, `current` or `operation`."""

    model_config = ConfigDict(extra="allow")

    type: str = Field(description="`urn:topicfold:problem:` and the code.")
    title: str
    status: int
    detail: str = Field(description="One sentence for people.")
    code: str = Field(description="Stable, for programs.")
    reason: str = Field(description="The same as `detail`; Pulsar's tools print it.")
    hint: str = Field(description="What to do next; may be empty.")
    request_id: str
    violations: list[Violation] | None = Field(
        default=None, description="Everything that is wrong, not only the first."
    )


Policies = Annotated[dict[str, Any] | None, WithJsonSchema(schema_of_all())]
Level = Literal["topic", "global", "namespace", "broker"]


class TopicPolicies(Resource):
    """A topic's own policies by name, and nothing of what lies below; null where it never had any."""

    local: Policies = Field(default=None, description="Those on this cluster.")
    global_: Policies = Field(default=None, alias="global", description="Those on all clusters.")


_READERS_ONLY = "Left out where who asks may list topics and no more."


class TopicItem(Resource):
    """A topic's record."""

    name: str = Field(description="The full name.")
    labels: dict[str, str]
    partitions: int = Field(description="0 for a topic without partitions.")
    kafka_name: str | None = Field(
        default=None, description=f"The Kafka topic, where it does not follow from the name. {_READERS_ONLY}"
    )
    properties: dict[str, str] | None = Field(default=None, description=_READERS_ONLY)
    policies: TopicPolicies | None = Field(default=None, description=_READERS_ONLY)
    etag: str = Field(description="Names this version of the record; send it in double quotes as If-Match.")
    undecodable: bool = Field(default=False, description="The stored record cannot be read: what is shown is empty.")


class FoundTopic(Resource):
    """A topic that was found; with `fields=record` beside it whatever `TopicItem` has more."""

    model_config = ConfigDict(extra="allow")

    name: str = Field(description="The full name.")
    labels: dict[str, str]
    partitions: int = Field(description="0 for a topic without partitions.")
    kafka_name: str | None = Field(
        default=None, description=f"The Kafka topic, where it does not follow from the name. {_READERS_ONLY}"
    )
    version: str = Field(description="The record's ETag.")
    position: str = Field(description="Where that version can be read.")


class FoundCounts(Resource):
    """How many topics match, on whatever page they are."""

    matched: int
    namespaces: dict[str, int] = Field(description="By namespace; those without any are left out.")


class FoundTopics(Resource):
    """Topics that were found."""

    position: str = Field(description="Where in the log the answer was read.")
    counts: FoundCounts
    hash: str | None = Field(
        default=None, description="Of all names, where asked for in PIP-451's way; null where they are many."
    )
    changed: bool = Field(default=True, description="False: the names are those of `topics_hash`, and not listed.")
    items: list[FoundTopic] = Field(description="Sorted by full name.")
    continue_: str | None = Field(
        default=None, alias="continue", description="Leads to the next page; left out on the last."
    )


class ExplainedMiss(Resource):
    """A key, or a value of it, that no topic bears."""

    key: str
    value: str | None
    near: list[str] = Field(description="What topics do bear, most similar first.")
    text: str


class ExplainedRequirement(Resource):
    """One requirement of a selector."""

    requirement: str
    key: str
    topics: int = Field(description="Topics that fulfil it by itself.")
    takes_topics_without_key: bool
    misses: list[ExplainedMiss]


class ExplainedQuery(Resource):
    """What a query means."""

    selector: str = Field(description="In its canonical form.")
    requirements: list[ExplainedRequirement]
    topics: int = Field(description="Topics that there are in these namespaces.")
    matched: int = Field(description="Topics that the whole query matches.")
    hints: list[str] = Field(description="What is likely to be a surprise, in words.")
    position: str


class NewTopic(Resource):
    """What a new topic is to be."""

    partitions: int = Field(default=0, ge=0, le=MAX_PARTITIONS, description="0 for a topic without partitions.")
    kafka_name: str | None = Field(
        default=None, description="An existing Kafka topic, where the default name will not do."
    )
    properties: dict[str, str] = Field(default_factory=dict)
    labels: dict[str, str] = Field(default_factory=dict)
    policies: TopicPolicies = Field(default_factory=TopicPolicies)


PoliciesPatch = Annotated[dict[str, Any] | None, WithJsonSchema(patch_schema(schema_of_all()))]


class TopicPoliciesPatch(Resource):
    """What of a topic's own policies is to become what; null takes all policies of a scope off."""

    local: PoliciesPatch = Field(default=None, description="Those on this cluster.")
    global_: PoliciesPatch = Field(default=None, alias="global", description="Those on all clusters.")


class TopicPatch(Resource):
    """What of a topic is to become what, as a JSON Merge Patch (RFC 7396).

    Objects merge, null removes, anything else replaces; what is left out stays.
    """

    labels: dict[str, str | None] | None = Field(default_factory=dict)
    properties: dict[str, str | None] | None = Field(default_factory=dict)
    policies: TopicPoliciesPatch | None = Field(default_factory=TopicPoliciesPatch)


class EffectivePolicy(Resource):
    """What takes effect of one policy, and why."""

    value: Any = Field(description="Null where nothing says anything.")
    origin: Level | None = Field(description="The level it comes from; of merged ones the highest that has a part.")
    origins: dict[str, Level] = Field(description="Where each member comes from, of a policy that is merged.")
    chain: dict[Level, Any] = Field(
        description="What each level says, the weightiest first; one that says nothing is left out."
    )
    enforced_by: Literal["topicfold", "kafka", "nothing"]


class EffectiveTopic(Resource):
    """What takes effect on a topic: `topic` before `global` before `namespace` before `broker`."""

    name: str
    labels: dict[str, str]
    policies: dict[str, EffectivePolicy]
    etag: str = Field(description="Of the topic's own record.")


class Labels(PulsarResource):
    """Labels to set or change; others of the topic stay."""

    labels: dict[str, str]


class TenantInfo(PulsarResource):
    """A tenant, as Pulsar has it."""

    # Of names that are no text the first is told: errors for each of 100,000 would hold up everybody else.
    admin_roles: list[str] | None = Field(default=None, fail_fast=True)
    allowed_clusters: list[str] | None = Field(default=None, fail_fast=True)


class ClusterData(PulsarResource):
    """Where a cluster is."""

    service_url: str | None = Field(default=None)
    service_url_tls: str | None = Field(default=None)
    broker_service_url: str | None = Field(default=None)
    broker_service_url_tls: str | None = Field(default=None)
    proxy_service_url: str | None = Field(default=None)
    peer_cluster_names: list[str] | None = Field(
        default=None, fail_fast=True, description="Clusters that stand for this one."
    )


class PartitionMetadata(PulsarResource):
    """How many partitions a topic has."""

    partitions: int = Field(description="0 for a topic without partitions.")
    deleted: bool = Field(default=False)
    properties: dict[str, str] | None = Field(default=None)


class OperationState(Resource):
    """What became of a change. `applied` and `refused` are final; `not_seen` holds as of a position only."""

    operation: str
    state: Literal["applied", "refused", "not_seen"]
    etag: str | None = Field(default=None, description="The record's version after it, where it was applied.")
    code: str | None = Field(default=None, description="Why it was refused: the code of a problem.")
    changed: bool | None = Field(default=None, description="Where it was applied: whether anything was to be changed.")
    as_of: str = Field(description="The position up to which the log was looked at.")


class Version(Resource):
    """Which software answers."""

    version: str
    build: str = Field(description="A digest of its code: two builds of one version differ in it.")
    name: str
    log: str = Field(description="The log's incarnation.")


class Readiness(Resource):
    """Whether the node serves, and what of it does not."""

    model_config = ConfigDict(extra="allow")

    ready: bool
    partitions: dict[str, dict[str, Any]]


def topic_item(view: TopicView) -> dict[str, Any]:
    """Return a topic as `TopicItem` has it."""
    record = view.record or TopicRecord()
    item = {
        "name": view.name,
        "labels": dict(record.labels),
        "partitions": record.partitions,
        "kafkaName": record.kafka_name,
        "properties": dict(record.properties),
        "policies": {"local": plain_value(record.local), "global": plain_value(record.global_)},
        "etag": view.etag,
    }
    return item if view.record is not None else item | {"undecodable": True}
