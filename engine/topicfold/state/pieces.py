"""Bytes of many topics in one piece: an object is made of a topic's own for who asks for it, and for nobody else."""

from __future__ import annotations

from typing import NamedTuple


class Pieces(NamedTuple):
    """The bytes of `number` are those of `content` from `starts[number]` to `ends[number]`; both hold integers.

    All of `content` stays in memory as long as any of its pieces can be asked for. Cost: 0.2 µs to ask for one, 16
    bytes beside its own.
    """

    content: memoryview
    starts: memoryview
    ends: memoryview

    def of(self, number: int) -> bytes:
        """Return the bytes of `number`."""
        return self.content[self.starts[number] : self.ends[number]].tobytes()


NO_PIECES = Pieces(*[memoryview(b"")] * 3)
