"""Completion of names: what the shell is offered, and that it is left in peace when nothing answers."""

from __future__ import annotations

import re
import socket
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from topicfold.cli import completion
from topicfold.client import Client


def offered(run: Run, monkeypatch: pytest.MonkeyPatch, words: str, patience_seconds: float = 60.0) -> list[str]:
    monkeypatch.setattr(completion, "PATIENCE_SECONDS", patience_seconds)
    monkeypatch.setenv("_TOPICFOLD_COMPLETE", "complete_bash")
    parted = [part for word in words.split(" ") for part in _parted(word) if part or not word]
    monkeypatch.setenv("COMP_WORDS", "\n".join(["topicfold", *parted]))
    monkeypatch.setenv("COMP_CWORD", str(len(parted)))
    result = run()
    assert result.err == ""
    return result.out.split()


def _parted(word: str) -> list[str]:
    """Return the parts that bash has of a word, which it leaves whole in quotes."""
    return [word] if word.startswith("'") else re.split("([:=]+)", word)


@pytest.fixture
def names(client: Client) -> None:
    client.create_tenant("acme")
    client.create_namespace("acme/pay")
    for topic in ("orders", "other", "refunds", "acme/pay/orders"):
        client.create_topic(topic)
    client.set_labels("orders", {"team": "pay"})
    client.set_labels("acme/pay/orders", {"team": "ops", "tier": "gold", "note": "a, b"})


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("topics get o", ["orders", "other"]),
        ("topics get acme/pay/", ["acme/pay/orders"]),
        ("topics get ac", []),
        ("namespaces delete p", ["public/default"]),
        ("namespaces delete acme/", ["acme/pay"]),
        ("tenants get a", ["acme"]),
        ("topics get-c", ["get-custom-labels"]),
        ("clusters get s", ["standalone"]),
        ("policies export acme/", ["acme/pay"]),
        ("rollback no-such --to ", []),
        ("config s", ["server"]),
        ("topicPolicies set-ret", ["set-retention"]),
        ("topics set-max", []),
        ("topicPolicies get-retention or", ["orders"]),
        ("topics list --custom-labels te", ["team:pay"]),
        ("topics list acme/pay --custom-labels t", ["team:ops", "tier:gold"]),
        ("topics list acme/pay --custom-labels team:ops,ti", ["ops,tier:gold"]),
        ("topics list acme/pay --custom-labels team:", ["ops"]),
        ("topics list acme/pay --custom-labels=ti", ["tier:gold"]),
        ("topics list acme/pay --custom-labels=tier:g", ["gold"]),
        ("topics list -n acme/pay --custom-labels t", ["team:ops", "tier:gold"]),
        ("topics list acme/pay --custome-labels ti", ["tier:gold"]),
        ("topics list -l t", ["team=pay"]),
        ("topics list acme/pay -l t", ["team=ops", "tier=gold"]),
        ("topics list acme/pay -l team=", ["ops"]),
        ("topics list acme/pay -l team==o", ["ops"]),
        ("topics list acme/pay -l team!=o", ["ops"]),
        ("topics list acme/pay -l team=ops,!ti", ["ops,!tier"]),
        ("topics list acme/pay --selector=ti", ["tier=gold"]),
        ("topics list acme/pay -l 'team=o", ["team=ops"]),
        ("topics list acme/pay -n public/default -l team=", ["ops", "pay"]),
        ("watch -n acme/pay -n public/default -l team=", ["ops", "pay"]),
        ("watch -A -l team=", ["ops", "pay"]),
        ("watch -n 'ac*/p*' -l team=", ["ops"]),
        ("topics list 'acme/*' -n public/default -l team=", ["ops", "pay"]),
        ("consume -n acme/pay -l ti", ["tier=gold"]),
        ("explain -n acme/pay ti", ["tier=gold"]),
        ("topics list acme/pay -l note=", []),
        ("topics list acme/pay -l in(ti", []),
        ("topics list no/where -l t", []),
        ("policies apply -l t", []),
        ("topics get persistent://acme/pay/o", ["//acme/pay/orders"]),
        ("topics set-custom-labels other --labels team=", ["pay"]),
        ("topics set-custom-labels other --labels t", ["team=pay"]),
        ("topics remove-custom-labels acme/pay/orders --labels tier,te", ["tier,team"]),
        ("topi", ["topics", "topicPolicies"]),
    ],
)
@pytest.mark.usefixtures("names")
def test_names_that_begin_so_are_offered(
    run: Run, monkeypatch: pytest.MonkeyPatch, words: str, expected: list[str]
) -> None:
    assert offered(run, monkeypatch, words) == expected


