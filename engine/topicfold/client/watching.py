"""A watch, from its first request on: what to ask for, what to make of it, when and from where to go on. No I/O.

A driver performs each `Open`, `Read` and `Pause` and hands back what came of it; frames are for whoever watches.
A stream that is cut goes on behind the last frame that was told, on whatever node answers, so nothing is missed and
nothing told twice. Only a start state cannot be gone on with: if one is cut, it is told again behind a `Reset`.

Source: Kubernetes client-go's reflector; conventions of `conversation`.
"""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Never

from topicfold.client.call import Answer, Query, require_confirmed
from topicfold.client.errors import UnexpectedAnswer
from topicfold.client.find_calls import Asked
from topicfold.client.frames import Bookmark, Failed, Frame, Lines, Reset, UnknownFrame, frame_of
from topicfold.client.transport.conversation import Pause, RetryRule, refusal_of, retry_after_seconds
from topicfold.client.transport.silence import NoAnswer, Server
from topicfold.errors import NewerSchema, Resync, TopicfoldError, Unauthenticated, Wait
from topicfold.wire import headers
from topicfold.wire.positions import NOWHERE
from topicfold.wire.problems import error_of

WATCH_PATH = "/api/v1/watch"
READ_SECONDS = 45.0
"""A server sends something every 15 seconds at least; who hears nothing for three times that is cut off."""

