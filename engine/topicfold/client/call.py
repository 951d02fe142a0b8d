"""A call: what is sent, and how its answer is read. No I/O.

A `Call` says all that a sender needs, so that a blocking and an asynchronous client share it. The calls themselves
are the methods of clients (`declaring`).
"""

from __future__ import annotations

import secrets
import string
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypedDict, TypeVar
from urllib.parse import quote

from topicfold.client.answer_shape import EACH, Shape, require_shape
from topicfold.client.answers import Written
from topicfold.client.errors import QueryUnconfirmed
from topicfold.errors import InvalidRequest
from topicfold.text.json_text import read_json
from topicfold.wire import headers

T_co = TypeVar("T_co", covariant=True)
Query = tuple[tuple[str, str], ...]

NO_JSON: Final = object()
"""The body of an answer that has one which is not JSON, as a proxy's or a portal's is."""
TOO_LONG: Final = object()
"""The body of an answer that is longer than any of Topicfold's, and was not read to its end."""

_PLAIN_IN_REASON = " " + string.punctuation.replace("%", "")


@dataclass(frozen=True, slots=True)
class Answer:
    """What was answered. Names of `headers` are lower-case.

    `body` is what its JSON says, None where there was none; or `NO_JSON` or `TOO_LONG`.
    """

    status: int
    headers: Mapping[str, str]
    body: Any


@dataclass(frozen=True, slots=True)
class Call(Generic[T_co]):
    """A request, and how its answer is read. `body` None sends none; `accepts` are statuses that are no errors
    in answers of a shape.

    `confirms` is what the server must say that it understood, "" for nothing: see `require_confirmed`.
    """

    method: str
    path: str
    read: Callable[[Answer], T_co]
    query: Query = ()
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    accepts: Mapping[int, Shape] = field(default_factory=dict)
    confirms: str = ""

    @property
    def is_change(self) -> bool:
        """Whether the server's state may differ afterwards."""
        return self.method != "GET"


class ChangeOptions(TypedDict, total=False):
    """Options of every change.

    `if_match`: the ETag that the change is meant for; if the current one differs, `PreconditionFailed` is raised.
    `idempotency_key`: up to 255 ASCII characters. However often a change is sent with the same key, it is applied
    once. If not given, a new one is generated.
    `reason`: up to 512 characters, kept in the topic's history.
    """

    if_match: str | None
    idempotency_key: str | None
    reason: str | None


def require_confirmed(asked: str, answer: Answer, url: str) -> None:
    """Return if the server says that it understood the query `asked`, or nothing was.

    Raises:
        QueryUnconfirmed: it does not say so, or understood something else: it may tell of other topics, or of all.
    """
    confirmed = answer.headers.get(headers.QUERY.lower())
    if asked and (confirmed is None or _members(confirmed) != _members(asked)):
        raise QueryUnconfirmed(url=url, asked=asked, confirmed=confirmed)


def age_seconds(answer: Answer) -> float | None:
    """Return how old what `answer` says may be, None if it does not say.

    Raises:
        ValueError: the header is no number.
    """
    age = answer.headers.get(headers.LOG_AGE.lower())
    return float(age) if age else None


def change(method: str, path: str, options: ChangeOptions, *, query: Query = (), body: Any = None) -> Call[Written]:
    """Return the call that makes a change."""
    return Call(method, path, written, query, body, change_headers(options))


def tried(call: Call[Any]) -> Call[None]:
    """Return the call that has the server refuse what it would refuse of a change, and do nothing.

    For the routes that know `dryRun`; others refuse that.
    """
    return Call(call.method, call.path, lambda _: None, (*call.query, ("dryRun", "All")), call.body, call.headers)


