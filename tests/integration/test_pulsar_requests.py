"""The requests written down in `tests/pulsar/rows.py` are those that Pulsar's Java tool makes."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tests.pulsar.admin import PulsarAdmin
from tests.pulsar.answering import AnsweringProcess
from tests.pulsar.recorder import Recorder, Sent, recorder
from tests.pulsar.rows import ROWS, Row

TOPIC = "persistent://t/n/odd+name"
PATH = "persistent/t/n/odd%2Bname"


@pytest.fixture(scope="module")
def recorded() -> Iterator[Recorder]:
    with recorder() as each:
        yield each


def sent_by(tool: AnsweringProcess, recorded: Recorder, command: list[str]) -> Sent:
    """Return the one request of a command, which may leave before it is made."""
    recorded.sent.clear()
    PulsarAdmin(tool, [recorded.url]).run(*command)
    deadline = time.monotonic() + 60
    while not recorded.sent:
        assert time.monotonic() < deadline, f"{command} sent nothing"
        time.sleep(0.01)
    (request,) = recorded.sent
    return request


@pytest.mark.parametrize("row", ROWS, ids=str)
@pytest.mark.parametrize("verb", ["set", "get", "remove"])
def test_the_tool_sends_what_is_recorded(
    pulsar_tool: AnsweringProcess, recorded: Recorder, row: Row, verb: str
) -> None:
    assert sent_by(pulsar_tool, recorded, row.command(verb, TOPIC)) == row.request(verb, PATH)


@pytest.mark.parametrize("row", [row for row in ROWS if row.has_global], ids=str)
@pytest.mark.parametrize("verb", ["set", "get", "remove"])
def test_the_tool_says_that_it_means_all_clusters(
    pulsar_tool: AnsweringProcess, recorded: Recorder, row: Row, verb: str
) -> None:
    command = row.command(verb, TOPIC, "--global")
    assert sent_by(pulsar_tool, recorded, command) == row.request(verb, PATH, is_global=True)
