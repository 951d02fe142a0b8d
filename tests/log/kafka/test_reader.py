"""What is asked of a topic, without a broker."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, KafkaError, KafkaException, TopicPartition

from topicfold.errors import LogUnavailable
from topicfold.log.kafka import ends as kafka_ends
from topicfold.log.kafka import reader as kafka_reader
from topicfold.log.kafka.ends import KafkaEnds
from topicfold.log.kafka.reader import KafkaReader
from topicfold.log.kafka.settings import CONSUMER, client_settings
from topicfold.log.port import Entry


class Consumer:
    """Answers that each partition ends at 7, but for the first `silent` questions; keeps how long each may take, and of
    how many partitions it is."""

    def __init__(self, silent: int, code: int = KafkaError._TIMED_OUT) -> None:
        self.silent = silent
        self._code = code
        self.waited: list[float] = []
        self.asked_for: list[int] = []
        self.leaders_asked = 0
        self.settings: dict[str, Any] = {}
        self.trouble: KafkaError | None = None
        self.untold: list[KafkaError] = []

    def list_topics(self, topic: str, timeout: float) -> Any:
        self.leaders_asked += 1
        return leading({0: 1, 1: 1})

    def poll(self, seconds: float) -> None:
        """Tell what is wrong with the connections, and was and is not told yet; Kafka's client does so nowhere else."""
        for trouble in (*self.untold, self.trouble):
            if trouble:
                self.settings["error_cb"](trouble)
        self.untold.clear()

    def offsets_for_times(self, wanted: list[TopicPartition], timeout: float) -> list[TopicPartition]:
        self.waited.append(timeout)
        self.asked_for.append(len(wanted))
        if len(self.waited) <= self.silent:
            raise KafkaException(KafkaError(self._code))
        return [TopicPartition(each.topic, each.partition, 7) for each in wanted]


def leading(leaders: Mapping[int, int]) -> SimpleNamespace:
    """Return what a cluster says of a topic whose partitions have these leaders."""
    partitions = {partition: SimpleNamespace(leader=leader) for partition, leader in leaders.items()}
    return SimpleNamespace(topics={"log": SimpleNamespace(error=None, partitions=partitions)})


@pytest.fixture
def reader_of(monkeypatch: pytest.MonkeyPatch) -> Callable[[Consumer], KafkaReader]:
    def make(consumer: Consumer) -> KafkaReader:
        def told(settings: dict[str, Any]) -> Consumer:
            consumer.settings = settings
            return consumer

        monkeypatch.setattr(kafka_reader, "Consumer", told)
        return KafkaReader({"bootstrap.servers": "kafka:9092"}, "log", partitions=2)

    return make


def test_a_first_question_that_came_before_the_connection_is_soon_put_again(
    reader_of: Callable[[Consumer], KafkaReader],
) -> None:
    consumer = Consumer(silent=1)
    reader = reader_of(consumer)
    assert reader.end_offsets(range(2), 1.0) == {0: 7, 1: 7}
    first, second = consumer.waited
    assert first <= 0.2 < second <= 5
    reader.end_offsets(range(2), 0.5)
    assert consumer.waited[-1] <= 0.5


@pytest.mark.parametrize("code", [
    KafkaError._ALL_BROKERS_DOWN, KafkaError._TRANSPORT, KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE, KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.UNKNOWN_LEADER_EPOCH, KafkaError.OFFSET_NOT_AVAILABLE,
])  # fmt: skip
def test_a_connection_that_failed_and_a_topic_that_moved_or_was_just_made_are_waited_for(
    reader_of: Callable[[Consumer], KafkaReader], code: int
) -> None:
    consumer = Consumer(silent=3, code=code)
    assert reader_of(consumer).end_offsets(range(2), 1.0) == {0: 7, 1: 7}
    assert len(consumer.waited) == 4


