"""How old the state may be, and when nothing may be written."""

from __future__ import annotations

import asyncio
import math
from dataclasses import replace

import pytest
from structlog.testing import capture_logs

from tests.builders import empty_state
from tests.memory_log import MemoryStore
from tests.runtime.nodes import WilfulLog, turns
from topicfold.errors import LogUnavailable, NotReady, TopicfoldError, UnsafeLog, Wait
from topicfold.log.port import LogDenied, SettingProblem
from topicfold.runtime.engine import Engine
from topicfold.runtime.freshness import Freshness
from topicfold.state.fold import PartitionState

UNSAFE = SettingProblem("retention.ms", "604800000", "-1", True, "kafka-configs --alter ...")
COMPACTED = SettingProblem("cleanup.policy", "compact", "delete", True, "kafka-configs --alter --add-config ...")
DENIED = SettingProblem("right to Write", "denied to this node", "allowed", False, "kafka-acls", denies_writes=True)
FEW = SettingProblem(
    "number of replicas in sync", "1 (partition 0)", "2", False, "start brokers", denies_writes=True, partitions=[0]
)
WEAK = SettingProblem("replication.factor", "1", "3", False, "add replicas")


@pytest.fixture
def log(store: MemoryStore) -> WilfulLog:
    """A log whose settings can be made wrong."""
    return WilfulLog(store)


@pytest.fixture
def state() -> PartitionState:
    """The state of the only partition."""
    return empty_state()


@pytest.fixture
async def freshness(log: WilfulLog, state: PartitionState, monkeypatch: pytest.MonkeyPatch) -> Freshness:
    """The freshness of a node, whose settings are looked at whenever they are asked for."""
    for every in ("SETTINGS_EVERY_SECONDS", "PROBLEMS_EVERY_SECONDS"):
        monkeypatch.setattr(f"topicfold.runtime.freshness.{every}", -1.0)
    return Freshness(log, {0: state}, {})


def ago(seconds: float) -> float:
    """Return a time of the loop's clock."""
    return asyncio.get_running_loop().time() - seconds


async def test_a_state_that_never_caught_up_is_infinitely_old(freshness: Freshness) -> None:
    assert freshness.age_seconds(0) == math.inf
    freshness.on_ends({0: 5}, ago(0))
    assert freshness.age_seconds(0) == math.inf


async def test_the_age_counts_from_when_the_end_was_asked_for_not_from_the_answer(freshness: Freshness) -> None:
    freshness.on_ends({0: 0}, ago(30))
    assert 30 <= freshness.age_seconds(0) < 31


async def test_the_age_grows_while_the_log_is_silent(freshness: Freshness) -> None:
    freshness.on_ends({0: 0}, ago(0))
    first = freshness.age_seconds(0)
    await asyncio.sleep(0.01)
    assert freshness.age_seconds(0) >= first + 0.01


async def test_an_end_that_is_folded_later_confirms_the_moment_it_was_asked_for(
    freshness: Freshness, state: PartitionState
) -> None:
    freshness.on_ends({0: 1}, ago(20))
    freshness.on_ends({0: 9}, ago(10))
    state.apply(0, None)
    assert 20 <= freshness.age_seconds(0) < 21


async def test_an_end_that_the_log_takes_back_is_not_waited_for(freshness: Freshness, state: PartitionState) -> None:
    state.apply(0, None)
    freshness.on_ends({0: 9}, ago(20))
    freshness.on_ends({0: 1}, ago(10))
    assert 10 <= freshness.age_seconds(0) < 11


async def test_a_late_answer_does_not_make_the_state_older(freshness: Freshness) -> None:
    freshness.on_ends({0: 0}, ago(1))
    freshness.on_ends({0: 0}, ago(60))
    assert freshness.age_seconds(0) < 2


async def test_a_log_that_cannot_be_reached_takes_no_writes_until_it_answers(freshness: Freshness) -> None:
    freshness.on_unavailable(LogUnavailable("gone"))
    assert isinstance(freshness.refuses_writes(0), LogUnavailable)
    freshness.on_ends({0: 0}, ago(0))
    assert freshness.refuses_writes(0) is None


