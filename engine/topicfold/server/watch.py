"""Watching: which topics match a query, now and from now on, as server-sent events or as lines of JSON."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from topicfold.errors import (
    FuturePosition,
    InvalidPattern,
    InvalidRegex,
    InvalidSelector,
    NamespaceNotFound,
    NotReady,
    Overloaded,
    PositionTimeout,
    Resync,
    TenantNotFound,
    TopicfoldError,
    WatchesDisabled,
)
from topicfold.model.namespaces import Namespaces
from topicfold.model.permissions import WATCH_NAMESPACE
from topicfold.runtime.revision import Revision
from topicfold.runtime.watching.subject import Subject
from topicfold.runtime.watching.watcher import Watcher
from topicfold.runtime.watching.watches import CLOSE_SECONDS
from topicfold.server.asking import asked_to_read
from topicfold.server.auth.door import Admission, admission_of
from topicfold.server.auth.principal import actor_of
from topicfold.server.auth.viewer import Viewer
from topicfold.server.connections.exchange import REQUEST_ID
from topicfold.server.connections.principal_counts import PrincipalCounts
from topicfold.server.connections.stream import Line, close_body, line_of, open_line
from topicfold.server.finding.topic_query import NAMES, PARAMETERS, Wanted, wanted_in
from topicfold.server.frames import SSE_TYPE, Frames
from topicfold.server.guard import HEADERS_KEY, Headers
from topicfold.server.node import Node
from topicfold.server.queries import query_of
from topicfold.server.routes import READ_ERRORS, Operation
from topicfold.server.watch_start import INITIAL, SECONDS, Start, start_of
from topicfold.server.watch_switch import require_watches
from topicfold.wire import headers as names

WATCH_PATH = "/api/v1/watch"
MAX_WATCHES = 20_000
"""On one node."""
MAX_WATCHES_OF_ONE = 100
"""Of one principal, where there is authentication."""


@dataclass(frozen=True, slots=True)
class Watching:
    """The handler, and how many streams each principal has."""

    node: Node
    streams: PrincipalCounts = field(default_factory=PrincipalCounts)

    async def watch(self, request: Request) -> Response:
        """Answer with a stream.

        Raises:
            InvalidRequest, InvalidSelector, InvalidPattern, InvalidRegex: the query is malformed, all of it refused.
            NamespaceNotFound, TenantNotFound: there is none of that name, and no position to go on from.
            InvalidRequest, Resync, FuturePosition: a stream of lines cannot go on from that position; events say it in
                the stream.
            Overloaded: too many watch already, or a stream of lines would have to wait too long.
            NotReady: the node is starting or stopping.
            WatchesDisabled: nobody may watch on this node.
        """
        node = self.node
        require_watches(node.settings)
        query = query_of(request, (*NAMES, "since", INITIAL.name, SECONDS.name))
        wanted = wanted_in(request, query, node)
        _refuse_empty(wanted)
        encoding = Frames(node.engine.identity, as_events=not _wants_lines(request))
        partitions = wanted.namespaces.partitions(node.engine.identity.partitions)
        self._refuse_too_many(actor_of(request.scope))
        await node.reading.settle(partitions, asked_to_read(request, node))
        viewer = self.viewer_of(request, wanted.namespaces)
        subject = Subject(wanted.query, wanted.namespaces, encoding, viewer, node.may_do_everything(request))
        start = start_of(request, query, subject, node.engine.identity, wanted.known_hash)
        if start.since is None:
            if start.reset is None:
                await self._refuse_unknown(wanted.namespaces, partitions)
        elif not encoding.as_events:
            await self.reach(start.since, start.seconds)
            if node.engine.watches.is_too_old(start.since.positions):
                raise Resync("the position is too far back", hint="Watch without `since`, and start over.")
        return Stream(self, request, subject, start, wanted.text)

    def viewer_of(self, request: Request, namespaces: Namespaces) -> Viewer | None:
        """Return what who asks may see of the topics of `namespaces` now; None where that is everything."""
        authorizer = self.node.authorizer
        return None if authorizer is None else authorizer.viewer(request, namespaces)

    async def _refuse_unknown(self, namespaces: Namespaces, partitions: frozenset[int]) -> None:
        """Return if everything that is named of `namespaces` is there.

        Raises:
            NamespaceNotFound, TenantNotFound: it is not, by all that the log holds if it can be asked.
        """
        reading = self.node.reading
        try:
            reading.require_namespaces(namespaces)
        except (NamespaceNotFound, TenantNotFound):
            await reading.catch_up(partitions)
            reading.require_namespaces(namespaces)

    async def reach(self, since: Revision, seconds: float) -> None:
        """Return once everything before `since` is folded; wait at most `seconds`, nor longer than requests may.

        Without an end to `seconds` what is folded once more is waited for however long that takes.

        Raises:
            FuturePosition: it is not in time.
            Overloaded: what came since is not known again in time.
            NotReady: the node is stopping.
        """
        until = asyncio.get_running_loop().time() + min(seconds, self.node.settings.request_timeout_seconds)
        try:
            await self.node.engine.reach(since, until)
            async with asyncio.timeout_at(None if seconds == math.inf else until):
                await self.node.engine.window_refill.reach(since.positions)
        except PositionTimeout as error:
            raise _future(error.values) from None
        except TimeoutError:
            raise Overloaded(
                "the changes since that position are still being refolded",
                hint="Ask again in a few seconds: the work continues meanwhile.",
            ) from None

    @contextmanager
    def counted(self, principal: str) -> Iterator[None]:
        """Count a stream of `principal` as long as the block lasts.

        Raises:
            NotReady, Overloaded: there must not be one more.
        """
        self._refuse_too_many(principal)
        self.streams.take(principal)
        try:
            yield
        finally:
            self.streams.give_back(principal)

    def _refuse_too_many(self, principal: str) -> None:
        if self.node.engine.watches.is_closed:
            raise NotReady("this node is stopping", hint="Watch on another node.")
        if len(self.node.engine.watches.watchers) >= MAX_WATCHES:
            raise Overloaded(f"{MAX_WATCHES} watch already", hint="Watch on another node.")
        if self.node.authorizer is not None and self.streams[principal] >= MAX_WATCHES_OF_ONE:
            raise Overloaded(f"{principal} has {MAX_WATCHES_OF_ONE} watches already")


class Stream(Response):
    """An answer that goes on until the client is gone, the time is up, or the node stops."""

    def __init__(self, watching: Watching, request: Request, subject: Subject, start: Start, text: str) -> None:
        super().__init__()
        self._watching = watching
        self._request = request
        self._subject = subject
        self._start = start
        self._text = text

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Stream to the connection.

        Raises:
            TopicfoldError: the stream was not begun; or it ended with an ERROR that says the same.
        """
        line, start = line_of(scope), self._start
        watcher = Watcher(self._watching.node.engine.watches, self._subject, line, self._admits(scope))
        with self._watching.counted(actor_of(scope)):
            await open_line(send, self._opening())
            line.watch(watcher.abandon)
            ends_at = asyncio.get_running_loop().time() + start.seconds
            timer = asyncio.get_running_loop().call_at(ends_at, watcher.end)
            try:
                await self._run(watcher)
                self._refuse_future(ends_at)
            except TopicfoldError as error:
                request_id: bytes = scope[HEADERS_KEY][REQUEST_ID]
                line.write(self._subject.encoding.error(error, request_id.decode()))
                raise
            finally:
                timer.cancel()
                line.watch(None)
                await self._close(send, line)

    async def _run(self, watcher: Watcher) -> None:
        start = self._start
        if start.since is None:
            await watcher.run(reset=start.reset, initial=start.initial, known_hash=start.known_hash)
        else:
            await watcher.run(start.since.positions, reaching=self._watching.reach(start.since, math.inf))

    def _refuse_future(self, ends_at: float) -> None:
        """Return unless the time is up before the log has reached the position to go on from.

        Raises:
            FuturePosition: it has not.
        """
        since, states = self._start.since, self._watching.node.engine.states
        if since is None or asyncio.get_running_loop().time() < ends_at:
            return
        for partition, position in since.positions.items():
            if states[partition].position < position:
                raise _future({"partition": partition, "position": position})

    async def _close(self, send: Send, line: Line) -> None:
        """End the answer; cut off a client that does not read it."""
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await close_body(send)
        except TimeoutError:
            line.abort()

    def _opening(self) -> dict[str, str]:
        encoding = self._subject.encoding
        return {
            "content-type": SSE_TYPE if encoding.as_events else names.NDJSON_TYPE,
            "cache-control": "no-store",
            "x-accel-buffering": "no",
            names.QUERY: self._text,
        }

    def _admits(self, scope: Scope) -> Admission | None:
        """Return how to look whether whoever watches still may, and still may see what they could."""
        admission, subject = admission_of(scope), self._subject
        if admission is None:
            return None

        async def admits() -> None:
            """Return if nothing has changed.

            Raises:
                Unauthenticated, Forbidden, Resync: it has. KeysUnavailable, NotReady: nobody can tell now.
            """
            await admission()
            if self._watching.viewer_of(self._request, subject.namespaces) != subject.viewer:
                raise Resync("the right to see these namespaces has changed", hint="Watch without `since`.")

        return admits


