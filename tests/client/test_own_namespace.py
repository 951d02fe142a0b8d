"""Whatever takes a topic's name takes it bare, in the client's own namespace."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import httpx2
import pytest

from topicfold.client import Client
from topicfold.client.client import Calls
from topicfold.errors import TopicfoldError

BESIDE: Mapping[str, Any] = {
    "name": "messageTTLInSeconds", "value": 60, "labels": {"a": "b"}, "keys": ["a"], "properties": {"a": "b"},
    "key": "a", "partitions": 2, "changes": {}, "role": "reader", "actions": ["consume"], "at": "2h", "to": "2h",
}  # fmt: skip
"""What methods want beside the topic."""
OF_TOPICS = [
    name
    for name, method in inspect.getmembers(Calls, inspect.isfunction)
    if not name.startswith("_") and "topic" in inspect.signature(method).parameters
]


def path_asked(method: str, topic: str) -> str:
    """Return the path that a client of acme/pay asks for."""
    paths: list[str] = []

    def refuse(request: httpx2.Request) -> httpx2.Response:
        paths.append(request.url.path)
        return httpx2.Response(404)

    parameters = inspect.signature(getattr(Calls, method)).parameters
    beside = {name: BESIDE[name] for name, each in parameters.items() if name in BESIDE and each.default is each.empty}
    transport = httpx2.MockTransport(refuse)
    with Client(namespace="acme/pay", transport=transport) as client, pytest.raises(TopicfoldError):
        getattr(client, method)(topic, **beside)
    return paths[0]


@pytest.mark.parametrize("method", OF_TOPICS)
def test_a_bare_name_is_of_the_clients_own_namespace(method: str) -> None:
    assert "acme/pay/orders" in path_asked(method, "orders")
    assert "acme/ship/orders" in path_asked(method, "acme/ship/orders")


def test_every_method_of_a_topic_is_among_them() -> None:
    assert len(OF_TOPICS) > 25
