"""Where a watch starts: what the request says about it, and why it cannot resume from there."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.requests import Request

from topicfold.errors import InvalidRequest, Resync
from topicfold.log.port import LogIdentity
from topicfold.model.events import partition_of
from topicfold.runtime.revision import Revision, parse_revision
from topicfold.runtime.watching.cursors import cursor_in
from topicfold.runtime.watching.reset import Reset
from topicfold.runtime.watching.subject import Subject
from topicfold.server.guard import HEADERS_KEY, Headers
from topicfold.server.parameters import Count, Flag
from topicfold.server.queries import Query, one
from topicfold.wire.positions import NOWHERE

MAX_SECONDS = 86_400
INITIAL = Flag(
    "initial", "`false`: leave out the topics that match now. With `since`, they are always left out.", default=True
)
SECONDS = Count("timeoutSeconds", "Seconds after which the stream ends; resume from its last cursor.", MAX_SECONDS)

_LAST_EVENT = b"last-event-id"
_CUT_OFF = Reset("cut_off", "what followed a reset was cut off")
_CURSOR_HINT = "Give the `cursor` of a frame as it was received; leave it out to watch from now."
_COVER_HINT = "Leave it out to start with the topics that match now, or watch the namespaces that it lacks separately."


@dataclass(frozen=True, slots=True)
class Start:
    """From where a stream goes, and how long: after `since`, else from a start state if `initial`.

    `reset` is why it cannot go on from where it was to; whoever has topics of `known_hash` needs no start state.
    """

    since: Revision | None
    initial: bool
    known_hash: str | None = None
    reset: Reset | None = None
    seconds: float = MAX_SECONDS


def start_of(request: Request, query: Query, subject: Subject, identity: LogIdentity, known_hash: str | None) -> Start:
    """Return from where to go: a reconnecting browser's last event id before the `since` of its first request.

    Raises:
        InvalidRequest: a parameter is malformed, or given twice.
        InvalidRequest, Resync: lines cannot go on from there. Events say so in the stream, whatever is wrong with the
            cursor: a browser that is refused does not ask again.
    """
    headers: Headers = request.scope[HEADERS_KEY]
    given = one(query, "since")
    last_event = headers.get(_LAST_EVENT, b"").decode("latin-1")
    text, name = (last_event, "Last-Event-ID") if last_event else (given, "since")
    initial = INITIAL.of(query)
    seconds = SECONDS.of(query) or MAX_SECONDS
    if text is None:
        return Start(None, initial, known_hash, seconds=seconds)
    if text == NOWHERE:
        return Start(None, True, reset=_CUT_OFF, seconds=seconds)
    try:
        since = _since(text, name, subject, identity)
    except (InvalidRequest, Resync) as error:
        if not subject.encoding.as_events:
            raise
        return Start(None, True, reset=Reset(error.code, error.reason), seconds=seconds)
    return Start(since, initial, seconds=seconds)


def _since(text: str, name: str, subject: Subject, identity: LogIdentity) -> Revision:
    """Return where a cursor is in the partitions of the watched namespaces; `name` is what errors call it.

    Which topics were watched when it was received does not matter. A revision is taken as it is, whoever read it: who
    gives one says that nothing before it is wanted.

    Raises:
        InvalidRequest: it is none, or says nothing of a namespace.
        Resync: it is of another log, or of whoever may see other topics.
    """
    if not text:
        raise InvalidRequest(f"{name} is empty", hint=_CURSOR_HINT)
    cursor = cursor_in(text)
    try:
        since = parse_revision(cursor.revision, identity.incarnation, identity.partitions)
    except InvalidRequest as error:
        raise InvalidRequest(f"{name}: {error.reason}", hint=_CURSOR_HINT) from None
    if cursor.namespaces and cursor.viewer != ("" if subject.viewer is None else subject.viewer.mark):
        raise Resync("the right to see these namespaces has changed")
    namespaces = subject.namespaces
    partitions = namespaces.partitions(identity.partitions)
    lacking = cursor.lacking(namespaces)
    if lacking is None and not partitions <= since.positions.keys():
        places = {each: partition_of(each, identity.partitions) for each in namespaces.names}
        unnamed = ", ".join(namespaces.patterns)
        lacking = next((each for each, at in places.items() if at not in since.positions), unnamed)
    if lacking is not None:
        raise InvalidRequest(f"{name}: it is of other namespaces, and does not cover {lacking}", hint=_COVER_HINT)
    return Revision(since.incarnation, {each: since.positions[each] for each in partitions})
