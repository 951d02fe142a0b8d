"""The place of a SQLite log: whether what was opened is still there, and what lies beside it is its own."""

from __future__ import annotations

import os
from pathlib import Path
from shlex import quote

import apsw

from topicfold.errors import LogUnavailable, WrongLog
from topicfold.log.sqlite.errors import translated
from topicfold.log.sqlite.plain_file import NEWEST, file_identity, newest_beside

_BESIDE = (NEWEST, "-shm")
"""The suffixes of what SQLite keeps beside a file as long as anybody has it open: newest commits, and their index."""
_LOST = (
    "Let this node run until you have saved what it has open, which may be all that is left of the log: "
    "docs/recovery.md says how. Then stop all nodes, put the right file there, without the -wal and -shm of another, "
    "and start them."
)
_EMPTIED = (
    "Let this node run until you have saved what it knows, if there is no copy of the log: docs/recovery.md says how. "
    "Then stop all nodes, put the copy there, without the -wal and -shm of this file, and start them."
)
_OVERWRITTEN = (
    "Let this node run until you have saved what it knows, if you need what the copy lacks: docs/recovery.md says how. "
    "To go on with the copy, stop all nodes, remove the -wal and -shm beside it, then: topicfold renew"
)
_RESTART = "Stop this node by SIGTERM and start it again: as it stops, all that it answered goes into the log's file."
_VERSIONS_AT, _NO_NEWEST = 18, b"\x01\x01"
"""Where a file's header states its write and read version, and their values in a file without write-ahead log."""


class OpenedPlace:
    """Where an open log's file is, and what SQLite keeps beside it.

    `identity` distinguishes the file from any that replaces it. `is_lost` says that the file itself is not what was
    opened any more; who finds it damaged may say so, too.
    """

    def __init__(self, path: Path, target: Path) -> None:
        """Remember what is there now. `path` is what messages call it, `target` its real path.

        Raises:
            LogUnavailable: the file cannot be opened.
        """
        self.is_lost = False
        self.identity = file_identity(target.stat())
        self._path, self._target = path, target
        self._header = _opened(target, path)
        beside = (target.with_name(target.name + suffix) for suffix in _BESIDE)
        self._identities = {each: file_identity(each.stat()) for each in (target, *beside) if each.exists()}

    def require(self) -> None:
        """Check that the paths still name the files that were opened, and that no copy was written into the log's.

        Cost: 15 µs.

        Raises:
            WrongLog: the file was overwritten, emptied, deleted or replaced; or one beside it was deleted or replaced.
            LogUnavailable: the system does not say.
        """
        if _is_copy(self._header):
            self.is_lost = True
            hint = f"{_OVERWRITTEN} --log {quote(str(self._path))}"
            raise WrongLog(f"{self._path} was overwritten by a copy while in use", hint=hint)
        for path, identity in self._identities.items():
            try:
                found = os.stat(path)
            except (FileNotFoundError, NotADirectoryError):
                found = None
            except OSError as error:
                raise LogUnavailable(f"{path}: {error.strerror}") from error
            if found is None or file_identity(found) != identity:
                self.is_lost |= path == self._target
                hint = _LOST if path == self._target else _RESTART
                raise WrongLog(f"{path} was deleted or replaced while in use", hint=hint)
            if path == self._target and not found.st_size:
                self.is_lost = True
                raise WrongLog(f"{path} was emptied while in use", hint=_EMPTIED)

    def is_taken(self) -> bool:
        """Return whether there is a file that is not empty instead of the one opened, as far as the system says."""
        if not self.is_lost:
            return False
        try:
            return self._target.stat().st_size > 0
        except OSError:
            return True

    def close(self) -> None:
        """Stop watching the header."""
        self._header.xClose()


def require_own_newest(target: Path, path: Path) -> None:
    """Check that a write-ahead log beside a file may be its own.

    SQLite would apply it to a copy too, and the result would be neither of the two logs.

    Raises:
        WrongLog: it belongs to the file that was there before.
        LogUnavailable: the file cannot be opened.

    Source: `pagerOpenWalIfPresent` in SQLite's pager.
    """
    newest = newest_beside(target)
    if newest is None:
        return
    file = _opened(target, path)
    is_copy = _is_copy(file)
    file.xClose()
    if is_copy:
        beside = " and ".join(target.name + suffix for suffix in _BESIDE)
        raise WrongLog(
            f"{path} is a copy, and {newest.name} beside it is of the file that was there before",
            hint=f"Remove {beside}, then: topicfold renew --log {quote(str(path))}",
        )


def _opened(target: Path, path: Path) -> apsw.VFSFile:
    """Open a file to read its header, by way of SQLite.

    If this process closed the file itself, its other handles would lose their locks.

    Raises:
        LogUnavailable: it cannot be opened, as on a disk that fails.
    """
    try:
        return apsw.VFSFile("", str(target), [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READONLY, 0])
    except apsw.Error as error:
        raise translated(error, path) from error


def _is_copy(file: apsw.VFSFile) -> bool:
    """Return whether `file` is a copy made by SQLite: that states in its header that it has no write-ahead log.

    Source: SQLite's file format, "file format version numbers".
    """
    try:
        return file.xRead(len(_NO_NEWEST), _VERSIONS_AT) == _NO_NEWEST
    except apsw.IOError:
        return False
