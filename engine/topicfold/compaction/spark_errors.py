"""Spark's errors in our words, as far as their text tells. What the log has to say of one is the job's to ask."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from py4j.protocol import Py4JError, Py4JJavaError

from topicfold.compaction.spans import SMALLER_HINT
from topicfold.errors import LogUnavailable, TooLarge, TopicfoldError, WrongSnapshot
from topicfold.snapshot.unwritable import unwritable

_NOT_WRITABLE = (errno.EACCES, errno.EPERM, errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.EROFS, errno.ENOSPC,
                 errno.EDQUOT, errno.EFBIG, errno.ENAMETOOLONG)  # fmt: skip
_REFUSED = re.compile(rf"^\w+Error: (\[Errno (?:{'|'.join(map(str, _NOT_WRITABLE))})\] .+)$", re.MULTILINE)
"""What Python says of a file that cannot be written, among all that Spark says of the task that wanted to."""
_TOO_LARGE = re.compile(r"^topicfold\.errors\.TooLarge: (.+)$", re.MULTILINE)
"""What Python says of our own error in a task, without its hint."""
_NO_ROOM = re.compile("|".join(map(os.strerror, (errno.ENOSPC, errno.EDQUOT, errno.EROFS))))
_KILLED_HINT = (
    "Somebody killed it, or the system where memory ran out. Run it again, with fewer --batch-rows then: it goes on "
    "from the newest commit."
)
_LATE_WORKER = "Python worker failed to connect back"
_LOST_WORKER = "Python worker exited unexpectedly"
_TAKEN = re.compile(r"Multiple streaming jobs detected|CONCURRENT_|ConcurrentModification", re.IGNORECASE)
_CAUSE = re.compile(
    r"^\s*(?:Caused by: )?((?:(?:\w+\.)*\w+(?:Error|Exception)|topicfold\.errors\.\w+): .*\S)", re.MULTILINE
)
"""A line of Python's or Java's about what was raised; the last one tells what all others came of."""


@contextmanager
def naming_lost_jvm() -> Iterator[None]:
    """Say so where the block finds nobody that it could tell what Spark is to do.

    Raises:
        LogUnavailable: the JVM is gone.
    """
    try:
        yield
    except (Py4JError, ConnectionError) as error:
        if isinstance(error, Py4JJavaError):
            raise
        raise LogUnavailable("the stream ended: Spark's JVM is gone", hint=_KILLED_HINT) from error


def known_error(text: str, root: Path) -> TopicfoldError | None:
    """Return our own error for what Spark says of a job on the snapshot at `root`; None where that does not tell."""
    if refused := _REFUSED.search(text):
        return unwritable(root, refused[1])
    if too_large := _TOO_LARGE.search(text):
        return TooLarge(too_large[1], hint=SMALLER_HINT)
    if _LATE_WORKER in text:
        return LogUnavailable(
            "the stream ended: a Python worker of Spark did not start in time",
            hint="The machine is too busy: run it again, with fewer --slices perhaps, and it goes on from the newest "
            "commit. On a cluster see that spark.pyspark.python names a Python that has topicfold on every machine.",
        )
    if _LOST_WORKER in text:
        return LogUnavailable("the stream ended: a Python worker of Spark is gone", hint=_KILLED_HINT)
    if _TAKEN.search(text):
        return WrongSnapshot(
            "another job runs on this checkpoint", hint="Let it, or give this one a --checkpoint of its own."
        )
    return None


def cause_in(text: str) -> str:
    """Return what Spark's `text` about a failure says that it came of, else its first line."""
    causes = _CAUSE.findall(text)
    return causes[-1] if causes else next(filter(None, map(str.strip, text.splitlines())), "Spark failed")


def is_of_checkpoint(reason: str, checkpoint: Path) -> bool:
    """Return whether a stream that ended between two batches, for this `reason`, could not keep its plans."""
    return str(checkpoint.absolute()) in reason or _NO_ROOM.search(reason) is not None