async def test_a_partition_that_cannot_be_reached_takes_no_writes_while_others_do(log: WilfulLog) -> None:
    freshness = Freshness(log, {0: empty_state(), 1: empty_state()}, {})
    freshness.on_ends({0: 0}, ago(0))
    refusal = freshness.refuses_writes(1)
    assert isinstance(refusal, LogUnavailable)
    assert refusal.reason == "partition 1 of the log cannot be reached; the change is not applied"
    assert freshness.refuses_writes(0) is None
    assert (freshness.age_seconds(0) < 1, freshness.age_seconds(1)) == (True, math.inf)
    freshness.on_ends({0: 0, 1: 0}, ago(0))
    assert freshness.refuses_writes(1) is None


async def test_of_a_partition_that_cannot_be_reached_it_is_told_once_and_once_that_it_can_be_again(
    log: WilfulLog,
) -> None:
    freshness = Freshness(log, {each: empty_state() for each in range(3)}, {})
    with capture_logs() as lines:
        for reached in ([0, 1], [0, 1], [0], [0, 1, 2], [0, 1, 2]):
            freshness.on_ends(dict.fromkeys(reached, 0), ago(0))
    told = [(line["event"], line.get("partitions")) for line in lines]
    assert told == [
        ("log_partitions_unavailable", [2]),
        ("log_partitions_unavailable", [1, 2]),
        ("log_reachable", None),
    ]


async def test_no_partition_is_apart_from_others_in_a_log_that_cannot_be_reached_at_all(log: WilfulLog) -> None:
    freshness = Freshness(log, {0: empty_state(), 1: empty_state()}, {})
    freshness.on_ends({0: 0}, ago(0))
    freshness.on_unavailable(LogUnavailable("gone"))
    assert not freshness.silent
    refusal = freshness.refuses_writes(1)
    assert isinstance(refusal, LogUnavailable)
    assert refusal.reason == "the log cannot be reached; the change is not applied"


BOTH = "cleanup.policy is compact, it must be delete; retention.ms is 604800000, it must be -1"
REPAIRS = f"{COMPACTED.repair}; {UNSAFE.repair}"


async def test_all_unsafe_settings_refuse_writes_and_say_the_repair(freshness: Freshness, log: WilfulLog) -> None:
    log.problems = (COMPACTED, WEAK, UNSAFE)
    await freshness.check_settings()
    refusal = freshness.refuses_writes(0)
    assert isinstance(refusal, Wait)
    assert (refusal.reason, refusal.hint) == (f"the log is unsafe to write to: {BOTH}", REPAIRS)


async def test_a_log_that_may_be_read_only_takes_no_writes_until_it_may_be_written_and_says_what_allows_that(
    freshness: Freshness, log: WilfulLog
) -> None:
    freshness.on_refused(0, LogDenied("not you", hint="kafka-acls"))
    log.problems = (WEAK, DENIED)
    await freshness.check_settings()
    refusal = freshness.refuses_writes(0)
    assert isinstance(refusal, LogUnavailable)
    denial = "the log's right to Write is denied to this node; the change is not applied"
    assert (refusal.reason, refusal.hint) == (denial, "kafka-acls")
    assert freshness.refusal is not None
    log.problems = (WEAK,)
    await freshness.check_settings()
    assert freshness.refuses_writes(0) is None
    assert freshness.refusal is None


async def test_a_partition_that_took_a_change_since_has_refused_none_whatever_others_do(freshness: Freshness) -> None:
    for partition, reason in enumerate(("it had no leader", "too few replicas")):
        freshness.on_refused(partition, LogUnavailable(reason))
    freshness.on_taken(1)
    assert freshness.refusal is not None
    assert freshness.refusal.reason == "it had no leader"
    freshness.on_taken(0)
    assert freshness.refusal is None


