"""History: who changed what of a tenant, a namespace or a topic, when and why.

It is read from the log itself, along the chain of accepted events: rejected events and refusals are not part of it. A
topic's history continues across its deletions and re-creations, but not beyond the life of its namespace.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from topicfold.errors import InvalidRequest, LogUnavailable
from topicfold.model.differences import Difference, differences
from topicfold.model.events import Audit
from topicfold.model.records import UnreadableRecord
from topicfold.model.updates import Stored
from topicfold.runtime.engine import Engine
from topicfold.runtime.past.chain import Chain, Gap, Link, Place, missing
from topicfold.runtime.past.versions import MAX_LINKS, Version, version_of
from topicfold.runtime.writing.update import Target

MAX_PAGE_BYTES = 4 * 1024 * 1024
"""Bytes of records on one page, of which the last may be beyond: of the largest there may be, 128."""

_CURSOR = re.compile(r"([0-9]{1,18})-([0-9a-f]{32})")


@dataclass(frozen=True, slots=True)
class Entry:
    """One change. `made_by` names who asked for each update in the event that changed something.

    `changes` is None if this record, or the one before it, cannot be read. `time_ms` is the
    writer's clock, None where that cannot be read.
    """

    version: Version
    kind: Literal["created", "changed", "deleted"]
    time_ms: int | None
    made_by: tuple[Audit, ...]
    changes: tuple[Difference, ...] | None


@dataclass(frozen=True, slots=True)
class Page:
    """Changes, newest first. `before` leads to older ones; at the end it is "", and `gap` may say why it ends."""

    entries: tuple[Entry, ...]
    before: str
    gap: Gap | None


async def read_history(
    engine: Engine, target: Target, limit: int, before: str, deadline: float, since: int = 0
) -> Page:
    """Return up to `limit` changes, from the newest on, or from where a page before ended, none before offset `since`.

    A page may be shorter although older changes follow: at most `MAX_LINKS` events are looked at, none after the
    deadline, and none behind `MAX_PAGE_BYTES`.

    Raises:
        InvalidRequest: `before` is none that a page gave, or so old that the log no longer holds what follows.
        TopicNotFound, NamespaceNotFound, TenantNotFound: there never was such a thing.
        LogUnavailable: nothing was read by the deadline.
    """
    chain = Chain(engine, target, deadline, _place(before) if before else None)
    newer = await chain.step()
    if before and newer is None:
        raise _unknown(before)
    newer = _not_before(since, newer)
    entries: list[Entry] = []
    size = 0
    try:
        for _ in range(MAX_LINKS):
            if newer is None or len(entries) >= limit or size >= MAX_PAGE_BYTES:
                break
            older = await chain.step()
            size += len(newer.event.payload)
            entries += _entries(engine, target, newer, older, chain.gap)
            newer = _not_before(since, older)
    except LogUnavailable:
        if not entries:
            raise
    if not (entries or newer or chain.gap or before or since):
        raise missing(target)
    if newer is None:
        return Page(tuple(entries), "", chain.gap)
    return Page(tuple(entries), f"{newer.offset}-{newer.event.event_id.hex()}", None)


def _entries(engine: Engine, target: Target, link: Link, older: Link | None, gap: Gap | None) -> Sequence[Entry]:
    """Return the change that `link` made, if any; `older` is None at the beginning, or at a gap."""
    if not link.changes and (link.event.operations or (older and older.event.payload == link.event.payload)):
        return ()
    before: Stored = None
    if older is not None:
        before = older.record
    elif gap is not None:
        before = UnreadableRecord()
    after = link.record
    if isinstance(before, UnreadableRecord) or isinstance(after, UnreadableRecord):
        changes = None
    else:
        changes = differences(before, after)
    kind: Literal["created", "changed", "deleted"] = "created" if before is None else "changed"
    time_ms = link.trail.time_ms if link.trail else None
    version = version_of(engine, target, link)
    return (Entry(version, kind if after is not None else "deleted", time_ms, link.made_by, changes),)


def _not_before(since: int, link: Link | None) -> Link | None:
    return link if link is not None and link.offset >= since else None


def _place(cursor: str) -> Place:
    match = _CURSOR.fullmatch(cursor)
    if match is None:
        raise _unknown(cursor)
    return Place(int(match[1]), bytes.fromhex(match[2]))


def _unknown(cursor: str) -> InvalidRequest:
    return InvalidRequest(
        f"before={cursor[:60]!r} is not where a page ended, or the log no longer goes back so far",
        hint="Send it as it was received, or begin without it.",
    )
