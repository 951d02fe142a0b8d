"""What the log on Kafka promises beyond the contract of all logs."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from collections.abc import Callable, Sequence

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient

from tests.brokers.process import KafkaProcess
from tests.log.following import PATIENCE_SECONDS, Following, never
from topicfold.errors import LogGap, LogUnavailable, TopicfoldError
from topicfold.kafka_client import KafkaRight
from topicfold.log.kafka import KafkaLog
from topicfold.log.kafka import arrivals as kafka_arrivals
from topicfold.log.kafka.appender import KafkaAppender
from topicfold.log.kafka.arrivals import KafkaArrivals, Read
from topicfold.log.kafka.errors import unanswered
from topicfold.log.kafka.follower import KafkaFollower
from topicfold.log.kafka.reader import KafkaReader
from topicfold.log.kafka.topic import LogTopics
from topicfold.log.port import Entry, LogDenied

pytestmark = pytest.mark.kafka


def write_as_a_stranger(bootstrap: str, topic: str, value: bytes | None, partition: int) -> None:
    """Put a record into the log's topic as somebody else's producer does."""
    stranger = Producer({"bootstrap.servers": bootstrap})
    stranger.produce(topic, value, key=b"k", partition=partition)
    stranger.flush()


async def test_the_place_of_a_log_is_kafka_s_id_for_its_topic_and_not_a_name_that_others_may_have(
    log: KafkaLog, topic: str, admin: AdminClient
) -> None:
    [described] = [each.result() for each in admin.describe_topics(TopicCollection([topic])).values()]
    assert await log.place() == str(described.topic_id)


async def test_a_right_that_is_lacking_is_named_with_the_command_that_grants_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    denied = LogDenied("Kafka denies us Describe on topic log", hint="kafka-acls.sh")

    def refuse(*_: object) -> None:
        raise denied

    monkeypatch.setattr(LogTopics, "open", refuse)
    with pytest.raises(LogDenied) as caught:
        await KafkaLog.open("127.0.0.1:1", "log")
    assert caught.value is denied


async def test_following_from_before_the_trimmed_beginning_is_a_gap(
    log: KafkaLog, kafka_bootstrap: str, topic: str, admin: AdminClient
) -> None:
    writer = await KafkaLog.open(kafka_bootstrap, topic)
    for _ in range(5):
        writer.append(0, b"x", never)
    await Following(writer).seen(5)
    await writer.close()
    below = TopicPartition(topic, 0, 3)
    admin.delete_records([below])[below].result()
    assert (await log.start_offsets())[0] == 3
    assert [entry.offset for entry in await log.read(0, 0, 10)] == [3, 4]
    error, partition = await Following(log).faulted()
    assert isinstance(error, LogGap)
    assert partition == 0


async def test_a_page_begins_at_the_first_record_though_the_log_is_trimmed_while_it_is_asked_for(
    log: KafkaLog, topic: str, admin: AdminClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(5):
        log.append(0, b"x", never)
    await Following(log).seen(5)
    offsets, below = KafkaReader._offsets, TopicPartition(topic, 0, 3)

    def asked_before_the_trim(
        self: KafkaReader, partitions: Sequence[int], place: int, deadline: float
    ) -> dict[int, int]:
        found = offsets(self, partitions, place, deadline)
        admin.delete_records([below])[below].result()
        return found

    monkeypatch.setattr(KafkaReader, "_offsets", asked_before_the_trim)
    assert [entry.offset for entry in await log.read(0, 0, 10)] == [3, 4]


def abort_a_transaction(bootstrap: str, topic: str) -> None:
    """Leave a record in partition 0 that nobody may read."""
    stranger = Producer({"bootstrap.servers": bootstrap, "transactional.id": topic})
    stranger.init_transactions()
    stranger.begin_transaction()
    stranger.produce(topic, b"theirs", partition=0)
    stranger.flush()
    stranger.abort_transaction()


async def test_records_of_an_aborted_transaction_are_never_delivered_but_stop_the_partition(
    log: KafkaLog, kafka_bootstrap: str, topic: str
) -> None:
    following = Following(log)
    log.append(0, b"ours", never)
    await following.seen(1)
    abort_a_transaction(kafka_bootstrap, topic)
    error, _ = await following.faulted()
    assert isinstance(error, LogGap)
    assert error.values["expected"] == 1
    assert following.values(0) == [b"ours"]


async def test_a_page_ends_where_nobody_may_read_what_follows(log: KafkaLog, kafka_bootstrap: str, topic: str) -> None:
    log.append(0, b"ours", never)
    await Following(log).seen(1)
    abort_a_transaction(kafka_bootstrap, topic)
    async with asyncio.timeout(PATIENCE_SECONDS):  # Kafka writes the transaction's end after it has answered
        while (await log.end_offsets())[0] < 3:
            pass
    assert await log.read(0, 0, 10) == [Entry(0, 0, b"ours")]
    assert await log.read(0, 1, 10) == []


async def test_the_end_is_the_end_of_what_is_committed(log: KafkaLog, kafka_bootstrap: str, topic: str) -> None:
    stranger = Producer({"bootstrap.servers": kafka_bootstrap, "transactional.id": topic})
    stranger.init_transactions()
    stranger.begin_transaction()
    stranger.produce(topic, b"open", partition=0)
    stranger.flush()
    assert (await log.end_offsets())[0] == 0
    stranger.commit_transaction()
    async with asyncio.timeout(PATIENCE_SECONDS):  # Kafka writes the transaction's end after it has answered
        end = 0
        while end != 2:
            end = (await log.end_offsets())[0]


async def test_a_record_without_a_value_is_an_empty_one(log: KafkaLog, kafka_bootstrap: str, topic: str) -> None:
    following = Following(log)
    write_as_a_stranger(kafka_bootstrap, topic, None, partition=2)
    assert await following.seen(1) == [Entry(2, 0, b"")]


async def test_records_have_keys_of_their_own_so_that_compaction_finds_nothing_to_remove(
    log: KafkaLog, kafka_bootstrap: str, topic: str
) -> None:
    following = Following(log)
    for _ in range(3):
        log.append(0, b"same", never)
    await following.seen(3)
    reader = Consumer({"bootstrap.servers": kafka_bootstrap, "group.id": topic})
    reader.assign([TopicPartition(topic, 0, 0)])
    assert len({message.key() for message in reader.consume(3, timeout=10)}) == 3
    reader.close()


async def test_a_producer_that_broke_for_good_is_replaced(log: KafkaLog) -> None:
    class Broken:
        def __len__(self) -> int:
            return 0

        def produce(self, *_: object, **__: object) -> None:
            raise KafkaException(KafkaError(KafkaError._FATAL, "broken"))

        def purge(self) -> None:
            pass

        def flush(self, _: float) -> int:
            return 0

        def poll(self, _: float) -> int:
            raise KafkaException(KafkaError(KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER, "broken", fatal=True))

    log._appending()._producers.current = Broken()  # type: ignore[assignment]
    failures: asyncio.Queue[TopicfoldError] = asyncio.Queue()
    log.append(0, b"lost", failures.put_nowait)
    assert isinstance(await failures.get(), LogUnavailable)
    log.append(0, b"kept", never)
    assert [entry.value for entry in await Following(log).seen(1)] == [b"kept"]


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Nothing that was read goes any further while this is not set."""
    may_go_on, read = threading.Event(), KafkaArrivals.read

    def read_later(self: KafkaArrivals, entries: Sequence[Entry], taken: Callable[[], None]) -> Read:
        assert may_go_on.wait(PATIENCE_SECONDS)
        return read(self, entries, taken)

    monkeypatch.setattr(KafkaArrivals, "read", read_later)
    return may_go_on


