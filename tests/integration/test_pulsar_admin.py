"""Every policy of topics, set, read and removed by Pulsar's own Java tool, on one node and on three in turn."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tests import plain_http
from tests.pulsar.admin import PulsarAdmin
from tests.pulsar.rows import ROWS, Row, same

AWAITED = [row for row in ROWS if row.is_awaited]
READ = pytest.mark.parametrize("row", AWAITED, ids=str)
READ_ON_ALL_CLUSTERS = pytest.mark.parametrize("row", [row for row in AWAITED if row.has_global], ids=str)
READ_AS_APPLIED = pytest.mark.parametrize("row", [row for row in AWAITED if row.default is not None], ids=str)

Read = Callable[[str], Any]


@pytest.fixture
def read(topic: str, urls: Sequence[str]) -> Read:
    """Reads one policy of the topic without the tool, from the last of the nodes; None where it is not set."""

    def get(path: str) -> Any:
        answer = plain_http.get(f"{urls[-1]}/admin/v2/{topic.replace('://', '/')}/{path}")
        assert answer.status_code in (200, 204), answer.text
        return answer.json() if answer.content else None

    return get


def arrives(read: Read, path: str, value: Any) -> None:
    """Return once the policy has this value: the tool does not wait for what it has sent."""
    deadline = time.monotonic() + 60
    while read(path) != value:
        assert time.monotonic() < deadline, f"{path} is {read(path)}"
        time.sleep(0.01)


@READ
def test_a_policy_is_unset_then_set_then_removed(admin: PulsarAdmin, topic: str, row: Row) -> None:
    assert same(admin.done(*row.command("get", topic)), row.unset)
    admin.done(*row.command("set", topic))
    assert row.shows(admin.done(*row.command("get", topic)))
    admin.done(*row.command("remove", topic))
    assert same(admin.done(*row.command("get", topic)), row.after_removal)


@READ_ON_ALL_CLUSTERS
def test_a_policy_of_all_clusters_is_one_of_its_own(admin: PulsarAdmin, topic: str, row: Row) -> None:
    admin.done(*row.command("set", topic, "-g"))
    assert row.shows(admin.done(*row.command("get", topic, "-g")))
    assert same(admin.done(*row.command("get", topic)), row.unset)
    admin.done(*row.command("set", topic))
    admin.done(*row.command("remove", topic, "-g"))
    assert same(admin.done(*row.command("get", topic, "-g")), row.after_removal)
    assert row.shows(admin.done(*row.command("get", topic)))


@READ_AS_APPLIED
def test_what_applies_is_the_default_until_the_topic_says_otherwise(admin: PulsarAdmin, topic: str, row: Row) -> None:
    assert same(admin.done(*row.command("get", topic, "--applied")), row.default)
    admin.done(*row.command("set", topic))
    assert row.shows(admin.done(*row.command("get", topic, "--applied")))
    admin.done(*row.command("remove", topic))
    assert same(admin.done(*row.command("get", topic, "--applied")), row.default)


def test_no_command_of_the_tool_is_forgotten(admin: PulsarAdmin) -> None:
    offered = re.findall(r"^  ([a-z][\w-]+)(?: |$)", admin.done("topicPolicies", "--help"), re.MULTILINE)
    assert set(offered) == {f"{verb}-{row.noun}" for row in ROWS for verb in ("get", "set", "remove")} | {"delete"}


@READ
def test_the_tool_has_its_flags_where_the_table_says(admin: PulsarAdmin, row: Row) -> None:
    usage = admin.done("topicPolicies", f"get-{row.noun}", "--help")
    assert ("--global" in usage, "--applied" in usage) == (row.has_global, row.default is not None)


def test_row_4_which_no_tool_has_yet(topic: str, urls: Sequence[str], read: Read) -> None:
    path = f"{urls[0]}/admin/v2/{topic.replace('://', '/')}/subscriptionExpirationTime"
    assert plain_http.post(f"{path}?subscriptionExpirationTime=5").status_code == 204
    assert read("subscriptionExpirationTime") == 5
    assert plain_http.delete(path).status_code == 204
    assert read("subscriptionExpirationTime") is None


def test_row_27_is_in_the_older_group_only(admin: PulsarAdmin, topic: str) -> None:
    assert admin.done("topics", "get-schema-validation-enforce", topic) == "false\n"
    admin.done("topics", "set-schema-validation-enforce", "-e", topic)
    assert admin.done("topics", "get-schema-validation-enforce", topic) == "true\n"
    admin.done("topics", "set-schema-validation-enforce", topic)
    assert admin.done("topics", "get-schema-validation-enforce", "-ap", topic) == "false\n"


def test_row_30_is_set_without_a_body_and_removed_to_false(admin: PulsarAdmin, topic: str, read: Read) -> None:
    (row,) = (row for row in ROWS if row.number == 30)
    assert read(row.path) is False
    admin.run(*row.command("set", topic))
    arrives(read, row.path, value=True)
    admin.run(*row.command("remove", topic))
    arrives(read, row.path, value=False)


def test_row_31_is_set_and_removed(admin: PulsarAdmin, topic: str, read: Read) -> None:
    (row,) = (row for row in ROWS if row.number == 31)
    admin.run(*row.command("set", topic))
    arrives(read, row.path, ["standalone"])
    assert row.shows(admin.done(*row.command("get", topic)))
    admin.run(*row.command("remove", topic))
    arrives(read, row.path, None)
    assert same(admin.done(*row.command("get", topic, "--applied")), row.default)


def test_deleting_all_policies_leaves_the_topic_clean(admin: PulsarAdmin, topic: str) -> None:
    for row in AWAITED:
        admin.done(*row.command("set", topic))
    admin.done("topicPolicies", "delete", topic)
    for row in AWAITED:
        assert same(admin.done(*row.command("get", topic)), row.unset), row


def test_a_quota_stays_below_the_retention(admin: PulsarAdmin, topic: str) -> None:
    def policies(command: str, *options: str) -> list[str]:
        return ["topicPolicies", command, *options, topic]

    admin.done(*policies("set-retention", "-s", "10M", "-t", "10m"))
    kept = {"retentionTimeInMinutes": 10, "retentionSizeInMB": 10}
    assert same(admin.done(*policies("get-retention")), kept)
    too_large = policies("set-backlog-quota", "-l", "10M", "-p", "producer_request_hold")
    assert "Backlog Quota exceeds configured retention quota for topic. Please increase retention quota and retry" in (
        admin.refused(*too_large)
    )
    admin.done(*policies("set-backlog-quota", "-l", "9M", "-p", "producer_request_hold"))
    admin.done(*policies("remove-retention"))
    assert admin.done(*policies("get-retention")) == "null\n"


def test_refusals_say_why(admin: PulsarAdmin, topic: str) -> None:
    refusals = [
        (["set-retention", "-s", "0", "-t", "1m", topic], "Invalid retention policy"),
        (["set-max-message-size", "-m", "-1", topic], "maxMessageSize"),
        (["set-max-producers", "-p", "-1", topic], "maxProducers must be 0 or more"),
        (["set-persistence", "-e", "1", "-w", "2", topic], "persistence"),
        (["get-retention", f"{topic}-partition-0"], "partition"),
        (["get-retention", "persistent://public/default/nosuch"], "not found"),
        (["get-retention", "persistent://public/nosuch/topic"], "not found"),
    ]
    for command, reason in refusals:
        assert reason.lower() in admin.refused("topicPolicies", *command).lower(), command
