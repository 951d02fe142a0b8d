"""What the simulation found once, told as short stories, so that they stay found whatever the seeds come to mean."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from random import Random

import pytest

from tests.simulation.fake_log import FakeStore
from tests.simulation.history import ACTOR, History
from tests.simulation.node import Digests, Node
from tests.simulation.setup import setup_of
from tests.simulation.virtual_loop import VirtualLoop
from topicfold.errors import KeyReused, PositionTimeout
from topicfold.model.names import parse_topic
from topicfold.model.records import TopicRecord
from topicfold.runtime.asking import Asked, Consistency, Written

TOPIC = parse_topic("orders")
Story = Callable[[FakeStore, Node, Node], Awaitable[None]]


def _tell(story: Story) -> None:
    """Run `story` with a store of two partitions and two ready nodes in fair weather, where `TOPIC` exists."""
    loop = VirtualLoop()
    store, history, digests = FakeStore(2, Random(0), loop), History(), Digests()
    setup = replace(setup_of(0)[0], partitions=2, client_ring=100, server_ring=100)
    one, other = (Node(name, 1, setup, store, history, digests) for name in ("one", "other"))

    async def tell() -> None:
        await one.start()
        await other.start()
        await one.run(one.writing.create_topic(TOPIC, TopicRecord(), _asked()))
        await asyncio.sleep(1)
        await story(store, one, other)
        await one.stop()
        await other.stop()

    try:
        loop.run_until_complete(tell())
    finally:
        loop.close()


def _asked(key: str | None = None, body: str = "", consistency: Consistency = Consistency.LOCAL) -> Asked:
    deadline = asyncio.get_running_loop().time() + 10
    return Asked(deadline, ACTOR, method="PUT", key=key, body=body.encode(), consistency=consistency)


def test_a_key_used_on_two_nodes_at_once_answers_for_the_body_that_was_first() -> None:
    async def story(store: FakeStore, one: Node, other: Node) -> None:
        answers = await asyncio.gather(
            one.run(one.writing.set_labels(TOPIC, {"k": "a"}, _asked("key", "a"))),
            other.run(other.writing.set_labels(TOPIC, {"k": "b"}, _asked("key", "b"))),
            return_exceptions=True,
        )
        assert {type(answer) for answer in answers} == {Written, KeyReused}

    _tell(story)


def test_a_node_that_has_not_heard_of_a_topics_end_does_not_refuse_to_end_its_namespace() -> None:
    async def story(store: FakeStore, one: Node, other: Node) -> None:
        assert other.log is not None
        other.log.pace = 1_000
        await one.run(one.writing.delete_topic(TOPIC, _asked()))
        ended = await other.run(other.writing.delete_namespace("public/default", _asked("key")))
        assert ended.changed

    _tell(story)


def test_a_barrier_record_copied_to_another_partition_is_no_barrier(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(store: FakeStore, one: Node, other: Node) -> None:
        assert one.engine is not None
        home = one.engine.partition("public/default")
        monkeypatch.setattr(store, "send", lambda partition, *record: FakeStore.send(store, 1 - partition, *record))
        read = one.run(one.reading.settle([home], _asked(consistency=Consistency.LINEARIZABLE)))
        outcome = (await asyncio.gather(read, return_exceptions=True))[0]
        assert isinstance(outcome, PositionTimeout)

    _tell(story)
