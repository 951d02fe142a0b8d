"""Renews a SQLite log: a restored copy becomes another log, with the same records so far.

Positions, cursors and snapshots of the original log name its incarnation. Beyond the end of the copy they would come to
mean other records as it grows, and nothing would reveal that. As those of another log, they are refused.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import apsw

from topicfold.errors import LogUnavailable, WrongLog
from topicfold.log.identity import header_value, identity_in
from topicfold.log.port import LogIdentity
from topicfold.log.sqlite.errors import translated
from topicfold.log.sqlite.file import APPLICATION_ID, FORMAT, require_safe_sqlite
from topicfold.log.sqlite.plain_file import file_made, newest_beside

_FIRST = "SELECT value FROM records WHERE partition = 0 ORDER BY offset"
_REPLACE = "UPDATE records SET value = ? WHERE length(value) = ? AND value = ?"


def renew(path: Path, incarnation: bytes) -> LogIdentity:
    """Give `incarnation` to the log in the file at `path`, which nobody may have open; return its new identity.

    Everything else in it stays as it is. When this returns, the change is on disk; if it raises, nothing has changed.

    Raises:
        BadSetting: the SQLite library is too old, or the file is a link or may not be written.
        WrongLog: there is no log of this format; or it was trimmed, so it needs a snapshot, which names the old
            incarnation; or a write-ahead log is beside it, which may be that of the file that the copy replaced.
        LogUnavailable: a node has the file open, or its disk is full or failing.

    Cost: reads the length of each record.
    """
    require_safe_sqlite(apsw.sqlite_lib_version())
    if not path.is_file():
        raise WrongLog(f"{path} is not a file", hint="Name the file of a log.")
    target = file_made(path)
    newest = newest_beside(target)
    try:
        connection = apsw.Connection(str(target), flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_NOFOLLOW)
        try:
            # Otherwise closing the file would write the write-ahead log into it.
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, newest is not None)
            # This lock cannot be acquired while others have the file open.
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            connection.execute("BEGIN EXCLUSIVE")
            if newest is not None:
                raise WrongLog(
                    f"{newest.name} lies beside {path}, and would be taken for its latest changes",
                    hint="If it belongs to the file that was there before, remove it. Otherwise start and stop a node "
                    "first, which writes it into the file.",
                )
            with connection:
                new = _renewed(connection, path, incarnation)
            connection.execute("COMMIT")
            return new
        finally:
            connection.close()
    except (apsw.BusyError, apsw.LockedError):
        raise LogUnavailable(f"{path} is in use by another process", hint="Stop all nodes on it first.") from None
    except apsw.Error as error:
        raise translated(error, path) from error


def _renewed(connection: apsw.Connection, path: Path, incarnation: bytes) -> LogIdentity:
    whose = connection.execute("SELECT application_id, user_version FROM pragma_application_id, pragma_user_version")
    if next(iter(whose)) != (APPLICATION_ID, FORMAT):
        raise WrongLog(f"{path} is not a log of Topicfold of format {FORMAT}", hint="Name the file of a log.")
    if connection.execute("SELECT max(start_offset) FROM partitions").get:
        raise WrongLog(
            f"{path} was trimmed: the snapshot that replaces its beginning names the log's present identity",
            hint="Leave it as it is, and restart all watches and clients.",
        )
    old = _identity(connection)
    if old is None:
        raise WrongLog(f"partition 0 of the log in {path} has no header", hint="Name the file of a log.")
    new = replace(old, incarnation=incarnation)
    former = header_value(old)
    connection.execute(_REPLACE, (header_value(new), len(former), former))
    return new


def _identity(connection: apsw.Connection) -> LogIdentity | None:
    for (value,) in connection.execute(_FIRST):
        if identity := identity_in(value):
            return identity
    return None
