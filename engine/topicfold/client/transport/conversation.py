"""One call, from the first attempt to its answer: what to send, when to try again, when to give up. No I/O.

A sender drives `conversation`: it performs each `Attempt` and hands back what came of it, and sleeps each `Pause`.
A change is sent again only under the Idempotency-Key of its first attempt, so it is applied at most once.

Source: httpx's `Auth.auth_flow` (a generator that yields requests); AWS "Exponential Backoff and Jitter".
"""

from __future__ import annotations

import random
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from itertools import count
from typing import Any
from urllib.parse import urlsplit

from topicfold.client.answer_shape import has_shape
from topicfold.client.call import NO_JSON, TOO_LONG, Answer, Call
from topicfold.client.errors import OLDER_SERVER, UnexpectedAnswer
from topicfold.client.transport.silence import NoAnswer, Server
from topicfold.errors import (
    FixRequest,
    Forbidden,
    NewerSchema,
    OutcomeUnknown,
    PositionTimeout,
    Reread,
    TopicfoldError,
    Unauthenticated,
    Wait,
)
from topicfold.wire import headers
from topicfold.wire.problems import NO_ROUTE, error_of

_MAX_WAIT_SECONDS = 60.0
# A watch tries for ever, and a float holds 2 to the power of 1023.
_MAX_DOUBLINGS = 60


@dataclass(frozen=True, slots=True)
class RetryRule:
    """How often, and after what delays, a call is retried. Delays double from the first one, and are jittered."""

    max_attempts: int = 5
    first_delay_seconds: float = 0.1
    max_delay_seconds: float = 2.0

    def delay_seconds(self, attempt: int) -> float:
        """Return how long to wait after attempt number `attempt`, counted from 1."""
        delay = min(self.first_delay_seconds * 2.0 ** min(attempt - 1, _MAX_DOUBLINGS), self.max_delay_seconds)
        return delay * random.uniform(0.5, 1.0)  # noqa: S311 - spreads retries, guards nothing


