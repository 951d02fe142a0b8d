"""Shapes of histories, as the server documents and writes them. The client does not import this."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from topicfold.model.differences import Difference
from topicfold.model.events import LAST_TIME_MS
from topicfold.runtime.past.history import Entry
from topicfold.text.rfc3339 import time_text
from topicfold.wire.resources import Resource


class MadeBy(Resource):
    """Who made one of the updates that a change consists of, and why."""

    actor: str
    reason: str = Field(description="The reason they gave; may be empty.")
    request_id: str


class FieldChange(Resource):
    """One member of a record that changed."""

    path: list[str] = Field(description="Path in the record, outermost member first, such as `labels`, `team`.")
    old: Any = Field(description="Null if it was not set.")
    new: Any = Field(description="Null if it is no longer set.")


class HistoryEntry(Resource):
    """One change of a record: the updates that took effect together."""

    etag: str = Field(description="The ETag of the version that the change produced.")
    offset: int = Field(description="The offset in its partition of the log; also identifies the version.")
    position: str = Field(description="The position from which the version can be read.")
    kind: Literal["created", "changed", "deleted"]
    time: str | None = Field(
        description="Time of the change, by the clock of the node that wrote it. Null: unreadable."
    )
    made_by: list[MadeBy]
    changes: list[FieldChange] | None = Field(
        description="Null: unknown, because this record or the one before it cannot be read."
    )


class HistoryGap(Resource):
    """Why a history does not reach back to the creation."""

    offset: int
    reason: str


class History(Resource):
    """A page of the history of a topic, a namespace or a tenant."""

    name: str
    items: list[HistoryEntry] = Field(description="Newest first.")
    before: str | None = Field(description="Send it as `before` to get older changes; null on the last page.")
    gap: HistoryGap | None
    position: str = Field(description="The position in the log that the answer reflects.")


class Rollback(Resource):
    """The version that a topic or a namespace is rolled back to."""

    to: str = Field(description="A version's ETag, the part of it before the dot, or its offset.")


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
