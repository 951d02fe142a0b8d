"""Finding topics as they were: what `at` means, and who may ask.

A caller who may list a namespace's topics now may also see which topics it had in its present life. A grant on a single
topic covers the topic as it is now, and not its past. An earlier life of a namespace was another namespace of the same
name, perhaps of another tenant of the same name: only superusers may see it.
"""

from __future__ import annotations

from collections.abc import Sequence

from starlette.requests import Request

from topicfold.errors import Forbidden, InvalidRequest, NamespaceNotFound, Resync
from topicfold.model.events import AggregateKind
from topicfold.model.permissions import LIST_NAMESPACE
from topicfold.runtime.asking import Asked, Cut
from topicfold.runtime.finding.found import Found
from topicfold.runtime.past.states import PastNamespace
from topicfold.runtime.past.versions import OFFSET
from topicfold.runtime.revision import Revision
from topicfold.server.finding.page_place import PagePlace
from topicfold.server.finding.topic_query import Wanted
from topicfold.server.node import Node
from topicfold.server.parameters import Declared
from topicfold.server.times import time_ms_in
from topicfold.server.versions import named_position

AT_QUERY: Declared = {
    "at": "Show topics as they were at a time (RFC 3339), some time ago (`30m`, `2h`, `7d`), at a position of an answer"
    " or, in one namespace, at an offset of a history."
}


async def found_then(
    request: Request, node: Node, wanted: Wanted, at: str, place: PagePlace | None, asked: Asked
) -> tuple[Found, Cut]:
    """Return the topics that matched at the time or position `at`, or at that of the page that this one follows.

    Raises:
        InvalidRequest: `at` is neither; or namespaces are asked for by a pattern.
        Forbidden: who asks may not list all topics of a namespace.
        NamespaceNotFound: none of the namespaces was there then.
        Resync: it cannot be told any more; says since when the past is known.
        PositionTimeout, NotReady, LogUnavailable, Overloaded: it cannot be told yet, or now.
    """
    engine, names = node.engine, wanted.namespaces.names
    if wanted.namespaces.patterns:
        pattern = wanted.namespaces.patterns[0]
        raise InvalidRequest(f"at is for namespaces by name, not for {pattern}", hint="Name up to 100 namespaces.")
    partitions = {namespace: engine.partition(namespace) for namespace in names}
    await node.reading.settle(set(partitions.values()), asked)
    authorizer = node.authorizer
    for namespace in names:
        if authorizer is not None and authorizer.listable(request, namespace) is not None:
            raise Forbidden(
                f"the past of {namespace} is for those who may list all of its topics",
                hint=authorizer.remedy(request, LIST_NAMESPACE, [namespace]),
            )
    revision = place.revision if place else await _revision(node, at, set(partitions.values()))
    missing = set(partitions.values()) - revision.positions.keys()
    if missing:
        raise InvalidRequest(
            f"at={at[:80]} does not cover partition {min(missing)}, which holds one of these namespaces",
            hint="Take the position of an answer about the same namespaces, or a time.",
        )
    positions = {partition: revision.positions[partition] for partition in partitions.values()}
    await engine.reach(Revision(revision.incarnation, positions), asked.deadline)
    places = {namespace: (namespace, positions[partition]) for namespace, partition in partitions.items()}
    try:
        past = await engine.past.namespaces(places.values(), asked.deadline)
    except Resync as error:
        raise Resync(f"the state at {at[:80]} is not known: {error.reason}", hint=error.hint) from error
    seen = {
        namespace: table
        for namespace, at_place in places.items()
        if _may_see(node, request, namespace, past[at_place]) and (table := past[at_place].table) is not None
    }
    if not seen:
        raise await _absent(node, names, at)
    found = await node.finding.find(wanted.namespaces, wanted.query, lambda namespace: None, seen, asked)
    return found, Cut(Revision(revision.incarnation, positions), 0.0)


def _may_see(node: Node, request: Request, namespace: str, then: PastNamespace) -> bool:
    """Return whether who asks may know of a life that a namespace had."""
    state = node.engine.states[node.engine.partition(namespace)]
    if then.incarnation == state.current(AggregateKind.NAMESPACE, namespace).incarnation:
        return True
    return node.may_do_everything(request)


async def _absent(node: Node, names: Sequence[str], at: str) -> NamespaceNotFound:
    since = await node.engine.past.known_since(node.engine.partition(names[0]))
    return NamespaceNotFound(
        f"Namespace not found at {at[:80]}: {', '.join(names[:5])}",
        name=names[0],
        hint=f"Its known history begins at {since}." if since else "",
    )


async def _revision(node: Node, at: str, partitions: set[int]) -> Revision:
    """Return the positions that `at` means in these partitions.

    Raises:
        InvalidRequest: it means none.
        Resync: a position of another log, or a time of which nothing is known any more.
        LogUnavailable: the log did not answer in time.
    """
    identity = node.engine.identity
    if OFFSET.fullmatch(at):
        return Revision(identity.incarnation, await _after_offset(node, int(at), partitions))
    time_ms = time_ms_in(at, node.engine.options.clock_ms())
    if time_ms is None:
        return named_position(at, identity)
    past = node.engine.past
    found = {partition: await past.position_at(partition, time_ms) for partition in sorted(partitions)}
    return Revision(identity.incarnation, found)


async def _after_offset(node: Node, offset: int, partitions: set[int]) -> dict[int, int]:
    if len(partitions) > 1:
        raise InvalidRequest(
            f"at={offset} is an offset of one partition, and these namespaces lie in {len(partitions)}",
            hint="Ask for one namespace, or by a time.",
        )
    (partition,) = partitions
    end = (await node.engine.barriers.ends())[partition]
    if offset >= end:
        raise InvalidRequest(f"at={offset}: the log ends at offset {end}", hint="Histories show offsets.")
    return {partition: offset + 1}
