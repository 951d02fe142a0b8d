"""Dry runs are as of a barrier: what another node has just done counts."""

from __future__ import annotations

import asyncio

import pytest

from tests.memory_log import MemoryStore
from tests.runtime.nodes import ORDERS, running, turns
from topicfold.errors import AlreadyExists
from topicfold.model.records import TopicRecord
from topicfold.runtime.writing.dry_run import would_change, would_create


async def test_what_was_just_done_on_another_node_counts(store: MemoryStore) -> None:
    async with running(store) as one, running(store) as other:
        other.log.pause()
        await one.writing.create_topic(ORDERS, TopicRecord(), one.asked())
        changing = asyncio.create_task(
            would_change(other.engine, ORDERS, lambda _: TopicRecord(labels={"team": "pay"}), other.asked())
        )
        creation = await other.writing.creation(ORDERS, TopicRecord())
        creating = asyncio.create_task(would_create(other.engine, ORDERS, creation, other.asked()))
        await turns()
        other.log.resume()
        assert (await changing).changed
        with pytest.raises(AlreadyExists):
            await creating
