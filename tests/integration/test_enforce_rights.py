"""`topicfold enforce` on a broker that does not allow it everything: each no is told, and the rest is done."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AclOperation

from tests.brokers.guarded import GuardedKafka, documented
from tests.integration.enforcing import Kafka, Site, site_on
from tests.integration.node import running

pytestmark = pytest.mark.kafka


@pytest.fixture
def site(guarded: GuardedKafka, tmp_path: Path) -> Iterator[Site]:
    """A site whose node may do everything, and whose enforcer comes as `ann`."""
    with site_on(guarded.bootstrap, tmp_path) as site:
        site.options = [*site.node.options, *as_ann(guarded)]
        yield site


def as_ann(guarded: GuardedKafka, **settings: str) -> list[str]:
    given = {**guarded.settings(**settings), "bootstrap.servers": guarded.guarded_bootstrap}
    bootstrap = given.pop("bootstrap.servers")
    pairs = [word for key, value in given.items() for word in ("--cluster-setting", f"{key}={value}")]
    return ["--cluster-bootstrap", bootstrap, *pairs]


def test_a_right_that_is_missing_is_named_with_its_topic_and_other_topics_go_on(
    site: Site, guarded: GuardedKafka
) -> None:
    whole, readable, hidden = (site.make(name) for name in ("whole", "readable", "hidden"))
    guarded.allow(whole, AclOperation.DESCRIBE_CONFIGS, AclOperation.ALTER_CONFIGS)
    guarded.allow(readable, AclOperation.DESCRIBE_CONFIGS)
    for name in ("whole", "readable", "hidden"):
        site.set(name, "maxMessageSize", 4096)
    done = site.enforce("--once", "-o", "json")
    reports = {each["topic"].rpartition("/")[2]: each for each in map(json.loads, done.stdout.splitlines())}
    assert {name: each["state"] for name, each in reports.items()} == {
        "whole": "changed", "readable": "failed", "hidden": "failed"
    }  # fmt: skip
    for short, topic, right in (("readable", readable, "AlterConfigs"), ("hidden", hidden, "DescribeConfigs")):
        reason = reports[short]["reason"]
        assert f"denies us {right} on topic {topic}. kafka-acls.sh " in reason
        assert reason.endswith(f"--operation {right} --topic {topic}")
    assert done.returncode == 7
    assert "Traceback" not in done.stderr
    assert [site.kafka.own(topic) for topic in (whole, readable, hidden)] == [{"max.message.bytes": "4096"}, {}, {}]
    guarded.allow(readable, AclOperation.ALTER_CONFIGS)
    guarded.allow(hidden, AclOperation.DESCRIBE_CONFIGS, AclOperation.ALTER_CONFIGS)
    assert site.enforce("--once").returncode == 0
    assert site.kafka.own(hidden) == {"max.message.bytes": "4096"}


def test_a_wrong_password_is_one_clear_error(site: Site, guarded: GuardedKafka) -> None:
    site.make("orders")
    site.set("orders", "maxMessageSize", 4096)
    site.options = [*site.node.options, *as_ann(guarded, password="wrong")]
    done = site.enforce("--once")
    print(done.stdout, done.stderr)
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    assert "security settings" in done.stderr


def test_documented_rights_suffice_to_take_away_what_a_default_had_told_kafka_and_write_is_named_where_it_lacks(
    guarded: GuardedKafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = f"t-{uuid.uuid4().hex}"
    with running(["--kafka", guarded.bootstrap, "--kafka-topic", log], tmp_path) as (node,):
        site = Site(node, Kafka(guarded.bootstrap))
        topic = site.make("orders")
        guarded.allow(topic, *documented("`topicfold enforce`", 3))
        guarded.allow(log, *documented("`topicfold enforce`", 2))
        pairs = [word for key, value in guarded.settings().items() for word in ("--kafka-setting", f"{key}={value}")]
        site.options = ["--kafka", guarded.guarded_bootstrap, "--kafka-topic", log, *pairs]
        monkeypatch.setenv("TOPICFOLD_POLICY_DEFAULTS", '{"maxMessageSize": 777}')
        assert site.enforce("--once").returncode == 0
        assert site.kafka.own(topic) == {"max.message.bytes": "777"}
        monkeypatch.delenv("TOPICFOLD_POLICY_DEFAULTS")
        done = site.enforce("--once")
        assert (done.returncode, site.kafka.own(topic)) == (0, {}), done.stderr
        guarded.withdraw(log, AclOperation.WRITE)
        monkeypatch.setenv("TOPICFOLD_POLICY_DEFAULTS", '{"maxMessageSize": 778}')
        done = site.enforce("--once")
        assert site.kafka.own(topic) == {"max.message.bytes": "778"}
        assert "enforcement_not_noted" in done.stderr
        assert f"--operation Write --topic {log}" in done.stderr
