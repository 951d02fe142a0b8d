"""Reading one's writes on whatever node a call arrives, while nodes know nothing of each other."""

from __future__ import annotations

from itertools import cycle

import httpx2
import pytest

from tests.client.served import serving
from topicfold.client import Client
from topicfold.errors import AlreadyExists, KeyReused, TopicNotFound


class EachToTheNext(httpx2.HTTPTransport):
    """A load balancer: every request goes to the next node."""

    def __init__(self, urls: list[str]) -> None:
        super().__init__()
        self._ports = cycle(httpx2.URL(url).port for url in urls)

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        request.url = request.url.copy_with(port=next(self._ports))
        return super().handle_request(request)


LATE = (0.0, 0.02, 0.04)


def test_every_write_is_read_at_once_on_the_next_node_however_late_it_is() -> None:
    with serving(*LATE) as urls, Client(urls[0], transport=EachToTheNext(urls)) as client:
        client.create_topic("orders")
        for number in range(20):
            client.set_labels("orders", {"n": str(number)})
            assert client.get_topic("orders").labels == {"n": str(number)}
            assert len(client.find_topics(labels={"n": str(number)}).topics) == 1


def test_what_a_refusal_told_is_so_on_the_next_node_too() -> None:
    with serving(*LATE) as urls, Client(urls[0], transport=EachToTheNext(urls)) as client, Client(urls[0]) as another:
        for number in range(10):
            another.create_topic(f"orders-{number}")
            with pytest.raises(AlreadyExists):
                client.create_topic(f"orders-{number}")
            assert client.get_topic(f"orders-{number}").labels == {}


def test_a_topic_that_was_seen_gone_does_not_come_back_on_the_next_node() -> None:
    with serving(*LATE) as urls, Client(urls[0], transport=EachToTheNext(urls)) as client, Client(urls[0]) as another:
        for number in range(10):
            client.create_topic(f"orders-{number}")
            another.delete_topic(f"orders-{number}")
            seen = [has_topic(client, f"orders-{number}") for _ in range(6)]
            assert seen == sorted(seen, reverse=True)


def has_topic(client: Client, name: str) -> bool:
    try:
        client.get_topic(name)
    except TopicNotFound:
        return False
    return True


def test_without_that_a_late_node_answers_what_it_has() -> None:
    with serving(0.0, 0.3) as urls, Client(urls[0], transport=EachToTheNext(urls), read_your_writes=False) as client:
        client.create_topic("orders")
        client.get_labels("orders")
        client.set_labels("orders", {"n": "1"})
        assert client.get_topic("orders").labels == {}


def test_a_key_sent_again_to_another_node_is_applied_once() -> None:
    with serving(*LATE) as urls, Client(urls[0], transport=EachToTheNext(urls)) as client:
        created = client.create_topic("orders", idempotency_key="k1")
        assert client.create_topic("orders", idempotency_key="k1") == created
        with pytest.raises(KeyReused):
            client.create_topic("orders", partitions=2, idempotency_key="k1")
