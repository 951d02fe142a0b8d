"""Shapes of JSON bodies, as the server checks and documents them. The client does not import this: it has no pydantic.

Names in JSON are camelCase. What is taken under `/api/v1` refuses unknown members, what is taken under `/admin/v2`
passes over them, as Pulsar does.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic.alias_generators import to_camel

from topicfold.model.policy.table import POLICIES
from topicfold.model.policy.values import plain_value, whole_number
from topicfold.model.records import MAX_PARTITIONS, NamespaceRecord, TopicRecord
from topicfold.runtime.reading import TopicView
from topicfold.wire.policy_schema import patch_schema, schema_of_all

Int32 = Annotated[int, Field(json_schema_extra={"format": "int32"})]
"""An integer of 32 bits, as Pulsar's clients have it."""


class Resource(BaseModel):
    """Base of all shapes."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, strict=True, extra="forbid", frozen=True)


class PulsarResource(Resource):
    """Base of those that Pulsar defines."""

    model_config = ConfigDict(extra="ignore")


class Violation(Resource):
    """One thing wrong with a request."""

    path: str = Field(description="Path in the body, its members separated by dots.")
    reason: str


class Problem(Resource):
    """An error, as in RFC 9457. Some have further members, such as `violations`, `current` or `operation`."""

    model_config = ConfigDict(extra="allow")

    type: str = Field(description="`urn:topicfold:problem:` and the code.")
    title: str
    status: Int32
    detail: str = Field(description="One sentence for humans.")
    code: str = Field(description="A stable code for programs.")
    reason: str = Field(description="The same as `detail`; Pulsar's tools print it.")
    hint: str = Field(description="What to do next; may be empty.")
    request_id: str
    violations: list[Violation] | None = Field(
        default=None, description="Everything that is wrong, not only the first problem."
    )


Policies = Annotated[dict[str, Any] | None, WithJsonSchema(schema_of_all())]
_OF_NAMESPACES = schema_of_all((policy for policy in POLICIES if policy.namespace), "NamespaceScopePolicies")


class Level(StrEnum):
    """Where a policy may be set, highest precedence first."""

    TOPIC = "topic"
    GLOBAL = "global"
    NAMESPACE = "namespace"
    BROKER = "broker"


class TopicPolicies(Resource):
    """A topic's own policies by name, without those of lower levels; null if it never had any."""

    local: Policies = Field(default=None, description="Policies of this cluster.")
    global_: Policies = Field(default=None, alias="global", description="Policies of all clusters.")


_READERS_ONLY = "Left out if the caller may only list topics."
_WITH_RECORD = "With `fields=record`."


class TopicItem(Resource):
    """A topic's record."""

    name: str = Field(description="The full name.")
    labels: dict[str, str]
    partitions: Int32 = Field(description="0 for a topic without partitions.")
    kafka_name: str | None = Field(
        default=None, description=f"Name of the Kafka topic, if it is not the default. {_READERS_ONLY}"
    )
    properties: dict[str, str] | None = Field(default=None, description=_READERS_ONLY)
    policies: TopicPolicies | None = Field(default=None, description=_READERS_ONLY)
    etag: str = Field(description="Identifies this version of the record; send it in double quotes as If-Match.")
    undecodable: bool = Field(
        default=False, description="True if the stored record cannot be read; what is shown is then empty."
    )


class FoundTopic(Resource):
    """A topic that was found; with `fields=record`, with all of its record."""

    name: str = Field(description="The full name.")
    labels: dict[str, str]
    partitions: Int32 = Field(description="0 for a topic without partitions.")
    kafka_name: str | None = Field(
        default=None, description=f"Name of the Kafka topic, if it is not the default. {_READERS_ONLY}"
    )
    version: str = Field(description="The record's ETag.")
    position: str = Field(description="The position from which that version can be read.")
    properties: dict[str, str] | None = Field(default=None, description=f"{_WITH_RECORD} {_READERS_ONLY}")
    policies: TopicPolicies | None = Field(default=None, description=f"{_WITH_RECORD} {_READERS_ONLY}")
    etag: str | None = Field(default=None, description=f"{_WITH_RECORD} The same as `version`.")
    undecodable: bool = Field(
        default=False, description="True if the stored record cannot be read; what is shown is then empty."
    )


class FoundCounts(Resource):
    """How many topics match, on all pages together."""

    matched: int
    namespaces: dict[str, int] = Field(description="By namespace; namespaces without a match are left out.")


class FoundTopics(Resource):
    """Topics that were found."""

    position: str = Field(description="The position in the log that the answer reflects.")
    counts: FoundCounts
    hash: str | None = Field(
        default=None, description="Hash of all names, if asked for as in PIP-451; null if there are many."
    )
    changed: bool = Field(
        default=True, description="False: the names are still those of `topics_hash`, and are not listed."
    )
    items: list[FoundTopic] = Field(description="Sorted by full name.")
    continue_: str | None = Field(
        default=None, alias="continue", description="Send it to get the next page; left out on the last."
    )


class ExplainedMiss(Resource):
    """A label key, or a value of it, that no topic has."""

    key: str
    value: str | None
    near: list[str] = Field(description="Keys or values that topics do have, most similar first.")
    text: str


class ExplainedRequirement(Resource):
    """One requirement of a selector."""

    requirement: str
    key: str
    topics: int = Field(description="Number of topics that meet this requirement alone.")
    takes_topics_without_key: bool
    misses: list[ExplainedMiss]


class ExplainedQuery(Resource):
    """How a query is understood."""

    selector: str = Field(description="The selector in canonical form.")
    requirements: list[ExplainedRequirement]
    topics: int = Field(description="Number of topics in these namespaces.")
    matched: int = Field(description="Number of topics that match the whole query.")
    hints: list[str] = Field(description="Results that may be surprising, in words.")
    position: str


