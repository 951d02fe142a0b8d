"""Marks: what a partition's digest is made of at one position, taken in a moment and hashed later, bit by bit.

A mark is taken where nodes are compared, at digest records; hashing both rings takes milliseconds, which the fold
must not wait for. What a mark holds never changes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from topicfold.model.events import Event

Rows = Sequence[bytes | memoryview]
"""A ring's operations in their order, laid out as digests hash them, in pieces of some kilobytes."""


class DigestMark(NamedTuple):
    """A partition's state at `position`, as far as its digest goes; it has been the same from `since` on.

    `total` is the sum of the hashes of all aggregates.
    """

    since: int
    position: int
    total: int
    level: int
    rings: tuple[Rows, Rows]

    def speaks_of(self, position: int) -> bool:
        """Return whether the state at `position` was this one."""
        return self.since <= position <= self.position

    def hashing(self) -> Iterator[bytes]:
        """Yield what the digest is so far after each piece of the rings, at last the digest. Cost: 20 µs a step."""
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
    """A digest record that was folded, and the state there; `mark` None where marks are not kept yet."""

    offset: int
    event: Event
    mark: DigestMark | None