async def test_partitions_with_too_few_replicas_in_sync_take_no_changes_and_the_others_do(
    freshness: Freshness, log: WilfulLog
) -> None:
    for partition in (0, 1):
        freshness.on_refused(partition, LogUnavailable("timed out"))
    log.problems = (FEW,)
    await freshness.check_settings()
    refusal = freshness.refuses_writes(0)
    assert isinstance(refusal, LogUnavailable)
    few = "the log's number of replicas in sync is 1 (partition 0); the change is not applied"
    assert (refusal.reason, refusal.hint) == (few, "start brokers")
    assert freshness.refuses_writes(1) is None
    log.problems = ()
    await freshness.check_settings()
    assert freshness.refuses_writes(0) is None
    freshness.on_taken(1)
    assert freshness.refusal is None


@pytest.mark.parametrize("kind", [LogDenied, LogUnavailable])
async def test_what_would_have_the_log_answer_is_said_to_who_writes(
    freshness: Freshness, kind: type[LogUnavailable]
) -> None:
    freshness.on_unavailable(kind("not you", hint="kafka-acls"))
    refusal = freshness.refuses_writes(0)
    assert isinstance(refusal, LogUnavailable)
    assert (refusal.reason, refusal.hint) == ("not you; the change is not applied", "kafka-acls")
    freshness.on_unavailable(LogUnavailable("gone"))
    refusal = freshness.refuses_writes(0)
    assert refusal is not None
    assert refusal.hint != "kafka-acls"


async def test_settings_that_are_only_weak_refuse_nothing(freshness: Freshness, log: WilfulLog) -> None:
    log.problems = (WEAK,)
    await freshness.check_settings()
    assert (freshness.refuses_writes(0), freshness.problems) == (None, (WEAK,))


async def test_repaired_settings_let_writes_through_again(freshness: Freshness, log: WilfulLog) -> None:
    log.problems = (UNSAFE,)
    await freshness.check_settings()
    log.problems = ()
    await freshness.check_settings()
    assert freshness.refuses_writes(0) is None


