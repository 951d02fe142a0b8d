"""What a node tells of itself to whoever asks whether it is well."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.memory_log import MemoryStore
from tests.runtime.agreeing import flip_payload, foreign_record, look
from tests.server.auth.authority import DAY, Authority
from tests.server.rest import ORDERS, RestNode, problem_in, rest_node
from tests.server.unreadable import DAMAGED, NEWER, with_topic
from tests.snapshot.making import COMMIT, commit_to, compacted_further, refused_at
from topicfold.errors import ClusterUnavailable, LogUnavailable, OperatorNeeded, SnapshotDamaged
from topicfold.log.port import LogDenied, SettingProblem
from topicfold.runtime import agreement
from topicfold.runtime.examiner import Conclusion
from topicfold.runtime.scrubber import ScrubReport
from topicfold.runtime.snapshots import MAX_ASKED
from topicfold.server import doctor
from topicfold.server.health import LEAVING
from topicfold.server.symptoms import Symptoms
from topicfold.settings import Settings
from topicfold.snapshot.commits import MANIFESTS, Commit, DataFile, commit_path, put_commit

DOCTOR = "/api/v1/doctor"
PARTITION = 3
LOG = Path("topicfold.db").absolute()


@pytest.fixture(autouse=True)
def looks_when_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nodes compare when a test says so."""
    monkeypatch.setattr(agreement, "LOOK_EVERY_SECONDS", 3_600.0)


def own_commit(rest: RestNode, **fields: Any) -> Commit:
    """Return a commit of the node's log."""
    identity = rest.node.engine.identity
    return commit_to((0,) * identity.partitions, incarnation=identity.incarnation.hex(), **fields)


def problems(diagnosis: dict[str, Any]) -> list[str]:
    """Return what is wrong, each with what to do."""
    assert diagnosis["healthy"] is (not diagnosis["problems"])
    return [f"{each['what']} -> {each['next']}" for each in diagnosis["problems"]]


async def test_a_node_that_is_well_says_how_far_it_is_and_nothing_wrong(orders: RestNode) -> None:
    found = await orders.get(DOCTOR)
    assert problems(found) == []
    assert found["log"] | {"incarnation": ""} == {"incarnation": "", "reachable": True, "wrongSettings": []}
    state = orders.node.engine.states[PARTITION]
    assert found["partitions"][PARTITION] == {
        "partition": PARTITION, "ready": True, "reason": "", "position": state.position,
        "digest": state.digest().hex(), "topics": 1, "undecodableTopics": 0, "compared": None, "comparisons": 0,
        "differences": {}, "examined": None,
    }  # fmt: skip
    assert (found["scrub"], found["snapshot"], found["warnings"]) == (None, None, [])


async def test_a_node_that_is_accused_wrongly_names_the_accuser_and_whom_to_ask(orders: RestNode) -> None:
    end = len(orders.node.log.store.entries[PARTITION])
    orders.node.log.store.append(PARTITION, foreign_record(end, bytes(16), "http://node2:8080", PARTITION))
    await look(orders.node)
    found = await orders.get(DOCTOR)
    assert problems(found) == [
        f"node http://node2:8080 has another digest of partition 3 at {end}; a refold shows that this node is right -> "
        "topicfold doctor --url http://node2:8080 asks that node"
    ]
    told = found["partitions"][PARTITION]
    assert told["compared"] | {"at": ""} == {"position": end, "node": "http://node2:8080", "equal": False, "at": ""}
    assert (told["differences"], told["examined"]) == ({"http://node2:8080": 1}, "memory_right")
    assert found["partitions"][PARTITION]["ready"]
    metrics = (await orders.send("GET", "/metrics")).text
    for result, count in (("equal", 0.0), ("different", 1.0)):
        assert f'topicfold_digests_compared_total{{result="{result}"}} {count}' in metrics
    assert 'topicfold_partitions_examined_total{finding="memory_right"} 1.0' in metrics


async def test_a_node_that_could_not_fold_again_does_not_say_that_it_is_right(orders: RestNode) -> None:
    end = len(orders.node.log.store.entries[PARTITION])
    orders.node.log.store.append(PARTITION, foreign_record(end, bytes(16), "two", PARTITION))
    await look(orders.node)
    last = orders.node.engine.examiner.last
    last[PARTITION] = last[PARTITION][0], Conclusion.NOT_EXAMINED
    (problem,) = problems(await orders.get(DOCTOR))
    assert "this node could not determine which is right" in problem


