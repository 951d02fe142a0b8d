"""Starting over partitions of topics made anew: when they are paused, committed, sought and read on."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, cast

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from tests.client.waiting import eventually
from topicfold.client.consuming.gate import Gate
from topicfold.client.consuming.start_over import StartOver
from topicfold.client.consuming.subscription import Partition

A, B = ("a", 0), ("b", 0)


class Answer(NamedTuple):
    """What a commit says of a partition."""

    topic: str
    partition: int
    error: KafkaError | None


class Kafka:
    """A consumer that writes down what it is told to do. `commit` waits for `answers`, and fails as `errors` says."""

    def __init__(self, *errors: Exception | None) -> None:
        self.told: list[str] = []
        self.answers = threading.Event()
        self.cannot_seek = False
        self.refuses: set[str] = set()
        self.committing: list[threading.Thread] = []
        self._errors: Iterator[Exception | None] = iter(errors)

    def pause(self, partitions: Sequence[TopicPartition]) -> None:
        self.told += [f"pause {each.topic}" for each in partitions]

    def resume(self, partitions: Sequence[TopicPartition]) -> None:
        self.told += [f"resume {each.topic}" for each in partitions]

    def seek(self, partition: TopicPartition) -> None:
        if self.cannot_seek:
            raise KafkaException(KafkaError(KafkaError._STATE))
        self.told.append(f"seek {partition.topic}")

    def commit(self, offsets: list[TopicPartition], asynchronous: bool) -> list[TopicPartition]:
        assert not asynchronous
        self.committing.append(threading.current_thread())
        assert self.answers.wait(10)
        if error := next(self._errors, None):
            raise error
        self.told += [f"commit {each.topic} {each.offset}" for each in offsets if each.topic not in self.refuses]
        return [cast(Any, Answer(each.topic, each.partition, self._refusal(each.topic))) for each in offsets]

    def _refusal(self, topic: str) -> KafkaError | None:
        return KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED) if topic in self.refuses else None


def started(start_over: StartOver, *starting: Partition) -> list[Partition]:
    """Tend until something starts, as a consumer does that polls."""
    for _ in range(500):
        if found := start_over.tend(starting, {A, B}):
            return found
        time.sleep(0.01)
    return []


def committed(kafka: Kafka, topic: str) -> None:
    """Return once that was committed, and whoever did it has ended: Python 3.13 lists a thread no more before that."""
    eventually(lambda: f"commit {topic} 0" in kafka.told)
    for thread in kafka.committing:
        thread.join(10)


def made(kafka: Kafka) -> StartOver:
    return StartOver(cast(Any, kafka), Gate())


def test_nothing_is_delivered_before_the_groups_offset_is_at_the_start() -> None:
    kafka = Kafka()
    kafka.answers.set()
    assert started(made(kafka), A) == [A]
    assert sorted(kafka.told[:2]) == ["commit a 0", "pause a"]
    assert kafka.told[2:] == ["resume a", "seek a"]


def test_a_coordinator_that_is_away_holds_nobody_up() -> None:
    kafka = Kafka()
    start_over = made(kafka)
    since = time.monotonic()
    assert [start_over.tend([A], {A, B}) for _ in range(20)] == [[]] * 20
    assert time.monotonic() - since < 10
    assert kafka.told == ["pause a"]
    kafka.answers.set()
    assert started(start_over, A) == [A]
    assert [each.daemon for each in kafka.committing] == [True]


def test_where_nothing_starts_over_nothing_is_committed() -> None:
    before = set(threading.enumerate())
    kafka = Kafka()
    assert made(kafka).tend([], {A, B}) == []
    assert (set(threading.enumerate()) <= before, kafka.told) == (True, [])


@pytest.mark.parametrize("error", [KafkaException(KafkaError(KafkaError._WAIT_COORD)), RuntimeError("closed")])
def test_a_commit_that_failed_is_tried_again_and_only_that(error: Exception) -> None:
    kafka = Kafka(error, error)
    kafka.answers.set()
    assert started(made(kafka), A) == [A]
    assert [each for each in kafka.told if not each.startswith("commit")] == ["pause a", "resume a", "seek a"]
    assert kafka.told.count("commit a 0") == 1


def test_a_partition_that_comes_while_another_is_committed_takes_its_turn() -> None:
    kafka = Kafka()
    start_over = made(kafka)
    start_over.tend([A], {A, B})
    start_over.tend([A, B], {A, B})
    kafka.answers.set()
    assert started(start_over, A, B) == [A]
    assert started(start_over, B) == [B]
    assert (kafka.told.count("commit a 0"), kafka.told.count("commit b 0")) == (1, 1)


def test_what_is_not_being_read_yet_is_tried_again() -> None:
    kafka = Kafka()
    kafka.answers.set()
    kafka.cannot_seek = True
    start_over = made(kafka)
    start_over.tend([A], {A, B})
    committed(kafka, "a")
    assert start_over.tend([A], {A, B}) == []
    assert [each for each in kafka.told if not each.startswith("commit")] == ["pause a", "resume a", "pause a"]
    kafka.cannot_seek = False
    assert started(start_over, A) == [A]


def test_what_is_not_to_start_over_any_more_is_read_on() -> None:
    kafka = Kafka()
    start_over = made(kafka)
    start_over.tend([A], {A, B})
    start_over.tend([], {B})
    assert kafka.told == ["pause a"]
    start_over.tend([], {A, B})
    assert kafka.told == ["pause a", "resume a"]
    kafka.answers.set()


def test_a_partition_whose_commit_was_refused_is_not_read_and_tried_again() -> None:
    kafka = Kafka()
    kafka.answers.set()
    kafka.refuses = {"a"}
    start_over = made(kafka)
    assert started(start_over, A, B) == [B]
    for _ in range(20):
        assert start_over.tend([A], {A, B}) == []
        time.sleep(0.01)
    kafka.refuses = set()
    assert started(start_over, A) == [A]


def test_what_is_made_anew_once_more_is_committed_once_more() -> None:
    kafka = Kafka()
    kafka.answers.set()
    start_over = made(kafka)
    start_over.tend([A], {A, B})
    committed(kafka, "a")
    start_over.tend([], {B})
    kafka.told.clear()
    assert started(start_over, A) == [A]
    assert kafka.told.count("commit a 0") == 1


def test_what_was_committed_before_says_nothing_of_what_is_made_anew_later() -> None:
    kafka = Kafka(None, RuntimeError("closed"))
    kafka.answers.set()
    start_over = made(kafka)
    assert started(start_over, A) == [A]
    start_over.tend([], {A, B})
    kafka.told.clear()
    assert started(start_over, A) == [A]
    assert [each for each in kafka.told if each.startswith(("commit", "seek"))] == ["commit a 0", "seek a"]


def test_what_is_made_anew_while_it_is_committed_is_committed_once_more() -> None:
    kafka = Kafka()
    start_over = made(kafka)
    start_over.tend([A], {A, B})
    start_over.tend([], {B})
    kafka.answers.set()
    committed(kafka, "a")
    kafka.told.clear()
    assert started(start_over, A) == [A]
    assert kafka.told.count("commit a 0") == 1


@pytest.mark.parametrize("is_before", [True, False])
def test_what_the_caller_pauses_stays_so(is_before: bool) -> None:
    kafka = Kafka()
    start_over = made(kafka)
    if is_before:
        start_over.pause({A})
    start_over.tend([A], {A, B})
    if not is_before:
        start_over.pause({A})
    kafka.answers.set()
    assert started(start_over, A) == [A]
    start_over.tend([], {A, B})
    assert "resume a" not in kafka.told
    start_over.resume({A})
    assert kafka.told[-1] == "resume a"


def test_what_the_caller_resumes_is_not_read_before_it_starts_over() -> None:
    kafka = Kafka()
    start_over = made(kafka)
    start_over.tend([A], {A, B})
    start_over.pause({A})
    start_over.resume({A})
    assert "resume a" not in kafka.told
    kafka.answers.set()
    assert started(start_over, A) == [A]
    assert kafka.told[-2:] == ["resume a", "seek a"]


def test_what_the_caller_pauses_in_the_moment_in_which_it_would_be_read_on_stays_so() -> None:
    class AtOnce(Kafka):
        """One whose consumer is tended by another thread while it is told to pause."""

        def pause(self, partitions: Sequence[TopicPartition]) -> None:
            super().pause(partitions)
            if threading.current_thread().name == "pausing":
                tending.start()
                tending.join(0.2)

    kafka = AtOnce()
    start_over = made(kafka)
    start_over.tend([A], {A, B})
    pausing = threading.Thread(target=start_over.pause, args=([A],), name="pausing")
    tending = threading.Thread(target=start_over.tend, args=([], {A, B}))
    pausing.start()
    pausing.join()
    tending.join()
    kafka.answers.set()
    assert set(kafka.told) == {"pause a"}


def test_a_callback_waits_for_nobody_who_waits_until_kafkas_client_is_done_with_it() -> None:
    class OneAtATime(Kafka):
        """One that resumes nothing before another thread, which polls, was called back."""

        def resume(self, partitions: Sequence[TopicPartition]) -> None:
            polling = threading.Thread(target=start_over.tend, args=([], {A, B}), daemon=True)
            polling.start()
            polling.join(10)
            waits.append(polling.is_alive())
            super().resume(partitions)

    waits: list[bool] = []
    kafka = OneAtATime()
    start_over = made(kafka)
    start_over.pause([A])
    start_over.resume([A])
    assert waits == [False]
    assert kafka.told == ["pause a", "resume a"]


def test_while_offsets_are_committed_nobody_closes_the_consumer() -> None:
    kafka, gate = Kafka(), Gate()
    StartOver(cast(Any, kafka), gate).tend([A], {A})
    deadline = time.monotonic() + 10
    while gate.give_way(0):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    kafka.answers.set()
    assert gate.give_way(10)
