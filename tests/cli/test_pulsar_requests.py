"""Commands of policies send what Pulsar's own command sends for the same words.

`pulsar_admin_requests.tsv` is what `pulsar-admin` 4.0.8 was seen to send: its arguments, the request, the body.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

import httpx2
import pytest

from tests.cli.conftest import Run
from topicfold.cli.session import Session
from topicfold.client import Client


class Sent(NamedTuple):
    """A request, as far as it says what is to be done."""

    method: str
    path: str
    query: dict[str, str]
    body: Any


def sent(method: str, url: str, body: str) -> Sent:
    """Return a request without what means the same when it is left out."""
    parts = urlsplit(url)
    query = {name: value for name, value in parse_qsl(parts.query) if (name, value) != ("applied", "false")}
    if method == "DELETE":
        # Pulsar's client has one function to set and to remove.
        query.pop("messageTTL", None)
    said = json.loads(body) if body else None
    if isinstance(said, dict):
        # Pulsar's older name of limitSize.
        said.pop("limit", None)
    return Sent(method, parts.path, query, said)


def recorded() -> Iterator[tuple[str, Sent]]:
    for line in Path(__file__).with_name("pulsar_admin_requests.tsv").read_text().splitlines():
        arguments, request, body = (*line.split("\t"), "")[:3]
        yield arguments, sent(*request.split(" "), body)


RECORDED = dict(recorded())
# Ours leave out what was not said, so that a lower level can say it.
OFFLOADING = {words: request for words, request in RECORDED.items() if " set-offload-policies " in words}
# Pulsar's later versions leave this rate to the broker, and so do we.
OTHER_DEFAULT = {words for words in RECORDED if " set-persistence " in f"{words} " and " -r " not in words}
SAME = [words for words in RECORDED if words not in OFFLOADING and words not in OTHER_DEFAULT]


OPERATION = "0-00"
"""What becomes of it is asked for beside what Pulsar's own tool sends, so that the command can tell."""


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Sent]]:
    """What commands send, to a server that knows nothing and refuses nothing."""
    seen: list[Sent] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        url = request.url.raw_path.decode()
        if url == f"/api/v1/operations/{OPERATION}":
            return httpx2.Response(200, json={"operation": OPERATION, "state": "applied", "asOf": "", "changed": True})
        seen.append(sent(request.method, url, request.content.decode()))
        is_map = url.partition("?")[0].endswith(("/permissions", "/properties", "/backlogQuotaMap"))
        if request.method == "GET" and is_map:
            return httpx2.Response(200, json={}, headers={"X-Log-Position": "p1"})
        return httpx2.Response(204, headers={"X-Operation-Id": OPERATION, "X-Log-Position": "p1"})

    with Client(transport=httpx2.MockTransport(answer)) as client:
        monkeypatch.setattr(Session, "client", client)
        yield seen


@pytest.mark.parametrize("words", SAME)
def test_a_command_sends_what_pulsars_own_sends(bare_run: Run, requests: list[Sent], words: str) -> None:
    ran = bare_run(*words.split())
    assert ran.code == 0, ran.err
    expected = RECORDED[words]
    # Beside a change by which Kafka may delete, what applies is read, to warn where less is kept.
    reading = (" set-retention ", " remove-retention ", " remove-compaction-threshold ", "topicPolicies delete ")
    reads_too = any(each in words for each in reading)
    assert [each for each in requests if each.method == expected.method or not reads_too] == [expected]


@pytest.mark.parametrize("words", OFFLOADING)
def test_setting_offload_policies_sends_just_what_was_said(bare_run: Run, requests: list[Sent], words: str) -> None:
    assert bare_run(*words.split()).code == 0
    (request,) = requests
    assert request[:3] == RECORDED[words][:3]
    assert request.body.items() <= RECORDED[words].body.items()
    options = [word for word in words.split() if word.startswith("-")]
    assert len(request.body) == len(options) - ("-g" in options)


@pytest.mark.parametrize("words", sorted(OTHER_DEFAULT))
def test_the_rate_of_cursor_updates_is_the_brokers_unless_said(bare_run: Run, requests: list[Sent], words: str) -> None:
    assert bare_run(*words.split()).code == 0
    assert requests[0].body == {**RECORDED[words].body, "managedLedgerMaxMarkDeleteRate": -1.0}


def test_retention_is_converted_to_whole_minutes_and_mebibytes(bare_run: Run, requests: list[Sent]) -> None:
    assert bare_run("topicPolicies", "set-retention", "orders", "-s", "2T", "-t", "200d").code == 0
    (change,) = (each for each in requests if each.method == "POST")
    assert change.body == {"retentionTimeInMinutes": 288_000, "retentionSizeInMB": 2_097_152}


def test_every_recorded_command_is_compared() -> None:
    assert len(SAME) > 370
    assert len(OFFLOADING) + len(OTHER_DEFAULT) + len(SAME) == len(RECORDED)
