"""`topicfold enforce`: which settings reach the enforcer, and how it tells. Enforcing itself has tests of its own."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import pytest

from tests.cli.conftest import Run
from topicfold.enforcement.comparing import Difference
from topicfold.enforcement.reports import Report, State
from topicfold.model.policy.resolve import Origin

ORDERS = "persistent://public/default/orders"
SET = Difference(ORDERS, "orders", "retention.ms", "604800000", "600000", Origin.TOPIC)
UNSET = Difference(ORDERS, "orders", "retention.bytes", "1048576", None, None)


class Enforcing:
    """Stands for the process; tells what it is given to tell."""

    def __init__(self) -> None:
        self.reports: Sequence[Report] = ()
        self.asked: dict[str, Any] = {}

    def once(self, settings: Any, tell: Callable[[Report], None], progress: Any, *, only_shows: bool) -> int:
        self.asked = {"settings": settings, "only_shows": only_shows}
        with progress(3) as step:
            step()
        for report in self.reports:
            tell(report)
        return 3

    def for_ever(self, settings: Any, tell: Callable[[Report], None], progress: Any, *, is_quiet: bool) -> None:
        self.asked = {"settings": settings, "for_ever": True, "is_quiet": is_quiet}
        for report in self.reports:
            tell(report)


@pytest.fixture
def enforcing(monkeypatch: pytest.MonkeyPatch) -> Enforcing:
    stand_in, module = Enforcing(), ModuleType("topicfold.enforcement.run")
    module.enforce_once, module.enforce_for_ever = stand_in.once, stand_in.for_ever  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "topicfold.enforcement.run", module)
    return stand_in


def test_it_goes_on_for_ever_unless_it_is_told_otherwise(bare_run: Run, enforcing: Enforcing) -> None:
    enforcing.reports = [Report(State.CHANGED, ORDERS, SET), Report(State.CHANGED, ORDERS, UNSET)]
    done = bare_run("enforce", "--kafka", "b:9092", "--kafka-topic", "log")
    assert enforcing.asked["for_ever"] is True
    assert enforcing.asked["settings"].kafka_topic == "log"
    times, told = zip(*(line.split(" ", 1) for line in done.out.splitlines()), strict=True)
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", time) for time in times)
    assert told == (
        f"changed {ORDERS}: retention.ms 604800000 -> 600000 (topic policy, deletes older messages)",
        f"changed {ORDERS}: retention.bytes 1048576 -> (the cluster's) (no policy any more, may delete older messages)",
    )


def test_it_may_be_told_to_be_quiet(bare_run: Run, enforcing: Enforcing) -> None:
    for words, is_quiet in ((["-q"], True), ([], False)):
        bare_run("enforce", "--kafka", "b:9092", *words)
        assert enforcing.asked["is_quiet"] is is_quiet


def test_one_look_is_a_table_and_a_sum(bare_run: Run, enforcing: Enforcing) -> None:
    enforcing.reports = [
        Report(State.SKIPPED, "persistent://public/default/zz", None, "Kafka has no topic zz"),
        Report(State.CHANGED, ORDERS, SET),
    ]
    done = bare_run("enforce", "--log", "a.db", "--cluster-bootstrap", "c:9092", "--once")
    assert done.code == 0
    assert enforcing.asked["settings"].cluster == ("c:9092", {})
    assert [line.split() for line in done.out.splitlines()] == [
        ["STATE", "TOPIC", "SETTING", "OLD", "NEW", "WHY"],
        ["skipped", "persistent://public/default/zz", "Kafka", "has", "no", "topic", "zz"],
        ["changed", ORDERS, "retention.ms", "604800000", "600000", "topic", "policy,", "deletes", "older", "messages"],
    ]
    assert "topics 3, skipped 1; settings changed 1, differing 0, failed 0\n" in done.err


@pytest.mark.parametrize(("reports", "code"), [([], 0), ([Report(State.DIFFERS, ORDERS, SET)], 1)])
def test_a_dry_run_ends_like_diff(bare_run: Run, enforcing: Enforcing, reports: list[Report], code: int) -> None:
    enforcing.reports = reports
    assert bare_run("enforce", "--kafka", "b:9092", "--dry-run").code == code
    assert enforcing.asked["only_shows"] is True


def test_of_many_topics_that_were_passed_over_a_table_names_some_and_says_how_many_more(
    bare_run: Run, enforcing: Enforcing
) -> None:
    gone = [Report(State.SKIPPED, f"persistent://public/default/z{n}", None, "gone") for n in range(1_500)]
    denied = [Report(State.FAILED, f"persistent://public/default/y{n}", None, "denied") for n in range(3)]
    enforcing.reports = [*gone, Report(State.CHANGED, ORDERS, SET), *denied]
    done = bare_run("enforce", "--kafka", "b:9092", "--once")
    states = [line.split()[0] for line in done.out.splitlines()]
    assert states == ["STATE", *["skipped"] * 11, *["failed"] * 3, "changed"]
    assert "1,490 more" in done.out.splitlines()[11]
    assert "skipped 1,500; settings changed 1, differing 0, failed 3\n" in done.err
    enforcing.reports = gone
    assert len(bare_run("enforce", "--kafka", "b:9092", "--once", "-o", "json").out.splitlines()) == 1_500


def test_a_dry_run_that_could_not_look_at_a_topic_does_not_say_that_nothing_differs(
    bare_run: Run, enforcing: Enforcing
) -> None:
    enforcing.reports = [Report(State.FAILED, ORDERS, None, "Kafka denies us DescribeConfigs on topic orders")]
    assert bare_run("enforce", "--kafka", "b:9092", "--dry-run").code == 7


def test_json_is_a_line_for_each_report(bare_run: Run, enforcing: Enforcing) -> None:
    enforcing.reports = [
        Report(State.CHANGED, ORDERS, SET),
        Report(State.CHANGED, ORDERS, UNSET),
        Report(State.SKIPPED, "persistent://public/default/zz", None, "Kafka has no topic zz"),
    ]
    done = bare_run("enforce", "--kafka", "b:9092", "--once", "-o", "json")
    assert [json.loads(line) for line in done.out.splitlines()] == [
        {"state": "changed", "topic": ORDERS, "kafkaTopic": "orders", "setting": "retention.ms", "old": "604800000",
         "new": "600000", "origin": "topic", "deletesMessages": True},
        {"state": "changed", "topic": ORDERS, "kafkaTopic": "orders", "setting": "retention.bytes", "old": "1048576",
         "new": None, "origin": None, "deletesMessages": None},
        {"state": "skipped", "topic": "persistent://public/default/zz", "reason": "Kafka has no topic zz"},
    ]  # fmt: skip


def test_a_failed_change_ends_in_7(bare_run: Run, enforcing: Enforcing) -> None:
    enforcing.reports = [Report(State.CHANGED, ORDERS, SET), Report(State.FAILED, ORDERS, UNSET, "not allowed")]
    done = bare_run("enforce", "--kafka", "b:9092", "--once")
    assert (done.code, "not allowed" in done.out) == (7, True)


def test_without_the_packages_the_command_that_installs_them_is_printed(
    bare_run: Run, enforcing: Enforcing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "topicfold.enforcement.run")
    monkeypatch.setitem(sys.modules, "uvloop", None)
    failed = bare_run("enforce", "--kafka", "b:9092")
    assert failed.code == 1
    assert "pip install 'topicfold[server,kafka]'" in failed.err
