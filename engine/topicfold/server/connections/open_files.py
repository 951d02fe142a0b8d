"""Notices that this process may open no more files: uvloop then resets new connections, and reports nothing."""

from __future__ import annotations

import os
import resource

import structlog

from topicfold.process.shortage import shortage_in

_log = structlog.get_logger(__name__)


class OpenFiles:
    """Says in the log once that there may be no more, and once that there may be again."""

    def __init__(self) -> None:
        self._are_spent = False

    def look(self, descriptor: int) -> None:
        """Try whether one more may be open; `descriptor` is of one that is. Cost: 2 µs."""
        were_spent, self._are_spent = self._are_spent, _are_spent(descriptor)
        if self._are_spent and not were_spent:
            _log.warning(
                "no_more_open_files",
                limit=resource.getrlimit(resource.RLIMIT_NOFILE)[0],
                hint="New connections are reset. Raise the limit of open files (LimitNOFILE=, ulimit -n), "
                "or find out which client opens so many connections.",
            )
        elif were_spent and not self._are_spent:
            _log.info("open_files_again")


def _are_spent(descriptor: int) -> bool:
    try:
        os.close(os.dup(descriptor))
    except OSError as error:
        if shortage_in(error):
            return True
        raise
    return False