async def test_what_the_log_says_to_changes_that_it_does_not_take_is_told(orders: RestNode) -> None:
    orders.node.engine.freshness.on_refused(PARTITION, LogUnavailable("Kafka refuses: not you", hint="Allow Write."))
    assert problems(await orders.get(DOCTOR)) == [
        "changes cannot be written to the log: Kafka refuses: not you -> Allow Write."
    ]


async def test_who_agrees_again_is_no_problem_any_more(orders: RestNode) -> None:
    state = orders.node.engine.states[PARTITION]
    for digest in (bytes(16), state.digest()):
        orders.node.log.store.append(PARTITION, foreign_record(state.position, digest, "two", PARTITION))
        await look(orders.node)
    found = await orders.get(DOCTOR)
    assert problems(found) == []
    assert found["partitions"][PARTITION]["differences"] == {"two": 1}


async def test_a_difference_is_a_problem_for_a_day(orders: RestNode, monkeypatch: pytest.MonkeyPatch) -> None:
    end = len(orders.node.log.store.entries[PARTITION])
    orders.node.log.store.append(PARTITION, foreign_record(end, bytes(16), "two", PARTITION))
    await look(orders.node)
    assert len(problems(await orders.get(DOCTOR))) == 1
    monkeypatch.setattr("topicfold.server.symptoms.PROBLEM_FOR_MS", -1)
    assert problems(await orders.get(DOCTOR)) == []


async def test_no_difference_is_told_of_a_partition_that_has_stopped(orders: RestNode) -> None:
    end = len(orders.node.log.store.entries[PARTITION])
    orders.node.log.store.append(PARTITION, foreign_record(end, bytes(16), "two", PARTITION))
    await look(orders.node)
    orders.node.engine.reader.stop(OperatorNeeded("it broke"), PARTITION)
    (problem,) = problems(await orders.get(DOCTOR))
    assert problem.startswith("partition 3 has stopped: it broke")


@pytest.fixture
async def spoilt(orders: RestNode) -> AsyncIterator[RestNode]:
    """A node that found its memory wrong where `orders` is."""
    flip_payload(orders.node)
    await orders.node.engine.scrubber.scrub()
    await orders.node.engine.examiner.idle()
    yield orders
    flip_payload(orders.node, b"pax", b"pay")


async def test_memory_that_is_wrong_makes_the_node_not_ready_with_the_offset(spoilt: RestNode) -> None:
    position = spoilt.node.engine.states[PARTITION].position
    answer = await spoilt.send("GET", "/readyz")
    assert problem_in(answer.status_code, answer.headers, answer.content) == (503, "not_ready")
    assert f"does not agree with the log up to offset {position}: what is stored of" in answer.json()["reason"]
    assert await spoilt.problem("GET", "/api/v1/topics/public/default/orders") == (503, "not_ready")
    found = await spoilt.get(DOCTOR)
    assert "Restart this node" in problems(found)[0]
    assert [each["partition"] for each in found["partitions"] if not each["ready"]] == [PARTITION]
    assert (found["scrub"]["topics"], found["scrub"]["found"]) == (1, 1)
    assert found["partitions"][PARTITION]["examined"] == "memory_wrong"
    assert "topicfold_scrub_found_total 1.0" in (await spoilt.send("GET", "/metrics")).text


async def test_whatever_else_is_wrong_is_told_with_what_to_do(orders: RestNode) -> None:
    engine = orders.node.engine
    engine.freshness.problems = (SettingProblem("cleanup.policy", "compact", "delete", True, "kafka-configs --alter"),)
    engine.freshness.on_unavailable(LogUnavailable("the log cannot be reached: no answer"))
    engine.freshness.silent = frozenset({1, 2})
    engine.reader.stop(OperatorNeeded("it broke"), 5)
    engine.states[PARTITION].topics["public/default"].undecodable.add(0)
    told = "\n".join(problems(await orders.get(DOCTOR)))
    engine.states[PARTITION].topics["public/default"].undecodable.clear()
    assert "the log cannot be reached: no answer -> see whether topicfold.db is there" in told
    assert "each of partitions 1-2 of the log cannot be reached, while others can -> check that the brokers" in told
    assert "that lead them are running and let this node in" in told
    assert "the log's cleanup.policy is compact, it must be delete -> kafka-configs --alter" in told
    assert "partition 5 has stopped: it broke -> restart this node" in told
    assert "1 topic of public/default cannot be read, such as persistent://public/default/orders" in told


