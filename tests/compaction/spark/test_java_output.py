"""What a process says while it starts: nothing to anybody, unless it does not start."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.client.waiting import eventually
from topicfold.compaction.spark.java_output import fatal_in, kept_while_starting


def saying(words: str, output: Mapping[str, int]) -> subprocess.Popen[bytes]:
    """Return a shell that runs `words`."""
    return subprocess.Popen(["sh", "-c", words], stdin=subprocess.PIPE, **output)


def test_of_one_that_starts_only_what_comes_later_is_passed_on(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with kept_while_starting() as output:
        up, later = tmp_path / "up", "read line; echo running $line; echo trouble >&2"
        started = saying(f"echo fetching; echo warning >&2; touch {up}; {later}", output)
        eventually(up.exists)
    started.communicate(b"well\n")
    told = ""

    def has_come() -> bool:
        nonlocal told
        told += capfd.readouterr().err
        return told == "running well\ntrouble\n"

    eventually(has_come)


def test_of_one_that_does_not_start_all_is_shown(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(OSError, match="ended"), kept_while_starting() as output:  # noqa: PT012 -- both in one block
        saying("echo fetching; printf 'no \\377 room' >&2; exit 1", output).communicate()
        raise OSError("ended")
    assert capfd.readouterr().err == "fetching\nno \ufffd room"


def test_of_one_that_names_what_ended_it_only_that_is_told_and_all_is_noted(capfd: pytest.CaptureFixture[str]) -> None:
    words = 'echo fetching; echo "Exception in thread \\"main\\" a.b.Error: [no room]" >&2; echo at a.b; exit 1'
    with pytest.raises(OSError, match="ended") as failed, kept_while_starting() as output:  # noqa: PT012 -- as above
        saying(words, output).communicate()
        raise OSError("ended")
    assert capfd.readouterr().err == ""
    assert fatal_in(failed.value) == "no room"
    assert failed.value.__notes__[0].startswith("fetching\n")
