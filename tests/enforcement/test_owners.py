"""Several topics that stand for one Kafka topic: which of them has a say."""

from __future__ import annotations

import pytest

from tests.enforcement.conftest import ORDERS, Site, append_unreadable, following
from topicfold.enforcement import enforcer as enforcing
from topicfold.enforcement.owners import Owners
from topicfold.enforcement.wishes import Wishes
from topicfold.model.names import parse_topic
from topicfold.model.records import TopicRecord
from topicfold.runtime.writing.writing import Writing


async def make_twins(site: Site) -> None:
    """Make the topic orders, and one that stands for its Kafka topic too, and says other."""
    await site.make("orders")
    twin = TopicRecord(kafka_name="orders")
    await Writing(site.node.engine).record_topic(parse_topic("a-twin"), twin, site.node.asked())
    await site.set("orders", "maxMessageSize", 1)
    await site.set("a-twin", "maxMessageSize", 2)


async def test_a_kafka_topic_of_two_records_follows_the_one_of_its_name_and_the_other_is_told_of(site: Site) -> None:
    await make_twins(site)
    enforcer = site.enforcer()
    assert (await site.again(enforcer))[0].endswith(f"the Kafka topic orders is that of {ORDERS}")
    assert await site.own("orders") == {"max.message.bytes": "1"}
    assert await site.again(enforcer) == []


async def test_an_owner_whose_record_cannot_be_read_owns_its_kafka_topic_still(site: Site) -> None:
    await make_twins(site)
    enforcer = site.enforcer()
    await site.again(enforcer)
    append_unreadable(site)
    assert await site.again(enforcer) == [f"failed {ORDERS}: the record of {ORDERS} cannot be read"]
    assert await site.own("orders") == {"max.message.bytes": "1"}


async def test_of_two_topics_that_stand_for_one_kafka_topic_the_first_counts_as_long_as_it_lives(site: Site) -> None:
    async def make(name: str, size: int) -> None:
        record = TopicRecord(kafka_name="shared")
        await Writing(site.node.engine).create_topic(parse_topic(name), record, site.node.asked())
        await site.set(name, "maxMessageSize", size)

    await site.cluster.create("shared", 1)
    await make("b", 9)
    enforcer = site.enforcer()
    assert len(await site.again(enforcer)) == 1
    await make("a", 5)
    skipped = (
        f"skipped {ORDERS.replace('orders', 'a')}: the Kafka topic shared is that of {ORDERS.replace('orders', 'b')}"
    )
    assert await site.again(enforcer) == [skipped]
    assert await site.own("shared") == {"max.message.bytes": "9"}
    await Writing(site.node.engine).delete_topic(parse_topic("b"), site.node.asked())
    await site.again(enforcer)
    assert await site.own("shared") == {"max.message.bytes": "5"}


async def test_a_topic_that_is_gone_takes_no_say_with_it_from_the_one_that_came_after_it(site: Site) -> None:
    async def make(name: str) -> str:
        record = TopicRecord(kafka_name="shared")
        await Writing(site.node.engine).create_topic(parse_topic(name), record, site.node.asked())
        return str(parse_topic(name))

    await site.cluster.create("shared", 1)
    owners = Owners(Wishes(site.node.engine))
    first = await make("z")
    assert owners.of("shared", first) == first
    second = await make("c")
    assert owners.of("shared", second) == first
    await Writing(site.node.engine).delete_topic(parse_topic("z"), site.node.asked())
    assert owners.of("shared", second) == second
    owners.forget(first)
    assert owners.of("shared", await make("a")) == second


async def test_a_topic_that_stands_for_another_kafka_topic_has_no_say_on_the_one_of_its_name(site: Site) -> None:
    for size, (name, kafka_topic) in enumerate((("orders", "legacy"), ("new", "orders")), 1):
        await site.cluster.create(kafka_topic, 1)
        record = TopicRecord(kafka_name=kafka_topic)
        await Writing(site.node.engine).create_topic(parse_topic(name), record, site.node.asked())
        await site.set(name, "maxMessageSize", size)
    await site.once()
    own = [await site.own(kafka_topic) for kafka_topic in ("legacy", "orders")]
    assert own == [{"max.message.bytes": size} for size in ("1", "2")]


async def test_a_topic_has_its_say_once_the_owner_of_its_kafka_topic_is_gone(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(enforcing, "LOOK_AGAIN_SECONDS", 0.02)
    await make_twins(site)
    async with following(site.enforcer()):
        await site.reaches("orders", {"max.message.bytes": "1"})
        await site.node.writing.delete_topic(parse_topic("orders"), site.node.asked())
        await site.reaches("orders", {"max.message.bytes": "2"})
