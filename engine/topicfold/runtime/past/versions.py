"""Versions: a record as it was at a position of the log, or as the event with a given id left it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from topicfold.errors import InvalidRequest, Resync, TopicNotFound, VersionNotFound
from topicfold.model.events import GENESIS, AggregateKind
from topicfold.model.records import UnreadableRecord
from topicfold.model.updates import Stored
from topicfold.runtime.engine import Engine
from topicfold.runtime.past.chain import Chain, Link, missing
from topicfold.runtime.revision import Revision
from topicfold.runtime.writing.update import Target
from topicfold.text.rfc3339 import brief_time_text

MAX_LINKS = 10_000
"""Events looked at for one request."""
_MAX_NEAREST = 5

OFFSET = re.compile(r"[0-9]{1,18}")
"""How a request writes an offset of the log."""
_ETAG = re.compile(r"[0-9a-f]{1,32}(\.[0-9]{1,5})?")


@dataclass(frozen=True, slots=True)
class Version:
    """A record as an accepted event left it; `record` None where it ended it. `revision` is where that can be seen."""

    etag: str
    offset: int
    revision: Revision
    record: Stored


async def life_start(engine: Engine, target: Target, deadline: float) -> int:
    """Return the offset at which the present life of a topic, a namespace or a tenant begins.

    What lies before was another of that name.

    It is never too low: of a life that began too long ago it is where the walk ended, of one that has ended where the
    log does.

    Raises:
        TopicNotFound, NamespaceNotFound, TenantNotFound: there never was such a thing.
        LogUnavailable: the log did not answer by the deadline.
    """
    chain = Chain(engine, target, deadline)
    start = engine.states[target.partition].position
    for _ in range(MAX_LINKS):
        link = await chain.step()
        if link is None or link.record is None or isinstance(link.record, UnreadableRecord):
            break
        start = link.offset
    return start


async def version_at(
    engine: Engine, target: Target, position: int, deadline: float, since: int = 0, asked_at: str = ""
) -> Version:
    """Return the record as it was when the target's partition was folded up to `position`.

    Waits for a position that is not folded yet. What lies before the offset `since` counts as not live, and no error
    tells of it. `asked_at` is what the position was asked for by, as errors say it.

    Raises:
        PositionTimeout: it is not by the deadline.
        TopicNotFound, NamespaceNotFound, TenantNotFound: it was not live then; says since when it is known if it is
            not from before.
        Resync: the log cannot tell any more.
        LogUnavailable: it did not answer by the deadline.
    """
    then = asked_at or f"position {position}"
    await engine.reach(_revision(engine, target, position), deadline)
    try:
        chain = Chain(engine, target, deadline)
    except TopicNotFound:
        await _require_life(engine, target, position, then, deadline)
        raise
    first: Link | None = None
    for _ in range(MAX_LINKS):
        link = await chain.step()
        if link is None:
            break
        if link.offset < position:
            if link.offset < since:
                raise missing(target, f" at {then}", _known_since(first))
            if link.record is None:
                raise missing(target, f" at {then}")
            return version_of(engine, target, link, await _etag(link, chain))
        if link.offset >= since:
            first = link
    if chain.next is not None:
        raise Resync(f"{target.name} has changed more than {MAX_LINKS} times since {then}")
    if chain.gap is not None:
        raise Resync(f"{target.name} cannot be read back to {then}: {chain.gap}")
    if target.kind == AggregateKind.TOPIC:
        await _require_life(engine, target, position, then, deadline)
    raise missing(target, f" at {then}", _known_since(first))


async def find_version(engine: Engine, target: Target, wanted: str, deadline: float, since: int = 0) -> Version:
    """Return a version by its ETag, the id before the ETag's dot, or its offset in the partition.

    Of updates that one event carried only the last one's record is kept, and known by its ETag. What lies before the
    offset `since` is not looked at.

    Raises:
        InvalidRequest: `wanted` is none of these.
        VersionNotFound: there is none in the history; carries those that come nearest, named as `wanted` is.
        TopicNotFound, NamespaceNotFound, TenantNotFound: there never was such a thing.
        LogUnavailable: it was not found by the deadline.
    """
    text = wanted.strip('"')
    if not (OFFSET.fullmatch(text) or _ETAG.fullmatch(text)):
        raise InvalidRequest(
            f"version {wanted[:80]!r} is neither an ETag nor an offset", hint="The history shows both."
        )
    chain = Chain(engine, target, deadline)
    seen: list[tuple[int, str]] = []
    for _ in range(MAX_LINKS):
        link = await chain.step()
        if link is None or link.offset < since:
            break
        if text in (str(link.offset), link.etag, link.event.event_id.hex()):
            return version_of(engine, target, link)
        if link.changes:
            seen.append((link.offset, link.etag))
    if chain.next is not None and not since:
        beyond = f" among its last {MAX_LINKS}"
    else:
        beyond = f"; its history cannot be read further back: {chain.gap}" if chain.gap else ""
    nearest = _nearest(text, seen)
    raise VersionNotFound(
        f"{target.name} has no version {text}{beyond}",
        hint=f"The history shows all. The nearest are {', '.join(nearest)}." if nearest else "",
        name=target.name,
        nearest=nearest,
    )


def version_of(engine: Engine, target: Target, link: Link, etag: str = "") -> Version:
    """Return what `link` left; `etag` stands for its own, which an event that changed nothing has not."""
    return Version(etag or link.etag, link.offset, _revision(engine, target, link.offset + 1), link.record)


def _known_since(first: Link | None) -> str:
    """Return a hint: when the first event that is known was written; "" where there is none, or it does not say."""
    if first is None or first.trail is None or not first.trail.says_time:
        return ""
    return f"Its known history begins at {brief_time_text(first.trail.time_ms)}."


async def _require_life(engine: Engine, target: Target, position: int, then: str, deadline: float) -> None:
    """Return if the namespace of a topic lived its present life at `position`, or never lived before that.

    `then` is the position as errors say it.

    Raises:
        NamespaceNotFound: it has ended while the topic was looked for.
        Resync: its life began later, and took the place of another; or that can no longer be told.
    """
    owner = engine.target(AggregateKind.NAMESPACE, target.namespace)
    life = engine.states[owner.partition].current(owner.kind, owner.name).incarnation
    if life == GENESIS:
        raise missing(owner)
    chain = Chain(engine, owner, deadline)
    while (link := await chain.step()) is not None:
        if link.event.event_id == life and (link.offset < position or link.event.base == GENESIS):
            return
        if link.event.event_id == life:
            raise Resync(
                f"namespace {owner.name} was recreated at offset {link.offset}; what it contained before, "
                f"at {then}, is no longer known"
            )
    raise Resync(f"{owner.name} cannot be read back to {then}: {chain.gap}")


async def _etag(link: Link, chain: Chain) -> str:
    """Return the ETag after `link`: of the last event up to it that changed something."""
    changed: Link | None = link
    while changed is not None and not changed.changes:
        changed = await chain.step()
    return (changed or link).etag


def _nearest(text: str, seen: Sequence[tuple[int, str]]) -> list[str]:
    """Return the versions that `text` may mean, named as it names one; the newest where it resembles none.

    They are in the order of the history, the newest first.
    """
    if OFFSET.fullmatch(text):
        offsets = sorted((offset for offset, _ in seen), key=lambda offset: abs(offset - int(text)))
        return list(map(str, sorted(offsets[:_MAX_NEAREST], reverse=True)))
    etags = [etag for _, etag in seen]
    return ([etag for etag in etags if etag.startswith(text.partition(".")[0])] or etags)[:_MAX_NEAREST]


def _revision(engine: Engine, target: Target, position: int) -> Revision:
    return Revision(engine.identity.incarnation, {target.partition: position})