def _whole(given: Any) -> Any:
    """Return 2.0 as 2, which JSON Schema calls an integer as well, and anything else as it is."""
    number = whole_number(given) if isinstance(given, float) else None
    return given if number is None else number


class NewTopic(Resource):
    """A new topic."""

    partitions: Annotated[Int32, BeforeValidator(_whole)] = Field(
        default=0, ge=0, le=MAX_PARTITIONS, description="0 for a topic without partitions."
    )
    kafka_name: str | None = Field(
        default=None, description="An existing Kafka topic to stand for, if it does not have the default name."
    )
    properties: dict[str, str] = Field(default_factory=dict)
    labels: dict[str, str] = Field(default_factory=dict)
    policies: TopicPolicies = Field(default_factory=TopicPolicies)


PoliciesPatch = Annotated[dict[str, Any] | None, WithJsonSchema(patch_schema(schema_of_all()))]


class TopicPoliciesPatch(Resource):
    """Changes of a topic's own policies; null removes all policies of a scope."""

    local: PoliciesPatch = Field(default=None, description="Policies of this cluster.")
    global_: PoliciesPatch = Field(default=None, alias="global", description="Policies of all clusters.")


class TopicPatch(Resource):
    """Changes of a topic, as a JSON Merge Patch (RFC 7396).

    Objects are merged, null removes, any other value replaces; what is left out stays as it is.
    """

    labels: dict[str, str | None] | None = Field(default_factory=dict)
    properties: dict[str, str | None] | None = Field(default_factory=dict)
    policies: TopicPoliciesPatch | None = Field(default_factory=TopicPoliciesPatch)


class NamespaceItem(Resource):
    """A namespace's record, without its grants."""

    name: str
    properties: dict[str, str]
    policies: Annotated[dict[str, Any], WithJsonSchema(_OF_NAMESPACES | {"type": "object"})] = Field(
        description="By name, as in a topic's record; without those of the node."
    )
    etag: str = Field(description="Identifies this version of the record; send it in double quotes as If-Match.")


class NamespacePatch(Resource):
    """Changes of a namespace, as a JSON Merge Patch (RFC 7396).

    Objects are merged, null removes, any other value replaces; what is left out stays as it is.
    """

    properties: dict[str, str | None] | None = Field(default_factory=dict)
    policies: Annotated[dict[str, Any] | None, WithJsonSchema(patch_schema(_OF_NAMESPACES))] = Field(
        default_factory=dict, description="By name, as in a topic's record."
    )


class EffectivePolicy(Resource):
    """The effective value of one policy, and where it comes from."""

    value: Any = Field(description="Null if no level sets it.")
    origin: Level | None = Field(
        description="The level it comes from; for merged policies the highest that contributes."
    )
    origins: dict[str, Level] = Field(description="For a merged policy, the level that each member comes from.")
    chain: dict[Level, Any] = Field(
        description="The value at each level, highest precedence first; levels that do not set it are left out."
    )
    enforced_by: Literal["kafka", "nothing"]


class EffectiveTopic(Resource):
    """What takes effect on a topic. Levels, by precedence: `topic`, `global`, `namespace`, `broker`."""

    name: str
    labels: dict[str, str]
    policies: dict[str, EffectivePolicy]
    etag: str = Field(description="ETag of the topic's own record.")


class CustomLabels(PulsarResource):
    """Labels to set; the topic keeps its others."""

    labels: dict[str, str]


class TenantInfo(PulsarResource):
    """A tenant, as in Pulsar."""

    # Of names that are no text the first is told: errors for each of 100,000 would hold up everybody else.
    admin_roles: list[str] | None = Field(default=None, fail_fast=True)
    allowed_clusters: list[str] | None = Field(default=None, fail_fast=True)


class ClusterData(PulsarResource):
    """Addresses and peers of a cluster."""

    service_url: str | None = Field(default=None)
    service_url_tls: str | None = Field(default=None)
    broker_service_url: str | None = Field(default=None)
    broker_service_url_tls: str | None = Field(default=None)
    proxy_service_url: str | None = Field(default=None)
    peer_cluster_names: list[str] | None = Field(
        default=None, fail_fast=True, description="Names of the peer clusters."
    )


class PartitionMetadata(PulsarResource):
    """How many partitions a topic has."""

    partitions: Int32 = Field(description="0 for a topic without partitions.")
    deleted: bool = Field(default=False)
    properties: dict[str, str] | None = Field(default=None)


class OperationState(Resource):
    """The outcome of a change. `applied` and `refused` are final; `not_seen` holds only up to the position `asOf`."""

    operation: str
    state: Literal["applied", "refused", "not_seen"]
    etag: str | None = Field(default=None, description="If applied: the ETag that the record then had.")
    code: str | None = Field(default=None, description="If refused: the code of the error.")
    changed: bool | None = Field(default=None, description="If applied: whether it changed anything.")
    as_of: str = Field(description="The position up to which the log was searched.")


class Version(Resource):
    """The software that answers."""

    version: str
    build: str = Field(description="A digest of the code; distinguishes builds of the same version.")
    name: str
    log: str = Field(description="The log's incarnation.")


class Readiness(Resource):
    """Whether the node is ready, by partition."""

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


def namespace_item(name: str, record: NamespaceRecord, etag: str) -> dict[str, Any]:
    """Return a namespace as `NamespaceItem` has it."""
    return {
        "name": name,
        "properties": dict(record.properties),
        "policies": plain_value(record.policies),
        "etag": etag,
    }