@pytest.mark.parametrize(("log", "is_told"), [({"kafka_bootstrap": "b1:9092"}, True), ({}, False)])
async def test_that_the_clock_was_set_back_is_a_warning_where_kafka_s_client_waits_by_it(
    store: MemoryStore, log: dict[str, str], is_told: bool
) -> None:
    async with rest_node(store, **log) as node:
        node.node.engine.clock_set_back_seconds = 3_600.4
        found = await node.get(DOCTOR)
    assert problems(found) == []
    told = [each["what"] for each in found["warnings"] if "was set back by 3600 s" in each["what"]]
    assert len(told) == is_told


async def test_what_the_last_check_of_memory_found_is_a_problem_unless_a_partition_has_stopped_for_it(
    orders: RestNode,
) -> None:
    engine = orders.node.engine
    for found, told in ((0, ""), (1, "1 thing wrong: a bit"), (2, "2 things wrong: a bit; a list")):
        engine.scrubber.report = ScrubReport(0, 1, found, ("a bit", "a list")[:found])
        expected = f"the last check of memory found {told} -> restart this node: it then folds everything again"
        assert problems(await orders.get(DOCTOR)) == ([expected] if found else [])
    engine.reader.stop(OperatorNeeded("it broke"), 5)
    (problem,) = problems(await orders.get(DOCTOR))
    assert problem.startswith("partition 5 has stopped: it broke")


async def test_a_node_that_leaves_says_that_and_of_no_partition_that_it_is_not_ready(orders: RestNode) -> None:
    orders.app.node.leaving.set()
    assert problems(await orders.get(DOCTOR)) == [f"{LEAVING} -> ask another node, or start it again"]


@pytest.mark.parametrize(("how", "told"), [(DAMAGED, "it is damaged: "), (NEWER, "a newer node than this can read it")])
async def test_a_topic_that_cannot_be_read_is_told_of_with_what_makes_it_good(
    orders: RestNode, store: MemoryStore, how: dict[str, Any], told: str
) -> None:
    rest = await with_topic(orders, store, how)
    (problem,) = problems(await rest.get(DOCTOR))
    assert told in problem
    making = "topicfold topics create persistent://public/default/orders creates it again"
    assert (making in problem) is (how is DAMAGED)
    await rest.send("PUT", ORDERS)
    assert bool(problems(await rest.get(DOCTOR))) is (how is NEWER)


