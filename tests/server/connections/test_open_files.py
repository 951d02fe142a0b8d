"""That there may be no more open files is said once, and so is that there may be again."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

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


def test_where_no_more_may_be_open_it_is_said_once_and_once_when_they_may_again(
    capsys: pytest.CaptureFixture[str],
) -> None:
    files = OpenFiles()
    files.look(STDERR)
    assert not capsys.readouterr().out
    with none_left():
        files.look(STDERR)
        files.look(STDERR)
    said = capsys.readouterr().out
    assert (said.count("no_more_open_files"), said.count("open_files_again")) == (1, 0)
    assert "limit=3" in said
    files.look(STDERR)
    files.look(STDERR)
    assert capsys.readouterr().out.count("open_files_again") == 1


def test_what_else_is_wrong_is_no_shortage() -> None:
    with pytest.raises(OSError, match="Bad file descriptor"):
        OpenFiles().look(-1)
