"""Which partitions' ends are told while some leaders do not answer, without a broker."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import pytest

from topicfold.errors import LogUnavailable
from topicfold.log.kafka import ends as kafka_ends
from topicfold.log.kafka.ends import KafkaEnds
from topicfold.log.kafka.reader import KafkaReader


class Reader(KafkaReader):
    """Knows the ends of partitions that brokers 1 and 2 lead, while those are up and know them themselves."""

    def __init__(self) -> None:
        self.partitions = range(4)
        self.up = {1, 2}
        self.led: dict[int, list[int]] = {1: [0, 2], 2: [1, 3]}
        self.behind: set[int] = set()
        self.asked: list[set[int]] = []

    def end_offsets(self, partitions: Collection[int], seconds: float) -> dict[int, int]:
        self.asked.append(set(partitions))
        if not self._known.issuperset(partitions):
            raise LogUnavailable("silent")
        return dict.fromkeys(partitions, 7)

    def told_end_offsets(self, partitions: Collection[int], seconds: float) -> dict[int, int]:
        told = self._known.intersection(partitions)
        if not told:
            raise LogUnavailable("silent")
        return dict.fromkeys(told, 7)

    @property
    def _known(self) -> set[int]:
        return {each for broker in self.led.keys() & self.up for each in self.led[broker]} - self.behind

    def start_offsets(self) -> dict[int, int]:
        return dict.fromkeys(self.end_offsets(self.partitions, 1.0), 2)

    def told_start_offsets(self, partitions: Collection[int], seconds: float) -> dict[int, int]:
        return dict.fromkeys(self.told_end_offsets(partitions, seconds), 2)

    def leaders(self, seconds: float) -> Iterable[Collection[int]]:
        if not self.up:
            raise LogUnavailable("nobody there")
        return self.led.values()


@pytest.fixture
def reader() -> Reader:
    """A topic whose leaders all answer."""
    return Reader()


def test_while_all_leaders_answer_one_question_is_all(reader: Reader) -> None:
    assert KafkaEnds(reader).known() == dict.fromkeys(range(4), 7)
    assert reader.asked == [{0, 1, 2, 3}]


def test_a_silent_leader_hides_its_own_partitions_only_and_is_not_asked_each_time(reader: Reader) -> None:
    ends = KafkaEnds(reader)
    reader.up.remove(2)
    assert ends.known() == {0: 7, 2: 7}
    reader.asked.clear()
    assert ends.known() == {0: 7, 2: 7}
    assert reader.asked == [{0, 2}]


def test_a_partition_whose_leader_does_not_know_its_end_hides_no_other(reader: Reader) -> None:
    ends = KafkaEnds(reader)
    reader.behind.add(1)
    assert ends.known() == {0: 7, 2: 7, 3: 7}
    reader.asked.clear()
    assert ends.known() == {0: 7, 2: 7, 3: 7}
    assert reader.asked == [{0, 2, 3}]


def test_a_leader_that_answers_again_is_heard(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    ends = KafkaEnds(reader)
    reader.up.remove(2)
    ends.known()
    reader.up.add(2)
    monkeypatch.setattr(kafka_ends, "_SILENT_EVERY_SECONDS", -1.0)
    assert ends.known() == dict.fromkeys(range(4), 7)
    reader.asked.clear()
    ends.known()
    assert reader.asked == [{0, 1, 2, 3}]


def test_where_partitions_begin_is_known_of_those_whose_leaders_answer(reader: Reader) -> None:
    ends = KafkaEnds(reader)
    assert ends.known_starts() == dict.fromkeys(range(4), 2)
    reader.up.remove(2)
    assert ends.known_starts() == {0: 2, 2: 2}
    reader.up.clear()
    with pytest.raises(LogUnavailable, match="nobody there"):
        ends.known_starts()


def test_partitions_without_a_leader_are_left_out(reader: Reader) -> None:
    ends = KafkaEnds(reader)
    reader.up.remove(2)
    del reader.led[1]
    with pytest.raises(LogUnavailable, match="silent"):
        ends.known()
    reader.led.clear()
    with pytest.raises(LogUnavailable, match="none of its partitions has a leader"):
        ends.known()


def test_where_nobody_answers_all_are_asked_the_next_time(reader: Reader) -> None:
    ends = KafkaEnds(reader)
    reader.up.remove(2)
    ends.known()
    reader.up.clear()
    with pytest.raises(LogUnavailable, match="nobody there"):
        ends.known()
    reader.asked.clear()
    reader.up = {1, 2}
    assert ends.known() == dict.fromkeys(range(4), 7)
    assert reader.asked == [{0, 1, 2, 3}]
