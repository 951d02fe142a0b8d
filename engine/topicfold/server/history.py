"""History of a topic, and rollback to one of its versions, under `/api/v1`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import orjson
from starlette.requests import Request
from starlette.responses import Response

from topicfold.errors import (
    InvalidLabels,
    InvalidRequest,
    LogUnavailable,
    NamespaceNotFound,
    Overloaded,
    TopicNotFound,
    VersionNotFound,
)
from topicfold.model.permissions import ADMINISTER_NAMESPACE, ADMINISTER_TOPIC, READ_TOPIC, UPDATE_TOPIC
from topicfold.runtime.asking import Consistency
from topicfold.runtime.past.history import read_history
from topicfold.runtime.past.rollback import restoring, roll_back, version_to_restore
from topicfold.runtime.writing.dry_run import would_change
from topicfold.server.answers import dry_answer, joined, read_answer, written_answer
from topicfold.server.asking import asked_to_read, asked_to_write
from topicfold.server.bodies import json_body
from topicfold.server.listing import counted_if_long
from topicfold.server.native_topics import DOMAIN_QUERY, DRY_QUERY, NATIVE_TOPIC, is_dry, native_topic_in
from topicfold.server.node import Node
from topicfold.server.parameters import Count
from topicfold.server.paths import refuse_partition
from topicfold.server.queries import one, query_of
from topicfold.server.records import checked
from topicfold.server.routes import POLICIES_REFUSED, READ_ERRORS, UNREADABLE, WRITE_ERRORS, Operation
from topicfold.server.versions import readable_since, target_of
from topicfold.wire.history import Rollback, TopicHistory, history_entry

DEFAULT_LIMIT = 50
MAX_LIMIT = 1_000
LIMIT = Count("limit", f"Maximum number of changes; {DEFAULT_LIMIT} if left out.", MAX_LIMIT)


@dataclass(frozen=True, slots=True)
class Histories:
    """The handlers."""

    node: Node

    async def get(self, request: Request) -> Response:
        """Answer a page of a topic's history, of one that ended too, as far back as who asks may read.

        Without a position to wait for it waits for a barrier: nobody asks so often that it would matter.
        """
        name = refuse_partition(native_topic_in(request, "limit", "before"))
        query = query_of(request)
        limit = LIMIT.of(query) or DEFAULT_LIMIT
        before = one(query, "before")
        if before == "":
            raise InvalidRequest("before is empty", hint="Send it as it was received, or begin without it.")
        node = self.node
        target = target_of(node, name)
        asked = asked_to_read(request, node)
        if asked.consistency is Consistency.LOCAL and asked.minimum is None:
            asked = asked._replace(consistency=Consistency.BARRIER)
        cut = await node.reading.settle([target.partition], asked)
        since = await readable_since(node, request, name, asked.deadline)
        page = await read_history(node.engine, target, limit, before or "", asked.deadline, since)
        shows_grants = node.has(request, ADMINISTER_TOPIC, name)
        items = (orjson.dumps(history_entry(entry, shows_grants=shows_grants)) for entry in page.entries)
        answer = {
            "name": str(name),
            "items": orjson.Fragment(await joined(items, b"[]")),
            "before": page.before or None,
            "gap": page.gap and {"offset": page.gap.offset, "reason": page.gap.reason},
            "position": str(cut.revision),
        }
        return counted_if_long(read_answer(answer, cut), request, node.in_flight, "ask for fewer changes")

    async def roll_back(self, request: Request) -> Response:
        """Give a topic back the labels, properties and policies of one of its versions."""
        name = refuse_partition(native_topic_in(request, "dryRun"))
        to = checked(Rollback, await json_body(request, self.node)).to
        node = self.node
        asked = asked_to_write(request, node, "rollback", to)
        fresh = asked_to_read(request, node)._replace(consistency=Consistency.BARRIER)
        await node.reading.settle([node.engine.partition(name.namespace)], fresh)
        if not is_dry(request) and (written := node.writing.answered(name, asked)) is not None:
            return written_answer(written)
        since = await readable_since(node, request, name, asked.deadline)
        version = await version_to_restore(node.engine, name, to, asked, since)
        may_change_global = node.has(request, ADMINISTER_NAMESPACE, name.namespace)
        if is_dry(request):
            updater = restoring(node.engine, name, version[1], may_change_global=may_change_global)
            return dry_answer(await would_change(node.engine, name, updater, asked))
        written = await roll_back(node.engine, node.writing, name, version, asked, may_change_global=may_change_global)
        return written_answer(written)


def operations(node: Node) -> Sequence[Operation]:
    """Return what can be done with the histories of topics."""
    histories = Histories(node)
    return (
        Operation("getTopicHistory", "GET", f"{NATIVE_TOPIC}/history", histories.get,
                  "Read a topic's history: who changed what, when and why", answer=TopicHistory,
                  query=DOMAIN_QUERY | LIMIT.declared | {
                      "before": "The `before` of the previous page.",
                  },
                  errors=(*READ_ERRORS, NamespaceNotFound, TopicNotFound, LogUnavailable, Overloaded),
                  needs=READ_TOPIC),
        Operation("rollbackTopic", "POST", f"{NATIVE_TOPIC}/rollback", histories.roll_back,
                  "Roll a topic back to an earlier version", 204, body=Rollback,
                  query=DOMAIN_QUERY | DRY_QUERY,
                  errors=(*WRITE_ERRORS, *POLICIES_REFUSED, NamespaceNotFound, TopicNotFound, VersionNotFound,
                          InvalidLabels, *UNREADABLE),
                  needs=UPDATE_TOPIC),
    )  # fmt: skip
