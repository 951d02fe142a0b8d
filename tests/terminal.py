"""A stream that somebody sits at."""

from __future__ import annotations

import io


class Terminal(io.StringIO):
    """Text that says it is shown to somebody, or typed by them."""

    def isatty(self) -> bool:
        return True