_MAX_LINE_BYTES = 1 << 20
_HELD_BACK = (
    "A proxy that buffers holds a watch's answer back: have it not buffer /api/v1/watch. Without a proxy, it is the "
    "server that hangs, and its log may say why."
)
_ENDS_AT_ONCE = NoAnswer("it ends the stream before it begins", was_sent=True)
_ENDS_IN_START = NoAnswer("it ends the stream before the initial topics are complete", was_sent=True)
_CUT_SHORT = "the initial topics were cut off and are sent again"
_GONE = "the changes since then are no longer known"
_STRUCK = "it was interrupted in the middle of a frame"
_FAILURES_TOLD = 5
"""So often in a row, which takes more than a second, a stream is not gone on with before a warning is logged; who was
waited for in vain took longer."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WatchQuery:
    """What is watched, and from where on: after `since`, a cursor, or from now with the `initial` state or without."""

    asked: Asked
    since: str
    initial: bool


@dataclass(frozen=True, slots=True)
class Open:
    """Ask the node at `url` for the stream; come back with the answer, which has a body only if it is an error."""

    query: Query
    url: str


@dataclass(frozen=True, slots=True)
class Read:
    """Read on; come back with what arrived, b"" at the end of the stream."""


@dataclass(frozen=True, slots=True)
class Interrupted:
    """Who waited for a step does so no more, say cancelled: the stream counts as cut, and that tells of no server."""


@dataclass(frozen=True, slots=True)
class _End:
    """How a stream ended: with an error, or politely; not before `wait_seconds` shall one ask again.

    `timed_out`: the server was waited for in vain, which took long; `is_silence`: it had taken the request.
    """

    error: TopicfoldError | None = None
    wait_seconds: float = 0.0
    timed_out: bool = False
    is_silence: bool = False


Event = Answer | NoAnswer | Interrupted | bytes | None
Steps = Generator[Open | Read | Pause | Frame, Event, Never]


class Watching:
    """One watch, over as many streams as it takes.

    Until a server has told something it gives up as calls do, and until the initial topics are complete where one is
    silent; from then on it tries for ever, and ends only with an error that trying again cannot heal. The log has a
    warning where no server answers for a while, and one when one does again, so that whoever is shown the first is
    shown the second: at once, or where streams broke off, when one gets beyond the initial topics.
    """

    def __init__(self, query: WatchQuery, server: Server, rule: RetryRule) -> None:
        self._query = query
        self._server = server
        self._rule = rule
        self._cursor = query.since
        self._is_starting = query.initial and not query.since
        self._begins_anew = False
        self._told_start = False
        self._reset_reason = ""
        self._heard = False
        self._is_open = False
        self._is_missed = False
        self._is_missed_when_open = False

    @property
    def cursor(self) -> str:
        """Where another watch can go on: behind the last frame; "" while a start state is told."""
        return self._cursor

    def steps(self) -> Steps:
        """Yield what is to be done, and frames.

        Raises:
            TopicfoldError: the server's refusal; why there is no stream at all; something else answers.
        """
        failures, has_begun, has_started = 0, False, False
        while True:
            self._heard, url = False, self._server.url
            end = yield from self._stream(url)
            has_begun = has_begun or self._heard
            # A start state that is cut is told from its beginning again: what was heard of it brought nothing.
            if self._heard and not self._is_starting:
                failures, has_started = 0, True
            if self._told_start:
                self._begin_anew(_CUT_SHORT)
            if isinstance(end, Interrupted):
                yield Pause(0.0)
                continue
            failures += 1
            if end.error is not None:
                self._server.pass_over(url, end.error)
            if isinstance(end.error, Resync) and self.cursor:
                self._begin_anew(_GONE)
            elif (
                not _may_pass(end.error)
                or (not has_begun and failures >= self._rule.max_attempts)
                or (not has_started and end.is_silence)
            ):
                raise end.error or self._server.unreachable(_ENDS_AT_ONCE)
            if failures == _FAILURES_TOLD or end.timed_out:
                self._tell_of(end.error or self._server.unreachable(_ENDS_IN_START if self._heard else _ENDS_AT_ONCE))
            # Also after a polite end: a node that stops sends all its watchers elsewhere at once.
            yield Pause(max(self._rule.delay_seconds(failures), end.wait_seconds))

    def steps_anew(self) -> Steps:
        """Yield steps instead of the former ones, of which what a signal handler raised, such as Ctrl-C, took a frame.

        All topics are told again.
        """
        self._begin_anew(_STRUCK)
        return self.steps()

    def _stream(self, url: str) -> Generator[Open | Read | Frame, Event, _End | Interrupted]:
        """Yield the steps of one stream, and what it tells; return how it ended."""
        self._is_open = False
        opened = yield Open(self._parameters(), url)
        self._server.has_answered = self._server.has_answered or isinstance(opened, Answer)
        match opened:
            case NoAnswer() as silence:
                return self._ended_without(silence)
            case Interrupted() as interrupted:
                return interrupted
            case Answer(status=200) as answer:
                self._check(answer)
                self._is_open = True
                if not self._is_missed_when_open:
                    # The first frame may take seconds to come.
                    self._tell_that_one_is_back()
            case Answer() as answer:
                return _End(refusal_of(answer, self._server, WATCH_PATH), retry_after_seconds(answer))
            case _:
                raise TypeError("an Open is answered with an answer, or with there being none")
        lines = Lines(_MAX_LINE_BYTES)
        while True:
            match (yield Read()):
                case bytes(chunk) if chunk:
                    for frame in self._frames(lines, chunk):
                        if isinstance(frame, Failed):
                            return self._ended_by(error_of(frame.problem, _status_in(frame.problem)))
                        yield from self._told(frame)
                    if self._heard and not self._is_starting:
                        self._tell_that_one_is_back()
                case NoAnswer() as silence:
                    return self._ended_without(silence)
                case Interrupted() as interrupted:
                    return interrupted
                case _:
                    return _End()

    def _parameters(self) -> Query:
        if self._cursor:
            return (*self._query.asked.query, ("since", self._cursor), ("initial", "false"))
        if self._begins_anew:
            return (*self._query.asked.query, ("since", NOWHERE))
        return (*self._query.asked.query, ("initial", "true" if self._is_starting else "false"))

    def _check(self, answer: Answer) -> None:
        """Return if the server understood what is watched.

        Raises:
            QueryUnconfirmed: it does not say so, or understood something else.
            UnexpectedAnswer: it answers with something else than frames.
        """
        content_type = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
        if content_type != headers.NDJSON_TYPE:
            raise self._unexpected(f"{content_type or 'an answer without a type'} instead of {headers.NDJSON_TYPE}")
        require_confirmed(self._query.asked.text, answer, self._server.url)

    def _tell_of(self, error: TopicfoldError) -> None:
        """Say why there is no stream, or none that gets anywhere, once until there is one."""
        if not self._is_missed:
            self._is_missed, self._is_missed_when_open = True, self._is_open
            _log.warning("%s; trying again", error.reason)

    def _tell_that_one_is_back(self) -> None:
        """Say that a server answers, where it was said that none does."""
        if self._is_missed:
            self._is_missed = self._is_missed_when_open = False
            _log.warning("%s answers again", self._server.url)

    def _frames(self, lines: Lines, chunk: bytes) -> Iterator[Frame | Failed]:
        """Yield the frames that `chunk` completes.

        Raises:
            UnexpectedAnswer: at what is none.
        """
        try:
            for line in lines.feed(chunk):
                frame = frame_of(line) if line.strip() else None
                self._heard = self._heard or not isinstance(frame, Failed)
                if frame is not None:
                    yield frame
        except UnknownFrame as error:
            raise UnexpectedAnswer(
                f"{self._server.url} sends a watch something that this client does not know: {error}",
                hint="Upgrade the client to the server's version.",
                url=self._server.url,
                status=200,
            ) from error
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise self._unexpected(f"{type(error).__name__}: {error}") from error

    def _told(self, frame: Frame) -> Iterator[Frame]:
        """Yield what is to be told of `frame`, nothing if it was told before; keep from where to go on."""
        if isinstance(frame, Reset):
            # With nothing to forget, it is the answer to who begins anew.
            if not (self._begins_anew and self._is_starting and not self._told_start):
                self._begin_anew("")
                yield frame
        elif self._is_starting:
            if self._reset_reason:
                yield Reset(self._reset_reason)
            self._reset_reason, self._told_start = "", True
            if isinstance(frame, Bookmark) and frame.is_initial:
                self._is_starting, self._told_start, self._cursor = False, False, self._needed(frame.cursor)
            yield frame
        elif self._needed(frame.cursor) != self._cursor:
            self._cursor = frame.cursor
            yield replace(frame, is_initial=False) if isinstance(frame, Bookmark) else frame

    def _ended_without(self, silence: NoAnswer) -> _End:
        """Return how a stream ends of which there is no more, or nothing at all."""
        error = self._server.unreachable(silence, _HELD_BACK)
        return _End(error, timed_out=silence.timed_out, is_silence=silence.is_silence)

    def _ended_by(self, error: TopicfoldError) -> _End:
        """Return how an error ends a stream that was open.

        A token that has expired ends it politely: who has a newer one is let in again, and all others are told then.
        So does what cannot be told on in a start state: that is told again.
        """
        is_polite = isinstance(error, Unauthenticated) or (isinstance(error, Resync) and not self._cursor)
        return _End(None if is_polite else error)

    def _begin_anew(self, reason: str) -> None:
        """Ask for a start state next; tell that it is one with `reason`, unless that was told already.

        A namespace that is not there is no reason not to be told it, as it is none to go on after a cursor.
        """
        self._begins_anew = True
        self._cursor, self._is_starting, self._told_start, self._reset_reason = "", True, False, reason

    def _needed(self, cursor: str) -> str:
        """Return the cursor of a frame.

        Raises:
            UnexpectedAnswer: it has none, so nobody could go on behind it.
        """
        if not cursor:
            raise self._unexpected("a frame without a cursor")
        return cursor

    def _unexpected(self, what: str) -> UnexpectedAnswer:
        return UnexpectedAnswer(
            f"{self._server.url} does not answer a watch as Topicfold does: {what}", url=self._server.url, status=200
        )


def _may_pass(error: TopicfoldError | None) -> bool:
    """Return whether the same request may do better in a moment. A cursor that a node does not know yet, it will."""
    return error is None or (isinstance(error, Wait) and not isinstance(error, NewerSchema))


def _status_in(problem: Mapping[str, Any]) -> int:
    status = problem.get("status")
    return status if isinstance(status, int) else 500
