"""Reading one's writes on whatever node a call arrives, while nodes know nothing of each other."""

from __future__ import annotations

from itertools import cycle

import httpx2
import pytest

from tests.client.served import serving
from topicfold.client import Added, AsyncClient, Client, RetryRule
from topicfold.client.errors import ServerUnreachable
from topicfold.errors import AlreadyExists, InvalidRequest, KeyReused, TopicNotFound


class EachToTheNext(httpx2.HTTPTransport):
    """A load balancer: every request goes to the next node."""

    def __init__(self, urls: list[str]) -> None:
        super().__init__()
        self._ports = cycle(httpx2.URL(url).port for url in urls)

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        request.url = request.url.copy_with(port=next(self._ports))
        return super().handle_request(request)


LATE = (0.0, 0.02, 0.04)
AWAY = "http://127.0.0.1:1"
ORDERS = "persistent://public/default/orders"


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


@pytest.mark.parametrize("urls", ["{away},{there}", "{there}/ , {away}"])
def test_of_several_nodes_the_next_is_asked_where_one_is_away(urls: str) -> None:
    with serving() as (there,), Client(urls.format(away=AWAY, there=there)) as client:
        client.create_topic("orders")
        with client.watch() as frames:
            assert isinstance(next(frames), Added)
        assert client.list_topics("public/default") == (ORDERS,)


async def test_the_same_holds_in_an_event_loop() -> None:
    with serving() as (there,):
        async with AsyncClient(f"{AWAY},{there}") as client:
            await client.create_topic("orders")
            async with client.watch() as frames:
                assert isinstance(await anext(frames), Added)


def test_where_all_are_away_the_one_that_was_asked_last_is_named() -> None:
    retry = RetryRule(max_attempts=2, first_delay_seconds=0.001)
    with Client(f"{AWAY}/a,{AWAY}/b", retry=retry) as client, pytest.raises(ServerUnreachable, match=f"{AWAY}/b: "):
        client.list_tenants()


@pytest.mark.parametrize("url", ["http://a,", ",", "http://a,ftp://b", "http://a,http://me:pw@b"])
def test_each_of_several_must_be_the_url_of_a_server(url: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        Client(url)
    assert "pw" not in refused.value.reason


def test_a_key_sent_again_to_another_node_is_applied_once() -> None:
    with serving(*LATE) as urls, Client(urls[0], transport=EachToTheNext(urls)) as client:
        created = client.create_topic("orders", idempotency_key="k1")
        assert client.create_topic("orders", idempotency_key="k1") == created
        with pytest.raises(KeyReused):
            client.create_topic("orders", partitions=2, idempotency_key="k1")
