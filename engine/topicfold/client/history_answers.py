"""The values that a client returns about histories: frozen, and read from JSON as in `answers`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Self

from topicfold.client.answer_shape import HISTORY, require_shape


@dataclass(frozen=True, slots=True)
class MadeBy:
    """Who made an update, and the reason they gave."""

    actor: str
    reason: str
    request_id: str


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One member of a record that changed; a value is None if the member was not set.

    `path` leads to it, outermost member first: `("labels", "team")`.
    """

    path: tuple[str, ...]
    old: Any = field(hash=False)
    new: Any = field(hash=False)


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One change of a topic, a namespace or a tenant: updates that took effect together.

    `etag` and `offset` both identify the version that the change produced; from `position` on it can be read. `time`
    is RFC 3339, by the clock of the node that wrote the change. `changes` is None if they are unknown.
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
            offset=body["offset"],
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
    """Changes of a topic, a namespace or a tenant, newest first.

    `before` is the argument that returns older ones; "" on the last page. `gap` tells why the history does not reach
    back to the creation; "" if it does.
    """

    name: str
    entries: tuple[HistoryEntry, ...]
    before: str
    gap: str

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> Self:
        """Return the page that `body` describes."""
        require_shape(body, HISTORY)
        gap = body.get("gap")
        return cls(
            body["name"],
            tuple(map(HistoryEntry.of, body["items"])),
            body["before"] or "",
            f"at offset {gap['offset']}, {gap['reason']}" if gap else "",
        )