def test_what_a_broker_said_of_leaders_before_the_last_answer_is_not_taken_for_an_answer_now(
    reader_of: Callable[[Consumer], KafkaReader], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kafka_reader, "OFFSETS_SECONDS", 0.0)
    consumer = Consumer(silent=1)
    reader = reader_of(consumer)
    reader.end_offsets(range(2), 1.0)
    assert consumer.leaders_asked == 1
    consumer.silent = 1_000
    with pytest.raises(LogUnavailable, match="the log cannot be reached: no answer"):
        reader.end_offsets(range(2), 0.0)


def test_a_page_waits_for_long_only_where_there_never_was_an_answer(
    reader_of: Callable[[Consumer], KafkaReader], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kafka_reader, "OFFSETS_SECONDS", 0.05)
    monkeypatch.setattr(kafka_reader, "_PAGE_SECONDS", 0.5)
    waits = []
    for answers_first in (False, True):
        consumer = Consumer(silent=0)
        reader = reader_of(consumer)
        if answers_first:
            reader.end_offsets(range(2), 1.0)
        consumer.silent, before = 1_000, len(consumer.waited)
        with pytest.raises(LogUnavailable):
            reader.page(0, 0, 1)
        waits.append(sum(timeout > 0.06 for timeout in consumer.waited[before + 1 :]))
    assert waits[0] > 0
    assert waits[1] == 0


def test_a_refusal_is_told_at_once(reader_of: Callable[[Consumer], KafkaReader]) -> None:
    consumer = Consumer(silent=1, code=KafkaError.TOPIC_AUTHORIZATION_FAILED)
    with pytest.raises(LogUnavailable, match="Kafka denies us Describe on topic log"):
        reader_of(consumer).end_offsets(range(2), 1.0)
    assert len(consumer.waited) == 1


class Bounded(Consumer):
    """Answers that each partition begins at 2 and ends at 7."""

    def offsets_for_times(self, wanted: list[TopicPartition], timeout: float) -> list[TopicPartition]:
        places = {OFFSET_BEGINNING: 2, OFFSET_END: 7}
        return [TopicPartition(each.topic, each.partition, places[each.offset]) for each in wanted]


def test_where_partitions_begin_is_not_where_they_end_whoever_is_asked(
    reader_of: Callable[[Consumer], KafkaReader],
) -> None:
    reader = reader_of(Bounded(silent=0))
    begin, end = {0: 2, 1: 2}, {0: 7, 1: 7}
    assert reader.start_offsets() == reader.told_start_offsets(range(2), 1.0) == begin
    assert reader.end_offsets(range(2), 1.0) == reader.told_end_offsets(range(2), 1.0) == end


def test_where_partitions_begin_is_waited_for_as_long_as_for_where_they_end(
    reader_of: Callable[[Consumer], KafkaReader],
) -> None:
    consumer = Consumer(silent=0)
    reader = reader_of(consumer)
    for _ in range(2):
        reader.start_offsets()
    assert 0 < consumer.waited[-1] <= kafka_reader.OFFSETS_SECONDS


class Clock:
    """Goes on while somebody sleeps, or waits for an answer."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class Connecting(Consumer):
    """Takes its time to come to all brokers, and answers then."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        super().__init__(silent=0)
        self._clock, self._seconds = clock, seconds

    def offsets_for_times(self, wanted: list[TopicPartition], timeout: float) -> list[TopicPartition]:
        if self._clock.now + timeout < self._seconds:
            self._clock.sleep(timeout)
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
        self._clock.now = max(self._clock.now, self._seconds)
        return super().offsets_for_times(wanted, timeout)


