"""Answers: JSON bytes, and the headers that say from where in the log they come."""

from __future__ import annotations

from typing import Any

import orjson
from starlette.responses import Response

from topicfold.runtime.asking import Cut, Written
from topicfold.runtime.revision import Revision
from topicfold.wire import headers

JSON_TYPE = "application/json"


def read_answer(value: Any, cut: Cut, etag: str = "") -> Response:
    """Return `value` as it was at `cut`."""
    return Response(orjson.dumps(value), 200, read_headers(cut, etag), JSON_TYPE)


def read_headers(cut: Cut, etag: str = "") -> dict[str, str]:
    """Return what an answer that was read at `cut` says of it; `etag` names the version of a record."""
    said = {headers.LOG_POSITION: str(cut.revision), headers.LOG_AGE: f"{cut.age_seconds:.3f}"}
    if etag:
        said[headers.ETAG] = f'"{etag}"'
    return said


def dry_answer(written: Written) -> Response:
    """Return that a change would be applied, to the record of this version."""
    said = {headers.ETAG: f'"{written.etag}"', headers.LOG_POSITION: str(written.revision)}
    return Response(None, 204, said)


def unwritten_answer(seen: Revision) -> Response:
    """Return that there was nothing to change, as of the position `seen`."""
    return Response(None, 204, {headers.LOG_POSITION: str(seen)})


def written_answer(written: Written, value: Any = None, status: int = 204) -> Response:
    """Return that a change is applied and readable; with `value` the record after it."""
    said = {
        headers.ETAG: f'"{written.etag}"',
        headers.LOG_POSITION: str(written.revision),
        headers.OPERATION_ID: written.operation,
    }
    if value is None:
        return Response(None, status, said)
    return Response(orjson.dumps(value), status, said, JSON_TYPE)
