"""Consuming by label: from a label that is set to the first record of the topic, beside subscribing to it by name."""

from __future__ import annotations

import time
from collections.abc import Iterator

from confluent_kafka import Consumer

from tests.benchmarks.report import Goal, Row, row
from tests.benchmarks.site import Site
from tests.integration.consuming import PROTOCOLS, Place, place_on, read_all, read_until
from tests.integration.node import running
from topicfold.client import LabelConsumer

_QUICK_FETCHES = {"auto.offset.reset": "earliest", "fetch.wait.max.ms": 100}


def run(site: Site) -> Iterator[Row]:
    """Measure how long after the server's answer the first record of a topic is there."""
    directory = site.directory / "consuming"
    directory.mkdir()
    with (
        running(["--log", str(directory / "log.db")], directory) as (node,),
        place_on(node.url, site.broker.bootstrap) as place,
        LabelConsumer(place.topics.conf(), "team=pay", client=place.client) as consumer,
    ):
        read_all(consumer, place.make("first", 1, team="pay"))
        bare = Consumer(place.topics.conf(**PROTOCOLS["newer"], **_QUICK_FETCHES))
        subscribed = [place.kafka("first")]
        _first_record(bare, subscribed)
        by_label, by_name = [], []
        for pair in range(site.sizes.pairs):
            site.say(f"consuming: pair {pair + 1} of {site.sizes.pairs}")
            name = f"t{pair}"
            place.make(name, 1)
            subscribed.append(place.kafka(name))
            by_label.append(_until_read(consumer, place, name))
            by_name.append(_first_record(bare, subscribed))
        bare.close()
        yield row(
            "consuming: label set to first record", "s", by_label, "subscribe by name", by_name, Goal("ours", "≤", 1)
        )


def _until_read(consumer: LabelConsumer, place: Place, name: str) -> float:
    place.label(name, team="pay")
    started = time.perf_counter()
    read_until(consumer, lambda read: bool(read))
    return time.perf_counter() - started


def _first_record(bare: Consumer, names: list[str]) -> float:
    bare.subscribe(names)
    started = time.perf_counter()
    while (message := bare.poll(1)) is None or message.error():
        pass
    return time.perf_counter() - started
