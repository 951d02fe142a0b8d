"""`topicfold import kafka`: what it makes, what it reports, and that running it again is harmless."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cli.conftest import Run
from topicfold.client import Client, kafka_cluster
from topicfold.errors import LogUnavailable
from topicfold.model.kafka.adoption import KafkaTopic

IMPORT = ("import", "kafka", "--bootstrap", "broker:9092")


class Cluster:
    """A cluster of given topics, in the place of Kafka's."""

    def __init__(self) -> None:
        self.topics = [KafkaTopic("__consumer_offsets", 50), KafkaTopic("acme..pay..a", 3), KafkaTopic("b", 1)]
        self.asked: tuple[Any, ...] = ()

    def list(self, *asked: Any) -> tuple[KafkaTopic, ...]:
        self.asked = asked
        return tuple(self.topics)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    cluster = Cluster()
    monkeypatch.setattr(kafka_cluster, "list_kafka_topics", cluster.list)
    return cluster


def test_records_are_made_and_reported(run: Run, client: Client, cluster: Cluster) -> None:
    done = run(*IMPORT, "-o", "json")
    report = json.loads(done.out)
    assert done.code == 0
    assert [topic["name"] for topic in report["new"]] == ["persistent://acme/pay/a", "persistent://public/default/b"]
    assert (report["namespaces"], report["leftOut"]) == (["acme/pay"], ["__consumer_offsets"])
    assert client.get_topic("acme/pay/a").partitions == 3
    assert "imported 2 new; 0 already there" in done.err


def test_what_is_not_wanted_is_left_out_and_what_is_recorded_is_still_reported(run: Run, cluster: Cluster) -> None:
    cluster.topics = [KafkaTopic(name, 1) for name in ("__x", "pay.a", "pay.a-changelog", "pay.b", "ship.a")]
    chosen = ("--only", "pay.*", "--only", "ship.*", "--exclude", "*-changelog", "--exclude", "ship.?")
    first, second = run(*IMPORT, *chosen, "-o", "json"), run(*IMPORT, "--only", "ship.*", "-o", "json")
    assert [topic["kafkaName"] for topic in json.loads(first.out)["new"]] == ["pay.a", "pay.b"]
    assert json.loads(first.out)["leftOut"] == ["__x", "pay.a-changelog", "ship.a"]
    assert first.err.endswith("0 failed, 1 internal left out, 2 others\n")
    assert [topic["kafkaName"] for topic in json.loads(second.out)["new"]] == ["ship.a"]
    assert (len(json.loads(second.out)["present"]), json.loads(second.out)["gone"]) == (2, [])


def test_run_again_it_tells_new_from_present_gone_and_different(run: Run, cluster: Cluster) -> None:
    run(*IMPORT)
    cluster.topics = [KafkaTopic("acme..pay..a", 6), KafkaTopic("c", 2)]
    again = run(*IMPORT, "-o", "json")
    report = json.loads(again.out)
    assert again.code == 0
    assert [topic["kafkaName"] for topic in report["new"]] == ["c"]
    assert report["gone"] == ["persistent://public/default/b"]
    assert [(t["recordedPartitions"], t["kafkaPartitions"]) for t in report["differing"]] == [(3, 6)]


def test_the_detail_of_a_difference_is_the_command_that_mends_it(run: Run, client: Client, cluster: Cluster) -> None:
    for name, partitions in (("more", 2), ("fewer", 4), ("plain", 0), ("lost", 5), ("one", 1), ("same", 3)):
        client.create_topic(name, partitions=partitions)
    cluster.topics = [KafkaTopic(name, 3) for name in ("more", "fewer", "plain", "same")]
    told = {line.split()[2]: line for line in run(*IMPORT).out.splitlines()[1:]}
    assert told.keys() == {"more", "fewer", "plain", "lost", "one"}
    assert ["2 partitions recorded, 3 in" in told["more"], "not partitioned as recorded, 3 in" in told["plain"]] == [
        True,
        True,
    ]
    grow = "topicfold topics update-partitioned-topic persistent://public/default/more --partitions 3"
    assert grow in told["more"]
    assert "kafka-topics.sh --bootstrap-server broker:9092 --alter --topic fewer --partitions 4" in told["fewer"]
    assert "--follow-cluster" in told["plain"]
    assert (
        "kafka-topics.sh --bootstrap-server broker:9092 --create --topic lost --partitions 5 makes it" in told["lost"]
    )
    assert "or none that you may Describe" in told["lost"]
    for name in ("lost", "one"):
        drop = f"topics delete-partitioned-topic persistent://public/default/{name} drops the record, and the topic"
        assert drop in told.pop(name)
    assert not any("delete" in line for line in told.values())


