"""What the client answers with about histories: frozen values, read from JSON as those in `answers` are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Self


@dataclass(frozen=True, slots=True)
class MadeBy:
    """Who asked for an update, and why in their words."""

    actor: str
    reason: str
    request_id: str


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One member of a record that changed; None stands for one that is not there.

    `path` leads to it from the outside in: `("labels", "team")`.
    """

    path: tuple[str, ...]
    old: Any = field(hash=False)
    new: Any = field(hash=False)


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One change of a topic: updates that took effect together.

    `etag` and `offset` both name the version that it left, `position` is where that can be read first. `time` is
    RFC 3339, by the clock of the node that wrote it. `changes` None: they cannot be told.
    """

    etag: str
    offset: int
    position: str
    kind: Literal["created", "changed", "deleted"]
    time: str | None
    made_by: tuple[MadeBy, ...]
    changes: tuple[FieldChange, ...] | None

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> Self:
        """Return the entry that `body` describes."""
        changes = body["changes"]
        return cls(
            etag=body["etag"],
            offset=int(body["offset"]),
            position=body["position"],
            kind=body["kind"],
            time=body["time"],
            made_by=tuple(MadeBy(each["actor"], each["reason"], each["requestId"]) for each in body["madeBy"]),
            changes=None
            if changes is None
            else tuple(FieldChange(tuple(each["path"]), each["old"], each["new"]) for each in changes),
        )


@dataclass(frozen=True, slots=True)
class HistoryPage:
    """Changes of a topic, the newest first.

    `before` is for asking for older ones, "" at the end; `gap` says why that is not the topic's beginning, "" where it
    is.
    """

    name: str
    entries: tuple[HistoryEntry, ...]
    before: str
    gap: str

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> Self:
        """Return the page that `body` describes."""
        gap = body.get("gap")
        return cls(
            body["name"],
            tuple(map(HistoryEntry.of, body["items"])),
            body["before"] or "",
            f"at offset {gap['offset']}, {gap['reason']}" if gap else "",
        )
