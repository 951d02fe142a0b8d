"""`Client` and `AsyncClient` are one: the same methods, types, requests and errors."""

from __future__ import annotations

import asyncio
import inspect
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

import topicfold.client
from tests.client.served import serving
from topicfold.client import AnswerLost, AsyncClient, AsyncPager, AsyncWatch, Client, Pager, RetryRule, Watch
from topicfold.client.client import Calls
from topicfold.errors import Resync, TopicNotFound
from topicfold.runtime.revision import Revision

ROOT = Path(__file__).parents[2]
IMPATIENT = RetryRule(max_attempts=2, first_delay_seconds=0.001)
NAMED_BY_PYTHON = {"__enter__": "__aenter__", "__exit__": "__aexit__", "__iter__": "__aiter__", "__next__": "__anext__"}


def methods(cls: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    for name, value in inspect.getmembers(cls, inspect.isfunction):
        if not name.startswith("_") or name in NAMED_BY_PYTHON:
            yield name, value


def test_what_the_clients_can_do_is_declared_once() -> None:
    names = {name for name, _ in methods(Calls)}
    assert len(names) > 50
    assert all(getattr(Client, name) is getattr(AsyncClient, name) for name in names)


@pytest.mark.parametrize(("one", "other"), [(Client, AsyncClient), (Pager, AsyncPager), (Watch, AsyncWatch)])
def test_every_method_is_there_twice_with_the_same_parameters(one: type, other: type) -> None:
    for name, method in methods(one):
        twin = inspect.signature(getattr(other, NAMED_BY_PYTHON.get(name, name)))
        assert inspect.signature(method).parameters.keys() == twin.parameters.keys(), name
    assert {name for name, _ in methods(other)} == {name for name, _ in methods(one)} - NAMED_BY_PYTHON.keys()


def test_a_shell_that_completes_names_is_told_of_every_public_one() -> None:
    assert set(topicfold.client.__all__) <= set(dir(topicfold.client))


def test_help_says_what_calls_return() -> None:
    told = {name: inspect.signature(method).return_annotation for name, method in methods(Client)}
    assert (told["get_topic"], told["namespace_labels"]) == ("Topic", "dict[str, tuple[str, ...]]")
    assert (told["topics"], told["topics_by_label"], told["watch"]) == ("Pager", "Pager", "Watch")
    assert not [name for name, returned in told.items() if "Call" in returned]


@pytest.mark.parametrize(
    ("method", "options"),
    [
        (Client.set_labels, ["topic", "labels", "if_match", "idempotency_key", "reason"]),
        (Client.grant_on_topic, ["topic", "role", "actions", "if_match", "idempotency_key", "reason"]),
        (Client, ["token", "tls_ca_file", "client_cert_file", "client_key_file"]),
    ],
)
def test_help_names_every_option(method: Callable[..., Any], options: list[str]) -> None:
    assert [*inspect.signature(method).parameters][-len(options) :] == options


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_a_client_that_is_printed_says_which_server_it_asks_and_no_token(kind: type[Any]) -> None:
    client = kind("h:9", namespace="acme/pay", token="s3cret")
    assert repr(client) == f"<{kind.__name__} of http://h:9, namespace acme/pay>"


def test_a_type_checker_knows_what_each_method_returns_on_either() -> None:
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "tests/client/typed.py"],
        cwd=ROOT, env={"MYPYPATH": "engine", "PATH": ""}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert checked.returncode == 0, checked.stdout


class Tape:
    """Answers requests with these answers in turn, and keeps what each said."""

    def __init__(self, *answers: httpx2.Response) -> None:
        self._answers = iter(answers)
        self.sent: list[tuple[str, str, str | None, str | None]] = []

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        headers = request.headers
        self.sent.append(
            (request.method, str(request.url), headers.get("Idempotency-Key"), headers.get("X-Min-Position"))
        )
        return next(self._answers)


def told(position: str) -> httpx2.Response:
    return httpx2.Response(200, json=[], headers={"X-Log-Position": position})


def failed(status: int, code: str, **values: str) -> httpx2.Response:
    return httpx2.Response(status, json={"code": code, "detail": "because", **values})


def blocking(tape: Tape) -> list[Any]:
    with Client(transport=httpx2.MockTransport(tape), retry=IMPATIENT) as client:
        results: list[Any] = [client.list_tenants(), client.list_tenants()]
        for error in (AnswerLost, Resync):
            with pytest.raises(error) as raised:
                client.set_labels("orders", {"a": "b"}, idempotency_key="k")
            results.append((raised.value.reason, raised.value.values))
        return [*results, client.list_tenants(), client.position]


