"""`topicfold history` and `rollback`, and reads with `--at`."""

from __future__ import annotations

import io
import json
import re
import sys
from dataclasses import replace
from typing import Any, Literal

import pytest

from tests.cli.conftest import Run
from tests.terminal import Terminal
from topicfold.cli.history import _rows
from topicfold.client import Client, FieldChange, HistoryEntry, Topic

ORDERS = "persistent://public/default/orders"


@pytest.fixture
def orders(client: Client) -> list[str]:
    """The versions of a topic that was made, labelled, and labelled again, by their offsets; the oldest first."""
    client.create_topic("orders", partitions=2, labels={"tier": "lead"})
    client.set_labels("orders", {"tier": "gold", "team": "pay"}, reason="SLA")
    client.set_labels("orders", {"tier": "iron"}, reason="it broke")
    return [str(entry.offset) for entry in reversed(client.history("orders").entries)]


@pytest.mark.parametrize("words", ["topics get", "topics get-custom-labels", "topicPolicies get-retention"])
def test_a_version_that_the_server_cannot_read_does_not_seem_empty(
    run: Run, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    there = Topic(ORDERS, {}, 0, None, {}, "e", {"local": None, "global": None}, is_undecodable=True)
    monkeypatch.setattr(Client, "get_topic_at", lambda *_: there)
    refused = run(*words.split(), "orders", "--at", "5")
    assert (refused.code, refused.out) == (4, "")
    assert f"the server cannot read the record of {ORDERS}" in refused.err


def test_a_history_is_a_table_that_lines_up(run: Run, orders: list[str]) -> None:
    shown = run("history", "orders")
    lines = shown.out.splitlines()
    assert (shown.code, shown.err) == (0, "")
    assert re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", "T", shown.out).splitlines()[1:] == [
        f"{orders[2]:7}  T  anonymous  it broke  labels.tier: gold → iron",
        f"{orders[1]:7}  T  anonymous  SLA       labels.team: – → pay",
        " " * 56 + "labels.tier: lead → gold",
        f"{orders[0]:7}  T  anonymous            created",
        " " * 56 + "partitions: – → 2",
        " " * 56 + "labels.tier: – → lead",
    ]
    assert re.fullmatch(r"VERSION  WHEN +WHO +WHY +CHANGE", lines[0])
    assert "\x1b" not in shown.out


def test_steps_in_kafka_are_told_in_words_where_the_change_does_not_imply_them() -> None:
    def told(kind: Literal["created", "changed", "deleted"], *changes: tuple[str, Any, Any]) -> list[str]:
        fields = tuple(FieldChange((name,), old, new) for name, old, new in changes)
        entry = HistoryEntry("e.1", 3, "p", kind, "2026-01-02T03:04:05.678Z", (), fields)
        return [row[-1] for row in _rows(entry)]

    assert told("created", ("partitions", None, 1), ("pending", None, "make")) == ["created", "partitions: – → 1"]
    assert told("changed", ("pending", None, "end")) == ["its Kafka topic is to be deleted"]
    assert told("deleted", ("pending", "end", None)) == ["deleted"]


def test_a_time_of_the_history_is_one_at_which_its_change_was_made(run: Run, orders: list[str]) -> None:
    newest, *_, oldest = [line.split()[1] for line in run("history", "orders").out.splitlines()[1:] if line[0] != " "]
    assert run("topics", "get-custom-labels", "orders", "--at", newest).out.splitlines()[2:] == ["tier  iron"]
    assert run("topics", "get-custom-labels", "orders", "--at", oldest).out.splitlines()[1:] == ["tier  lead"]


def test_an_empty_label_is_no_absent_one(run: Run, client: Client) -> None:
    client.create_topic("orders", labels={"team": "pay"})
    client.set_labels("orders", {"team": ""})
    shown = run("history", "orders", "--limit", "1").out
    assert shown.splitlines()[1].endswith('labels.team: pay → ""')
    told = json.loads(run("history", "orders", "--limit", "1", "-o", "json").out)
    assert told[0]["changes"] == [{"path": ["labels", "team"], "old": "pay", "new": ""}]


def test_a_history_in_json_has_everything(run: Run, orders: list[str], client: Client) -> None:
    newest = json.loads(run("history", "orders", "--limit", "1", "-o", "json").out)
    assert len(newest) == 1
    assert newest[0]["etag"] == client.get_topic("orders").etag
    assert newest[0]["changes"] == [{"path": ["labels", "tier"], "old": "gold", "new": "iron"}]
    assert newest[0]["madeBy"][0]["reason"] == "it broke"


def test_a_limit_says_that_there_is_more(run: Run, orders: list[str]) -> None:
    shown = run("history", "orders", "--limit", "2", "-o", "name")
    assert len(shown.out.splitlines()) == 2
    assert "--limit 4" in shown.err