@pytest.mark.usefixtures("names")
def test_labels_where_a_pattern_matches_are_offered_however_many_other_tenants_there_are(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(completion, "_MAX_QUESTIONS", 1)
    assert offered(run, monkeypatch, "topics list 'public/*' -l team=") == ["pay"]


@pytest.mark.usefixtures("names")
def test_names_that_begin_otherwise_take_no_place_of_those_that_begin_so(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(completion, "_MAX_NAMES", 1)
    assert offered(run, monkeypatch, "topics get re") == ["refunds"]


@pytest.mark.parametrize("begun", ["pay.or", "public/default/pay.or", "persistent://public/default/pay.or"])
def test_the_server_is_asked_for_no_other_topics_than_those_that_begin_so(
    run: Run, monkeypatch: pytest.MonkeyPatch, client: Client, begun: str
) -> None:
    for name in ("pay.orders", "pay_orders", "refunds", "acme"):
        client.create_topic(name)
    told: list[str] = []
    topics = Client.topics

    def listed(*given: Any, **asked: Any) -> list[Any]:
        found = list(topics(*given, **asked))
        told.extend(each.name for each in found)
        return found

    monkeypatch.setattr(Client, "topics", listed)
    offers = offered(run, monkeypatch, f"topics get {begun}")
    assert offers == [f"{begun.removeprefix('persistent:')}ders"]
    assert told == ["persistent://public/default/pay.orders"]


def test_a_name_of_which_more_was_typed_than_an_expression_takes_is_offered(
    run: Run, monkeypatch: pytest.MonkeyPatch, client: Client
) -> None:
    long = "a.b-" * 60
    client.create_topic(long + "c")
    assert offered(run, monkeypatch, f"topics get {long}") == [long + "c"]


def test_no_value_is_offered_that_a_selector_cannot_say(
    run: Run, monkeypatch: pytest.MonkeyPatch, client: Client
) -> None:
    client.create_topic("orders", labels={"note": "a=b", "north": "b"})
    assert offered(run, monkeypatch, "topics list -l no") == ["north=b"]


@pytest.mark.parametrize(
    "value", ["$(touch x)", "`touch x`", "a;b", "a'b", 'a"b', "a\\b", "a b", "a&b", "a|b", "a>b", "*", "~"]
)
def test_nothing_is_offered_that_a_shell_would_take_for_more_than_letters(
    run: Run, monkeypatch: pytest.MonkeyPatch, client: Client, value: str
) -> None:
    client.create_topic("orders", labels={"note": value, "north": "b"})
    assert offered(run, monkeypatch, "topics list --custom-labels no") == ["north:b"]
    assert offered(run, monkeypatch, "topics list -l no") == ["north=b"]
    assert offered(run, monkeypatch, "topics set-custom-labels orders --labels no") == ["north=b"]
    assert offered(run, monkeypatch, "topics list --custom-labels 'no") == ["north:b"]


def test_nothing_is_offered_that_a_list_would_part(run: Run, monkeypatch: pytest.MonkeyPatch, client: Client) -> None:
    client.create_topic("orders", labels={"note": "a,b=c", "north": "b"})
    assert offered(run, monkeypatch, "topics set-custom-labels orders --labels no") == ["north=b"]
    assert offered(run, monkeypatch, "topics list --custom-labels no") == ["north:b"]


def test_a_closed_port_offers_nothing_and_says_nothing(bare_run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    monkeypatch.setenv("TOPICFOLD_URL", f"http://127.0.0.1:{port}")
    assert offered(bare_run, monkeypatch, "topics get o") == []


def test_a_slow_answer_is_not_waited_for_beyond_a_second(bare_run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = threading.Event()
    monkeypatch.setattr(Client, "topics", lambda *_, **__: answers.wait(300))
    started, before = time.monotonic(), set(threading.enumerate())
    assert offered(bare_run, monkeypatch, "topics get o", completion.PATIENCE_SECONDS) == []
    assert time.monotonic() - started < 60
    assert [each.daemon for each in set(threading.enumerate()) - before] == [True]
    answers.set()


def test_versions_are_completed_where_a_topic_has_some(
    run: Run, monkeypatch: pytest.MonkeyPatch, names: None, client: Client
) -> None:
    versions = [str(entry.offset) for entry in client.history("orders").entries]
    assert offered(run, monkeypatch, "rollback orders --to ") == versions
    assert offered(run, monkeypatch, "topicPolicies get-retention orders --at ") == versions


def test_completion_shows_the_token_that_commands_would_show(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    file.write_text("secret")
    shown: list[str] = []
    monkeypatch.setattr("topicfold.client.Client.__init__", lambda self, url, **told: shown.append(told["token"]()))
    offered(run, monkeypatch, f"tenants get --token-file {file} p")
    assert shown == ["secret"]