async def awaiting(tape: Tape) -> list[Any]:
    async with AsyncClient(transport=httpx2.MockTransport(tape), retry=IMPATIENT) as client:
        results: list[Any] = [await client.list_tenants(), await client.list_tenants()]
        for error in (AnswerLost, Resync):
            with pytest.raises(error) as raised:
                await client.set_labels("orders", {"a": "b"}, idempotency_key="k")
            results.append((raised.value.reason, raised.value.values))
        return [*results, await client.list_tenants(), client.position]


def test_both_try_again_remember_positions_and_raise_in_the_same_way() -> None:
    def tape() -> Tape:
        lost = failed(502, "bad_gateway"), failed(504, "timeout")
        gone = failed(410, "resync", position="p2")
        return Tape(told("p1"), failed(503, "not_ready"), told("p2"), *lost, gone, told("p3"))

    one, other = tape(), tape()
    assert blocking(one) == asyncio.run(awaiting(other))
    assert one.sent == other.sent
    assert [sent[2:] for sent in one.sent] == [
        (None, None), (None, "p1"), (None, "p1"), ("k", "p2"), ("k", "p2"), ("k", "p2"), (None, None)
    ]  # fmt: skip


def test_both_wait_before_they_try_again() -> None:
    async def await_tenants(tape: Tape) -> None:
        async with AsyncClient(transport=httpx2.MockTransport(tape), retry=patient) as client:
            await client.list_tenants()

    def list_tenants(tape: Tape) -> None:
        with Client(transport=httpx2.MockTransport(tape), retry=patient) as client:
            client.list_tenants()

    patient = RetryRule(max_attempts=2, first_delay_seconds=0.1)
    for ask in (list_tenants, lambda tape: asyncio.run(await_tenants(tape))):
        began = time.monotonic()
        ask(Tape(failed(503, "not_ready"), told("p1")))
        assert time.monotonic() - began >= patient.first_delay_seconds / 2


async def test_calls_at_once_leave_a_position_that_covers_them_all() -> None:
    first, second = (Revision(b"i" * 16, positions) for positions in ({0: 7, 1: 2}, {1: 9}))
    tape = Tape(told(str(first)), told(str(second)), told("p3"))
    async with AsyncClient(transport=httpx2.MockTransport(tape)) as client:
        await asyncio.gather(client.list_tenants(), client.list_tenants())
        assert client.position == str(Revision(b"i" * 16, {0: 7, 1: 9}))


async def test_everything_works_in_an_event_loop_against_a_server() -> None:
    with serving() as (url,):
        async with AsyncClient(url) as client:
            await asyncio.gather(*(client.create_topic(f"t{n}", labels={"n": str(n)}) for n in range(8)))
            assert [topic.name[-2:] for topic in (await client.find_topics()).topics] == [f"t{n}" for n in range(8)]
            await client.set_policy("t0", "messageTTLInSeconds", 600, reason="why")
            assert await client.get_policy("t0", "messageTTLInSeconds") == 600
            assert (await client.history("t0")).entries[0].made_by[0].reason == "why"
            with pytest.raises(TopicNotFound):
                await client.get_topic("other")


def test_a_change_that_was_sent_when_the_client_was_closed_is_of_unknown_outcome_on_either() -> None:
    def cut_by_closing(_: httpx2.Request) -> httpx2.Response:
        client.close()
        raise httpx2.ReadError("closed")

    client = Client(transport=httpx2.MockTransport(cut_by_closing), retry=IMPATIENT)
    with pytest.raises(AnswerLost) as lost:
        client.set_labels("orders", {"a": "b"}, idempotency_key="k1")
    assert lost.value.values["idempotency_key"] == "k1"
    with pytest.raises(RuntimeError, match="closed"):
        client.set_labels("orders", {"a": "b"})

    async def change() -> None:
        async def cut_by_closing(_: httpx2.Request) -> httpx2.Response:
            await client.close()
            raise httpx2.ReadError("closed")

        client = AsyncClient(transport=httpx2.MockTransport(cut_by_closing), retry=IMPATIENT)
        with pytest.raises(AnswerLost):
            await client.set_labels("orders", {"a": "b"})
        with pytest.raises(RuntimeError, match="closed"):
            await client.set_labels("orders", {"a": "b"})

    asyncio.run(change())