async def test_our_own_append_comes_when_kafka_has_it_and_not_when_it_is_read(
    log: KafkaLog, reads: threading.Event
) -> None:
    following = Following(log)
    for value in (b"first", b"told"):
        log.append(0, value, never)
    assert [entry.value for entry in await following.seen(2)] == [b"first", b"told"]
    reads.set()
    log.append(0, b"after", never)
    assert await following.seen(3) == [Entry(0, 0, b"first"), Entry(0, 1, b"told"), Entry(0, 2, b"after")]
    assert following.faults == []


async def test_our_own_append_behind_a_stranger_s_waits_until_that_is_read(
    log: KafkaLog, kafka_bootstrap: str, topic: str, reads: threading.Event
) -> None:
    following = Following(log)
    log.append(0, b"first", never)
    await following.seen(1)
    write_as_a_stranger(kafka_bootstrap, topic, b"theirs", partition=0)
    log.append(0, b"ours", never)
    async with asyncio.timeout(PATIENCE_SECONDS):
        end = 0
        while end < 3:
            end = (await log.end_offsets())[0]
    assert following.values(0) == [b"first"]
    reads.set()
    await following.seen(3)
    assert following.values(0) == [b"first", b"theirs", b"ours"]


async def test_who_asks_where_the_log_ends_waits_for_no_rest_of_the_reader(
    log: KafkaLog, kafka_bootstrap: str, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kafka_arrivals, "_REST_SECONDS", PATIENCE_SECONDS + 30)
    rests, rest = threading.Event(), KafkaArrivals.rest

    def rest_as_told(self: KafkaArrivals) -> None:
        rests.set()
        rest(self)

    monkeypatch.setattr(KafkaArrivals, "rest", rest_as_told)
    following = Following(log)
    ours = 0
    while not rests.is_set():  # it does not where it reads a record before the loop is told where that lies
        log.append(0, b"ours", never)
        ours += 1
        await following.seen(ours)
        await asyncio.to_thread(rests.wait, 0.1)
    write_as_a_stranger(kafka_bootstrap, topic, b"theirs", partition=0)
    assert (await log.known_end_offsets())[0] == ours + 1
    await following.seen(ours + 1)
    assert following.values(0)[ours:] == [b"theirs"]


