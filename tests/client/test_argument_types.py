"""What has another type than a method of the client states is refused by the argument's name, before it is sent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx2
import numpy as np
import pytest

from topicfold.client import AsyncClient, Client, LabelConsumer, UnexpectedAnswer
from topicfold.errors import InvalidRequest


def nobody(request: httpx2.Request) -> httpx2.Response:
    raise AssertionError(f"{request.url} was asked")


of_both_clients = pytest.mark.parametrize(
    "client", [Client(transport=httpx2.MockTransport(nobody)), AsyncClient()], ids=["Client", "AsyncClient"]
)


@of_both_clients
@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda client: client.get_topic(5), "topic: expected text, not int"),
        (lambda client: client.get_topic(topic=None), "topic: expected text, not None"),
        (lambda client: client.get_topic(b"orders"), "topic: expected text, not bytes"),
        (lambda client: client.topics(b"team=pay"), "selector: expected text or a mapping, not bytes"),
        (lambda client: client.topics(labels={"tier": 1}), "labels: expected text inside, not int"),
        (lambda client: client.topics(labels={2: "gold"}), "labels: expected text inside, not int"),
        (lambda client: client.topics(labels="tier=gold"), "labels: expected a mapping, not str"),
        (lambda client: client.topics(labels=["ab"]), "labels: expected a mapping, not list"),
        (lambda client: client.topics(match=b"pay"), "match: expected text or several texts, not bytes"),
        (lambda client: client.topics(namespaces=iter([5])), "namespaces: expected text inside, not int"),
        (lambda client: client.watch(since=5), "since: expected text, not int"),
        (lambda client: client.set_labels("orders", {"a": b"b"}), "labels: expected text inside, not bytes"),
        (lambda client: client.set_labels("orders", {}, reason=5), "reason: expected text, not int"),
        (lambda client: client.delete_tenant("acme", force="no"), "force: expected True or False, not str"),
        (lambda client: client.grow_topic("orders", "5"), "partitions: expected a whole number, not str"),
    ],
)
def test_an_argument_of_another_type_is_named(client: Any, ask: Callable[[Any], Any], said: str) -> None:
    with pytest.raises(InvalidRequest, match=f"^{said}$"):
        ask(client)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"url": None}, "url: expected text, not None"),
        ({"namespace": 5}, "namespace: expected text, not int"),
        ({"timeout_seconds": "5"}, "timeout_seconds: expected a number, not str"),
        ({"retry": 5}, "retry: expected RetryRule, not int"),
        ({"token": b"secret"}, "token: expected text or a function, not bytes"),
        ({"tls_ca_file": 5}, "tls_ca_file: expected text or Path, not int"),
    ],
)
def test_so_is_one_that_a_client_or_a_consumer_is_made_with(given: Any, said: str) -> None:
    for kind in (Client, AsyncClient):
        with pytest.raises(InvalidRequest, match=f"^{said}$"):
            kind(**given)
    with pytest.raises(InvalidRequest, match=r"^regex: expected text, not int$"):
        LabelConsumer({"bootstrap.servers": "h:9"}, regex=5)  # type: ignore[arg-type]


@of_both_clients
@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda client: client.set_labels("orders", {}, if_mach="v1"), "'if_mach'. Did you mean 'if_match'?"),
        (lambda client: client.delete_topic("orders", ifmatch="v1"), "'ifmatch'. Did you mean 'if_match'?"),
        (lambda client: client.set_policy("orders", "x", 5, glob=True), "'glob'. Did you mean 'is_global'?"),
        (lambda client: client.topics("team=pay", limit=5), "'limit'"),
        (lambda client: type(client)(timeout=5), "'timeout'. Did you mean 'timeout_seconds'?"),
    ],
)
def test_an_argument_that_there_is_not_is_refused_and_not_passed_over(
    client: Any, ask: Callable[[Any], Any], said: str
) -> None:
    with pytest.raises(TypeError) as refused:
        ask(client)
    assert str(refused.value).endswith(f"() got an unexpected keyword argument {said}")


def test_what_json_cannot_say_is_refused_too() -> None:
    with Client(transport=httpx2.MockTransport(nobody)) as client, pytest.raises(InvalidRequest, match="as JSON"):
        client.patch_topic("orders", {"labels": {"a": b"b"}})


def test_numbers_of_numpy_pass_for_numbers() -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        assert request.content == b'{"to":"7"}'
        return httpx2.Response(200)

    transport = httpx2.MockTransport(answer)
    with Client(transport=transport, timeout_seconds=np.float64(5)) as client, pytest.raises(UnexpectedAnswer):
        client.roll_back("orders", np.int64(7))  # type: ignore[arg-type]