def test_a_client_has_the_time_that_it_takes_to_come_to_brokers_before_its_first_answer(
    reader_of: Callable[[Consumer], KafkaReader], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    monkeypatch.setattr(kafka_reader, "time", clock)
    assert reader_of(Connecting(clock, 4.0)).start_offsets() == {0: 7, 1: 7}
    reader = reader_of(Connecting(clock, 20.0))
    with pytest.raises(LogUnavailable):
        reader.end_offsets(range(2), 1.0)
    assert clock.now < 10


def test_who_is_not_let_in_is_told_so_until_there_is_an_answer(reader_of: Callable[[Consumer], KafkaReader]) -> None:
    consumer = Consumer(silent=0)
    reader = reader_of(consumer)
    reader.end_offsets(range(2), 1.0)
    consumer.silent = 1_000
    consumer.trouble = KafkaError(KafkaError._AUTHENTICATION, "b1: invalid credentials (after 3ms in state AUTH_REQ)")
    with pytest.raises(LogUnavailable, match=r"^Kafka denies access: b1: invalid credentials$"):
        reader.end_offsets(range(2), 0.05)
    consumer.silent, consumer.trouble = 0, None
    reader.end_offsets(range(2), 1.0)
    consumer.silent = 1_000
    with pytest.raises(LogUnavailable, match="not the brokers that lead"):
        reader.end_offsets(range(2), 0.05)


def test_what_kafka_s_client_tells_late_of_an_outage_that_is_over_is_no_reason_of_the_next(
    reader_of: Callable[[Consumer], KafkaReader],
) -> None:
    consumer = Consumer(silent=1)
    reader = reader_of(consumer)
    consumer.untold.append(KafkaError(KafkaError._AUTHENTICATION, "b1: invalid credentials"))
    reader.end_offsets(range(2), 1.0)
    consumer.silent = 1_000
    with pytest.raises(LogUnavailable, match="not the brokers that lead"):
        reader.end_offsets(range(2), 0.05)


def test_what_was_wrong_before_an_answer_is_no_reason_of_a_silence_after_it(
    reader_of: Callable[[Consumer], KafkaReader],
) -> None:
    consumer = Consumer(silent=0)
    reader = reader_of(consumer)
    consumer.untold.append(KafkaError(KafkaError._AUTHENTICATION, "b1: token expired"))
    reader.end_offsets(range(2), 1.0)
    assert not consumer.untold
    consumer.silent = 1_000
    with pytest.raises(LogUnavailable, match="not the brokers that lead"):
        reader.end_offsets(range(2), 0.05)


def test_a_broker_that_does_not_answer_in_time_is_not_asked_for_ever(
    reader_of: Callable[[Consumer], KafkaReader],
) -> None:
    consumer = Consumer(silent=0)
    reader = reader_of(consumer)
    reader.end_offsets(range(2), 1.0)
    consumer.silent, consumer.waited = 1_000, []
    with pytest.raises(LogUnavailable, match="Kafka answers, but not the brokers that lead its partitions") as caught:
        reader.end_offsets(range(2), 0.05)
    assert "brokers with its replicas" in caught.value.hint
    assert 1 < len(consumer.waited) < 10


def test_an_offset_that_comes_with_an_error_is_no_answer(
    reader_of: Callable[[Consumer], KafkaReader], monkeypatch: pytest.MonkeyPatch
) -> None:
    consumer = Consumer(silent=0)
    errors = [KafkaError(KafkaError.NOT_LEADER_FOR_PARTITION), None]

    def of_one_that_lost_its_leader(wanted: list[TopicPartition], timeout: float) -> list[SimpleNamespace]:
        error = errors.pop(0)
        return [SimpleNamespace(partition=0, offset=7, error=None), SimpleNamespace(partition=1, offset=8, error=error)]

    monkeypatch.setattr(consumer, "offsets_for_times", of_one_that_lost_its_leader)
    assert reader_of(consumer).end_offsets(range(2), 1.0) == {0: 7, 1: 8}
    assert errors == []


def test_what_a_broker_said_is_told_though_other_answers_did_not_come_in_time_before_and_after(
    reader_of: Callable[[Consumer], KafkaReader], monkeypatch: pytest.MonkeyPatch
) -> None:
    codes = itertools.chain(
        [KafkaError._TIMED_OUT, KafkaError.OFFSET_NOT_AVAILABLE], itertools.repeat(KafkaError._TIMED_OUT)
    )

    def fails(*_: object, **__: object) -> None:
        raise KafkaException(KafkaError(next(codes)))

    consumer = Consumer(silent=0)
    reader = reader_of(consumer)
    reader.end_offsets(range(2), 1.0)
    monkeypatch.setattr(consumer, "offsets_for_times", fails)
    with pytest.raises(LogUnavailable, match=r"^Kafka: Broker: "):
        reader.end_offsets(range(2), 0.2)


class Behind(Consumer):
    """Leads both partitions, and does not know where partition 0 ends until enough replicas are in sync."""

    def offsets_for_times(self, wanted: list[TopicPartition], timeout: float) -> list[TopicPartition]:
        if timeout < 0.002:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
        if any(each.partition == 0 for each in wanted):
            raise KafkaException(KafkaError(KafkaError.OFFSET_NOT_AVAILABLE))
        return super().offsets_for_times(wanted, timeout)


def test_a_leader_that_does_not_know_one_end_yet_tells_the_others(reader_of: Callable[[Consumer], KafkaReader]) -> None:
    reader = reader_of(Behind(silent=0))
    assert reader.told_end_offsets(range(2), 0.1) == {1: 7}
    with pytest.raises(LogUnavailable, match=r"^Kafka: "):
        reader.told_end_offsets([0], 0.1)
    with pytest.raises(LogUnavailable, match=r"^Kafka: "):
        reader.end_offsets(range(2), 0.1)


def test_a_broker_that_says_no_word_of_the_topic_s_leaders_says_why(
    reader_of: Callable[[Consumer], KafkaReader], monkeypatch: pytest.MonkeyPatch
) -> None:
    consumer = Consumer(silent=0)
    denied = SimpleNamespace(error=KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED), partitions={})
    monkeypatch.setattr(consumer, "list_topics", lambda *_: SimpleNamespace(topics={"log": denied}))
    with pytest.raises(LogUnavailable, match="Kafka denies us Describe on topic log"):
        reader_of(consumer).leaders(1.0)


