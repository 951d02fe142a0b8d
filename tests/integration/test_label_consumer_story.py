"""Topics are labelled, relabelled, created and deleted while records are produced: what matches is read, all of it."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.integration.consuming import PROTOCOLS, Place, place_on, read_until
from tests.integration.node import running
from topicfold.client import LabelConsumer

pytestmark = pytest.mark.kafka

_SECONDS = 10.0
_NAMES = [*(f"t{number}" for number in range(6)), "never0", "never1"]


@pytest.fixture(params=PROTOCOLS)
def protocol(request: pytest.FixtureRequest) -> dict[str, Any]:
    """The settings of a protocol."""
    return PROTOCOLS[request.param]


@pytest.fixture
def place(kafka_bootstrap: str, tmp_path: Path) -> Iterator[Place]:
    """A namespace on a server that makes and deletes topics in Kafka."""
    options = ["--log", str(tmp_path / "log.db"), "--cluster-bootstrap", kafka_bootstrap]
    with running(options, tmp_path) as (node,), place_on(node.url, kafka_bootstrap) as place:
        yield place


@dataclass
class Life:
    """One life of a topic, and what was produced in it."""

    team: str
    produced: list[str] = field(default_factory=list)


class World(threading.Thread):
    """Changes topics at random for some seconds, and keeps what came of it."""

    def __init__(self, place: Place, seed: int) -> None:
        super().__init__(name="world")
        self._place = place
        self._random = random.Random(seed)
        self._count = 0
        self.living: dict[str, Life] = {}
        self.never: set[str] = set()
        self.error: Exception | None = None

    def run(self) -> None:
        """Change something, again and again."""
        end = time.monotonic() + _SECONDS
        try:
            while time.monotonic() < end:
                self._change(self._random.choice(_NAMES))
            for name in _NAMES:
                self._end_with(name)
        except Exception as error:  # noqa: BLE001 - the test's own thread raises it
            self.error = error

    def _end_with(self, name: str) -> None:
        """Leave a topic that matches, if it ever may, with a record in it."""
        while name not in self.living:
            self._change(name)
        life, may_match = self.living[name], name.startswith("t")
        if may_match and life.team != "pay":
            life.team = "pay"
            self._place.label(name, team="pay")
        self._produce(name, 1)

    def _produce(self, name: str, count: int) -> None:
        self._count += 10
        produced = self._place.produce(name, count, start=self._count)
        self.living[name].produced += produced
        self.never.update([] if name.startswith("t") else produced)

    def _change(self, name: str) -> None:
        life, may_match = self.living.get(name), name.startswith("t")
        if life is None:
            self.living[name] = life = Life(self._random.choice(["pay", "ship"]) if may_match else "ship")
            self._place.client.create_topic(self._place.full(name), labels={"team": life.team})
        elif self._random.random() < 0.25:
            self._place.client.delete_topic(self._place.full(name))
            del self.living[name]
        elif may_match and self._random.random() < 0.2:
            life.team = "ship" if life.team == "pay" else "pay"
            self._place.label(name, team=life.team)
        else:
            self._produce(name, self._random.randint(1, 10))


def test_every_record_of_what_matches_is_read_and_none_of_what_never_matched(
    place: Place, protocol: dict[str, Any]
) -> None:
    world = World(place, seed=20261121)
    read: Counter[str] = Counter()
    with LabelConsumer(place.topics.conf(**protocol), "team=pay", client=place.client) as consumer:
        world.start()
        read += read_until(consumer, lambda _: not world.is_alive())
        world.join()
        assert world.error is None
        wanted = {value for life in world.living.values() if life.team == "pay" for value in life.produced}
        read += read_until(consumer, lambda more: wanted <= (read + more).keys(), seconds=180.0)
    assert world.never
    assert not world.never & read.keys()
