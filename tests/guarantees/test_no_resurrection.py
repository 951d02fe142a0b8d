"""A delete, then a late update of the deleted topic, its recreation and duplicates: nothing old comes back."""

from __future__ import annotations

import asyncio
from itertools import permutations

import pytest

from tests.builders import TOPIC, an_id, empty_state, fold, namespace_delete, namespace_put, topic_delete, topic_put
from tests.memory_log import MemoryStore
from tests.runtime.nodes import ORDERS, running, turns
from topicfold.errors import TopicNotFound
from topicfold.log.codec import decode_event
from topicfold.model.events import AggregateKind
from topicfold.model.records import TopicRecord

LIFE = an_id(1)
OLD = [topic_put(2, LIFE, labels={"old": "1"}), topic_put(3, LIFE, an_id(2), labels={"old": "2"})]
END = topic_delete(4, LIFE, an_id(3))
LATE = topic_put(5, LIFE, an_id(3), labels={"late": "1"})
REBORN = topic_put(6, LIFE, an_id(4), labels={"new": "1"})


@pytest.mark.parametrize("stray", list(permutations([*OLD, END, LATE], 2)))
def test_no_order_of_late_and_repeated_events_brings_a_deleted_topic_back(stray: tuple[object, ...]) -> None:
    state = empty_state()
    fold(state, [namespace_put(1), *OLD, END, *stray])
    assert not state.current(AggregateKind.TOPIC, TOPIC).is_live
    fold(state, [*stray, REBORN, *stray])
    assert state.topics["public/default"].labels(0) == {"new": "1"}


def test_events_of_an_ended_namespace_never_land_in_its_next_life() -> None:
    state = empty_state()
    fold(state, [namespace_put(1), *OLD, namespace_delete(7, LIFE), namespace_put(8, an_id(7))])
    fold(state, [namespace_put(1), *OLD, LATE, REBORN, END])
    assert len(state.topics["public/default"]) == 0


async def test_an_update_that_flew_while_its_topic_was_deleted_and_made_again_is_refused_or_sees_the_new_one() -> None:
    store = MemoryStore(partitions=1)
    async with running(store) as late, running(store) as other:
        await other.writing.create_topic(ORDERS, TopicRecord(labels={"old": "1"}), other.asked())
        await late.caught_up()
        late.log.fate = late.log.hold
        update = asyncio.create_task(late.label(late="1"))
        await turns()
        await other.writing.delete_topic(ORDERS, other.asked())
        late.log.release()
        with pytest.raises(TopicNotFound):
            await update
        await other.writing.create_topic(ORDERS, TopicRecord(), other.asked())
        assert other.labels() == {}


async def test_the_whole_log_once_more_changes_nothing() -> None:
    store = MemoryStore(partitions=1)
    async with running(store) as node:
        for number in range(5):
            await node.writing.create_topic(ORDERS, TopicRecord(), node.asked())
            await node.label(n=str(number))
            await node.writing.delete_topic(ORDERS, node.asked())
        before = node.digests()
        for entry in list(store.entries[0]):
            assert decode_event(entry.value) is not None
            store.append(0, entry.value)
        await node.caught_up()
        assert node.digests() == before