async def test_the_command_that_makes_a_snapshot_can_be_typed_in_any_directory(
    store: MemoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with rest_node(store, snapshot=Path("snap")) as rest:
        (problem,) = problems(await rest.get(DOCTOR))
        monkeypatch.chdir("/")
    command = f"topicfold compact --once --log {tmp_path / 'topicfold.db'} --snapshot {tmp_path / 'snap'}"
    assert problem.endswith(f" -> {command}")


async def test_partitions_that_are_not_ready_for_the_same_reason_are_told_together(
    orders: RestNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    ages = {2: 0.0, 5: 40.0}
    monkeypatch.setattr(orders.node.engine.freshness, "age_seconds", lambda partition: ages.get(partition, 19.4))
    assert [problem.partition(" -> ")[0] for problem in problems(await orders.get(DOCTOR))] == [
        "each of partitions 0-1, 3-4, 6-7 may be 19 s old, more than 10 s",
        "partition 5 may be 40 s old, more than 10 s",
    ]


async def test_a_node_whose_log_was_trimmed_is_warned_that_it_cannot_start_again(orders: RestNode) -> None:
    await orders.node.engine.log.delete_before(PARTITION, 2)
    (warning,) = (await orders.get(DOCTOR))["warnings"]
    assert "no snapshot is configured: this node cannot restart" in warning["what"]
    assert "--snapshot DIR" in warning["next"]
    assert warning["next"].endswith("save what this node knows before it stops (docs/recovery.md)")


async def test_damaged_records_are_a_warning_that_tells_where_they_lie(orders: RestNode) -> None:
    store = orders.node.log.store
    store.append(PARTITION, b"not ours")
    end = len(store.entries[PARTITION])
    await orders.node.caught_up()
    (told,) = (await orders.get(DOCTOR))["warnings"]
    one = f"partition 3 has a record at offset {end - 1} that is damaged or not Topicfold's, and without effect"
    assert told["what"] == one
    store.append(PARTITION, b"nor this")
    await orders.node.caught_up()
    found = await orders.get(DOCTOR)
    assert problems(found) == []
    assert found["warnings"] == [
        {
            "what": f"partition 3 has 2 records, the last at offset {end}, that are damaged or not Topicfold's, "
            "and without effect",
            "next": "check what besides Topicfold can write to the log, and the disks that it is on",
        }
    ]


async def test_nobody_is_told_to_compact_a_trimmed_log_whose_snapshot_was_lost(
    store: MemoryStore, tmp_path: Path
) -> None:
    async with rest_node(store, snapshot=tmp_path) as rest:
        await rest.node.engine.log.delete_before(PARTITION, 1)
        for put in ([], [MANIFESTS]):
            for name in put:
                (tmp_path / name).mkdir()
                commit_path(tmp_path, 1).write_bytes(b"damaged")
            (told,) = problems(await rest.get(DOCTOR))
            assert " -> restore its directory: no node can start without it, as the log was trimmed" in told


@pytest.mark.parametrize(
    "error",
    [LogDenied("Kafka denies us Describe", hint="kafka-acls"), LogUnavailable("gone", hint="Restore it.")],
)
async def test_what_would_have_the_log_answer_is_told_where_the_log_says_it(
    orders: RestNode, error: LogUnavailable
) -> None:
    orders.node.engine.freshness.on_unavailable(error)
    assert problems(await orders.get(DOCTOR))[0] == f"the log cannot be reached: {error.reason} -> {error.hint}"


async def test_what_follows_from_a_log_that_cannot_be_reached_is_not_told_beside_it(
    orders: RestNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = orders.node.engine
    monkeypatch.setattr(engine.freshness, "age_seconds", lambda partition: 40.0)
    engine.freshness.on_unavailable(LogUnavailable("the log cannot be reached: no answer"))
    upkeep = SimpleNamespace(bootstrap="broker:9092", trouble=ClusterUnavailable("no answer from Kafka"))

    def told(log_at: str) -> list[str]:
        node: Any = SimpleNamespace(
            engine=engine, leaving=asyncio.Event(), certificate_ends={}, upkeep=upkeep,
            settings=Settings(kafka_bootstrap=log_at),
        )  # fmt: skip
        return [problem.what for problem in Symptoms(node).problems(())]

    assert told("broker:9092") == ["the log cannot be reached: no answer"]
    assert told("another:9092") == ["the log cannot be reached: no answer", "no answer from Kafka"]


async def test_a_setting_that_cannot_be_better_here_is_a_warning_and_the_node_is_well(orders: RestNode) -> None:
    few = SettingProblem("replication.factor", "1", "3", False, "add replicas", is_advice=True)
    orders.node.engine.freshness.problems = (few,)
    found = await orders.get(DOCTOR)
    assert (problems(found), found["log"]["wrongSettings"]) == ([], ["replication.factor"])
    warning = {"what": "the log's replication.factor is 1, it should be 3", "next": "add replicas"}
    assert found["warnings"] == [warning]


async def test_a_disk_without_room_is_a_problem_though_writes_are_tried(orders: RestNode) -> None:
    full = SettingProblem("disk", "full", "one with room", False, "Make some.")
    orders.node.engine.freshness.problems = (full,)
    found = await orders.get(DOCTOR)
    assert problems(found) == ["the log's disk is full, it must be one with room -> Make some."]
    assert found["warnings"] == []


async def test_the_snapshot_is_told_of_with_its_age_or_that_there_is_none(store: MemoryStore, tmp_path: Path) -> None:
    async with rest_node(store, snapshot=tmp_path) as rest:
        found = await rest.get(DOCTOR)
        assert found["snapshot"] == {"path": str(tmp_path), "sequence": None, "ageSeconds": None}
        assert problems(found) == [
            f"there is no commit in the snapshot {tmp_path} -> "
            f"topicfold compact --once --log {LOG} --snapshot {tmp_path}"
        ]
        put_commit(tmp_path, own_commit(rest, sequence=7, time_ms=rest.node.engine.options.clock_ms() - 60_000))
        found = await rest.get(DOCTOR)
        assert (found["snapshot"]["sequence"], problems(found)) == (7, [])
        assert 60 <= found["snapshot"]["ageSeconds"] < 90


async def test_a_snapshot_that_has_lacked_something_for_days_is_a_warning(store: MemoryStore, tmp_path: Path) -> None:
    async with rest_node(store, snapshot=tmp_path) as rest:
        engine = rest.node.engine
        for sequence, days in ((7, 3), (8, 1)):
            made_ms = engine.options.clock_ms() - days * 86_400_000
            put_commit(tmp_path, own_commit(rest, sequence=sequence, time_ms=made_ms))
            engine.snapshot_age.look(tmp_path)
            found = await rest.get(DOCTOR)
            told = [each["what"] for each in found["warnings"]]
            assert told == (["the snapshot has been behind the log for 3 days"] if days == 3 else [])
            assert found["healthy"]


@pytest.mark.parametrize(
    ("settings", "log"),
    [
        ({"log_file": Path("/var/my log.db")}, "--log '/var/my log.db'"),
        ({"kafka_bootstrap": "b:9092", "kafka_topic": "labels"}, "--kafka b:9092 --kafka-topic labels"),
    ],
)
async def test_the_command_that_makes_a_snapshot_is_about_the_log_of_the_node(
    store: MemoryStore, tmp_path: Path, settings: dict[str, Any], log: str
) -> None:
    snapshot = tmp_path / "a b"
    snapshot.mkdir()
    async with rest_node(store, snapshot=snapshot, **settings) as rest:
        (problem,) = problems(await rest.get(DOCTOR))
        assert problem.partition(" -> ")[2] == f"topicfold compact --once {log} --snapshot '{snapshot}'"


async def test_a_topic_that_cannot_be_read_is_named_so_that_the_command_is_one(rest: RestNode) -> None:
    await rest.done("PUT", "/api/v1/topics/public/default/%24%28reboot%29")
    rest.node.engine.states[PARTITION].topics["public/default"].undecodable.add(0)
    (problem,) = problems(await rest.get(DOCTOR))
    rest.node.engine.states[PARTITION].topics["public/default"].undecodable.clear()
    assert "-> topicfold history 'persistent://public/default/$(reboot)' tells who wrote it" in problem


async def test_a_newest_commit_that_is_damaged_is_a_problem_though_one_before_is_whole(
    store: MemoryStore, tmp_path: Path
) -> None:
    async with rest_node(store, snapshot=tmp_path) as rest:
        for sequence in (7, 8):
            put_commit(tmp_path, own_commit(rest, sequence=sequence))
        path = tmp_path / MANIFESTS / "000000000008.json"
        path.write_bytes(b"{}")
        found = await rest.get(DOCTOR)
        assert found["snapshot"]["sequence"] == 7
        (problem,) = problems(found)
        assert problem.startswith(f"a commit of the snapshot cannot be read, the newest that can be is 7: {path} is")


async def test_a_snapshot_of_another_log_is_a_problem(store: MemoryStore, tmp_path: Path) -> None:
    async with rest_node(store, snapshot=tmp_path) as rest:
        put_commit(tmp_path, COMMIT)
        (problem,) = problems(await rest.get(DOCTOR))
        assert problem.startswith(f"the snapshot is of the log {COMMIT.incarnation} with 2 partitions")


async def test_a_table_of_history_that_cannot_be_read_is_a_problem_until_it_can(
    store: MemoryStore, tmp_path: Path
) -> None:
    async with rest_node(store, snapshot=tmp_path) as rest:
        engine = rest.node.engine
        await compacted_further(engine.log, tmp_path)
        path = next((tmp_path / "history").glob("*.parquet"))
        whole = path.read_bytes()
        for damaged in (whole[:9] + b"~" + whole[10:], whole[:-1], b""):
            path.write_bytes(damaged)
            if len(damaged) == len(whole):
                assert engine.snapshots.archive is not None
                with pytest.raises(SnapshotDamaged):
                    engine.snapshots.archive.first_time_ms(0)
            (problem,) = problems(await rest.get(DOCTOR))
            assert f"of the past, only what the log holds is answered: the table {tmp_path / 'history'}" in problem
            assert path.name in problem
            assert f"remove it, where it is there, and type topicfold compact --once --log {LOG}" in problem
            path.write_bytes(whole)
            assert problems(await rest.get(DOCTOR)) == []


async def test_a_newest_commit_of_which_a_file_was_lost_is_a_problem_before_a_node_is_to_start_from_it(
    store: MemoryStore, tmp_path: Path
) -> None:
    async with rest_node(store, snapshot=tmp_path) as rest:
        put_commit(tmp_path, own_commit(rest, sequence=7))
        lost = DataFile("topics/000000000008-a.parquet", 5, 1, "")
        put_commit(tmp_path, own_commit(rest, sequence=8, files=(lost,)))
        (tmp_path / "topics").mkdir()
        for content, why in ((None, "cannot be read: No such file or directory"), (b"four", "its length is another")):
            if content:
                (tmp_path / lost.path).write_bytes(content)
            (problem,) = problems(await rest.get(DOCTOR))
            assert "the newest that can be is 7: " in problem
            assert why in problem
        (tmp_path / lost.path).write_bytes(b"whole")
        assert problems(await rest.get(DOCTOR)) == []


async def test_a_snapshot_of_which_no_commit_can_be_read_is_not_said_to_have_none(
    store: MemoryStore, tmp_path: Path
) -> None:
    async with rest_node(store, snapshot=tmp_path) as rest:
        put_commit(tmp_path, COMMIT)
        path = commit_path(tmp_path, COMMIT.sequence)
        path.write_bytes(b"{}")
        (problem,) = problems(await rest.get(DOCTOR))
        assert problem.startswith(f"no commit of the snapshot can be read: {path} is damaged")
        assert "restore its directory" in problem


async def test_a_snapshot_that_may_not_be_read_is_a_problem(
    store: MemoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with rest_node(store, snapshot=tmp_path) as rest:
        monkeypatch.setattr(os, "listdir", refused_at(tmp_path / MANIFESTS))
        found = await rest.get(DOCTOR)
        assert problems(found) == [
            f"the snapshot {tmp_path} cannot be read: {tmp_path / MANIFESTS}: Permission denied -> "
            "Name a readable directory, or change its owner or mode."
        ]


async def test_a_snapshot_whose_file_system_does_not_answer_is_a_problem_and_holds_few_threads(
    store: MemoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers, listed = threading.Event(), os.listdir

    def listed_once_it_answers(path: Path) -> list[str]:
        assert answers.wait(60)
        return listed(path)

    async with rest_node(store, snapshot=tmp_path) as rest:
        with monkeypatch.context() as patch:
            patch.setattr(os, "listdir", listed_once_it_answers)
            patch.setattr(doctor, "SNAPSHOT_SECONDS", 0.01)
            for _ in range(2 * MAX_ASKED):
                (problem,) = problems(await rest.get(DOCTOR))
                assert problem.startswith(f"the snapshot {tmp_path} does not answer within 0 s -> See whether the file")
            assert [each.name for each in threading.enumerate()].count("topicfold-snapshot") == MAX_ASKED
            answers.set()
        (problem,) = problems(await rest.get(DOCTOR))
        assert problem.startswith("there is no commit")


async def test_a_certificate_is_warned_of_a_week_before_it_expires_and_is_a_problem_from_then_on(
    store: MemoryStore, tmp_path: Path
) -> None:
    certificate, key = Authority(tmp_path).sign("localhost", ends=30 * DAY)
    now = datetime.now(UTC)
    for days, told in ((22, ("", "")), (24, ("", "expires")), (31, ("expired", ""))):
        clock = int((now + days * DAY).timestamp() * 1000)
        settings = {"tls_cert_file": certificate, "tls_key_file": key}
        async with rest_node(store, clock_ms=lambda clock=clock: clock, **settings) as node:
            found = await node.get(DOCTOR)
        for how, lines in zip(told, (found["problems"], found["warnings"]), strict=True):
            said = [each["what"] for each in lines if "certificate" in each["what"]]
            begin = f"the certificate that this node has read from tls_cert_file {how} at {now + 30 * DAY:%Y-%m-%d}T"
            assert [each[: len(begin)] for each in said] == ([begin] if how else [])
