"""Consuming by label: from a label that is set until the consumer tells of the topic, and until its first record.

The latter beside subscribing to it by name.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from confluent_kafka import Consumer

from tests.benchmarks.report import Goal, Row, row
from tests.benchmarks.site import Site
from tests.integration.consuming import PROTOCOLS, Place, place_on, read_all, read_until
from tests.integration.node import running
from topicfold.client import LabelConsumer

_QUICK_FETCHES: dict[str, Any] = {"auto.offset.reset": "earliest", "fetch.wait.max.ms": 100}


def run(site: Site) -> Iterator[Row]:
    """Measure how long after the server's answer the first record of a topic is there."""
    directory = site.directory / "consuming"
    directory.mkdir()
    told: list[float] = []

    def tell(added: tuple[str, ...], _: tuple[str, ...]) -> None:
        told.extend(time.perf_counter() for _ in added)

    with (
        running(["--log", str(directory / "log.db")], directory) as (node,),
        place_on(node.url, site.broker.bootstrap) as place,
        LabelConsumer(place.topics.conf(), "team=pay", client=place.client, on_topics=tell) as consumer,
    ):
        read_all(consumer, place.make("first", 1, team="pay"))
        bare = Consumer(place.topics.conf(**PROTOCOLS["newer"], **_QUICK_FETCHES))
        subscribed = [place.kafka("first")]
        _first_record(bare, subscribed)
        until_told, by_label, by_name = [], [], []
        for pair in range(site.sizes.pairs):
            site.say(f"consuming: pair {pair + 1} of {site.sizes.pairs}")
            name = f"t{pair}"
            place.make(name, 1)
            subscribed.append(place.kafka(name))
            labelled = _labelled(place, name)
            read_until(consumer, lambda read: bool(read))
            by_label.append(time.perf_counter() - labelled)
            until_told.append(told[-1] - labelled)
            by_name.append(_first_record(bare, subscribed))
        bare.close()
        beside = "subscribe by name", by_name
        goal = Goal("ours", "≤", 1)
        yield row("consuming: label set to on_topics", "s", until_told, *beside, goal)
        yield row("consuming: label set to first record", "s", by_label, *beside, goal)


def _labelled(place: Place, name: str) -> float:
    """Label a topic; return when that was answered."""
    place.label(name, team="pay")
    return time.perf_counter()


def _first_record(bare: Consumer, names: list[str]) -> float:
    bare.subscribe(names)
    started = time.perf_counter()
    while (message := bare.poll(1)) is None or message.error():
        pass
    return time.perf_counter() - started
