"""When Kafka is asked whether the topic is the same, without Kafka."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from topicfold.errors import LogUnavailable, WrongLog
from topicfold.log.kafka import same_topic as kafka_same_topic
from topicfold.log.kafka.same_topic import SameTopic


class World:
    """One that is asked, and a clock."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        self.asked = 0
        clock = SimpleNamespace(monotonic=lambda: self.now, sleep=lambda seconds: None)
        monkeypatch.setattr(kafka_same_topic, "time", clock)
        self.answers: list[WrongLog | LogUnavailable | None] = []
        self.same_topic = SameTopic(self._look)
        self.comes_into_doubt_meanwhile = False

    def _look(self) -> WrongLog | None:
        self.asked += 1
        answer = self.answers.pop(0)
        if self.comes_into_doubt_meanwhile:
            self.same_topic.doubt()
        if isinstance(answer, LogUnavailable):
            raise answer
        return answer

    def fault(self) -> object:
        return self.same_topic.fault(lambda: False)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    return World(monkeypatch)


def test_while_nothing_is_amiss_nobody_is_asked(world: World) -> None:
    for _ in range(100):
        world.now += 0.5
        world.same_topic.come_by()
    assert world.fault() is None
    assert world.asked == 0


def test_after_a_halt_the_next_who_wants_to_know_asks_and_those_behind_do_not(world: World) -> None:
    world.now += 30
    world.same_topic.come_by()
    world.answers = [None]
    assert [world.fault() for _ in range(3)] == [None] * 3
    assert world.asked == 1


def test_a_doubt_lasts_until_it_is_answered(world: World) -> None:
    other = WrongLog("another topic")
    world.same_topic.doubt()
    world.answers = [LogUnavailable("no answer"), LogUnavailable("no answer"), other]
    assert world.fault() is other
    world.same_topic.doubt()
    world.answers = [LogUnavailable("no answer"), None]
    with pytest.raises(LogUnavailable):
        world.same_topic.fault(lambda: True)
    assert world.fault() is None
    assert world.asked == 5


def test_what_comes_into_doubt_while_kafka_answers_is_asked_again(world: World) -> None:
    world.same_topic.doubt()
    world.answers = [None, None]
    world.comes_into_doubt_meanwhile = True
    world.fault()
    world.comes_into_doubt_meanwhile = False
    for _ in range(2):
        world.fault()
    assert world.asked == 2