def test_a_limit_beyond_what_is_asked_for_at_once_is_kept(
    run: Run, orders: list[str], client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("topicfold.cli.history._PAGE", 2)
    client.set_labels("orders", {"tier": "tin"})
    shown = run("history", "orders", "--limit", "3", "-o", "name").out.splitlines()
    assert shown == [entry.etag for entry in client.history("orders", limit=3).entries]


def test_a_deleted_topic_has_a_history_and_older_versions(run: Run, orders: list[str], client: Client) -> None:
    client.delete_topic("orders")
    assert run("history", "orders").out.splitlines()[1].endswith("deleted")
    assert json.loads(run("topics", "get", "orders", "--at", orders[1], "-o", "json").out)["labels"]["tier"] == "gold"
    assert run("topics", "get-custom-labels", "orders", "--at", orders[0]).out.splitlines()[1:] == ["tier  lead"]
    assert run("topics", "get", "orders").code == 3


def test_a_history_that_ends_at_a_gap_names_what_knows_more(
    run: Run, orders: list[str], client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = replace(client.history("orders"), gap="at offset 3, the log begins later")
    monkeypatch.setattr(Client, "history", lambda *_, **__: page)
    assert run("history", "orders").err.splitlines() == [
        "warning: earlier changes are not known: at offset 3, the log begins later",
        "hint: where a snapshot has it, start the server with --snapshot DIR",
    ]


def test_going_back_with_a_topic_that_was_deleted_begins_with_making_it_again(
    run: Run, orders: list[str], client: Client
) -> None:
    client.delete_topic("orders")
    refused = run("rollback", "orders", "--to", orders[1], "--yes")
    assert (refused.code, refused.err.splitlines()[1]) == (
        3,
        "hint: if it was deleted, make it again, then roll back: topicfold topics create orders",
    )
    assert run("topics", "create", "orders").code == 0
    assert run("rollback", "orders", "--to", orders[1], "--yes").code == 0
    assert client.get_labels("orders") == {"tier": "gold", "team": "pay"}


def test_a_rollback_is_done_without_a_question_if_told_so(run: Run, orders: list[str], client: Client) -> None:
    done = run("rollback", "orders", "--to", orders[0], "--yes", "--reason", "wrong tier")
    assert (done.code, done.err) == (0, f"rolled back {ORDERS}\n")
    assert client.get_labels("orders") == {"tier": "lead"}
    assert client.history("orders").entries[0].made_by[0].reason == "wrong tier"


@pytest.mark.parametrize(
    ("kind", "changes", "shown"),
    [("changed", None, "changed (what it was cannot be read)"), ("changed", (), "changed"), ("created", (), "created")],
)
def test_a_change_of_which_nothing_can_be_told_is_shown_all_the_same(
    run: Run, orders: list[str], client: Client, monkeypatch: pytest.MonkeyPatch, kind: str, changes: Any, shown: str
) -> None:
    page = client.history("orders", limit=1)
    entry = replace(page.entries[0], kind=kind, changes=changes, time=None, made_by=())
    monkeypatch.setattr(Client, "history", lambda *_, **__: replace(page, entries=(entry,), before=""))
    assert run("history", "orders").out.splitlines()[1].split(maxsplit=2) == [orders[2], "–", shown]


def test_the_version_that_a_rollback_asks_about_may_be_named_as_an_etag_is_sent(
    run: Run, orders: list[str], client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    etag = client.history("orders").entries[1].etag
    monkeypatch.setattr(sys, "stdin", Terminal("no\n"))
    assert "This undoes 1 change of orders since" in run("rollback", "orders", "--to", f'"{etag}"').err


@pytest.mark.parametrize(("typed", "tier", "code"), [("y\n", "gold", 0), ("\n", "iron", 1), ("no\n", "iron", 1)])
def test_a_rollback_shows_what_it_undoes_and_asks(
    run: Run, orders: list[str], client: Client, monkeypatch: pytest.MonkeyPatch, typed: str, tier: str, code: int
) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    asked = run("rollback", "orders", "--to", orders[1])
    assert asked.code == code
    assert "labels.tier: gold → iron" in asked.err
    assert f"This undoes 1 change of orders since version {orders[1]};" in asked.err
    assert client.get_labels("orders")["tier"] == tier


def test_what_belongs_to_one_version_stands_under_it_where_a_rollback_asks(
    run: Run, orders: list[str], client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.set_labels("orders", {"a": "x", "b": "y"})
    monkeypatch.setattr(sys, "stdin", Terminal("no\n"))
    first, second, *_ = run("rollback", "orders", "--to", orders[1]).err.splitlines()
    version = str(client.history("orders").entries[0].offset)
    assert first.startswith(f"  {version}  ")
    assert first.endswith("  labels.a: – → x")
    assert second == f"  {' ' * len(version)}  labels.b: – → y"


def test_a_rollback_across_a_deletion_shows_what_comes_back_and_that_messages_do_not(
    run: Run, orders: list[str], client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.delete_topic("orders")
    client.create_topic("orders", partitions=3)
    monkeypatch.setattr(sys, "stdin", Terminal("no\n"))
    first, second, question = run("rollback", "orders", "--to", orders[1]).err.splitlines()[:3]
    assert (first, second) == ("  labels.team: – → pay", "  labels.tier: – → gold")
    assert question.startswith(f"This makes orders as in version {orders[1]}, of before it was deleted; partitions")
    assert "no message comes back" in question


def test_a_rollback_of_a_namespace_across_a_deletion_shows_what_comes_back_and_that_topics_do_not(
    run: Run, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.create_namespace("public/pay")
    client.patch_namespace("public/pay", {"policies": {"messageTTLInSeconds": 9}, "properties": {"owner": "ann"}})
    version = str(client.namespace_history("public/pay").entries[0].offset)
    client.grant_on_namespace("public/pay", "bob", ["admin"])
    client.delete_namespace("public/pay")
    client.create_namespace("public/pay")
    monkeypatch.setattr(sys, "stdin", Terminal("no\n"))
    asked = run("namespaces", "rollback", "public/pay", "--to", version).err
    assert asked.splitlines()[:2] == ["  properties.owner: – → ann", "  policies.messageTTLInSeconds: – → 9"]
    assert "of before it was deleted; its topics and grants stay, and no topic comes back. Continue?" in asked


def test_nothing_that_a_rollback_undoes_steers_the_terminal_of_whoever_is_asked(
    run: Run, orders: list[str], client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.patch_topic("orders", {"properties": {"owner": "\x1b[2K\rnothing"}})
    monkeypatch.setattr(sys, "stdin", Terminal("no\n"))
    asked = run("rollback", "orders", "--to", orders[1], "--quiet").err
    assert r"properties.owner: – → \x1b[2K\rnothing" in asked
    assert "\x1b" not in asked


def test_a_rollback_that_was_agreed_to_does_not_undo_what_came_meanwhile(
    run: Run, orders: list[str], client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Slow(Terminal):
        def readline(self, *_: object) -> str:
            client.set_labels("orders", {"tier": "new"})
            return "y\n"

    monkeypatch.setattr(sys, "stdin", Slow())
    assert run("rollback", "orders", "--to", orders[1]).code == 4
    assert client.get_labels("orders")["tier"] == "new"


def test_a_rollback_of_a_certain_version_needs_no_question_and_is_of_no_other(
    run: Run, orders: list[str], client: Client
) -> None:
    etag = client.get_topic("orders").etag
    client.set_labels("orders", {"tier": "new"})
    assert run("rollback", "orders", "--to", orders[0], "--if-match", etag).code == 4
    assert client.get_labels("orders")["tier"] == "new"
    newest = client.get_topic("orders").etag
    assert run("rollback", "orders", "--to", orders[0], "--if-match", newest).code == 0


@pytest.mark.parametrize("is_told", [True, False])
def test_a_rollback_further_than_the_history_that_is_looked_at_asks_all_the_same(
    run: Run, orders: list[str], client: Client, monkeypatch: pytest.MonkeyPatch, is_told: bool
) -> None:
    if is_told:
        monkeypatch.setattr("topicfold.cli.history._MAX_LOOKED_AT", 1)
    else:
        monkeypatch.setattr("topicfold.cli.history._entries", lambda *_: ([], "it was trimmed", False))
    monkeypatch.setattr(sys, "stdin", Terminal("y\n"))
    asked = run("rollback", "orders", "--to", orders[0])
    assert asked.code == 0
    assert f"This undoes whatever changed on orders since version {orders[0]};" in asked.err
    assert client.get_labels("orders") == {"tier": "lead"}


def test_who_interrupts_the_question_is_told_that_nothing_was_changed(
    run: Run, orders: list[str], client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Interrupted(Terminal):
        def readline(self, *_: object) -> str:
            raise KeyboardInterrupt

    monkeypatch.setattr(sys, "stdin", Interrupted())
    refused = run("rollback", "orders", "--to", orders[0])
    assert (refused.code, refused.err.endswith("\ninterrupted; nothing was changed\n")) == (130, True)
    assert client.get_labels("orders") == {"tier": "iron", "team": "pay"}


def test_without_a_terminal_nobody_is_asked(
    run: Run, orders: list[str], client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("n\n"))
    done = run("rollback", "orders", "--to", orders[0])
    assert (done.code, done.err, client.get_labels("orders")["tier"]) == (0, f"rolled back {ORDERS}\n", "lead")


def test_whoever_names_no_version_is_told_what_shows_them(run: Run) -> None:
    assert run("rollback", "orders").err.endswith(
        "; the versions are in 'topicfold history TOPIC', or 'topicfold namespaces history NAMESPACE'\n"
    )


def test_an_unknown_version_says_which_come_nearest(run: Run, orders: list[str], client: Client) -> None:
    refused = run("rollback", "orders", "--to", "99999", "--yes")
    assert refused.code == 3
    assert refused.err.endswith(f"hint: topicfold history orders; near it are {', '.join(reversed(orders))}\n")


@pytest.mark.parametrize(("to", "code"), [("99999", 3), ("f" * 32, 3), ("latest", 2)])
@pytest.mark.parametrize("there", [Terminal, io.StringIO])
def test_what_the_server_would_refuse_is_refused_without_a_question(
    run: Run,
    orders: list[str],
    client: Client,
    monkeypatch: pytest.MonkeyPatch,
    there: type[io.StringIO],
    to: str,
    code: int,
) -> None:
    stdin = there("y\n")
    monkeypatch.setattr(sys, "stdin", stdin)
    refused = run("rollback", "orders", "--to", to)
    assert (refused.code, stdin.read()) == (code, "y\n")
    assert client.get_labels("orders")["tier"] == "iron"


def test_a_rollback_without_a_reason_has_one_that_names_the_version_as_the_history_does(
    run: Run, orders: list[str], client: Client
) -> None:
    run("rollback", "orders", "--to", client.history("orders").entries[2].etag, "--yes")
    assert f"  rollback to version {orders[0]}  " in run("history", "orders", "--limit", "1").out


def test_going_back_to_what_is_there_says_that_nothing_changed(run: Run, orders: list[str], client: Client) -> None:
    before = client.get_topic("orders").etag
    done = run("rollback", "orders", "--to", orders[2], "--yes", "-o", "json")
    told = json.loads(done.out)
    assert (done.code, told["changed"], told["etag"]) == (0, False, before)
    assert done.err == f"unchanged {ORDERS}: it was as in version {orders[2]} before\n"


def test_policies_are_shown_as_they_were(run: Run, client: Client) -> None:
    client.create_topic("orders")
    versions = []
    for size in (10, 20):
        retention = {"retentionTimeInMinutes": 10, "retentionSizeInMB": size}
        client.set_policy("orders", "retentionPolicies", retention)
        client.set_policy("orders", "subscriptionPolicies", {"dispatchThrottlingRateInMsg": size}, entry="sub")
        versions.append(str(client.history("orders", limit=1).entries[0].offset))
    for size, version in zip((10, 20), versions, strict=True):
        asked = ("orders", "--at", version, "-o", "json")
        assert json.loads(run("topicPolicies", "get-retention", *asked).out)["retentionSizeInMB"] == size
        rate = json.loads(run("topicPolicies", "get-subscription-dispatch-rate", "-s", "sub", *asked).out)
        assert rate["dispatchThrottlingRateInMsg"] == size
    for words in (("get-retention", "-g"), ("get-message-ttl",), ("get-subscription-dispatch-rate", "-s", "other")):
        assert run("topicPolicies", *words, "orders", "--at", versions[0]).out == "null\n"


@pytest.mark.parametrize("name", ["subscription-types-enabled", "backlog-quota", "offload-policies"])
def test_what_was_and_still_is_reads_the_same(run: Run, client: Client, name: str) -> None:
    client.create_topic("orders")
    client.set_policy("orders", "backLogQuotaMap", {"limitSize": 5, "policy": "producer_exception"})
    client.set_policy("orders", "offloadPolicies", {"managedLedgerOffloadDriver": "filesystem"})
    now = str(client.history("orders", limit=1).entries[0].offset)
    words = ("topicPolicies", f"get-{name}", "orders", "-o", "json")
    assert run(*words, "--at", now).out == run(*words).out


def test_where_it_was_not_yet_the_hint_is_its_history(run: Run, orders: list[str]) -> None:
    refused = run("topics", "get", "orders", "--at", str(int(orders[0]) - 1))
    assert (refused.code, refused.err.splitlines()[1]) == (3, "hint: topicfold history orders")


@pytest.mark.parametrize("words", [("history", "lost"), ("topics", "get", "lost", "--at", "0")])
def test_what_never_was_has_no_history(run: Run, words: tuple[str, ...]) -> None:
    assert run(*words).code == 3


def test_of_a_topic_that_was_only_tried_to_change_it_says_that_it_never_was(run: Run) -> None:
    assert run("topics", "set-custom-labels", "ordres", "--labels", "team=pay").code == 3
    shown = run("history", "ordres")
    assert (shown.code, shown.out) == (3, "")
    assert "persistent://public/default/ordres" in shown.err