def test_the_summary_counts_each_topic_once(run: Run, client: Client, cluster: Cluster) -> None:
    run(*IMPORT)
    cluster.topics[1] = KafkaTopic("acme..pay..a", 6)
    assert "imported 0 new; 1 already there, 0 gone from Kafka, 1 with other partitions" in run(*IMPORT).err


def test_one_partition_in_kafka_is_none_of_the_record_as_lists_of_topics_show(run: Run, cluster: Cluster) -> None:
    shown = run(*IMPORT).out
    assert "not partitioned\n" in shown
    assert "3 partitions\n" in shown


def test_nothing_is_deleted_or_changed(run: Run, client: Client, cluster: Cluster) -> None:
    run(*IMPORT)
    client.set_labels("b", {"team": "pay"})
    before = client.get_topic("b"), client.get_topic("acme/pay/a")
    cluster.topics = [KafkaTopic("acme..pay..a", 6)]
    run(*IMPORT)
    assert (client.get_topic("b"), client.get_topic("acme/pay/a")) == before


def test_a_dry_run_reports_the_same_and_makes_nothing(run: Run, client: Client, cluster: Cluster) -> None:
    dry = run(*IMPORT, "--dry-run", "-o", "json")
    assert client.find_topics().topics == ()
    assert client.list_tenants() == ("public",)
    assert json.loads(dry.out) == json.loads(run(*IMPORT, "-o", "json").out)
    assert "would import 2 new" in dry.err


def test_topics_that_get_no_record_are_listed_and_end_in_7(run: Run, client: Client, cluster: Cluster) -> None:
    cluster.topics += [KafkaTopic("d-partition-0", 1), KafkaTopic("e", 0, "Topic authorization failed")]
    done = run(*IMPORT)
    assert done.code == 7
    failed = [line for line in done.out.splitlines() if line.startswith("failed")]
    assert ["d-partition-0" in failed[0] or "d-partition-0" in failed[1], "e" in done.out, len(failed)] == [
        True,
        True,
        2,
    ]
    assert client.get_topic("b").partitions == 0


def test_a_server_that_stops_writing_ends_the_import_with_6(
    run: Run, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise LogUnavailable("no broker answers")

    monkeypatch.setattr(Client, "adopt_topic", refuse)
    ended = run(*IMPORT)
    assert ended.code == 6
    assert "0 of 2 are known to be done; run it again, it continues from there" in ended.err


def test_who_interrupts_an_import_is_told_that_it_can_be_continued(
    run: Run, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("topicfold.client.kafka_import.make_records", interrupt)
        ended = run(*IMPORT)
    assert (ended.code, "interrupted; run it again, it continues from there\n" in ended.err) == (130, True)
    assert "imported 2 new;" in run(*IMPORT).err


def test_settings_for_kafka_are_passed_on_under_both_names(run: Run, cluster: Cluster) -> None:
    run(*IMPORT, "--kafka-setting", "security.protocol=SSL", "--server-setting", "ssl.ca.location=a=b")
    assert cluster.asked[:2] == ("broker:9092", {"security.protocol": "SSL", "ssl.ca.location": "a=b"})


def test_progress_is_one_structured_line_where_stderr_is_no_terminal(run: Run, cluster: Cluster) -> None:
    assert 'progress job="import kafka" done=2 total=2\n' in run(*IMPORT).err


@pytest.mark.parametrize("option", ["--quiet", "--no-progress"])
def test_progress_can_be_switched_off(run: Run, cluster: Cluster, option: str) -> None:
    assert "progress" not in run(*IMPORT, option).err
