"""Python's search for cycles of objects, and what takes so many objects that it costs more than all else."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_collection() -> Iterator[None]:
    """Keep Python from looking for cycles among millions of new objects, now and later: none of them is in one.

    Measured: 60,000 topics in a file were read in 32 s, of which 21 went into looking.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_enabled:
            gc.enable()