def test_partitions_without_a_leader_and_those_that_the_log_was_opened_without_are_led_by_nobody(
    reader_of: Callable[[Consumer], KafkaReader], monkeypatch: pytest.MonkeyPatch
) -> None:
    consumer = Consumer(silent=0)
    monkeypatch.setattr(consumer, "list_topics", lambda *_: leading({0: -1, 1: 4, 2: 4}))
    assert [*reader_of(consumer).leaders(1.0)] == [[1]]


def test_where_nobody_ever_said_who_leads_that_is_not_taken_for_nobody(
    reader_of: Callable[[Consumer], KafkaReader],
) -> None:
    consumer = Halved(silent=0)
    consumer.leaders_asked = 1
    with pytest.raises(LogUnavailable, match="no answer"):
        reader_of(consumer).leaders(1.0)


def test_that_a_broker_answered_is_not_said_of_an_outage_that_came_later(
    reader_of: Callable[[Consumer], KafkaReader], monkeypatch: pytest.MonkeyPatch
) -> None:
    def silence(_: str, __: float) -> None:
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT))

    consumer = Consumer(silent=1_000)
    reader = reader_of(consumer)
    with pytest.raises(LogUnavailable, match="Kafka answers"):
        reader.told_end_offsets(range(2), 0.05)
    monkeypatch.setattr(consumer, "list_topics", silence)
    with pytest.raises(LogUnavailable, match="no answer"):
        reader.told_end_offsets(range(2), 0.05)


def test_a_leader_that_is_silent_is_not_asked_for_each_of_its_partitions(
    reader_of: Callable[[Consumer], KafkaReader],
) -> None:
    consumer = Consumer(silent=1_000)
    with pytest.raises(LogUnavailable, match="not the brokers that lead"):
        reader_of(consumer).told_end_offsets(range(2), 0.05)
    assert sum(consumer.waited) < 0.5
    assert {*consumer.asked_for} == {2}


