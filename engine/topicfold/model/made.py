"""A faster way to create named tuples, for code that runs for every event.

>>> from topicfold.model.events import Operation
>>> made(Operation, (b"id", 0, True, b"hash")) == Operation(b"id", 0, True, b"hash")
True
"""

from __future__ import annotations

made = tuple.__new__
"""Creates a named tuple from its class and a tuple of all members in order, at a third of the usual cost."""
