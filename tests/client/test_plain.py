"""Texts of any kind of `str` are sent as what they hold, say members of an enumeration."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any
from urllib.parse import unquote

import httpx2
import pytest

from topicfold.client import AsyncClient, Client, UnexpectedAnswer
from topicfold.client.plain import plain


class Word(str, Enum):  # noqa: UP042 - a StrEnum writes its value
    """Writes itself as its own name, `Word.…`."""

    TOPIC = "orders"
    NAMESPACE = "acme/pay"
    KEY = "team"
    VALUE = "payments"
    SELECTOR = "team=payments"
    PATTERN = "ord*"
    TIME = "2h"


def sent_by(ask: Callable[[Any], Any]) -> list[str]:
    sent: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        sent.append(f"{unquote(str(request.url))} {request.content.decode()}")
        return httpx2.Response(200)

    with Client(transport=httpx2.MockTransport(answer)) as client, pytest.raises(UnexpectedAnswer):
        ask(client)
    return sent


@pytest.mark.parametrize(
    ("ask", "held"),
    [
        (lambda client: client.delete_topic(Word.TOPIC), "public/default/orders"),
        (lambda client: client.remove_labels(Word.TOPIC, Word.KEY), "keys=team"),
        (lambda client: client.remove_labels(Word.TOPIC, (each for each in [Word.KEY])), "keys=team"),
        (lambda client: client.remove_property(Word.TOPIC, Word.KEY), "key=team"),
        (lambda client: client.roll_back(Word.TOPIC, to=Word.TIME), "2h"),
        (lambda client: client.set_labels(Word.TOPIC, {Word.KEY: Word.VALUE}), '{"labels":{"team":"payments"}}'),
        (lambda client: list(client.topics(Word.SELECTOR)), "labelSelector=team=payments"),
        (lambda client: list(client.topics({"matchLabels": {Word.KEY: Word.VALUE}})), "label=team=payments"),
        (lambda client: list(client.topics_by_label({Word.KEY: Word.VALUE})), "label=team=payments"),
        (lambda client: list(client.topics(namespaces=[Word.NAMESPACE])), "namespace=acme/pay"),
        (lambda client: list(client.topics(match={Word.PATTERN}, at=Word.TIME)), "at=2h"),
        (lambda client: client.find_topics(regex=Word.PATTERN), "regex=ord*"),
    ],
)
def test_a_member_of_an_enumeration_is_sent_as_its_value(ask: Callable[[Any], Any], held: str) -> None:
    (sent,) = sent_by(ask)
    assert held in sent
    assert "Word" not in sent


def test_an_enumeration_may_name_the_clients_own_namespace() -> None:
    assert type(Client("http://h", namespace=Word.NAMESPACE).namespace) is str
    assert type(AsyncClient(Word.TOPIC, namespace=Word.NAMESPACE).url) is str
    assert AsyncClient(Word.TOPIC).url == "http://orders"


def test_what_awaits_sends_values_too() -> None:
    asked: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request.url.path)
        return httpx2.Response(200, json={})

    async def main() -> None:
        async with AsyncClient(transport=httpx2.MockTransport(answer)) as client:
            await client.get_labels(Word.TOPIC)

    asyncio.run(main())
    assert asked == ["/admin/v2/persistent/public/default/orders/custom-labels"]


def test_what_is_no_text_stays_what_it_is() -> None:
    def letters() -> Iterator[str]:
        yield from (Word.KEY, "b")

    given = {"a": [1, None, (2.5, True)], "b": {Word.KEY}, "c": frozenset({3})}
    assert plain(given) == given
    assert [type(each) for each in plain(letters())] == [str, str]
