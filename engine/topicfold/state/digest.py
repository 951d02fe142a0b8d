"""Marks: the data for a partition's digest at one position, which is taken at once and hashed later, piece by piece.

Marks are taken at digest records, where nodes are compared. Hashing both rings takes milliseconds, for which the fold
must not wait. The content of a mark never changes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from topicfold.model.events import Event

Rows = Sequence[bytes | memoryview]
"""A ring's operations in order, in the layout that digests hash, in pieces of some kilobytes."""


class DigestMark(NamedTuple):
    """The part of a partition's state at `position` that its digest covers; it has been the same since `since`.

    `total` is the sum of the hashes of all aggregates.
    """

    since: int
    position: int
    total: int
    level: int
    rings: tuple[Rows, Rows]

    def speaks_of(self, position: int) -> bool:
        """Return whether this was also the state at `position`."""
        return self.since <= position <= self.position

    def hashing(self) -> Iterator[bytes]:
        """Hash step by step: yield `b""` after each piece of the rings, and finally the digest. Cost: 20 µs a step."""
        rings = []
        for rows in self.rings:
            ring = hashlib.blake2b(digest_size=16)
            for piece in rows:
                ring.update(piece)
                yield b""
            rings.append(ring.digest())
        digest = hashlib.blake2b(self.total.to_bytes(16, "big"), digest_size=16)
        digest.update(self.level.to_bytes(2, "big"))
        for each in rings:
            digest.update(each)
        yield digest.digest()

    def digest(self) -> bytes:
        """Return the digest. Cost: O(rings)."""
        return next(filter(None, self.hashing()))


class DigestRecord(NamedTuple):
    """A digest record that was folded, and the mark of the state there; None if no marks were kept then."""

    offset: int
    event: Event
    mark: DigestMark | None
