"""JSON that others wrote: what Python's reader does not take fails in one way."""

from __future__ import annotations

import json
from typing import Any


def read_json(text: str | bytes | bytearray) -> Any:
    """Return what `text` says.

    Raises:
        ValueError: it is no JSON, or nested too deep to be read.
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
