"""What a type checker must make of both clients; `test_twins` has mypy check it. Never run."""

from __future__ import annotations

import asyncio
from typing import assert_type

from topicfold.client import (
    AsyncClient,
    AsyncPager,
    AsyncWatch,
    Client,
    ExplainedRequirement,
    FieldChange,
    Frame,
    HistoryEntry,
    HistoryPage,
    LabelConsumer,
    MadeBy,
    Match,
    Pager,
    Topic,
    Watch,
    Written,
)


def blocking(client: Client) -> None:
    assert_type(client.get_topic("orders"), Topic)
    assert_type(client.set_labels("orders", {"a": "b"}, reason="why", if_match=None), Written)
    assert_type(client.namespace_labels("public/default"), dict[str, tuple[str, ...]])
    assert_type(client.topics("a=b", match="x__*"), Pager)
    assert_type(list(client.topics_by_label({"a": "b"})), list[Match])
    assert_type(client.explain("a=b").requirements, tuple[ExplainedRequirement, ...])
    page = client.history("orders")
    assert_type(page, HistoryPage)
    assert_type(page.entries, tuple[HistoryEntry, ...])
    assert_type(page.entries[0].made_by, tuple[MadeBy, ...])
    assert_type(page.entries[0].changes, tuple[FieldChange, ...] | None)
    with client.watch(since="c") as frames:
        assert_type(frames, Watch)
        assert_type(next(frames), Frame)


async def awaiting(client: AsyncClient) -> None:
    assert_type(await client.get_topic("orders"), Topic)
    assert_type(await client.set_labels("orders", {"a": "b"}, reason="why", if_match=None), Written)
    assert_type(await client.namespace_labels("public/default"), dict[str, tuple[str, ...]])
    at_once = asyncio.gather(client.get_topic("orders"), client.set_labels("orders", {"a": "b"}))
    assert_type(await at_once, tuple[Topic, Written])
    assert_type(client.topics(selector="a=b", match="x__*"), AsyncPager)
    assert_type([topic async for topic in client.topics_by_label({"a": "b"})], list[Match])
    async with client.watch(since="c") as frames:
        assert_type(frames, AsyncWatch)
        assert_type(await anext(frames), Frame)


async def refused(client: Client, other: AsyncClient, consumer: LabelConsumer) -> None:
    from topicfold.client import AsyncCleint  # type: ignore[attr-defined]

    AsyncCleint()
    consumer.subscribe(["orders"])  # type: ignore[attr-defined]
    consumer.commit(mesage=consumer.poll())  # type: ignore[call-arg]
    consumer.list_topics(timeot=1)  # type: ignore[call-arg]
    consumer.get_watermark_offsets()  # type: ignore[call-arg]
    client.get_topic(1)  # type: ignore[arg-type]
    client.set_labels("orders", {}, reasn="typo")  # type: ignore[call-arg]
    await other.get_topic(1)  # type: ignore[arg-type]
    await other.set_labels("orders", {}, reasn="typo")  # type: ignore[call-arg]
    assert other.get_topic("orders").labels  # type: ignore[attr-defined]
