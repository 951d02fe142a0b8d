"""Named tuples where every event passes: made in one step of the interpreter's own.

>>> from topicfold.model.events import Operation
>>> made(Operation, (b"id", 0, True, b"hash")) == Operation(b"id", 0, True, b"hash")
True
"""

from __future__ import annotations

made = tuple.__new__
"""Makes a named tuple of its class and a tuple of all its members, in their order, at a third of the usual cost."""
