"""Versions in requests: what `at` means where a topic or a namespace is read as it once was."""

from __future__ import annotations

from starlette.requests import Request

from topicfold.errors import InvalidRequest
from topicfold.log.port import LogIdentity
from topicfold.model.events import AggregateKind
from topicfold.model.names import TopicName
from topicfold.model.permissions import READ_NAMESPACE
from topicfold.model.records import NamespaceRecord, TopicRecord, UnreadableRecord
from topicfold.model.updates import Stored
from topicfold.runtime.engine import Engine
from topicfold.runtime.past.versions import OFFSET, life_start, version_at
from topicfold.runtime.reading import TopicView
from topicfold.runtime.revision import Revision, parse_revision
from topicfold.runtime.unreadable import unreadable
from topicfold.runtime.writing.update import Target
from topicfold.server.node import Node
from topicfold.server.parameters import Declared
from topicfold.server.times import TIME_HINT, time_ms_in

AT_QUERY: Declared = {
    "at": "As it was at an offset of its history, at a position, at a time (RFC 3339) or some time ago"
    " (`30m`, `2h`, `7d`)."
}


async def readable_since(node: Node, request: Request, place: str | TopicName, deadline: float) -> int:
    """Return the offset from which on who asks may read of the past of a topic, or of what a text names.

    That is a namespace or a tenant. A grant is one on the present life: what was before is, of a topic, for those who
    may read the namespace, and of others for superusers.

    Raises:
        TopicNotFound, NamespaceNotFound, TenantNotFound: there never was such a thing.
        LogUnavailable: the log did not answer by the deadline.
    """
    if isinstance(place, TopicName):
        may_read_all = node.has(request, READ_NAMESPACE, place.namespace)
    else:
        may_read_all = node.may_do_everything(request)
    return 0 if may_read_all else await life_start(node.engine, node.engine.target_of(place), deadline)


async def topic_at(node: Node, name: TopicName, at: str, deadline: float, since: int) -> TopicView:
    """Return a topic as it was right after the event at an offset, at a position or a time; not before offset `since`.

    Raises:
        InvalidRequest: `at` is neither, or a position of other partitions only.
        TopicNotFound, NamespaceNotFound: the topic was not there then.
        PositionTimeout, Resync, LogUnavailable: it cannot be told yet, any more, or now.
    """
    target = node.engine.target_of(name)
    version = await version_at(node.engine, target, await _position(node, target, at), deadline, since, at[:80])
    if isinstance(version.record, TopicRecord):
        return TopicView(str(name), version.etag, version.record)
    return TopicView(str(name), version.etag, None, _schema_of(version.record))


async def namespace_at(node: Node, name: str, at: str, deadline: float, since: int = 0) -> tuple[NamespaceRecord, str]:
    """Return the record of a namespace as it was then, and its ETag, as `topic_at` does for a topic.

    Raises:
        InvalidRequest, NamespaceNotFound, PositionTimeout, Resync, LogUnavailable: as `topic_at`.
        Undecodable, NewerSchema: the record of then cannot be read.
    """
    target = node.engine.target_of(name)
    version = await version_at(node.engine, target, await _position(node, target, at), deadline, since, at[:80])
    if not isinstance(version.record, NamespaceRecord):
        raise unreadable(AggregateKind.NAMESPACE, f"{name} at {at}", _schema_of(version.record))
    return version.record, version.etag


def _schema_of(record: Stored) -> int:
    """Return the payload schema of a record that cannot be read."""
    return record.payload_schema if isinstance(record, UnreadableRecord) else 0


async def _position(node: Node, target: Target, at: str) -> int:
    """Return the position in a target's partition that `at` means: right after an event or a time, or as it says.

    Raises:
        InvalidRequest: it is neither, or a position of other partitions only.
        Resync: it is of another log, or a time of which nothing is known any more.
        LogUnavailable: the log does not answer.
    """
    engine = node.engine
    position: int | None
    if OFFSET.fullmatch(at):
        position = int(at) + 1
        if position > engine.states[target.partition].position:
            await _require_end(engine, target.partition, position)
    elif (time_ms := time_ms_in(at, engine.options.clock_ms())) is not None:
        position = await engine.past.position_at(target.partition, time_ms)
    else:
        position = named_position(at, engine.identity).positions.get(target.partition)
    if position is None:
        raise InvalidRequest(
            f"at={at[:80]} does not cover the partition that holds {target.name}",
            hint="Take X-Log-Position from an answer about its namespace, or an offset from its history.",
        )
    return position


def named_position(at: str, identity: LogIdentity) -> Revision:
    """Return the position of an answer that `at` is, which is no time.

    Raises:
        InvalidRequest: it is none either.
        Resync: it is of another log.
    """
    try:
        return parse_revision(at, identity.incarnation, identity.partitions)
    except InvalidRequest:
        raise InvalidRequest(f"at={at[:80]} is neither a time nor a position", hint=TIME_HINT) from None


async def _require_end(engine: Engine, partition: int, position: int) -> None:
    """Return if the log goes as far as `position`: nobody waits for what may never come.

    Raises:
        InvalidRequest: it does not.
        LogUnavailable: it does not answer.
    """
    end = (await engine.barriers.ends())[partition]
    if position > end:
        raise InvalidRequest(f"at={position - 1}: the log ends at offset {end}", hint="The history shows offsets.")