class Paging(Consumer):
    """Tells these messages of a partition that begins at 6 and ends at 7."""

    def __init__(self, *messages: SimpleNamespace) -> None:
        super().__init__(silent=0)
        self._messages = iter(messages)
        self._is_assigned = False

    def assign(self, _: object) -> None:
        self._is_assigned = True

    def unassign(self) -> None:
        self._is_assigned = False

    def poll(self, _: float) -> Any:
        return next(self._messages) if self._is_assigned else None

    def offsets_for_times(self, wanted: list[TopicPartition], timeout: float) -> list[TopicPartition]:
        return [TopicPartition(each.topic, each.partition, 6 + (each.offset == OFFSET_END)) for each in wanted]


def failing(code: int) -> SimpleNamespace:
    return SimpleNamespace(error=lambda: KafkaError(code), offset=lambda: None)


def test_who_may_not_use_the_name_of_a_group_reads_pages_all_the_same(
    reader_of: Callable[[Consumer], KafkaReader],
) -> None:
    record = SimpleNamespace(error=lambda: None, offset=lambda: 6, value=lambda: b"a")
    consumer = Paging(failing(KafkaError.GROUP_AUTHORIZATION_FAILED), record)
    assert reader_of(consumer).page(0, 6, 1) == [Entry(0, 6, b"a")]


def test_who_may_not_read_is_told_so_of_a_page_at_once(reader_of: Callable[[Consumer], KafkaReader]) -> None:
    with pytest.raises(LogUnavailable, match="Kafka denies us Read on topic log"):
        reader_of(Paging(failing(KafkaError.TOPIC_AUTHORIZATION_FAILED))).page(0, 6, 1)


def test_behind_a_question_that_nobody_answered_it_is_asked_who_leads_now(
    reader_of: Callable[[Consumer], KafkaReader],
) -> None:
    consumer = Consumer(silent=0)
    reader = reader_of(consumer)
    reader.end_offsets(range(2), 1.0)
    assert consumer.leaders_asked == 0
    consumer.silent = 2
    for _ in range(3):
        assert reader.end_offsets(range(2), 1.0) == {0: 7, 1: 7}
    assert consumer.leaders_asked == 1


class Halved(Consumer):
    """Broker 1, which leads partition 0, hangs: it is also the one that is asked who leads, but for the first time."""

    def list_topics(self, topic: str, timeout: float) -> Any:
        super().list_topics(topic, timeout)
        if self.leaders_asked > 1:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
        return leading({0: 1, 1: 2})

    def offsets_for_times(self, wanted: list[TopicPartition], timeout: float) -> list[TopicPartition]:
        if any(each.partition == 0 for each in wanted):
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
        return super().offsets_for_times(wanted, timeout)


def test_a_broker_that_hangs_hides_no_other_s_partitions_though_it_is_the_one_asked_who_leads(
    reader_of: Callable[[Consumer], KafkaReader], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module, name in ((kafka_ends, "_SILENT_EVERY_SECONDS"), (kafka_reader, "_CONNECT_SECONDS")):
        monkeypatch.setattr(module, name, 0.0)
    ends = KafkaEnds(reader_of(Halved(silent=0)))
    for _ in range(3):
        assert ends.known() == {1: 7}


def test_a_reader_keeps_no_lines_of_an_outage_to_tell_them_at_its_end(caplog: pytest.LogCaptureFixture) -> None:
    reader = KafkaReader({**client_settings("127.0.0.1:1", {"debug": "broker"}), **CONSUMER}, "log", partitions=2)
    with pytest.raises(LogUnavailable):
        reader.end_offsets(range(2), 1.0)
    reader.close()
    assert caplog.messages == []
