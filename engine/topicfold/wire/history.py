"""Shapes of a topic's history, as the server documents and writes them. The client does not import this."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from topicfold.model.differences import Difference
from topicfold.model.events import LAST_TIME_MS
from topicfold.rfc3339 import time_text
from topicfold.runtime.history import Entry
from topicfold.wire.resources import Resource


class MadeBy(Resource):
    """Who asked for one of the updates that a change consists of."""

    actor: str
    reason: str = Field(description="Why, in their words; may be empty.")
    request_id: str


class FieldChange(Resource):
    """One member of a record that changed."""

    path: list[str] = Field(description="Where in the record, from the outside in: `labels`, `team`.")
    old: Any = Field(description="Null where it was not there.")
    new: Any = Field(description="Null where it is not there any more.")


class HistoryEntry(Resource):
    """One change of a topic: the updates that took effect together."""

    etag: str = Field(description="Names the version that it left.")
    offset: int = Field(description="Where in the topic's partition of the log; names the version, too.")
    position: str = Field(description="The position from which on the version can be read.")
    kind: Literal["created", "changed", "deleted"]
    time: str | None = Field(description="When, by the clock of the node that wrote it. Null: cannot be read.")
    made_by: list[MadeBy]
    changes: list[FieldChange] | None = Field(
        description="Null: cannot be told, for this record or the one before it cannot be read."
    )


class HistoryGap(Resource):
    """Why a history ends before the topic's beginning."""

    offset: int
    reason: str


class TopicHistory(Resource):
    """A page of a topic's history."""

    name: str
    items: list[HistoryEntry] = Field(description="The newest first.")
    before: str | None = Field(description="Send it as `before` for older changes; null at the end.")
    gap: HistoryGap | None
    position: str = Field(description="Where in the log the answer was read.")


class Rollback(Resource):
    """Which version of itself a topic is to be like."""

    to: str = Field(description="A version's ETag, the id before the ETag's dot, or its offset.")


def history_entry(entry: Entry, *, shows_grants: bool) -> dict[str, Any]:
    """Return a change as `HistoryEntry` has it; grants are shown to who may change them only."""
    version, changes = entry.version, entry.changes
    if changes is not None and not shows_grants:
        changes = tuple(each for each in changes if each.path[0] != "grants")
    return {
        "etag": version.etag,
        "offset": version.offset,
        "position": str(version.revision),
        "kind": entry.kind,
        "time": _time(entry.time_ms),
        "madeBy": [{"actor": a.actor, "reason": a.reason, "requestId": a.request_id} for a in entry.made_by],
        "changes": None if changes is None else [_change(each) for each in changes],
    }


def _time(time_ms: int | None) -> str | None:
    """Return a time as RFC 3339 has it; None for one that no calendar holds."""
    if time_ms is None or not 0 <= time_ms <= LAST_TIME_MS:
        return None
    return time_text(time_ms)


def _change(found: Difference) -> dict[str, Any]:
    path, old, new = found.shown
    return {"path": path, "old": old, "new": new}
