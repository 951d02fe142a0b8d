"""Effective policies in the configuration of a real cluster's topics, through restarts of broker and enforcer."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.brokers.process import KafkaProcess
from tests.integration.enforcing import Kafka, Site, site_on
from tests.integration.node import running

pytestmark = pytest.mark.kafka

RETENTION = {"retentionTimeInMinutes": 10, "retentionSizeInMB": 20}
RETENTION_IN_KAFKA = {"retention.ms": "600000", "retention.bytes": "20971520"}
HOUR = {"retentionTimeInMinutes": 60, "retentionSizeInMB": -1}
HOUR_IN_KAFKA = {"retention.ms": "3600000", "retention.bytes": "-1"}


@pytest.fixture
def site(kafka_bootstrap: str, tmp_path: Path) -> Iterator[Site]:
    with site_on(kafka_bootstrap, tmp_path) as site:
        yield site


@contextmanager
def enforcing(site: Site, output: Path) -> Iterator[Callable[[], list[dict[str, Any]]]]:
    """Run an enforcer that goes on for ever; gives what reads its reports. It must stop politely."""
    with output.open("wb") as out, output.with_suffix(".err").open("wb") as err:
        command = [sys.executable, "-m", "topicfold", "enforce", *site.options, "-o", "json"]
        process = subprocess.Popen(command, stdout=out, stderr=err, env={**os.environ, "NO_COLOR": "1"})
        try:
            yield lambda: [json.loads(line) for line in output.read_text().splitlines()]
            assert process.poll() is None, output.with_suffix(".err").read_text()
        finally:
            process.send_signal(signal.SIGTERM)
            code = process.wait(20)
        assert code == 0


def test_policies_arrive_in_kafka_and_each_removal_uncovers_what_lay_below(site: Site, tmp_path: Path) -> None:
    topic = site.make("orders")
    with enforcing(site, tmp_path / "reports"):
        site.set("orders", "retention", RETENTION)
        site.reaches(topic, RETENTION_IN_KAFKA)
        site.set("orders", "maxMessageSize", 4096)
        site.set("orders", "compactionThreshold", 1)
        site.reaches(topic, {**RETENTION_IN_KAFKA, "max.message.bytes": "4096", "cleanup.policy": "compact,delete"})
        site.set_namespace("retention", HOUR)
        site.remove("orders", "retention")
        site.remove("orders", "maxMessageSize")
        site.remove("orders", "compactionThreshold")
        site.reaches(topic, HOUR_IN_KAFKA)
        site.remove_namespace("retention")
        site.reaches(topic, {})


def test_a_removal_while_no_enforcer_ran_is_found_in_the_history_and_what_is_foreign_stays(site: Site) -> None:
    topic = site.make("orders")
    site.set("orders", "retention", RETENTION)
    assert site.enforce("--once").returncode == 0
    site.kafka.set(topic, "max.message.bytes", "777")
    site.remove("orders", "retention")
    site.set("orders", "retention", HOUR)
    site.remove("orders", "retention")
    done = site.enforce("--once", "-o", "json")
    assert done.returncode == 0, done.stderr
    reports = map(json.loads, done.stdout.splitlines())
    assert {(each["setting"], each["new"]) for each in reports} == {("retention.ms", None), ("retention.bytes", None)}
    assert site.kafka.own(topic) == {"max.message.bytes": "777"}


def test_an_override_by_hand_that_equals_a_policy_of_before_stays(site: Site) -> None:
    topic = site.make("orders")
    site.set("orders", "maxMessageSize", 777)
    assert site.enforce("--once").returncode == 0
    site.remove("orders", "maxMessageSize")
    assert site.enforce("--once").returncode == 0
    assert site.kafka.own(topic) == {}
    site.kafka.set(topic, "max.message.bytes", "777")
    assert site.enforce("--once").returncode == 0
    assert site.kafka.own(topic) == {"max.message.bytes": "777"}


def test_a_default_that_went_while_no_enforcer_ran_is_uncovered_by_the_next(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = site.make("orders")
    monkeypatch.setenv("TOPICFOLD_POLICY_DEFAULTS", '{"maxMessageSize": 777}')
    assert site.enforce("--once").returncode == 0
    assert site.kafka.own(topic) == {"max.message.bytes": "777"}
    monkeypatch.delenv("TOPICFOLD_POLICY_DEFAULTS")
    done = site.enforce("--once", "-o", "json")
    assert [json.loads(line)["old"] for line in done.stdout.splitlines()] == ["777"]
    assert site.kafka.own(topic) == {}


def test_a_compacted_topic_is_trimmed_only_while_a_retention_takes_effect(site: Site) -> None:
    topic = site.make("orders")
    site.set("orders", "compactionThreshold", 1)
    site.enforce("--once")
    assert site.kafka.own(topic) == {"cleanup.policy": "compact"}
    site.set_namespace("retention", HOUR)
    done = site.enforce("--once", "-o", "json")
    told = {each["setting"]: (each["old"], each["new"]) for each in map(json.loads, done.stdout.splitlines())}
    assert told["cleanup.policy"] == ("compact", "compact,delete")
    assert site.kafka.own(topic) == {"retention.ms": "3600000", "cleanup.policy": "compact,delete"}
    assert site.enforce("--once", "-o", "json").stdout == ""


def test_a_dry_run_shows_old_and_new_ends_with_1_and_changes_nothing(site: Site) -> None:
    topic = site.make("orders")
    assert site.enforce("--dry-run").returncode == 0
    site.set("orders", "retention", RETENTION)
    done = site.enforce("--dry-run")
    assert done.returncode == 1
    lines = [line.split() for line in done.stdout.splitlines()]
    full = f"persistent://{site.namespace}/orders"
    why = ["topic", "policy,", "deletes", "older", "messages"]
    assert ["differs", full, "retention.ms", "604800000", "600000", *why] in lines
    assert site.kafka.own(topic) == {}
    assert site.enforce("--once").returncode == 0
    assert site.enforce("--dry-run").returncode == 0


def test_what_changes_while_the_broker_is_away_arrives_when_it_is_back(
    own_broker: KafkaProcess, tmp_path: Path
) -> None:
    with site_on(own_broker.bootstrap, tmp_path) as site:
        topic = site.make("orders")
        with enforcing(site, tmp_path / "reports") as reports:
            site.set("orders", "retention", RETENTION)
            site.reaches(topic, RETENTION_IN_KAFKA)
            own_broker.kill()
            site.set("orders", "maxMessageSize", 2048)
            site.remove("orders", "retention")
            own_broker.restart()
            site.reaches(topic, {"max.message.bytes": "2048"})
            # It tells of a change once that is noted, a moment after Kafka has it.
            deadline = time.monotonic() + 60
            while not reports() and time.monotonic() < deadline:
                time.sleep(0.05)
            assert reports()[-1]["state"] == "changed"


def test_a_log_on_the_same_cluster_is_read_and_never_touched(kafka_bootstrap: str, tmp_path: Path) -> None:
    log_topic = f"log-{uuid.uuid4().hex}"
    with running(["--kafka", kafka_bootstrap, "--kafka-topic", log_topic], tmp_path) as (node,):
        site = Site(node, Kafka(kafka_bootstrap))
        before = site.kafka.own(log_topic)
        topic = site.make("orders")
        site.set_namespace("retention", RETENTION)
        done = site.enforce("--once")
        assert done.returncode == 0, done.stdout + done.stderr
        assert site.kafka.own(topic) == RETENTION_IN_KAFKA
        assert site.kafka.own(log_topic) == before
