"""What the log on Kafka promises beyond the contract of all logs."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Sequence

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewPartitions

from tests.brokers.process import KafkaProcess
from tests.log.following import PATIENCE_SECONDS, Following, never
from topicfold.errors import BadSetting, LogGap, LogUnavailable, TooLarge, TopicfoldError, WrongLog
from topicfold.log import kafka_settings
from topicfold.log.kafka import KafkaLog
from topicfold.log.kafka_arrivals import KafkaArrivals, Read
from topicfold.log.kafka_errors import unanswered
from topicfold.log.kafka_follower import KafkaFollower
from topicfold.log.kafka_reader import KafkaReader
from topicfold.log.port import Entry, SettingProblem

pytestmark = pytest.mark.kafka


@pytest.fixture
def topic(fresh_topic: Callable[[], str]) -> str:
    return fresh_topic()


@pytest.fixture
async def log(kafka_bootstrap: str, topic: str) -> AsyncIterator[KafkaLog]:
    log = await KafkaLog.open(kafka_bootstrap, topic, partitions=3)
    yield log
    await log.close()


@pytest.fixture
def admin(kafka_bootstrap: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": kafka_bootstrap})


async def test_the_topic_is_made_with_the_settings_that_keep_it_safe(
    log: KafkaLog, topic: str, admin: AdminClient
) -> None:
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
    found = {entry.name: entry.value for entry in admin.describe_configs([resource])[resource].result().values()}
    pinned = {
        "cleanup.policy": "delete",
        "retention.ms": "-1",
        "retention.bytes": "-1",
        "max.message.bytes": "1048588",
        "min.insync.replicas": "1",
        "unclean.leader.election.enable": "false",
        "message.timestamp.type": "LogAppendTime",
    }
    assert {name: found[name] for name in pinned} == pinned


def test_the_clients_are_given_the_pinned_settings() -> None:
    producer = {
        "enable.idempotence": True,
        "acks": "all",
        "linger.ms": 0,
        "delivery.timeout.ms": 10_000,
        "delivery.report.only.error": False,
    }
    consumer = {
        "auto.offset.reset": "error",
        "enable.auto.commit": False,
        "isolation.level": "read_committed",
        "check.crcs": True,
        "enable.partition.eof": True,
        "fetch.wait.max.ms": 100,
        "fetch.min.bytes": 1,
    }
    assert producer.items() <= kafka_settings.PRODUCER.items()
    assert consumer.items() <= kafka_settings.CONSUMER.items()
    assert kafka_settings.client_settings("host:1", {})["allow.auto.create.topics"] is False


@pytest.mark.parametrize("brokers", [1, 2, 3, 5])
def test_a_new_topic_has_as_many_copies_as_the_brokers_allow_up_to_three(brokers: int) -> None:
    replicas, configuration = kafka_settings.new_topic(brokers)
    assert replicas == min(3, brokers)
    assert configuration["min.insync.replicas"] == str(max(1, replicas - 1))


@pytest.mark.parametrize(
    "name", ["acks", "delivery.report.only.error", "isolation.level", "bootstrap.servers", "message.max.bytes"]
)
async def test_a_pinned_setting_may_not_be_given(name: str) -> None:
    with pytest.raises(BadSetting, match=name.replace(".", r"\.")):
        await KafkaLog.open("127.0.0.1:1", kafka_settings={name: "x"})


async def test_a_setting_that_librdkafka_does_not_know_is_a_bad_setting() -> None:
    with pytest.raises(BadSetting, match=r"no\.such\.setting"):
        await KafkaLog.open("127.0.0.1:1", kafka_settings={"no.such.setting": "x"})


@pytest.mark.parametrize(
    ("name", "value", "wanted", "refuses"),
    [
        ("cleanup.policy", "compact", "delete", True),
        ("cleanup.policy", "compact,delete", "delete", True),
        ("retention.ms", "604800000", "-1", True),
        ("retention.bytes", "1000000", "-1", True),
        ("max.message.bytes", "1000", "1048588", True),
        ("unclean.leader.election.enable", "true", "false", False),
        ("message.timestamp.type", "CreateTime", "LogAppendTime", False),
    ],
)
async def test_a_setting_that_an_operator_changed_is_reported_with_its_repair(
    log: KafkaLog, topic: str, admin: AdminClient, name: str, value: str, wanted: str, refuses: bool
) -> None:
    alter(admin, topic, name, value)
    [problem] = await eventually(log, name)
    assert (problem.found, problem.wanted, problem.refuses_writes) == (value, wanted, refuses)
    assert problem.repair.startswith("kafka-configs.sh --bootstrap-server ")
    assert problem.repair.endswith(f"--alter --entity-type topics --entity-name {topic} --add-config {name}={wanted}")


async def test_a_single_copy_is_reported_but_refuses_no_writes(log: KafkaLog) -> None:
    problems = [problem for problem in await log.check_settings() if problem.setting == "replication.factor"]
    assert [(problem.found, problem.refuses_writes, problem.is_advice) for problem in problems] == [("1", False, True)]
    assert problems[0].repair.startswith("enough for trying things out")


@pytest.mark.parametrize(
    ("brokers", "first"),
    [
        (1, "enough for trying things out; to keep the log when disks fail, have 3 brokers, then "),
        (2, "enough for trying things out; to keep the log when disks fail, have 3 brokers, then "),
        (3, ""),
    ],
)
def test_what_to_do_about_too_few_copies_depends_on_the_brokers(brokers: int, first: str) -> None:
    [problem] = kafka_settings.topic_problems("host:1", "log", {}, replicas=1, brokers=brokers)
    reassign = "give each partition 3 replicas: kafka-reassign-partitions.sh --bootstrap-server host:1"
    assert problem.repair == first + reassign
    assert problem.is_advice == (brokers < 3)


def test_settings_that_can_be_put_right_are_no_mere_advice() -> None:
    found = {"unclean.leader.election.enable": "true", "min.insync.replicas": "1"}
    problems = kafka_settings.topic_problems("host:1", "log", found, replicas=3, brokers=3)
    assert {(each.setting, each.is_advice) for each in problems} == {(name, False) for name in found}


async def test_a_topic_that_takes_nothing_for_want_of_replicas_in_sync_is_reported(
    log: KafkaLog, topic: str, admin: AdminClient
) -> None:
    alter(admin, topic, "min.insync.replicas", "2")
    [problem] = await eventually(log, "number of replicas in sync")
    assert (problem.found, problem.wanted) == ("1 (partition 0, 1, 2)", "2 or more")


def test_partitions_that_take_nothing_for_want_of_replicas_in_sync_are_named() -> None:
    configuration = {"min.insync.replicas": "2"}
    assert kafka_settings.too_few_in_sync(configuration, {0: 2, 1: 3}, 3) == []
    [never] = kafka_settings.too_few_in_sync(configuration, {0: 1}, 1)
    assert never.repair == "give each partition 2 replicas, or lower min.insync.replicas: it has 1"
    [problem] = kafka_settings.too_few_in_sync(configuration, {2: 1, 1: 2, 0: 1}, 3)
    assert problem.repair.startswith("start the brokers that are away")
    assert (problem.found, problem.wanted, problem.refuses_writes) == ("1 (partition 0, 2)", "2 or more", False)


async def test_an_existing_topic_keeps_its_number_of_partitions(
    log: KafkaLog, kafka_bootstrap: str, topic: str
) -> None:
    again = await KafkaLog.open(kafka_bootstrap, topic, partitions=8)
    assert again.partitions == 3
    await again.close()


async def test_racing_openers_make_one_topic(kafka_bootstrap: str, topic: str) -> None:
    logs = await asyncio.gather(*(KafkaLog.open(kafka_bootstrap, topic, partitions=2) for _ in range(3)))
    following = Following(logs[0])
    for log in logs:
        log.append(1, b"x", never)
    assert [entry.offset for entry in await following.seen(3)] == [0, 1, 2]
    await asyncio.gather(*(log.close() for log in logs))


async def test_more_partitions_than_the_log_was_opened_with_refuse_writes(
    log: KafkaLog, topic: str, admin: AdminClient
) -> None:
    admin.create_partitions([NewPartitions(topic, 5)])[topic].result()
    [problem] = await eventually(log, "topic")
    assert problem.refuses_writes
    assert "5 partitions" in problem.found


async def test_a_topic_made_anew_is_another_topic(
    log: KafkaLog, kafka_bootstrap: str, topic: str, admin: AdminClient
) -> None:
    admin.delete_topics([topic])[topic].result()
    [gone] = await eventually(log, "topic")
    assert gone.found == "no topic"
    successor = await KafkaLog.open(kafka_bootstrap, topic, partitions=3)
    [other] = await log.check_settings()
    assert other.refuses_writes
    await successor.close()


@pytest.mark.slow
async def test_a_deleted_topic_is_a_fault(log: KafkaLog, topic: str, admin: AdminClient) -> None:
    following = Following(log)
    log.append(0, b"x", never)
    await following.seen(1)
    admin.delete_topics([topic])[topic].result()
    error, partition = await following.faulted()
    assert isinstance(error, WrongLog)
    assert partition is None


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
    stranger = Producer({"bootstrap.servers": kafka_bootstrap})
    stranger.produce(topic, None, key=b"k", partition=2)
    stranger.flush()
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


async def test_the_topic_s_own_limit_is_the_producer_s(
    log: KafkaLog, kafka_bootstrap: str, topic: str, admin: AdminClient
) -> None:
    alter(admin, topic, "max.message.bytes", "2000")
    await eventually(log, "max.message.bytes")
    smaller = await KafkaLog.open(kafka_bootstrap, topic)
    with pytest.raises(TooLarge):
        smaller.append(0, bytes(3_000), never)
    await smaller.close()


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

    log._appender._producer = Broken()  # type: ignore[assignment]
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
    stranger = Producer({"bootstrap.servers": kafka_bootstrap})
    stranger.produce(topic, b"theirs", partition=0)
    stranger.flush()
    log.append(0, b"ours", never)
    async with asyncio.timeout(PATIENCE_SECONDS):
        end = 0
        while end < 3:
            end = (await log.end_offsets())[0]
    assert following.values(0) == [b"first"]
    reads.set()
    await following.seen(3)
    assert following.values(0) == [b"first", b"theirs", b"ours"]


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
    error = unanswered(KafkaError(code, "Failed to get offsets: Local: Unknown partition"))
    assert error.reason == "the log cannot be reached: no broker answers"


async def test_a_cluster_that_is_not_there_is_unavailable() -> None:
    with pytest.raises(LogUnavailable, match=r"^Kafka at 127.0.0.1:1: the log cannot be reached: no broker answers: "):
        await KafkaLog.open("127.0.0.1:1")


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
        failures = asyncio.Queue[TopicfoldError]()
        own_broker.pause()
        log.append(0, b"x", failures.put_nowait)
        async with asyncio.timeout(3):
            with pytest.raises(LogUnavailable, match="the log cannot be reached: no broker answers"):
                await log.end_offsets()
        async with asyncio.timeout(13):
            assert isinstance(await failures.get(), LogUnavailable)
        await log.close()
        # One that slept for so long may need longer to be itself again than to start.
        own_broker.kill()

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


def alter(admin: AdminClient, topic: str, name: str, value: str) -> None:
    """Set one setting of `topic`, as an operator would."""
    entry = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=[entry])
    admin.incremental_alter_configs([resource])[resource].result()


async def eventually(log: KafkaLog, setting: str) -> list[SettingProblem]:
    """Return the problems with `setting` once there are any: Kafka tells of changes when it has spread them."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            problems = [problem for problem in await log.check_settings() if problem.setting == setting]
            if problems:
                return problems