def change_headers(options: ChangeOptions) -> dict[str, str]:
    """Return the headers that `options` are.

    Raises:
        InvalidRequest: a value that no header can carry, or is too long.
    """
    key = options.get("idempotency_key")
    sent = {headers.IDEMPOTENCY_KEY: secrets.token_hex(16) if key is None else key}
    if not 1 <= len(sent[headers.IDEMPOTENCY_KEY]) <= headers.MAX_IDEMPOTENCY_KEY_LENGTH:
        raise InvalidRequest(
            f"{headers.IDEMPOTENCY_KEY}: expected 1 to {headers.MAX_IDEMPOTENCY_KEY_LENGTH} characters",
            hint="Leave it out to have one generated.",
        )
    if (etag := options.get("if_match")) is not None:
        sent[headers.IF_MATCH] = etag if etag == "*" else f'"{_unquoted(etag)}"'
    for name, value in sent.items():
        if not (value.isascii() and value.isprintable()):
            raise InvalidRequest(f"{name}: {value!a} holds characters that no header can carry")
    if reason := options.get("reason"):
        if len(reason) > headers.MAX_CHANGE_REASON_LENGTH:
            raise InvalidRequest(
                f"the reason has {len(reason)} characters, at most {headers.MAX_CHANGE_REASON_LENGTH} are kept",
                hint="Shorten it, or give a link.",
            )
        sent[headers.CHANGE_REASON] = percent_encoded(reason, _PLAIN_IN_REASON)
    return sent


def percent_encoded(text: str, plain: str = "") -> str:
    """Return `text` percent-encoded but for letters, digits, `_.-~` and what is `plain`.

    Raises:
        InvalidRequest: it is no text that UTF-8 can write.
    """
    with refusing_half_characters():
        return quote(text, safe=plain)


@contextmanager
def refusing_half_characters() -> Iterator[None]:
    """Say in our words that the block was to encode a text that UTF-8 cannot write, say an argument in Latin-1.

    Raises:
        InvalidRequest: it was.
    """
    try:
        yield
    except UnicodeEncodeError as error:
        raise InvalidRequest(
            f"{error.object[error.start : error.end]!a} cannot be sent: it is not a UTF-8 character"
        ) from None


def written(answer: Answer) -> Written:
    """Return what the answer to a change says about it.

    Raises:
        KeyError: it does not say which operation it was, as every change is.
    """
    operation = answer.headers[headers.OPERATION_ID.lower()]
    return Written(operation, answer.headers.get(headers.LOG_POSITION.lower(), ""), etag_of(answer))


def written_if_any(answer: Answer) -> Written:
    """Return what the answer to a change says about it, where there may have been nothing to write to.

    Raises:
        KeyError: it does not even say up to where that was seen.
    """
    headed = answer.headers
    if headers.OPERATION_ID.lower() in headed:
        return written(answer)
    return Written("", headed[headers.LOG_POSITION.lower()], "")


def etag_of(answer: Answer) -> str:
    """Return the ETag as JSON has it: without the quotes that belong to the header, and a compressing proxy's W/."""
    return _unquoted(answer.headers.get(headers.ETAG.lower(), ""))


def names_in(answer: Answer) -> tuple[str, ...]:
    """Return the names that an answer lists.

    Raises:
        TypeError: it lists none.
    """
    require_shape(answer.body, [str])
    return tuple(answer.body)


def lists_in(answer: Answer) -> dict[str, tuple[str, ...]]:
    """Return the lists of texts that an object holds, by name.

    Raises:
        TypeError: it is no object, or holds something else.
    """
    require_shape(answer.body, {EACH: [str]})
    return {name: tuple(each) for name, each in answer.body.items()}


def mapping_of(shape: Shape) -> Callable[[Answer], dict[str, Any]]:
    """Return what returns the object that an answer is, if it has this shape.

    Raises:
        KeyError, TypeError: what is returned does, if it has not.
    """

    def read(answer: Answer) -> dict[str, Any]:
        require_shape(answer.body, shape)
        body: dict[str, Any] = answer.body
        return body

    return read


mapping_in = mapping_of(dict)
"""Returns the object that an answer is."""


def _members(text: str) -> Any:
    try:
        return read_json(text)
    except ValueError:
        return None


def _unquoted(etag: str) -> str:
    return etag.removeprefix("W/").strip('"')