@dataclass(frozen=True, slots=True)
class Attempt:
    """Send the call to the node at `url` with these headers, and be back within `timeout_seconds`."""

    url: str
    headers: tuple[tuple[bytes, bytes], ...]
    timeout_seconds: float


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait before the next attempt."""

    seconds: float


Outcome = Answer | NoAnswer | None
Conversation = Generator[Attempt | Pause, Outcome, Answer]


def conversation(
    call: Call[Any],
    *,
    server: Server,
    position: str,
    timeout_seconds: float,
    rule: RetryRule,
    clock: Callable[[], float],
    refused: Callable[[Answer], None],
) -> Conversation:
    """Yield attempts and pauses; return the answer. `refused` is told each one that is none.

    Every `Attempt` is to be answered by sending an Answer or NoAnswer, every `Pause` by sending None. Who can send no
    more throws a RuntimeError.
    `position` may be empty. Once one attempt of a change has an unknown outcome, giving up says so, whatever
    came after: a later 503 speaks of its own attempt only, and so does a 403. A refusal by the log settles them all.

    Raises:
        TopicfoldError: the server's refusal, or the last failure when attempts or time are spent.
        RuntimeError: what was thrown, unless an earlier attempt has an unknown outcome.
    """
    deadline = clock() + timeout_seconds
    undecided: Answer | NoAnswer | None = None
    sent = _headers(call, position)
    for number in count(1):
        url = server.url
        try:
            outcome = yield Attempt(url, sent, max(deadline - clock(), 0.001))
        except RuntimeError as closed:
            if undecided is None:
                raise
            raise (_failure(call, server, undecided) or closed) from closed
        match outcome:
            case Answer():
                server.has_answered = True
                error, wait_seconds = _refusal(call, server, outcome), retry_after_seconds(outcome)
                if error is None:
                    return outcome
                refused(outcome)
            case NoAnswer():
                outcome = server.named(outcome, url)
                error, wait_seconds = _silence(call, server, outcome), 0.0
            case None:
                raise TypeError("an Attempt is answered with what came of it")
        if isinstance(error, OutcomeUnknown) and (undecided is None or error.values.get("operation")):
            undecided = outcome
        server.pass_over(url, error)
        pause = max(rule.delay_seconds(number), wait_seconds)
        if not _may_pass(error) or number == rule.max_attempts or clock() + pause >= deadline:
            if undecided is not None and not _settles(error):
                # Made anew, by what is known of the server now: it may have answered since.
                raise (_failure(call, server, undecided) or error) from error
            raise error
        yield Pause(pause)
    raise AssertionError("the loop has no end of its own")


def _failure(call: Call[Any], server: Server, outcome: Answer | NoAnswer) -> TopicfoldError | None:
    """Return the error that an outcome is, or None if it is none."""
    return _refusal(call, server, outcome) if isinstance(outcome, Answer) else _silence(call, server, outcome)


def _refusal(call: Call[Any], server: Server, answer: Answer) -> TopicfoldError | None:
    """Return the error that `answer` is, or None if it is none."""
    if answer.status < 300 and answer.body not in (NO_JSON, TOO_LONG):
        return None
    if answer.status in call.accepts and has_shape(answer.body, call.accepts[answer.status]):
        return None
    error = refusal_of(answer, server, f"{call.method} {call.path}")
    # A proxy's own 502 or 504 says nothing about the server behind it.
    if call.is_change and type(error) is Wait and answer.status in (502, 504):
        return _silence(call, server, NoAnswer(error.reason, was_sent=True))
    return error


def _silence(call: Call[Any], server: Server, silence: NoAnswer) -> TopicfoldError:
    """Return the error that having no answer is."""
    if call.is_change and silence.was_sent:
        return server.lost(silence, call.headers.get(headers.IDEMPOTENCY_KEY, ""))
    return server.unreachable(silence)


def _may_pass(error: TopicfoldError) -> bool:
    """Return whether the same request may do better in a moment. Waiting heals neither of the two exceptions."""
    return isinstance(error, (Wait, OutcomeUnknown)) and not isinstance(error, (NewerSchema, PositionTimeout))


def _settles(error: TopicfoldError) -> bool:
    """Return whether a refusal speaks of all attempts under its key; who asks is looked at before the key is."""
    return isinstance(error, (FixRequest, Reread)) and type(error) not in (Unauthenticated, Forbidden)


def _headers(call: Call[Any], position: str) -> tuple[tuple[bytes, bytes], ...]:
    sent = dict(call.headers)
    if position:
        sent[headers.MIN_POSITION] = position
    return tuple((name.encode(), value.encode()) for name, value in sent.items())


def refusal_of(answer: Answer, server: Server, what: str) -> TopicfoldError:
    """Return the error that `answer` is to `what` was asked: the server's, or that none of Topicfold's answers."""
    if not 400 <= answer.status < 600:
        if answer.body is TOO_LONG:
            return UnexpectedAnswer(
                f"{server.place} answers {what} with more than this client reads",
                hint="Ask for less, or for pages with limit.",
                url=server.url,
                status=answer.status,
            )
        found = answer.headers.get("content-type", "").partition(";")[0] or "something"
        said = f"status {answer.status}" if answer.status >= 300 else f"{found} instead of JSON"
        return UnexpectedAnswer(
            f"{server.place} answers {what} with {said}, as Topicfold never does", url=server.url, status=answer.status
        )
    problem = answer.body if isinstance(answer.body, Mapping) else {}
    if answer.status == HTTPStatus.NOT_FOUND and (not problem or problem.get("code") == NO_ROUTE):
        return _unknown_there(server, what, is_topicfold=bool(problem))
    return error_of(problem or {"detail": f"HTTP status {answer.status} from {server.place} to {what}"}, answer.status)


def _unknown_there(server: Server, what: str, *, is_topicfold: bool) -> UnexpectedAnswer:
    """Return the error that whoever listens there has no such route: not under this path, or it is too old for it."""
    place = urlsplit(server.url)
    hint = f"The URL has a path, {place.path}, under which there is no Topicfold server; try {place.scheme}://{place.netloc}"
    older = OLDER_SERVER if is_topicfold else None
    return UnexpectedAnswer(
        f"{server.place} does not know {what}",
        hint=hint if place.path else older,
        url=server.url,
        status=HTTPStatus.NOT_FOUND,
    )


def retry_after_seconds(answer: Answer) -> float:
    """Return how long the server asks to wait, a minute at most; 0 if it does not say it as a number."""
    text = answer.headers.get(headers.RETRY_AFTER.lower(), "")
    return min(float(text), _MAX_WAIT_SECONDS) if text.isdecimal() else 0.0
