"""Positions as a client keeps them: two positions are merged into one that covers both.

A client that sends several calls at once receives positions of which none covers the others; a call can send only one.
"""

from __future__ import annotations

from topicfold.errors import InvalidRequest
from topicfold.runtime.revision import decode_revision

NOWHERE = "-"
"""The cursor of one who was told to forget everything and has not heard all of what followed: it is told again."""


def covering(known: str, told: str) -> str:
    """Return the position that is as far as `known` and as `told` in every partition; either may be "".

    `told` alone where they are of different logs, or one of a format that this version does not know.
    """
    if known == told or not known or not told:
        return told or known
    try:
        before, after = decode_revision(known), decode_revision(told)
    except InvalidRequest:
        return told
    return str(after.merged(before)) if before.incarnation == after.incarnation else told
