"""Topics under `/api/v1`: whole records, partitioned or not alike."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from topicfold.errors import (
    AlreadyExists,
    InvalidLabels,
    LogUnavailable,
    NamespaceNotFound,
    TopicNotFound,
)
from topicfold.model.desired import GLOBAL_SCOPE, SCOPES
from topicfold.model.names import TopicName
from topicfold.model.permissions import ADMINISTER_NAMESPACE, MANAGE_TOPIC, READ_TOPIC, UPDATE_TOPIC, Access
from topicfold.model.records import TopicRecord
from topicfold.runtime.asking import Cut
from topicfold.runtime.policies import below_topics
from topicfold.runtime.reading import TopicView
from topicfold.runtime.writing.dry_run import would_change, would_create, would_delete
from topicfold.server.answers import UNCHANGED, dry_answer, read_answer, record_answer, written_answer
from topicfold.server.asking import asked_to_read, asked_to_write, settled
from topicfold.server.bodies import json_body
from topicfold.server.connections.exchange import note_dry_run
from topicfold.server.desired import meaning_of, merging, new_topic_in, patch_in, scopes_in
from topicfold.server.node import Node
from topicfold.server.parameters import Choice, Flag
from topicfold.server.paths import DOMAIN_IN_QUERY, refuse_partition, topic_in
from topicfold.server.policies.requests import must_have_policies
from topicfold.server.queries import one, query_of
from topicfold.server.routes import (
    CLUSTER_ERRORS,
    DRY_RUN,
    POLICIES_REFUSED,
    READ_ERRORS,
    UNREADABLE,
    WRITE_ERRORS,
    Operation,
)
from topicfold.server.topics import creation
from topicfold.server.versions import AT_QUERY, readable_since, topic_at
from topicfold.wire.headers import DELETED_KAFKA_TOPIC, TAKEN_KAFKA_TOPIC
from topicfold.wire.resources import NewTopic, TopicItem, TopicPatch, topic_item

NATIVE_TOPIC = "/api/v1/topics/{tenant}/{namespace}/{topic}"
DOMAIN_QUERY = DOMAIN_IN_QUERY.declared
_ADOPT = Flag("adopt", "Create only the record, and nothing in Kafka.")
_DRY_RUN = Choice(
    "dryRun",
    "Answer 204 or the error that the change would get, but change nothing. Kafka is not asked.",
    ("All",),
    title="DryRun",
)
DRY_QUERY = _DRY_RUN.declared


@dataclass(frozen=True, slots=True)
class NativeTopics:
    """The handlers."""

    node: Node

    async def get(self, request: Request) -> Response:
        """Answer one topic's record, with `at` as it once was."""
        name = native_topic_in(request, "at")
        at = one(query_of(request), "at")
        if at is not None:
            return await self._get_past(request, name, at)
        cut = await settled(request, self.node, name.namespace)
        return _topic_answer(self.node.reading.topic(name), cut)

    async def _get_past(self, request: Request, name: TopicName, at: str) -> Response:
        node = self.node
        asked = asked_to_read(request, node)
        cut = await node.reading.settle([node.engine.partition(name.namespace)], asked)
        since = await readable_since(node, request, name, asked.deadline)
        return _topic_answer(await topic_at(node, name, at, asked.deadline, since), cut)

    async def create(self, request: Request) -> Response:
        """Make a topic, with its labels and policies."""
        name = refuse_partition(native_topic_in(request, "adopt", "dryRun"))
        node = self.node
        options = node.engine.options
        adopts = _ADOPT.of(query_of(request))
        record = new_topic_in(await json_body(request, node), options.label_rules, options.limits)
        if adopts or record.kafka_name is not None:
            # Another namespace's Kafka topic, or nobody's: the right on one's own namespace says nothing about it.
            await node.require(request, Access.SUPERUSER)
        scopes = {scope: policies for scope in SCOPES if (policies := getattr(record, scope)) is not None}
        if record.labels or scopes:
            await node.require(request, UPDATE_TOPIC)
        await self._require_for_policies(request, scopes)
        if scopes:
            must_have_policies(node)
        asked = asked_to_write(request, node, *creation(record), *(["adopt"] if adopts else []))
        writing = node.writing
        if is_dry(request):
            update = await (writing.recording if adopts else writing.creation)(name, record)
            return dry_answer(await would_create(node.engine, name, update, asked))
        written = await (writing.record_topic if adopts else writing.create_topic)(name, record, asked)
        return written_answer(written, topic_item(TopicView(str(name), written.etag, record)), 201)

    async def change(self, request: Request) -> Response:
        """Merge a patch into a topic's record, all in one update.

        Source: RFC 7396 (JSON Merge Patch).
        """
        name = refuse_partition(native_topic_in(request, "dryRun"))
        node = self.node
        options = node.engine.options
        body = await json_body(request, node)
        await self._require_for_policies(request, scopes_in(body))
        patch = patch_in(body, partial(self._seen, name), options.label_rules, options.limits)
        if not patch.keys().isdisjoint(SCOPES):
            must_have_policies(node)
        asked = asked_to_write(request, node, "change", meaning_of(patch))
        below = partial(below_topics, node.engine, name.namespace)
        update = merging(str(name), patch, options.label_rules, options.limits, below)
        if is_dry(request):
            return dry_answer(await would_change(node.engine, name, update, asked))
        return written_answer(await node.writing.change_topic(name, update, asked))

    async def delete(self, request: Request) -> Response:
        """End a topic, partitioned or not."""
        name = native_topic_in(request, "dryRun")
        asked = asked_to_write(request, self.node, "delete", None)
        if is_dry(request):
            return dry_answer(await would_delete(self.node.engine, name, asked))
        return written_answer(await self.node.writing.delete_topic(name, asked))

    def _seen(self, name: TopicName) -> TopicRecord:
        """Return a topic's record as it is folded here, an empty one where there is none."""
        reading = self.node.reading
        return (reading.topic(name).record if reading.has_topic(name) else None) or TopicRecord()

    async def _require_for_policies(self, request: Request, members: Collection[str]) -> None:
        """Return if who asks may change `members` of a topic's record: policies of all clusters need more than others.

        Raises:
            Forbidden: they may not.
        """
        if GLOBAL_SCOPE in members:
            await self.node.require(request, ADMINISTER_NAMESPACE)


