"""Versions in requests: what `at` means where a topic is read as it once was."""

from __future__ import annotations

import re

from starlette.requests import Request

from topicfold.errors import InvalidRequest
from topicfold.model.events import AggregateKind
from topicfold.model.names import TopicName
from topicfold.model.permissions import Permission, Right, Scope
from topicfold.model.records import TopicRecord
from topicfold.runtime.engine import Engine
from topicfold.runtime.group import Target
from topicfold.runtime.reading import TopicView
from topicfold.runtime.revision import parse_revision
from topicfold.runtime.versions import life_start, version_at
from topicfold.server.node import Node

AT_QUERY = {"at": "An offset in the topic's history, or a position: read it as it was then."}

_READING_ALL = Right(Permission.READ_POLICIES, Scope.NAMESPACE)
_OFFSET = re.compile(r"[0-9]{1,18}")


def target_of(node: Node, name: TopicName) -> Target:
    """Return what changes and histories of a topic are about."""
    return node.engine.target(AggregateKind.TOPIC, str(name), name.namespace)


async def readable_since(node: Node, request: Request, name: TopicName, deadline: float) -> int:
    """Return the offset from which on who asks may read of a topic's past.

    What was before its present life is for those who may read the namespace: a grant on a topic is one on that life.

    Raises:
        TopicNotFound, NamespaceNotFound: there never was such a topic.
        LogUnavailable: the log did not answer by the deadline.
    """
    if node.has(request, _READING_ALL, name.namespace):
        return 0
    return await life_start(node.engine, target_of(node, name), deadline)


async def topic_at(node: Node, name: TopicName, at: str, deadline: float, since: int) -> TopicView:
    """Return a topic as it was right after the event at an offset, or at a position; not before offset `since`.

    Raises:
        InvalidRequest: `at` is neither, or a position of other partitions only.
        TopicNotFound, NamespaceNotFound: the topic was not there then.
        PositionTimeout, Resync, LogUnavailable: it cannot be told yet, any more, or now.
    """
    engine, target = node.engine, target_of(node, name)
    position: int | None
    if _OFFSET.fullmatch(at):
        position = int(at) + 1
        if position > engine.states[target.partition].position:
            await _require_end(engine, target.partition, position)
    else:
        revision = parse_revision(at, engine.identity.incarnation, engine.identity.partitions)
        position = revision.positions.get(target.partition)
    if position is None:
        raise InvalidRequest(
            f"at={at[:80]} says nothing of the partition that holds {name}",
            hint=f"Take X-Log-Position from an answer about {name.namespace}, or an offset from the topic's history.",
        )
    version = await version_at(engine, target, position, deadline, since)
    record = version.record if isinstance(version.record, TopicRecord) else None
    return TopicView(str(name), version.etag, record)


async def _require_end(engine: Engine, partition: int, position: int) -> None:
    """Return if the log goes as far as `position`: nobody waits for what may never come.

    Raises:
        InvalidRequest: it does not.
        LogUnavailable: it does not answer.
    """
    end = (await engine.barriers.ends())[partition]
    if position > end:
        raise InvalidRequest(f"at={position - 1}: the log ends at offset {end}", hint="The history shows offsets.")
