"""Answers about a policy: its value as Pulsar shows it, or one of the ways to say that it is not set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from topicfold.model.policy.description import EMPTY_ANSWER, NO_ANSWER, Empty
from topicfold.model.policy.values import Kind, Value, shown_value
from topicfold.runtime.asking import Cut
from topicfold.server.answers import UNCHANGED, read_answer, read_headers, record_answer


def empty_where_unset(*unset: Any) -> Mapping[int, str]:
    """Return under which statuses `policy_answer` has no body, where `unset` are what it may be told."""
    statuses = {NO_ANSWER: 204, EMPTY_ANSWER: 200}
    absent = [status for value, status in statuses.items() if any(each is value for each in unset)]
    return dict.fromkeys(absent, "The policy is not set.") | UNCHANGED


def done_without_body(empty: Empty) -> str:
    """Return what a request that sets a policy does where it has no body, "" where it is refused."""
    return {Empty.REMOVES: "the policy is removed", Empty.IGNORED: "nothing is changed"}.get(empty, "")


def policy_answer(kind: Kind, value: Value, unset: Any, cut: Cut, etag: str, *, is_stored: bool) -> Response:
    """Return a policy's value as it was at `cut`; where it is None, what `unset` says of a policy that is not set.

    It is stored in the record that has this ETag, or follows from others, too.
    `EMPTY_ANSWER` is a 200 without a body and without a content type, as a Pulsar broker gives it.
    """
    if value is not None:
        return (record_answer if is_stored else read_answer)(shown_value(kind, value), cut, etag)
    if unset is NO_ANSWER:
        return Response(None, 204, read_headers(cut, etag))
    if unset is EMPTY_ANSWER:
        return Response(None, 200, read_headers(cut, etag))
    return read_answer(unset, cut, etag)
