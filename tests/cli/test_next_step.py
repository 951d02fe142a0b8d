"""What is to be typed next speaks of what the command was about, and in the words of the command line."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.cli.conftest import Run
from topicfold import errors
from topicfold.cli.exit_codes import ExitCode
from topicfold.cli.next_step import next_step
from topicfold.client import Client
from topicfold.client.transport.silence import RESET_HINT, NoAnswer, Server

SPOKEN_OF_REQUESTS = re.compile(r"\b(GET|PUT|POST|DELETE|PATCH) |If-Match|X-[A-Z]|`since`")

OTHER_PARTITION = "Take X-Log-Position from an answer about its namespace, or an offset from its history."


def hint_of(err: str) -> str:
    """Return the hint of a command that failed."""
    return err.partition("\nhint: ")[2].rstrip("\n")


@pytest.mark.parametrize(
    ("words", "looked_at"),
    [
        ("namespaces delete acme/pay", "namespaces policies acme/pay"),
        ("namespaces set-retention acme/pay -t 7d -s 1G", "namespaces policies acme/pay"),
        ("namespaces grant-permission acme/pay --role ann --actions produce", "namespaces policies acme/pay"),
        ("namespaces set-properties acme/pay -p owner=ann", "namespaces policies acme/pay"),
        ("clusters delete west", "clusters get west"),
    ],
)
def test_of_what_shows_no_etag_the_hint_names_the_one_that_is_current(
    run: Run, client: Client, words: str, looked_at: str
) -> None:
    client.create_tenant("acme")
    client.create_namespace("acme/pay")
    client.create_cluster("west", {})
    hint = hint_of(run(*words.split(), "--if-match", "other").err)
    assert hint.startswith(f"topicfold {looked_at}, then try again with --if-match ")
    assert run(*hint.split(",")[0].split()[1:]).code == 0
    assert run(*words.split(), *hint.split()[-2:]).code == 0


@pytest.mark.parametrize("words", ["delete acme", "grant-permission acme --role ann --actions produce"])
def test_a_tenant_of_another_version_is_looked_at_as_a_tenant(run: Run, client: Client, words: str) -> None:
    client.create_tenant("acme")
    hint = hint_of(run("tenants", *words.split(), "--if-match", "other").err)
    assert hint == "topicfold tenants get acme, then try again with its ETag"


def test_the_clusters_of_another_version_are_called_so(run: Run, client: Client) -> None:
    client.create_cluster("west", {})
    assert run("clusters", "delete", "west", "--if-match", "x").err.startswith("error: the clusters have another ver")


def test_what_stands_in_a_topics_way_is_not_looked_at_as_that_topic() -> None:
    error = errors.AlreadyExists("the Kafka topic orders exists with 3 partitions, not 1", hint="take it over")
    assert next_step(error, "topics create", {"topic": "orders"}) == "take it over"


def test_partitions_that_cannot_become_fewer_are_begun_anew(run: Run, client: Client) -> None:
    client.create_topic("orders", partitions=4)
    hint = hint_of(run("topics", "update-partitioned-topic", "orders", "--partitions", "2").err)
    assert hint.endswith("; then topicfold topics create-partitioned-topic --partitions 2 orders")


@pytest.mark.parametrize(
    ("words", "step"),
    [
        ("topics create -- -x", "topics get -- -x"),
        ("topics delete-partitioned-topic -- -x", "topics delete -- -x"),
        (
            "topics update-partitioned-topic --partitions 3 -- -p",
            "topics create-partitioned-topic --partitions 3 -- -p",
        ),
        ("topics create -- -n/-n/orders", "namespaces create -- -n/-n"),
        ("namespaces create -- -none/-n", "tenants create -- -none"),
        ("namespaces create -- -t/-n", "namespaces policies -- -t/-n"),
        ("namespaces delete -- -t/-n", "namespaces delete --force -- -t/-n"),
        ("tenants delete -- -t", "tenants delete --force -- -t"),
        ("tenants create -- -t", "tenants update --help"),
        ("clusters create -- -c", "clusters get -- -c"),
    ],
)
def test_a_name_that_begins_like_an_option_is_typed_as_what_it_is(
    run: Run, client: Client, words: str, step: str
) -> None:
    client.create_tenant("-t")
    client.create_namespace("-t/-n")
    client.create_topic("-t/-n/orders")
    client.create_topic("-x")
    client.create_topic("-p", partitions=4)
    client.create_cluster("-c", {})
    assert f"topicfold {step}" in hint_of(run(*words.split()).err)
    assert run(*step.split()).code != ExitCode.USAGE


def test_a_namespace_that_is_there_already_can_be_looked_at(run: Run) -> None:
    hint = hint_of(run("namespaces", "create", "public/default").err)
    assert hint == "topicfold namespaces policies public/default"


def test_a_topic_without_any_version_is_one_that_there_never_was(run: Run) -> None:
    run("topicPolicies", "delete", "nope")
    hint = hint_of(run("rollback", "nope", "--to", "7", "--yes").err)
    assert hint == "topicfold topics list public/default"


@pytest.mark.parametrize(
    ("error", "command", "given"),
    [
        (errors.Undecodable("x"), "topics set-custom-labels", {"topic": "orders"}),
        (errors.InvalidRequest("x", hint=OTHER_PARTITION), "topics get", {"topic": "orders", "at": "AAAA"}),
        (errors.Resync("x"), "topics list", {"namespace": "public/default", "at": "AAAA"}),
        (errors.Resync("x", hint="Watch without `since`, and start over."), "watch", {"since": "AAAA"}),
        (errors.Resync("x", hint="Watch without `since`."), "watch", {"since": "AAAA"}),
        (errors.PreconditionFailed("x"), "namespaces delete", {"namespace": "acme/pay"}),
        (errors.PreconditionFailed("x"), "clusters delete", {"cluster": "west"}),
    ],
)
def test_a_hint_of_the_command_line_does_not_speak_of_requests(
    error: errors.TopicfoldError, command: str, given: dict[str, str]
) -> None:
    assert SPOKEN_OF_REQUESTS.search(error.hint) or error.hint == errors.Resync.default_hint
    hint = next_step(error, command, given)
    assert hint
    assert not SPOKEN_OF_REQUESTS.search(hint)
    assert hint != errors.Resync.default_hint


def test_what_has_changed_under_a_watch_is_watched_anew() -> None:
    error = errors.Resync("x", hint="Watch without `since`, and start over.")
    assert next_step(error, "watch", {"since": "AAAA"}) == "leave --since out to watch from now"


def test_a_topic_that_cannot_be_read_is_deleted_or_made_anew() -> None:
    hint = next_step(errors.Undecodable("x"), "topics get", {"topic": "acme/pay/a b"})
    assert "topicfold topics delete 'acme/pay/a b'" in hint


@pytest.mark.parametrize("given", [{"namespace": "acme/*"}, {"namespaces": ["acme/pay", "acme/team-*"]}])
def test_a_server_that_refuses_a_pattern_of_namespaces_is_an_older_one(given: dict[str, Any]) -> None:
    error = errors.InvalidName("namespace '*': expected 1 to 64 of the characters A-Z a-z 0-9 _ - = : .")
    assert next_step(error, "topics list", given).startswith("the server is of an older version")
    assert not next_step(error, "watch", {"namespaces": ["acme/pay"]})


@pytest.mark.parametrize("words", ["topics list -n nope/x", "topics list nope/x", "watch -n nope/x"])
def test_where_a_namespace_is_missing_the_others_of_its_tenant_are_listed_however_it_was_named(
    run: Run, words: str
) -> None:
    assert hint_of(run(*words.split()).err) == "topicfold namespaces list nope"


def test_who_is_reset_is_sent_to_the_log_of_the_server_that_is_there_and_not_told_to_start_one() -> None:
    reset, refused = (
        Server("http://h").unreachable(NoAnswer(reason, was_sent=False))
        for reason in ("[Errno 104] Connection reset by peer", "[Errno 111] Connection refused")
    )
    assert next_step(reset, "doctor", {}) == reset.hint == RESET_HINT
    assert next_step(refused, "doctor", {}).startswith("start one")


@pytest.mark.parametrize(
    ("command", "then"),
    [
        ("topics delete", "topicfold operations get 0-ab"),
        ("namespaces delete", "run it again; what was deleted stays deleted"),
    ],
)
def test_what_keeps_a_change_from_being_applied_is_to_be_mended_first(command: str, then: str) -> None:
    denied = errors.OutcomeUnknown("it has not followed yet", operation="0-ab", remedy="kafka-acls.sh --add.")
    assert next_step(denied, command, {}) == f"kafka-acls.sh --add; then {then}"
