"""Problem documents: how errors travel, and the one table from error class to HTTP status.

A server writes them with `problem_of` and `status_of`, a client reads them back with `error_of`. What goes out
comes back as the same class with the same reason, hint and values. Imports with the base install.

Source: RFC 9457; Pulsar's `ErrorData.reason`, which its command line prints.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any

from topicfold import errors
from topicfold.errors import TopicfoldError

TYPE_PREFIX = "urn:topicfold:problem:"
NO_ROUTE = "no_route"
"""The code of a 404 that is about the path itself, and not about what it names."""

# The most specific class wins.
_STATUS: Mapping[type[TopicfoldError], HTTPStatus] = {
    TopicfoldError: HTTPStatus.INTERNAL_SERVER_ERROR,
    errors.FixRequest: HTTPStatus.BAD_REQUEST,
    errors.TooLarge: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    errors.PeerCluster: HTTPStatus.CONFLICT,
    errors.PoliciesDisabled: HTTPStatus.METHOD_NOT_ALLOWED,
    errors.WatchesDisabled: HTTPStatus.METHOD_NOT_ALLOWED,
    errors.NotFound: HTTPStatus.NOT_FOUND,
    errors.WrongKind: HTTPStatus.CONFLICT,
    errors.FewerPartitions: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.KeyReused: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.Unauthenticated: HTTPStatus.UNAUTHORIZED,
    errors.Forbidden: HTTPStatus.FORBIDDEN,
    errors.Reread: HTTPStatus.CONFLICT,
    errors.PreconditionFailed: HTTPStatus.PRECONDITION_FAILED,
    errors.Wait: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.PositionTimeout: HTTPStatus.GATEWAY_TIMEOUT,
    errors.OutcomeUnknown: HTTPStatus.GATEWAY_TIMEOUT,
    errors.Resync: HTTPStatus.GONE,
    errors.OperatorNeeded: HTTPStatus.INTERNAL_SERVER_ERROR,
}

# What Pulsar answers where this table would say otherwise; its tools tell errors apart by status alone.
_ADMIN_STATUS: Mapping[type[TopicfoldError], HTTPStatus] = {
    errors.InvalidName: HTTPStatus.PRECONDITION_FAILED,
    errors.PolicyUnmet: HTTPStatus.PRECONDITION_FAILED,
}

# For answers without a code of ours: from a proxy, or from a server of another version.
_CLASS_OF_STATUS: Mapping[int, type[TopicfoldError]] = {
    401: errors.Unauthenticated,
    403: errors.Forbidden,
    404: errors.NotFound,
    409: errors.Reread,
    410: errors.Resync,
    412: errors.PreconditionFailed,
    413: errors.TooLarge,
    429: errors.Overloaded,
    502: errors.Wait,
    503: errors.Wait,
    504: errors.Wait,
}

_RESERVED = frozenset({"type", "title", "status", "detail", "code", "reason", "hint", "requestId", "instance"})


def error_classes(root: type[TopicfoldError] = TopicfoldError) -> Iterator[type[TopicfoldError]]:
    """Yield `root` and the classes below it that `topicfold.errors` draws, parents first."""
    yield root
    for child in root.__subclasses__():
        if child.__module__ == errors.__name__:
            yield from error_classes(child)


# A leaf that inherits its code comes after its parent, and is what the code means.
_CLASS_OF_CODE = {cls.code: cls for cls in error_classes()}


def status_of(error: TopicfoldError, under_admin: bool) -> int:
    """Return the HTTP status of `error`; some differ under `/admin/v2`, where Pulsar's hold."""
    table = {**_STATUS, **_ADMIN_STATUS} if under_admin else _STATUS
    return next(table[cls] for cls in type(error).__mro__ if cls in table)


def problem_of(error: TopicfoldError, request_id: str, under_admin: bool) -> dict[str, Any]:
    """Return `error` as a problem document, its values as members beside the standard ones.

    The values must be such as JSON can hold. `reason` repeats `detail`: Pulsar's tools print it.
    """
    return {
        **{key: value for key, value in error.values.items() if key not in _RESERVED},
        "type": TYPE_PREFIX + error.code,
        "title": error.code.replace("_", " ").capitalize(),
        "status": status_of(error, under_admin),
        "detail": error.reason,
        "code": error.code,
        "reason": error.reason,
        "hint": error.hint,
        "requestId": request_id,
    }


def error_of(problem: Mapping[str, Any], status: int) -> TopicfoldError:
    """Return the error that a problem document stands for: by its code, or by `status` where the code is unknown.

    Takes any mapping: a member of the wrong type, or none at all, never makes it fail.
    """
    cls = _CLASS_OF_CODE.get(str(problem.get("code")), _class_of_status(status))
    reason = problem.get("detail") or problem.get("reason") or f"HTTP status {status}"
    hint = problem.get("hint")
    values = {key: value for key, value in problem.items() if key not in _RESERVED}
    # Not through cls(): some leaves build their reason from values, which another version may not send.
    error = cls.__new__(cls, str(reason))
    TopicfoldError.__init__(error, str(reason), hint=hint if isinstance(hint, str) else None)
    error.values = values
    return error


def _class_of_status(status: int) -> type[TopicfoldError]:
    fallback = errors.InvalidRequest if 400 <= status < 500 else TopicfoldError
    return _CLASS_OF_STATUS.get(status, fallback)