async def test_what_was_delivered_and_trimmed_before_it_was_read_is_no_gap(
    log: KafkaLog, kafka_bootstrap: str, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_go_on, hand_out = threading.Event(), KafkaFollower._hand_out

    def stall_before(self: KafkaFollower, messages: Sequence[Message]) -> None:
        """Fetch nothing meanwhile."""
        self._consumer.pause([TopicPartition(topic, 0)])
        assert may_go_on.wait(PATIENCE_SECONDS)
        self._consumer.resume([TopicPartition(topic, 0)])
        monkeypatch.setattr(KafkaFollower, "_hand_out", hand_out)
        hand_out(self, messages)

    monkeypatch.setattr(KafkaFollower, "_hand_out", stall_before)
    following = Following(log)
    for number in range(5):
        log.append(0, b"%d" % number, never)
        await following.seen(number + 1)
    await log.delete_before(0, 4)
    may_go_on.set()
    log.append(0, b"5", never)
    log.append(1, b"other", never)
    stranger = await KafkaLog.open(kafka_bootstrap, topic)
    stranger.append(0, b"theirs", never)
    await following.seen(8)
    assert following.values(0) == [b"0", b"1", b"2", b"3", b"4", b"5", b"theirs"]
    assert following.faults == []
    await stranger.close()


@pytest.mark.parametrize("code", [KafkaError._UNKNOWN_PARTITION, KafkaError._UNKNOWN_TOPIC])
def test_that_no_broker_answers_is_no_word_about_the_topic(code: int) -> None:
    error = unanswered(
        KafkaError(code, "Failed to get offsets: Local: Unknown partition"), KafkaRight("Describe", "log", "kafka")
    )
    assert error.reason == "the log cannot be reached: no answer"


async def test_a_log_that_is_closed_leaves_no_client_of_kafka_to_the_garbage_collector(
    kafka_bootstrap: str, topic: str
) -> None:
    log = await KafkaLog.open(kafka_bootstrap, topic)
    clients = [weakref.ref(log._appending()), weakref.ref(log._topics._admin)]
    gc.disable()
    try:
        await log.close()
        assert [each() for each in clients] == [None, None]
    finally:
        gc.enable()


async def test_a_log_that_is_only_read_has_no_producer(
    kafka_bootstrap: str, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never_made(*_: object) -> KafkaAppender:
        raise AssertionError("a producer was made")

    monkeypatch.setattr("topicfold.log.kafka.log.KafkaAppender", never_made)
    log = await KafkaLog.open(kafka_bootstrap, topic, partitions=1)
    assert await log.end_offsets() == await log.start_offsets() == {0: 0}
    assert await log.read(0, 0, 10) == []
    assert await log.check_settings()
    await log.close()


async def test_whoever_follows_has_a_producer_before_the_first_append(log: KafkaLog) -> None:
    assert log._appender is None
    log.follow({0: 0}, lambda *_: None, lambda *_: None)
    assert log._appender is not None


async def test_closing_goes_on_where_whoever_waits_for_it_is_cancelled(kafka_bootstrap: str, topic: str) -> None:
    before = set(threading.enumerate())
    log = await KafkaLog.open(kafka_bootstrap, topic)
    Following(log)
    await log.read(0, 0, 10)
    closing = asyncio.ensure_future(log.close())
    await asyncio.sleep(0)
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    await log.close()
    ours = {each for each in threading.enumerate() if each.name.startswith("topicfold-")} - before
    assert ours == set()


async def test_a_cluster_that_is_not_there_is_unavailable() -> None:
    with pytest.raises(LogUnavailable, match=r"^Kafka at 127.0.0.1:1: the log cannot be reached: no answer: "):
        await KafkaLog.open("127.0.0.1:1", "log")


async def test_a_log_that_could_not_be_opened_leaves_no_client_of_kafka_to_whoever_keeps_the_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clients: list[weakref.ref[AdminClient]] = []

    def refuse(topics: LogTopics, *_: object) -> None:
        clients.append(weakref.ref(topics._admin))
        raise LogUnavailable("no answer")

    monkeypatch.setattr(LogTopics, "open", refuse)
    with pytest.raises(LogUnavailable, match="no answer") as kept:
        await KafkaLog.open("127.0.0.1:1", "log")
    assert [each() for each in clients] == [None], kept


class TestOutage:
    """Faults of the broker; slow, for a broker takes seconds to come back."""

    pytestmark = pytest.mark.slow

    async def test_following_goes_on_without_a_gap_after_the_broker_was_killed(
        self, own_broker: KafkaProcess, topic: str
    ) -> None:
        log = await KafkaLog.open(own_broker.bootstrap, topic, partitions=1)
        following = Following(log)
        # What a killed broker wrote and could not answer any more may be told to have failed.
        for number in range(100):
            log.append(0, b"%d" % number, maybe)
        await following.seen(100)
        own_broker.kill()
        own_broker.restart()
        append_until_followed(log, following, b"after")
        entries = await following.seen(101)
        assert [entry.offset for entry in entries] == list(range(len(entries)))
        assert following.values(0)[:101] == [*(b"%d" % number for number in range(100)), b"after"]
        assert following.faults == []
        await log.close()

    async def test_appends_during_an_outage_fail_in_time_and_questions_fail_at_once(
        self, own_broker: KafkaProcess, topic: str
    ) -> None:
        log = await KafkaLog.open(own_broker.bootstrap, topic, partitions=1)
        await log.end_offsets()
        failures = asyncio.Queue[TopicfoldError]()
        own_broker.pause()
        log.append(0, b"x", failures.put_nowait)
        async with asyncio.timeout(10):
            with pytest.raises(LogUnavailable, match="the log cannot be reached: no answer"):
                await log.end_offsets()
        async with asyncio.timeout(20):
            assert isinstance(await failures.get(), LogUnavailable)
        await log.close()

    async def test_closing_while_the_broker_is_away_fails_what_waits(
        self, own_broker: KafkaProcess, topic: str
    ) -> None:
        log = await KafkaLog.open(own_broker.bootstrap, topic, partitions=1)
        failures = asyncio.Queue[TopicfoldError]()
        own_broker.pause()
        log.append(0, b"x", failures.put_nowait)
        await log.close()
        assert failures.qsize() == 1
        own_broker.resume()


def maybe(error: TopicfoldError) -> None:
    """Stand for `failed` where an append may fail."""


def append_until_followed(log: KafkaLog, following: Following, value: bytes) -> None:
    """Append `value` to partition 0, again where the log gave up on it and it is not there."""

    def again(_: TopicfoldError) -> None:
        if value not in following.values(0):
            log.append(0, value, again)

    log.append(0, value, again)
