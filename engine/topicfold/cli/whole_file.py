"""Writing a file that people keep: what it held before is gone only once what it is to hold is there."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

from topicfold.errors import InvalidRequest
from topicfold.snapshot.files.unfinished import unfinished

_NOT_REPLACED = (errno.EACCES, errno.EPERM, errno.EBUSY)


def write_whole(file: Path, content: bytes) -> None:
    """Write `content` to `file`, which is left as it was where that fails. It keeps its mode; links to it stay links.

    What is no plain file, say a pipe, is written to as it is. So is one that nothing may be put in the place of, for
    its directory is not to be written or it is mounted by itself: then the disk may be full half-way.

    Raises:
        InvalidRequest: it cannot be written.
    """
    try:
        place = file.resolve()
        if not place.exists():
            _put(place, content)
        elif not place.is_file():
            file.write_bytes(content)
        elif os.access(place, os.W_OK):
            _replace(place, content)
        else:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise InvalidRequest(f"{file} cannot be written: {error.strerror}") from None


def _replace(place: Path, content: bytes) -> None:
    try:
        _put(place, content)
    except OSError as error:
        if error.errno not in _NOT_REPLACED:
            raise
        place.write_bytes(content)


def _put(place: Path, content: bytes) -> None:
    made, is_there = unfinished(place), place.exists()
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    try:
        # Nobody else may read it before it has the mode of the file that it replaces.
        with os.fdopen(os.open(made, flags, 0o600 if is_there else 0o666), "wb") as out:
            out.write(content)
        if is_there:
            shutil.copymode(place, made)
        os.replace(made, place)
    finally:
        made.unlink(missing_ok=True)
