"""That there may be no more open files is said once, and so is that there may be again."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from structlog.testing import capture_logs

from topicfold.server.connections.open_files import OpenFiles

STDERR = 2


@contextmanager
def none_left() -> Iterator[None]:
    """Nothing more may be open than standard streams."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (STDERR + 1, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_where_no_more_may_be_open_it_is_said_once_and_once_when_they_may_again() -> None:
    files = OpenFiles()
    with capture_logs() as said:
        files.look(STDERR)
        assert not said
        with none_left():
            files.look(STDERR)
            files.look(STDERR)
        assert [(each["event"], each["limit"]) for each in said] == [("no_more_open_files", 3)]
        files.look(STDERR)
        files.look(STDERR)
    assert [each["event"] for each in said[1:]] == ["open_files_again"]


def test_what_else_is_wrong_is_no_shortage() -> None:
    with pytest.raises(OSError, match="Bad file descriptor"):
        OpenFiles().look(-1)
