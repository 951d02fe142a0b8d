"""How far a snapshot is loaded is shown to a person, and to nobody else."""

from __future__ import annotations

import io
import sys

import pytest

from tests.terminal import Terminal
from topicfold.server.loading_bar import loading_bar


@pytest.mark.parametrize(("stream", "is_shown"), [(Terminal(), True), (io.StringIO(), False)])
def test_a_bar_is_shown_on_a_terminal_only(
    monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, is_shown: bool
) -> None:
    monkeypatch.setattr(sys, "stderr", stream)
    with loading_bar() as tell:
        tell(10, 20)
        tell(20, 20)
    assert ("loading the snapshot" in stream.getvalue()) == is_shown
