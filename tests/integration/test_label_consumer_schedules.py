"""Members of a group poll, commit, rejoin, join, leave and are interrupted in an order drawn by lot, on a real broker.

Whatever the order, each record that matches is returned, none is committed before that, and none comes twice but those
that were not committed when their partition moved to another member or the group was joined anew.
"""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any

import pytest
from confluent_kafka import KafkaException, Message

from tests.integration.consuming import PROTOCOLS, Place
from topicfold.client import LabelConsumer
from topicfold.client.consuming import label_consumer, subscribed_consumer
from topicfold.client.consuming.assignment_check import AssignmentCheck

pytestmark = pytest.mark.kafka

_STEPS = 60
_TOPICS = ("orders", "refunds")

# By the classic protocol, whoever leaves before he was told who he is in the group is waited for as long as this.
_CONF: dict[str, dict[str, Any]] = {
    "newer": {"enable.auto.commit": False},
    "classic": {"enable.auto.commit": False, "session.timeout.ms": 6000},
}

Partition = tuple[str, int]


class Interrupted(Exception):
    """What the handler of a signal raises while Kafka's client waits."""


def interrupt(_: int, frame: FrameType | None) -> None:
    """Raise in a call of Kafka's client only: a record that was returned to this test is not to be lost by it."""
    if frame is not None and (frame.f_code.co_filename, frame.f_code.co_name) == (
        subscribed_consumer.__file__,
        "<lambda>",
    ):
        raise Interrupted


class Schedule:
    """Members of one group, what they do, and what came of it."""

    def __init__(
        self, place: Place, conf: dict[str, Any], members: int, seed: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Have so many members at most."""
        self._place = place
        self._most = members
        self._conf = conf
        self._random = random.Random(seed)
        self._monkeypatch = monkeypatch
        self._stuck: set[AssignmentCheck] = set()
        monkeypatch.setattr(AssignmentCheck, "is_stuck", lambda check, *_: self._is_stuck(check))
        self._members: list[LabelConsumer] = []
        self._had_others = False
        self._produced: set[str] = set()
        self._values: set[str] = set()
        self._returned: dict[Partition, set[int]] = {}
        self._committed: dict[Partition, int] = {}
        self.told: list[str] = []
        """What was done, to be read where it went wrong."""

    def run(self) -> None:
        """Do so many things, then have everything read."""
        actions: list[tuple[Callable[[], None], int]] = [
            (self._poll, 8), (self._consume, 4), (self._be_interrupted, 4), (self._produce, 6),
            (self._commit, 2), (self._rejoin, 3), (self._join, 1), (self._leave, 1),
        ]  # fmt: skip
        self._open()
        try:
            for act in self._random.choices([each for each, _ in actions], [each for _, each in actions], k=_STEPS):
                seconds = self._random.choice([0.02, 0.1, 1.0])
                self._monkeypatch.setattr(label_consumer, "_SLICE_SECONDS", seconds)
                self.told.append(f"{act.__name__} {seconds}")
                with suppress(Interrupted):
                    act()
            end = time.monotonic() + 120
            while not self._produced <= self._values:
                assert time.monotonic() < end, f"not read: {self._produced - self._values}"
                for each in self._members:
                    with suppress(Interrupted):
                        self._take(each.consume(100, 0.1))
            self._commit()
        finally:
            for each in self._members:
                each.close()

    def _is_stuck(self, check: AssignmentCheck) -> bool:
        is_stuck = check in self._stuck
        self._stuck.discard(check)
        return is_stuck

    def _open(self) -> None:
        self._members.append(LabelConsumer(self._conf, "team=pay", client=self._place.client))

    def _any(self) -> LabelConsumer:
        return self._random.choice(self._members)

    def _seconds(self) -> float:
        return self._random.choice([0.0, 0.05, 0.5])

    def _poll(self) -> None:
        message = self._any().poll(self._seconds())
        self._take([] if message is None else [message])

    def _consume(self) -> None:
        self._take(self._any().consume(self._random.randint(1, 10), self._seconds()))

    def _be_interrupted(self) -> None:
        before = signal.signal(signal.SIGALRM, interrupt)
        try:
            signal.setitimer(signal.ITIMER_REAL, self._random.uniform(0.001, 0.1))
            self._consume()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    def _produce(self) -> None:
        values = self._place.produce(self._random.choice(_TOPICS), self._random.randint(1, 5), len(self._produced))
        self._produced.update(values)

    def _commit(self) -> None:
        try:
            answers = self._any().commit(asynchronous=False) or ()
        except KafkaException:
            return  # There is nothing to commit, or the group was just joined anew.
        for each in answers:
            if each.error is not None or each.offset < 0:
                continue
            partition = each.topic, each.partition
            assert set(range(each.offset)) <= self._returned.get(partition, set()), (
                f"{partition} was committed at {each.offset}"
            )
            assert each.offset >= self._committed.get(partition, 0)
            self._committed[partition] = each.offset

    def _rejoin(self) -> None:
        self._stuck.add(self._any()._subscribed._check)

    def _join(self) -> None:
        if len(self._members) < self._most:
            self._had_others = True
            self._open()

    def _leave(self) -> None:
        if len(self._members) > 1:
            self._members.pop(self._random.randrange(len(self._members))).close()

    def _take(self, messages: list[Message]) -> None:
        for each in messages:
            assert each.error() is None, each.error()
            partition, offset = (each.topic() or "", each.partition() or 0), each.offset() or 0
            self.told.append(f"  {partition[0][-7:]} {partition[1]} {offset}")
            returned = self._returned.setdefault(partition, set())
            if offset in returned:
                committed = self._committed.get(partition)
                assert committed is not None or self._had_others, f"{partition} {offset} came twice"
                assert offset >= (committed or 0), f"{partition} {offset} was committed, and came twice"
            returned.add(offset)
            value = each.value()
            assert value is not None
            self._values.add(value.decode())


@pytest.mark.parametrize(("members", "seed"), [(1, 2), (2, 7)])
@pytest.mark.parametrize("name", PROTOCOLS)
def test_whatever_the_order_every_record_is_returned_and_no_more_is_committed(
    place: Place, name: str, members: int, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for each in _TOPICS:
        place.make(each, team="pay")
    conf = place.topics.conf(**PROTOCOLS[name], **_CONF[name])
    schedule = Schedule(place, conf, members, seed, monkeypatch)
    try:
        schedule.run()
    except AssertionError:
        print(*schedule.told, sep="\n")
        raise