def _topic_answer(view: TopicView, cut: Cut) -> Response:
    # What cannot be read here, a newer version of the node reads.
    answer = read_answer if view.record is None else record_answer
    return answer(topic_item(view), cut, view.etag)


def native_topic_in(request: Request, *others: str) -> TopicName:
    """Return the topic that a path under `/api/v1` names; the domain is a parameter, and `others` may be given too.

    Raises:
        InvalidName: it breaks the rules.
        InvalidRequest: the domain is none, or another parameter is given.
    """
    query_of(request, ("domain", *others))
    return topic_in(request)


def is_dry(request: Request) -> bool:
    """Return whether a change is to be tried only, and note it for the audit.

    Raises:
        InvalidRequest: the parameter says anything but `All`.
    """
    if not _DRY_RUN.of(query_of(request)):
        return False
    note_dry_run(request.scope)
    return True


def operations(node: Node) -> Sequence[Operation]:
    """Return what can be done with topics under `/api/v1`."""
    topics = NativeTopics(node)
    path, domain = NATIVE_TOPIC, DOMAIN_QUERY
    missing = (NamespaceNotFound, TopicNotFound)
    return (
        Operation("getTopicRecord", "GET", path, topics.get, "Read a topic", answer=TopicItem,
                  query=domain | AT_QUERY, empty=UNCHANGED,
                  needs=READ_TOPIC,
                  errors=(*READ_ERRORS, NamespaceNotFound, TopicNotFound, LogUnavailable)),
        Operation("createTopicRecord", "PUT", path, topics.create, "Create a topic", 201, answer=TopicItem,
                  needs=MANAGE_TOPIC,
                  body=NewTopic, without_body="it is a plain one",
                  query=domain | DRY_QUERY | _ADOPT.declared,
                  empty=DRY_RUN, headers=(TAKEN_KAFKA_TOPIC,),
                  errors=(*WRITE_ERRORS, *CLUSTER_ERRORS, *POLICIES_REFUSED, NamespaceNotFound, AlreadyExists,
                          InvalidLabels)),
        Operation("changeTopicRecord", "PATCH", path, topics.change, "Merge a patch into a topic", 204,
                  body=TopicPatch, without_body="nothing is changed", query=domain | DRY_QUERY, needs=UPDATE_TOPIC,
                  errors=(*WRITE_ERRORS, *missing, *POLICIES_REFUSED, InvalidLabels, *UNREADABLE)),
        Operation("deleteTopicRecord", "DELETE", path, topics.delete, "Delete a topic", 204,
                  query=domain | DRY_QUERY,
                  headers=(DELETED_KAFKA_TOPIC,), needs=MANAGE_TOPIC,
                  errors=(*WRITE_ERRORS, *CLUSTER_ERRORS, NamespaceNotFound, TopicNotFound)),
    )  # fmt: skip
