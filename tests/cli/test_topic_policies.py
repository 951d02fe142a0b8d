"""Policies by command, against a server: each is set, read and removed, on a topic and on a namespace."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator

import pytest

from tests.cli.conftest import Run
from tests.client.served import serving
from tests.terminal import Terminal
from topicfold.cli.exit_codes import ExitCode
from topicfold.cli.policies.output import value_line
from topicfold.client import Client
from topicfold.client.errors import ServerUnreachable
from topicfold.errors import Forbidden, TopicfoldError
from topicfold.model.policy.options import Command
from topicfold.model.policy.table import POLICIES

# A namespace is on its own cluster from the first.
SET_ANYWAY = ("set-clusters",)
TOPIC = "persistent://public/default/orders"
UNTOLD = (
    "'topicfold enforce' writes it into Kafka, while that runs; where that keeps less than before, Kafka then deletes "
    "the rest, and no rollback brings that back\n"
)


def commands(group: str, *, is_global: bool = False) -> list[object]:
    return [
        pytest.param(command, id=command.set)
        for policy in POLICIES
        for command in getattr(policy.commands, group)
        if command.set and command.get and (policy.topic.has_global or not is_global)
    ]


def test_a_help_does_not_say_again_what_the_policy_is_called(bare_run: Run) -> None:
    shown = " ".join(bare_run("topicPolicies", "set-max-subscriptions-per-topic", "--help").out.split())
    assert "Set the maximum number of subscriptions of a topic; 0: no limit. Example" in shown
    shown = " ".join(bare_run("topicPolicies", "set-max-message-size", "--help").out.split())
    assert "Set the maximum message size of a topic. Size of the largest accepted message, in bytes. Example" in shown
    limits = [policy for policy in POLICIES if policy.doc.startswith("Maximum number")]
    assert not [policy.name for policy in limits if not policy.doc.lower().startswith(policy.title)]


@pytest.fixture(scope="module")
def module_url() -> Iterator[str]:
    with serving() as (url,), Client(url) as client:
        client.create_topic("orders")
        client.create_topic("shadow")
        client.create_cluster("west", {})
        yield url


@pytest.fixture
def run(bare_run: Run, monkeypatch: pytest.MonkeyPatch, module_url: str) -> Run:
    """Run commands against one server, whose topic `orders` has no policies before and after each test."""
    monkeypatch.setenv("TOPICFOLD_URL", module_url)
    return bare_run


def live(run: Run, group: str, command: Command, *on: str) -> None:
    """Set a policy as its example does, read what was said to be set, and remove it where that can be done."""
    before = run(group, command.get, *on).out
    done = run(group, command.set, *on, *command.example.split(), "-o", "json")
    assert done.code == 0, done.err
    said = json.loads(done.out)["done"].partition(" to ")[2].partition(" on ")[0]
    found = value_line(json.loads(run(group, command.get, *on, "-o", "json").out))
    assert set(said.split(",")) <= set(found.replace("destination_storage.", "").split(","))
    assert found != before.strip() or command.set in SET_ANYWAY
    if command.remove:
        assert run(group, command.remove, *on).code == 0
        assert run(group, command.get, *on).out in (before, "[]\n")


@pytest.mark.parametrize("command", commands("topic"))
def test_a_policy_of_a_topic_is_set_read_and_removed(run: Run, command: Command) -> None:
    live(run, "topicPolicies", command, "orders")


@pytest.mark.parametrize("command", commands("topic", is_global=True))
def test_a_policy_for_all_clusters_is_set_read_and_removed(run: Run, command: Command) -> None:
    # A topic is copied to all clusters only where its namespace is on several.
    run("namespaces", "set-clusters", "public/default", "-c", "standalone,west")
    live(run, "topicPolicies", command, "orders", "--global")


@pytest.mark.parametrize("command", commands("older"))
def test_the_older_commands_do_the_same(run: Run, command: Command) -> None:
    live(run, "topics", command, "orders")


@pytest.mark.parametrize("command", commands("namespace"))
def test_a_policy_of_a_namespace_is_set_read_and_removed(run: Run, command: Command) -> None:
    live(run, "namespaces", command, "public/default")


def test_where_a_policy_is_unset_it_is_said_how_to_see_what_holds(run: Run) -> None:
    told = run("topicPolicies", "get-retention", "orders")
    assert told == (0, "null\n", "it is not set here; --applied shows the value that applies\n")
    assert run("topicPolicies", "get-retention", "orders", "--applied").err == ""
    assert run("topicPolicies", "get-retention", "orders", "--at", "0s").err == ""
    assert run("namespaces", "get-retention", "public/default").err == ""


def test_a_value_for_all_clusters_is_apart_from_the_topics_own(run: Run) -> None:
    run("topicPolicies", "set-max-producers", "orders", "-p", "3", "-g")
    assert run("topicPolicies", "get-max-producers", "orders", "-g").out == "3\n"
    assert run("topicPolicies", "get-max-producers", "orders").out == "null\n"
    assert (
        run("topicPolicies", "remove-max-producers", "orders", "--global").err
        == f"removed global maximum number of connected producers from {TOPIC}\n"
    )


def test_one_subscription_has_a_rate_of_its_own(run: Run) -> None:
    rate = ("topicPolicies", "set-subscription-dispatch-rate", "orders", "-md", "7")
    assert run(*rate, "-s", "billing").code == 0
    shown = json.loads(
        run("topicPolicies", "get-subscription-dispatch-rate", "orders", "-s", "billing", "-o", "json").out
    )
    assert shown["dispatchThrottlingRateInMsg"] == 7
    assert run("topicPolicies", "get-subscription-dispatch-rate", "orders").out == "null\n"
    assert run("topicPolicies", "remove-subscription-dispatch-rate", "orders", "-s", "billing").code == 0
    assert run("topicPolicies", "get-subscription-dispatch-rate", "orders", "-s", "billing").out == "null\n"


def test_each_type_of_backlog_quota_is_set_and_removed_by_itself(run: Run) -> None:
    quota = ("topicPolicies", "set-backlog-quota", "orders", "-p", "producer_exception")
    assert run(*quota, "-l", "10M").code == 0
    assert run(*quota, "-lt", "1h", "-t", "message_age").code == 0
    shown = json.loads(run("topicPolicies", "get-backlog-quota", "orders", "-o", "json").out)
    assert (shown["destination_storage"]["limitSize"], shown["message_age"]["limitTime"]) == (10 << 20, 3600)
    assert run("topicPolicies", "remove-backlog-quota", "orders", "-t", "message_age").code == 0
    assert [*json.loads(run("topicPolicies", "get-backlog-quota", "orders", "-o", "json").out)] == [
        "destination_storage"
    ]
    assert run("topicPolicies", "remove-backlog-quota", "orders").code == 0


def test_applied_uncovers_what_lies_below(run: Run) -> None:
    run("namespaces", "set-message-ttl", "public/default", "-ttl", "1h")
    assert run("topicPolicies", "get-message-ttl", "orders").out == "null\n"
    for applied in ("-ap", "-a", "--applied"):
        assert run("topicPolicies", "get-message-ttl", "orders", applied).out == "3600\n"
    run("namespaces", "remove-message-ttl", "public/default")
    assert run("topicPolicies", "get-message-ttl", "orders", "-ap").out == "0\n"


def test_a_backlog_quota_must_stay_below_what_is_kept(run: Run) -> None:
    quota = ("topicPolicies", "set-backlog-quota", "orders", "-p", "producer_request_hold", "-l")
    assert run("topicPolicies", "set-retention", "orders", "-s", "10M", "-t", "10m").code == 0
    refused = run(*quota, "10M")
    assert refused.code == 4
    assert "Backlog Quota exceeds configured retention quota for topic" in refused.err
    assert "hint: topicfold topics effective orders shows both" in refused.err
    assert run(*quota, "9M").code == 0
    lowered = run("topicPolicies", "set-retention", "orders", "-s", "9M", "-t", "10m")
    assert "hint: topicfold topics effective orders shows both" in lowered.err
    assert run("topicPolicies", "delete", "orders").code == 0


def test_all_policies_of_a_topic_are_removed_at_once(run: Run) -> None:
    run("topicPolicies", "set-max-producers", "orders", "-p", "3", "-g")
    run("topicPolicies", "set-max-consumers", "orders", "-c", "3")
    done = run("topicPolicies", "delete", "orders")
    assert (done.code, done.err) == (0, f"removed all policies from {TOPIC}\n")
    assert run("topicPolicies", "get-max-producers", "orders", "-g").out == "null\n"
    assert run("topicPolicies", "get-max-consumers", "orders").out == "null\n"


@pytest.mark.parametrize("topic", ["public/default/nosuch", "no/such/orders"])
def test_what_is_not_there_has_no_policies_to_remove(run: Run, topic: str) -> None:
    done = run("topicPolicies", "delete", topic)
    assert (done.code, done.err) == (0, f"unchanged persistent://{topic}: it had no policies of its own\n")


def test_an_object_is_a_table_for_people_and_pulsars_json_for_programs(run: Run) -> None:
    run("topicPolicies", "set-retention", "orders", "-t", "7d", "-s", "-1")
    assert run("topicPolicies", "get-retention", "orders").out == (
        "MEMBER                  VALUE\nretentionTimeInMinutes  10080\nretentionSizeInMB       -1\n"
    )
    as_json = json.loads(run("topicPolicies", "get-retention", "orders", "-o", "json").out)
    assert as_json == {"retentionTimeInMinutes": 10080, "retentionSizeInMB": -1}
    run("topicPolicies", "remove-retention", "orders")


def test_what_takes_effect_is_shown_with_where_it_comes_from(run: Run) -> None:
    run("topicPolicies", "set-retention", "orders", "-t", "7d", "-s", "-1")
    run("topicPolicies", "set-max-producers", "orders", "-p", "3", "-g")
    lines = [line.split() for line in run("topics", "effective", "orders").out.splitlines()]
    assert lines[0] == ["POLICY", "ORIGIN", "ENFORCED", "BY", "VALUE"]
    assert ["maxProducerPerTopic", "global", "nothing", "3"] in lines
    assert ["retentionPolicies", "topic", "kafka", "retentionTimeInMinutes=10080,retentionSizeInMB=-1"] in lines
    assert ["messageTTLInSeconds", "broker", "nothing", "0"] in lines
    assert {line[0] for line in lines[1:3]} == {"maxProducerPerTopic", "retentionPolicies"}
    chain = json.loads(run("topics", "effective", "orders", "-o", "json").out)["policies"]["maxProducerPerTopic"][
        "chain"
    ]
    assert chain == {"global": 3, "broker": 0}
    run("topicPolicies", "delete", "orders")


def test_the_parts_of_a_merged_policy_are_shown_each_with_its_level(run: Run) -> None:
    offload = ("set-offload-policies", "-d", "aws-s3", "-b", "cold")
    run("namespaces", offload[0], "public/default", *offload[1:], "-r", "eu")
    run("topicPolicies", offload[0], "orders", *offload[1:])
    lines = [line.split() for line in run("topics", "effective", "orders").out.splitlines()]
    assert ["offloadPolicies.managedLedgerOffloadBucket", "topic", "nothing", "cold"] in lines
    assert ["offloadPolicies.managedLedgerOffloadRegion", "namespace", "nothing", "eu"] in lines
    run("topicPolicies", "delete", "orders")
    run("namespaces", "remove-offload-policies", "public/default")


def test_what_takes_effect_fits_a_terminal_of_80_columns(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(type(sys.stdout), "isatty", lambda _: True)
    lines = run("topics", "effective", "orders", "--color", "never").out.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0].split() == ["POLICY", "ORIGIN", "ENFORCED", "BY", "VALUE"]


def test_what_takes_effect_can_be_only_what_somebody_set(run: Run) -> None:
    topic = "public/quiet/orders"
    run("namespaces", "create", "public/quiet")
    run("topics", "create", topic)
    none = run("topics", "effective", topic, "--set-only")
    assert (none.out, none.err) == ("", "neither topic nor namespace sets a policy\n")
    run("topicPolicies", "set-max-producers", topic, "-p", "3")
    shown = run("topics", "effective", topic, "--set-only")
    assert shown.out.splitlines()[1:] == ["maxProducerPerTopic  topic   nothing      3"]
    found = json.loads(run("topics", "effective", topic, "--set-only", "-o", "json").out)
    assert list(found["policies"]) == ["maxProducerPerTopic"]


def test_a_default_is_not_said_to_hold_in_kafka(run: Run) -> None:
    run("topicPolicies", "set-retention", "orders", "-t", "7d", "-s", "-1")
    told = run("topics", "effective", "orders").err
    assert told == "Kafka is not told of maxMessageSize, compactionThreshold: in Kafka its own settings hold instead\n"
    run("topicPolicies", "delete", "orders")


def test_a_change_that_changes_nothing_says_so(run: Run) -> None:
    retention = ("topicPolicies", "set-retention", "orders", "-t", "7d", "-s", "-1")
    said = "retentionTimeInMinutes=10080,retentionSizeInMB=-1"
    assert run(*retention).err.splitlines()[0] == f"set retention to {said} on {TOPIC}"
    assert run(*retention).err == f"unchanged {TOPIC}: its retention was {said} before\n"
    assert run("topicPolicies", "remove-retention", "orders").err.splitlines()[0] == f"removed retention from {TOPIC}"
    again = run("topicPolicies", "remove-retention", "orders", "-o", "json")
    assert (again.code, json.loads(again.out)["changed"]) == (0, False)
    assert again.err == f"unchanged {TOPIC}: its retention was not set\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            "set-retention orders -t 9d -s -1",
            "'topicfold enforce' writes it into Kafka, while that runs; where that keeps less than before, Kafka then "
            "deletes the rest, and no rollback brings that back",
        ),
        ("set-retention orders -t -1 -s -1", "'topicfold enforce' writes it into Kafka, while that runs"),
        ("set-max-message-size orders -m 9K", "'topicfold enforce' writes it into Kafka, while that runs"),
        (
            "set-compaction-threshold orders -t 1G",
            "'topicfold enforce' writes it into Kafka, while that runs; Kafka then keeps only the last message of each "
            "key, and takes none without a key",
        ),
        (
            "set-compaction-threshold orders -t 0",
            "'topicfold enforce' writes it into Kafka, while that runs; topics that Kafka compacted until now then "
            "lose what is beyond their retention, and are not compacted again when this is removed",
        ),
        ("set-retention orders -t 0 -s 0", "it is not enforced: Kafka has nothing like this value"),
        ("set-message-ttl orders -t 99", "it is not enforced: Kafka has nothing like it"),
    ],
)
def test_a_policy_that_was_set_says_who_enforces_it(run: Run, words: str, said: str) -> None:
    first, second = run("topicPolicies", *words.split()).err.splitlines()
    assert (first.startswith("set "), second) == (True, said)
    assert said not in run("topicPolicies", *words.split()).err
    run("topicPolicies", "delete", "orders")
    assert run("topicPolicies", *words.split(), "--quiet").err == ""
    run("topicPolicies", "delete", "orders")


def test_whoever_has_less_kept_than_before_is_told_that_kafka_deletes_the_rest(run: Run) -> None:
    written = "'topicfold enforce' writes it into Kafka, while that runs"
    less = f"{written}; that keeps less than before: Kafka then deletes the rest, and no rollback brings that back"
    perhaps = UNTOLD.rstrip()
    [version] = run("history", "orders", "--limit", "1", "-o", "name").out.split()

    def told(*words: str) -> str:
        return "".join(run(*words).err.splitlines()[1:])

    for group, name, first in (("namespaces", "public/default", perhaps), ("topicPolicies", "orders", less)):
        assert told(group, "set-retention", name, "-t", "9d", "-s", "1G") == first
        assert told(group, "set-retention", name, "-t", "8d", "-s", "2G") == less
        assert told(group, "set-retention", name, "-t", "9d", "-s", "-1") == written
    assert told("rollback", "orders", "--to", version, "--yes") == ""
    run("topicPolicies", "set-retention", "orders", "-t", "-1", "-s", "-1")
    assert told("rollback", "orders", "--to", version, "--yes") == less
    run("topicPolicies", "set-retention", "orders", "-t", "-1", "-s", "-1")
    assert told("topicPolicies", "remove-retention", "orders") == less
    run("topicPolicies", "set-retention", "orders", "-t", "-1", "-s", "-1")
    assert told("topicPolicies", "delete", "orders") == less
    assert told("topicPolicies", "set-retention", "orders", "-t", "0", "-s", "0") == perhaps
    run("topicPolicies", "remove-retention", "orders")
    assert told("namespaces", "remove-retention", "public/default") == perhaps


def test_whoever_ends_a_compaction_is_told_that_kafka_may_delete_messages(run: Run) -> None:
    compacted = ("topicPolicies", "set-compaction-threshold", "orders", "-t", "1G")
    for words in (("remove-compaction-threshold", "orders"), ("delete", "orders")):
        assert run(*compacted).code == 0
        assert run("topicPolicies", *words).err.endswith(f" from {TOPIC}\n{UNTOLD}")


def test_before_it_asks_a_rollback_tells_what_kafka_then_deletes(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    less = "that keeps less than before: Kafka then deletes the rest"
    run("topicPolicies", "set-retention", "orders", "-t", "1h", "-s", "-1")
    [version] = run("history", "orders", "--limit", "1", "-o", "name").out.split()
    run("topicPolicies", "set-retention", "orders", "-t", "7d", "-s", "-1")
    monkeypatch.setattr(sys, "stdin", Terminal("y\n"))
    before, asked, after = run("rollback", "orders", "--to", version).err.partition("This undoes 1 change")
    assert (less in before, bool(asked), less in after) == (True, True, False)
    assert "rolled back" in after
    run("topicPolicies", "delete", "orders")


def test_a_change_is_told_before_it_is_asked_what_kafka_then_deletes(
    run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    nothing = {"value": None, "enforcedBy": "nothing"}
    before = {"policies": {"retentionPolicies": nothing, "compactionThreshold": nothing}}
    told: list[str] = []

    def gone(*_: object) -> object:
        if not told:
            told.append("")
            return before
        told.append(capsys.readouterr().err)
        raise ServerUnreachable("gone")

    with monkeypatch.context() as patched:
        patched.setattr(Client, "effective", gone)
        assert run("topicPolicies", "set-retention", "orders", "-t", "9d", "-s", "-1") == (0, "", UNTOLD)
    assert told[1].startswith("set retention to ")
    assert run("topicPolicies", "delete", "orders").code == 0


def test_a_server_that_tells_no_retention_is_not_also_waited_for_to_change_it(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def raising(error: TopicfoldError) -> Callable[..., object]:
        def effective(*_: object) -> object:
            raise error

        return effective

    words = ("topicPolicies", "set-retention", "orders", "-t", "9d", "-s", "-1")
    with monkeypatch.context() as patched:
        patched.setattr(Client, "effective", raising(ServerUnreachable("timed out")))
        assert run(*words).code == ExitCode.UNREACHABLE
        patched.setattr(Client, "effective", raising(Forbidden("may only write")))
        assert run(*words).err.endswith(f" on {TOPIC}\n{UNTOLD}")
    assert run("topicPolicies", "delete", "orders").code == 0


def test_kafka_has_no_topic_for_one_that_is_not_persistent(run: Run) -> None:
    run("topics", "create", "non-persistent://public/default/brief")
    said = run("topicPolicies", "set-retention", "non-persistent://public/default/brief", "-t", "9d", "-s", "-1").err
    assert said.splitlines()[1] == "it is not enforced: non-persistent topics have no Kafka topic"


def test_the_group_has_a_second_spelling(run: Run) -> None:
    assert run("topic-policies", "get-retention", "orders").out == "null\n"
    assert "topic-policies" not in run("--help").out


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ("set-retention orders -t 1d -s 10X", 2, "--size: '10X' is not a size"),
        ("set-retention orders -t 30 -s 1G", 2, "--time: '30' is less than a minute"),
        ("set-retention orders -t 1d", 2, "Missing option '--size'"),
        ("set-max-producers orders -p many", 2, "--max-producers: the value must be a whole number"),
        ("set-max-producers orders -p -5", 4, "maxProducers must be 0 or more"),
        ("set-deduplication orders", 2, "expected either --enable or --disable"),
        ("set-deduplication orders -e -d", 2, "expected either --enable or --disable"),
        ("set-backlog-quota orders -p drop", 2, "--policy: the value must be one of producer_request_hold"),
        ("set-backlog-quota orders -p producer_exception -t age", 2, "--type: 'age' is none of destination_storage"),
        ("set-subscription-types-enabled orders -t shared", 2, "--types: the value must be one of Exclusive"),
        ("get-retention missing", 3, "missing"),
        ("set-retention orders -t 1d -s 1G --if-match 0.0", 4, "version"),
        ("set-retenion orders", 2, "Did you mean 'set-retention'"),
    ],
)
def test_what_cannot_be_set_is_said_in_terms_of_the_options(run: Run, words: str, code: int, said: str) -> None:
    failed = run("topicPolicies", *words.split())
    assert failed.code == code
    assert said in failed.err


@pytest.mark.parametrize(("size", "stored"), [("512", 512), ("64K", 65_536), ("1M", 1_048_576)])
def test_a_message_size_takes_suffixes_as_all_sizes_do(run: Run, size: str, stored: int) -> None:
    set_ = run("topicPolicies", "set-max-message-size", "orders", "-m", size)
    assert set_.code == 0, set_.err
    assert json.loads(run("topicPolicies", "get-max-message-size", "orders", "-o", "json").out) == stored
    assert run("topicPolicies", "remove-max-message-size", "orders").code == 0


def test_what_is_no_size_of_messages_is_refused_with_what_to_write(run: Run) -> None:
    refused = run("topicPolicies", "set-max-message-size", "orders", "-m", "2MB")
    assert (refused.code, "hint: Write whole bytes, or a number with K, M, G or T" in refused.err) == (2, True)
