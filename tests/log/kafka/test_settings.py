"""What the log on Kafka demands of its topic: settings, partitions, and that it stays the same one."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewPartitions

from tests.log.following import PATIENCE_SECONDS, Following, never
from topicfold.errors import BadSetting, LogUnavailable, TooLarge, WrongLog
from topicfold.log.kafka import KafkaLog
from topicfold.log.kafka import settings as kafka_settings
from topicfold.log.kafka.topic import LogTopics
from topicfold.log.port import SettingProblem

pytestmark = pytest.mark.kafka


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


@pytest.mark.parametrize(
    ("why", "is_told"), [("Coordinator load in progress", False), ("Cluster authorization failed", True)]
)
def test_that_a_broker_which_has_just_started_has_no_producer_id_yet_is_not_logged(
    caplog: pytest.LogCaptureFixture, why: str, is_told: bool
) -> None:
    logger = kafka_settings.client_settings("b:1", {})["logger"]
    line = f"GETPID [thrd:main]: Failed to acquire idempotence PID from broker b:1/1: Broker: {why}: retrying"
    logger.warning(line)
    assert (line in caplog.messages) == is_told


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
    "name",
    [
        "bootstrap.servers", "message.max.bytes",
        *kafka_settings._CLIENT, *kafka_settings.PRODUCER, *kafka_settings.CONSUMER,
    ],
)  # fmt: skip
async def test_a_pinned_setting_may_not_be_given(name: str) -> None:
    with pytest.raises(BadSetting, match=name.replace(".", r"\.")):
        await KafkaLog.open("127.0.0.1:1", "log", kafka_settings={name: "x"})


async def test_a_topic_of_a_name_that_kafka_does_not_allow_is_a_bad_setting() -> None:
    with pytest.raises(BadSetting, match="'a/b': Kafka does not allow such a name"):
        await KafkaLog.open("127.0.0.1:1", "a/b")


async def test_a_setting_that_librdkafka_does_not_know_is_a_bad_setting() -> None:
    with pytest.raises(BadSetting, match=r"no\.such\.setting"):
        await KafkaLog.open("127.0.0.1:1", "log", kafka_settings={"no.such.setting": "x"})


async def test_a_setting_that_no_producer_of_ours_can_have_is_a_bad_setting_before_anything_is_appended() -> None:
    with pytest.raises(BadSetting, match="retries"):
        await KafkaLog.open("127.0.0.1:1", "t", kafka_settings={"retries": "0"})


@pytest.mark.parametrize(
    ("name", "value", "wanted", "refuses"),
    [
        ("cleanup.policy", "compact", "delete", True),
        ("cleanup.policy", "compact,delete", "delete", True),
        ("retention.ms", "604800000", "-1", True),
        ("retention.bytes", "1000000", "-1", True),
        ("max.message.bytes", "2000", "1048588", True),
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
    assert problems[0].repair.endswith("to try things out, it is enough as it is")


@pytest.mark.parametrize("brokers", [[1], [1, 2]])
def test_on_too_few_brokers_too_few_copies_are_all_that_there_can_be(brokers: list[int]) -> None:
    [problem] = kafka_settings.topic_problems("host:1", "log", {}, {0: [1]}, brokers)
    assert problem.is_advice
    assert problem.repair.startswith("to keep the log when a disk fails, run 3 brokers")


def test_on_enough_brokers_too_few_copies_come_with_the_commands_that_make_more(tmp_path: Path) -> None:
    replicas = {0: [7], 1: [2, 4], 2: [4, 2, 7], 3: [9], 4: [9]}
    [problem] = kafka_settings.topic_problems("host:1", "log", {}, replicas, [2, 4, 7])
    assert not problem.is_advice
    tool = tmp_path / "kafka-reassign-partitions.sh"
    tool.write_text('#!/bin/sh\necho "$@" > told\ncat "$4" > plan\n')
    tool.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    subprocess.run(problem.repair, shell=True, check=True, cwd=tmp_path, env={"PATH": path})
    told = (tmp_path / "told").read_text().split()
    assert told == ["--bootstrap-server", "host:1", "--reassignment-json-file", "more-replicas.json", "--execute"]
    plan = json.loads((tmp_path / "plan").read_text())
    assert plan["version"] == 1
    assert {each["topic"] for each in plan["partitions"]} == {"log"}
    found = {each["partition"]: each["replicas"] for each in plan["partitions"]}
    assert {partition: found[partition][: len(before)] for partition, before in replicas.items()} == replicas
    assert {len(set(each)) for each in found.values()} == {3}
    assert {broker for each in (found[0], found[1], found[2]) for broker in each} == {2, 4, 7}
    assert found[3] != found[4]


def test_settings_that_can_be_put_right_are_no_mere_advice() -> None:
    found = {"unclean.leader.election.enable": "true", "min.insync.replicas": "1", "max.message.bytes": "2000"}
    problems = kafka_settings.topic_problems("host:1", "log", found, {0: [1, 2, 3]}, [1, 2, 3])
    assert {(each.setting, each.is_advice) for each in problems} == {(name, False) for name in found}


@pytest.mark.parametrize("in_sync", ["2", "3"])
def test_where_more_is_safer_more_is_no_problem(in_sync: str) -> None:
    found = {"max.message.bytes": "9999999", "min.insync.replicas": in_sync}
    assert kafka_settings.topic_problems("host:1", "log", found, {0: [1, 2, 3]}, [1, 2, 3]) == []


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
    [problem] = kafka_settings.too_few_in_sync(configuration, {2: 1, 1: 2, 0: 1}, 2)
    assert problem.repair.startswith("start the brokers that are down")
    assert (problem.found, problem.wanted, problem.refuses_writes) == ("1 (partition 0, 2)", "2 or more", False)
    assert (problem.denies_writes, problem.partitions) == (True, [0, 2])


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
    assert (problem.found, problem.wanted) == ("one with 5 partitions", "one with 3 partitions")
    assert f"copy the first 3 of {topic} to a topic of another name with 'topicfold copy'" in problem.repair


async def test_a_topic_made_anew_is_another_topic(
    log: KafkaLog, kafka_bootstrap: str, topic: str, admin: AdminClient
) -> None:
    admin.delete_topics([topic])[topic].result()
    [gone] = await eventually(log, "topic")
    assert gone.found == "no topic"
    assert "save what this node knows before it stops" in gone.repair
    successor = await KafkaLog.open(kafka_bootstrap, topic, partitions=3)
    [other] = await log.check_settings()
    assert other.refuses_writes
    await successor.close()


async def test_of_a_topic_made_anew_nothing_is_read_as_if_it_were_the_former(
    log: KafkaLog, kafka_bootstrap: str, topic: str, admin: AdminClient
) -> None:
    following = Following(log)
    admin.delete_topics([topic])[topic].result()
    await eventually(log, "topic")
    successor = await KafkaLog.open(kafka_bootstrap, topic, partitions=3)
    for _ in range(2):
        await log.check_settings()
    [(error, partition)] = following.faults
    assert isinstance(error, WrongLog)
    assert (error.reason.partition(":")[0], partition) == ("the log's topic was deleted and created again", None)
    assert "save what this node knows before it stops" in error.hint
    new = Following(successor)
    successor.append(0, b"another", never)
    await new.seen(1)
    await asyncio.sleep(1)
    assert not following.entries
    await successor.close()


async def test_nor_is_anything_read_of_it_before_settings_are_looked_at_where_the_log_did_not_answer_meanwhile(
    log: KafkaLog, kafka_bootstrap: str, topic: str, admin: AdminClient
) -> None:
    following = Following(log)
    log.append(0, b"ours", never)
    await following.seen(1)
    admin.delete_topics([topic])[topic].result()
    with pytest.raises(LogUnavailable):
        await asked_for_ever(log)
    successor = await KafkaLog.open(kafka_bootstrap, topic, partitions=3)
    for value in (b"first", b"second"):
        successor.append(0, value, never)
    error, partition = await following.faulted()
    assert isinstance(error, WrongLog)
    assert (error.reason.partition(":")[0], partition) == ("the log's topic was deleted and created again", None)
    assert following.values(0) == [b"ours"]
    await successor.close()


async def test_a_deleted_topic_is_a_fault(kafka_bootstrap: str, topic: str, admin: AdminClient) -> None:
    # For half a minute from when it first heard of a topic, Kafka's client takes it for one that is still being made.
    believes_at_once = {"topic.metadata.propagation.max.ms": "0"}
    log = await KafkaLog.open(kafka_bootstrap, topic, partitions=3, kafka_settings=believes_at_once)
    following = Following(log)
    log.append(0, b"x", never)
    await following.seen(1)
    admin.delete_topics([topic])[topic].result()
    error, partition = await following.faulted()
    assert isinstance(error, WrongLog)
    assert "save what this node knows before it stops" in error.hint
    assert partition is None
    await log.close()


async def test_the_topic_s_own_limit_is_the_producer_s(
    log: KafkaLog, kafka_bootstrap: str, topic: str, admin: AdminClient
) -> None:
    alter(admin, topic, "max.message.bytes", "2000")
    await eventually(log, "max.message.bytes")
    smaller = await KafkaLog.open(kafka_bootstrap, topic)
    with pytest.raises(TooLarge):
        smaller.append(0, bytes(3_000), never)
    await smaller.close()


async def asked_for_ever(log: KafkaLog) -> None:
    """Ask where the log ends, again and again."""
    while True:
        await log.known_end_offsets()


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


async def test_a_topic_that_goes_while_it_is_asked_about_is_reported_as_gone(
    log: KafkaLog, topic: str, admin: AdminClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    configuration = LogTopics._configuration

    def ask_when_it_is_gone(topics: LogTopics, name: str) -> dict[str, str]:
        admin.delete_topics([topic])[topic].result()
        while topics._describe(name):
            pass
        return configuration(topics, name)

    monkeypatch.setattr(LogTopics, "_configuration", ask_when_it_is_gone)
    [gone] = await log.check_settings()
    assert (gone.found, gone.refuses_writes) == ("no topic", True)
