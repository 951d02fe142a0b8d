"""Resets: why somebody must forget what they were sent, and begin with a start state."""

from __future__ import annotations

from typing import NamedTuple

from topicfold.errors import InvalidRequest, Resync

RESET_CAUSES = frozenset({"too_old", "other_rights", "namespace_ended", "cut_off", InvalidRequest.code, Resync.code})
"""All that the cause of a reset can be."""


class Reset(NamedTuple):
    """Why somebody must forget what they were sent; `cause` is one of `RESET_CAUSES`, `reason` a sentence."""

    cause: str
    reason: str

    @classmethod
    def of_end(cls, namespace: str) -> Reset:
        """Return the reset of those who watched a namespace that has ended."""
        return cls("namespace_ended", f"namespace {namespace} has ended")


NAMESPACE_ENDED = Reset("namespace_ended", "a namespace that matched has ended")
"""For whoever may not know which: it may have been in a former life of the tenant."""
TOO_OLD = Reset("too_old", "the position is too far back")
OTHER_RIGHTS = Reset("other_rights", "the right to see these topics has changed")
