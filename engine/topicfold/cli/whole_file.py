"""Writing a file that people keep: what it held before is gone only once what it is to hold is there."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from topicfold.errors import InvalidRequest
from topicfold.snapshot.unfinished import unfinished


def write_whole(file: Path, text: str) -> None:
    """Write `text` to `file`, which is left as it was where that fails. It keeps its mode; links to it stay links.

    What is no plain file, say a pipe, is written to as it is.

    Raises:
        InvalidRequest: it cannot be written.
    """
    try:
        if file.exists() and not file.is_file():
            file.write_text(text, encoding="utf-8")
            return
        place = file.resolve()
        made = unfinished(place)
        try:
            made.write_text(text, encoding="utf-8")
            if place.exists():
                shutil.copymode(place, made)
            os.replace(made, place)
        finally:
            made.unlink(missing_ok=True)
    except OSError as error:
        raise InvalidRequest(f"{file} cannot be written: {error.strerror}") from None
