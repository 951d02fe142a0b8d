"""Reports: what became of each setting that differed, as data and as columns for people."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from topicfold.enforcement.comparing import Difference

HEADER = ("STATE", "TOPIC", "SETTING", "OLD", "NEW", "WHY")
_UNCOVERED = "(the cluster's)"


class State(StrEnum):
    """What became of a difference."""

    CHANGED = "changed"
    DIFFERS = "differs"
    """Nothing was done, for it was only to be shown."""
    FAILED = "failed"
    """Kafka did not take it, or it cannot be seen whether there is a difference."""
    SKIPPED = "skipped"
    """The topic's policies cannot reach Kafka."""


@dataclass(frozen=True, slots=True)
class Report:
    """A difference and what became of it, or a topic that was passed over (`difference` None) and why."""

    state: State
    name: str
    difference: Difference | None
    reason: str = ""

    @property
    def row(self) -> tuple[str, ...]:
        """Return the columns under `HEADER`."""
        found = self.difference
        if found is None:
            return (self.state.value, self.name, "", "", "", self.reason)
        new = _UNCOVERED if found.new is None else found.new
        return (self.state.value, self.name, found.setting, found.old, new, self.reason or _why(found))

    @property
    def line(self) -> str:
        """Return the same as a line that stands alone."""
        state, name, setting, old, new, why = self.row
        return f"{state} {name}: {setting} {old} -> {new} ({why})" if self.difference else f"{state} {name}: {why}"

    @property
    def data(self) -> dict[str, Any]:
        """Return the same as JSON members."""
        found = self.difference
        members: dict[str, Any] = {"state": self.state.value, "topic": self.name}
        if found is not None:
            members |= {
                "kafkaTopic": found.kafka_topic,
                "setting": found.setting,
                "old": found.old,
                "new": found.new,
                "origin": found.origin.value if found.origin else None,
                "deletesMessages": found.deletes_messages,
            }
        return {**members, "reason": self.reason} if self.reason else members


def _why(found: Difference) -> str:
    why = f"{found.origin.value} policy" if found.origin else "no policy any more"
    deletes = {True: ", deletes older messages", False: "", None: ", may delete older messages"}
    return why + deletes[found.deletes_messages]
