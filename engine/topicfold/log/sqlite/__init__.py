"""The log in a SQLite file: `SqliteLog` keeps the promises of the log's port, the other modules are its parts."""

from topicfold.log.sqlite.log import SqliteLog

__all__ = ["SqliteLog"]