def _future(values: Mapping[str, Any]) -> FuturePosition:
    return FuturePosition(
        "the position to go on from is beyond the end of the log",
        hint="Is it from another log, or was this one restored? Watch without `since`.",
        **values,
    )


def _refuse_empty(wanted: Wanted) -> None:
    """Return unless a selector is given that says nothing, blanks and empty objects included.

    Raises:
        InvalidSelector: it would watch everything, which is said by leaving it out.
    """
    if wanted.is_selector_empty:
        raise InvalidSelector(
            "the label selector is empty", hint="Leave labelSelector out to watch all topics.", column=1
        )


def _wants_lines(request: Request) -> bool:
    """Return whether the client asks for lines of JSON; what it does not say is answered with events."""
    headers: Headers = request.scope[HEADERS_KEY]
    for each in headers.get(b"accept", b"").lower().split(b","):
        media_type, *parameters = (part.strip() for part in each.split(b";"))
        if media_type == names.NDJSON_TYPE.encode():
            # Of quality 0 is what is not acceptable (RFC 9110, 12.5.1).
            return not any(each.startswith(b"q=") and not each[2:].strip(b"0.") for each in parameters)
    return False


def operations(node: Node) -> Sequence[Operation]:
    """Return how topics are watched."""
    return (
        Operation("watchTopics", "GET", WATCH_PATH, Watching(node).watch, "Watch the topics that match",
                  needs=WATCH_NAMESPACE, is_endless=True,
                  media_types=(SSE_TYPE, names.NDJSON_TYPE),
                  headers=(names.QUERY, "Cache-Control", "X-Accel-Buffering"),
                  query=PARAMETERS | INITIAL.declared | SECONDS.declared | {
                      "since": "Resume after this cursor, of a watch that covered at least these namespaces. "
                      "Default: watch from now on.",
                  },
                  errors=(*READ_ERRORS, NamespaceNotFound, TenantNotFound, InvalidSelector, InvalidPattern,
                          InvalidRegex, Overloaded, FuturePosition, WatchesDisabled)),
    )  # fmt: skip