async def some_seconds_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let pass what lies between two looks at the settings where something is wrong, and not where all is well."""
    monkeypatch.setattr("topicfold.runtime.freshness.PROBLEMS_EVERY_SECONDS", 0.01)
    await asyncio.sleep(0.02)


async def test_settings_are_looked_at_once_a_minute(
    log: WilfulLog, state: PartitionState, monkeypatch: pytest.MonkeyPatch
) -> None:
    freshness = Freshness(log, {0: state}, {})
    await freshness.check_settings()
    log.problems = (UNSAFE,)
    await some_seconds_later(monkeypatch)
    freshness.on_ends({0: 0}, ago(0))
    await freshness.check_settings()
    assert freshness.problems == ()


async def test_settings_are_looked_at_once_the_log_answers_again_which_may_be_another_one(
    log: WilfulLog, state: PartitionState
) -> None:
    freshness = Freshness(log, {0: state}, {})
    freshness.on_ends({0: 0}, ago(0))
    await freshness.check_settings()
    log.problems = (UNSAFE,)
    freshness.on_unavailable(LogUnavailable("no answer"))
    freshness.on_ends({0: 0}, ago(0))
    await freshness.check_settings()
    assert freshness.problems == (UNSAFE,)


async def test_what_is_to_be_looked_at_soon_is_looked_at_again_where_a_look_had_begun_before(
    log: WilfulLog, state: PartitionState, monkeypatch: pytest.MonkeyPatch
) -> None:
    freshness = Freshness(log, {0: state}, {})
    freshness.on_ends({0: 0}, ago(0))
    found, answers = log.check_settings, asyncio.Event()

    async def found_later() -> tuple[SettingProblem, ...]:
        problems = await found()
        await answers.wait()
        return problems

    monkeypatch.setattr(log, "check_settings", found_later)
    looking = asyncio.create_task(freshness.check_settings())
    await turns()
    log.problems = (DENIED,)
    freshness.on_refused(0, LogDenied("not you", hint="kafka-acls"))
    answers.set()
    await looking
    await freshness.check_settings()
    assert freshness.problems == (DENIED,)


async def test_settings_are_looked_at_sooner_where_the_state_is_old(
    log: WilfulLog, state: PartitionState, monkeypatch: pytest.MonkeyPatch
) -> None:
    freshness = Freshness(log, {0: state}, {})
    freshness.on_ends({0: 0}, ago(0))
    await freshness.check_settings()
    log.problems = (UNSAFE,)
    await some_seconds_later(monkeypatch)
    await freshness.check_settings()
    assert freshness.problems == (UNSAFE,)


async def test_a_problem_that_was_found_is_looked_at_again_sooner_than_that(
    log: WilfulLog, state: PartitionState, monkeypatch: pytest.MonkeyPatch
) -> None:
    freshness = Freshness(log, {0: state}, {})
    log.problems = (UNSAFE,)
    await freshness.check_settings()
    log.problems = ()
    await some_seconds_later(monkeypatch)
    freshness.on_ends({0: 0}, ago(0))
    await freshness.check_settings()
    assert freshness.problems == ()


async def test_each_problem_is_told_once(freshness: Freshness, log: WilfulLog) -> None:
    with capture_logs() as lines:
        for log.problems in ((UNSAFE,), (UNSAFE,), (UNSAFE, WEAK), (UNSAFE, WEAK)):
            await freshness.check_settings()
    assert [line["setting"] for line in lines] == [UNSAFE.setting, WEAK.setting]


async def test_what_somebody_must_mend_is_an_error_and_advice_a_warning_as_the_doctor_says_too(
    freshness: Freshness, log: WilfulLog
) -> None:
    log.problems = (UNSAFE, replace(WEAK, is_advice=True))
    with capture_logs() as lines:
        await freshness.check_settings()
    assert [line["log_level"] for line in lines] == ["error", "warning"]


async def test_the_end_of_a_problem_is_told_once(freshness: Freshness, log: WilfulLog) -> None:
    worse = replace(UNSAFE, found="3600000")
    with capture_logs() as lines:
        for log.problems in ((UNSAFE, WEAK), (worse, WEAK), (WEAK,), (WEAK,)):
            await freshness.check_settings()
    ended = [(line["log_level"], line["setting"]) for line in lines if line["event"] == "log_setting_right"]
    assert ended == [("info", UNSAFE.setting)]


async def test_settings_that_cannot_be_read_leave_what_was_known(freshness: Freshness, log: WilfulLog) -> None:
    log.problems = (UNSAFE,)
    await freshness.check_settings()
    await log.close()
    log.check_settings = super(WilfulLog, log).check_settings
    await freshness.check_settings()
    assert freshness.problems == (UNSAFE,)


async def test_a_partition_that_stopped_takes_no_writes(log: WilfulLog, state: PartitionState) -> None:
    faults: dict[int, TopicfoldError] = {0: UnsafeLog("cut off", hint="restore it")}
    refusal = Freshness(log, {0: state}, faults).refuses_writes(0)
    assert isinstance(refusal, NotReady)
    assert (refusal.reason, refusal.hint) == ("partition 0 has stopped: cut off", "restore it")


async def test_a_partition_that_stopped_grows_old_although_the_log_answers(
    log: WilfulLog, state: PartitionState
) -> None:
    faults: dict[int, TopicfoldError] = {}
    freshness = Freshness(log, {0: state}, faults)
    freshness.on_ends({0: 0}, ago(100))
    faults[0] = NotReady("a gap")
    freshness.on_ends({0: 0}, ago(0))
    assert freshness.age_seconds(0) >= 100


async def test_an_engine_does_not_start_on_unsafe_settings(log: WilfulLog) -> None:
    log.problems = (COMPACTED, WEAK, UNSAFE)
    with pytest.raises(UnsafeLog) as caught:
        await Engine.start(log)
    assert (caught.value.reason, caught.value.hint) == (f"the log is unsafe to write to: {BOTH}", REPAIRS)
