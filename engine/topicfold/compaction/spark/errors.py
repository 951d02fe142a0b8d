"""Translates Spark's errors, as far as their text tells. Whether the log is the cause, the job finds out itself."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from py4j.protocol import Py4JError, Py4JJavaError

from topicfold.compaction.folding.spans import SMALLER_HINT
from topicfold.errors import BadSetting, LogUnavailable, TooLarge, TopicfoldError, WrongSnapshot
from topicfold.snapshot.files.unwritable import unwritable

_NOT_WRITABLE = (errno.EACCES, errno.EPERM, errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.EROFS, errno.ENOSPC,
                 errno.EDQUOT, errno.EFBIG, errno.ENAMETOOLONG)  # fmt: skip
_REFUSED = re.compile(rf"^\w+Error: (\[Errno (?:{'|'.join(map(str, _NOT_WRITABLE))})\] .+)$", re.MULTILINE)
"""Python's message about a file that cannot be written, within Spark's long message about the failed task."""
_TOO_LARGE = re.compile(r"^topicfold\.errors\.TooLarge: (.+)$", re.MULTILINE)
"""Python's message about our own error in a task, without its hint."""
_NO_ROOM = re.compile("|".join(map(os.strerror, (errno.ENOSPC, errno.EDQUOT, errno.EROFS))))
AGAIN_HINT = (
    "Run it again: it continues from the newest commit. If it ends the same way, --debug shows all that Spark says."
)
_KILLED_HINT = (
    "Somebody killed it, or memory ran out, its own or the system's; in that case lower --batch-rows. Run it again: it "
    "continues from the newest commit."
)
_LATE_WORKER = "Python worker failed to connect back"
_LOST_WORKER = "Python worker exited unexpectedly"
_NO_WORKER = re.compile(
    r"""Cannot run program "[^"]*"|EOFException occurred while reading the port number from pyspark\.daemon's stdout"""
)
"""Spark's message if it cannot run the Python it was told to use, or if that ends at once."""
_TAKEN = re.compile(r"Multiple streaming jobs detected|CONCURRENT_|ConcurrentModification", re.IGNORECASE)
_CAUSE = re.compile(
    r"^\s*(?:Caused by: |: )?((?:(?:\w+\.)*\w+(?:Error|Exception)|topicfold\.errors\.\w+): .*\S)", re.MULTILINE
)
"""A line of Python's or Java's that names an exception; the last such line names the root cause."""
_OWN = re.compile(r"^topicfold\.errors\.\w+: ")


@contextmanager
def naming_lost_jvm() -> Iterator[None]:
    """Translate the errors that the block gets if Spark's JVM is gone.

    Raises:
        LogUnavailable: the JVM is gone.
    """
    try:
        yield
    except (Py4JError, ConnectionError) as error:
        if isinstance(error, Py4JJavaError):
            raise
        raise LogUnavailable("Spark's JVM is gone", hint=_KILLED_HINT) from error


def known_error(text: str, root: Path) -> TopicfoldError | None:
    """Return our own error for Spark's message about a job on the snapshot at `root`; None for an unknown message."""
    if refused := _REFUSED.search(text):
        return unwritable(root, refused[1])
    if too_large := _TOO_LARGE.search(text):
        return TooLarge(too_large[1], hint=SMALLER_HINT)
    if no_worker := _NO_WORKER.search(text):
        return BadSetting(
            f"Spark's Python workers do not start: {no_worker[0]}",
            hint="PYSPARK_PYTHON, or Spark's setting spark.pyspark.python, must name a Python with topicfold on every "
            "machine.",
        )
    if _LATE_WORKER in text:
        return LogUnavailable(
            "the stream ended: a Python worker of Spark did not start in time",
            hint="The machine is too busy. Run it again, perhaps with fewer --slices: it continues from the newest "
            "commit. On a cluster, make sure that spark.pyspark.python names a Python with topicfold on every machine.",
        )
    if _LOST_WORKER in text:
        return LogUnavailable("the stream ended: a Python worker of Spark is gone", hint=_KILLED_HINT)
    if _TAKEN.search(text):
        return WrongSnapshot(
            "another job uses this checkpoint", hint="Let it finish, or give this job a --checkpoint of its own."
        )
    if no_room := _NO_ROOM.search(cause_in(text)):
        return LogUnavailable(
            f"the stream ended: Spark cannot write files of its own: {no_room[0]}",
            hint="Free some space where they are: below TMPDIR on this machine, in spark.local.dir on a cluster; or "
            "lower --batch-rows. Run it again: it continues from the newest commit.",
        )
    return None


def is_late_worker(error: TopicfoldError) -> bool:
    """Return whether `error` was translated from Spark's, that a Python worker did not start in time."""
    cause = error.__cause__
    return isinstance(cause, Exception) and _LATE_WORKER in text_of(cause)


def text_of(error: Exception) -> str:
    """Return what Spark says of a failure, with Java's causes if the message names none."""
    text = str(error)
    return text if _CAUSE.search(text) else f"{text}\n{getattr(error, '_stackTrace', '')}"


def cause_in(text: str) -> str:
    """Return the root cause named in Spark's `text` about a failure; without one, the text's first line.

    Of our own errors, which a source raises, only the reason is told.
    """
    causes = _CAUSE.findall(text)
    return _OWN.sub("", causes[-1]) if causes else next(filter(None, map(str.strip, text.splitlines())), "Spark failed")


def is_of_checkpoint(cause: str, checkpoint: Path) -> bool:
    """Return whether a stream that ended by this `cause`, between two batches, could not write to its checkpoint."""
    return str(checkpoint.absolute()) in cause or _NO_ROOM.search(cause) is not None
