"""`topicfold topics list` by selectors, wildcards, expressions and properties; `topicfold explain`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.cli.conftest import Run, Start
from tests.client.served import serving
from topicfold.cli.session import Session
from topicfold.client import Client
from topicfold.client.answers import Readiness, Topic
from topicfold.client.call import Call
from topicfold.client.errors import UnexpectedAnswer
from topicfold.model.names import parse_namespace
from topicfold.model.namespaces import Namespaces


@pytest.fixture
def server_url() -> Iterator[str]:
    with serving(topic_listing="by-properties") as (url,):
        yield url


@pytest.fixture(autouse=True)
def topics(client: Client) -> None:
    client.create_tenant("acme")
    client.create_namespace("acme/pay")
    client.create_topic("pay__eu", labels={"team": "pay", "tier": "gold"}, properties={"region": "eu"})
    client.create_topic("pay__us", labels={"team": "pay", "tier": "silver"}, partitions=2, properties={"region": "us"})
    client.create_topic("ship__eu", labels={"team": "ship"}, properties={"region": "eu"})
    client.create_topic("acme/pay/orders", labels={"team": "pay"})


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["-l", "team=pay,tier in (gold,silver)"], ["pay__eu", "pay__us"]),
        (["-l", "!tier"], ["ship__eu"]),
        (["--match", "*__eu"], ["pay__eu", "ship__eu"]),
        (["--match", "pay__us", "--match", "ship__*"], ["pay__us", "ship__eu"]),
        (["--regex", "p.*s"], ["pay__us"]),
        (["-l", "team=pay", "--match", "*__eu", "--regex", "pay.*", "--custom-labels", "tier:gold"], ["pay__eu"]),
        (["-l", '{"matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]}'], ["ship__eu"]),
        (["--limit", "2"], ["pay__eu", "pay__us"]),
        (["-p", "region=eu"], ["pay__eu", "ship__eu"]),
        (["-p", "region=us"], ["pay__us"]),
        (["-p", "region=eu", "-l", "team=pay"], ["pay__eu"]),
    ],
)
def test_all_that_is_asked_for_must_hold(run: Run, words: list[str], names: list[str]) -> None:
    listed = run("topics", "list", *words, "-o", "name")
    assert listed.out.split() == [f"persistent://public/default/{name}" for name in names]


@pytest.mark.parametrize("words", [["-p", r"owner=a\,b=c d"], ["-p", "owner=a,b=c d", "-p", "region=eu"]])
def test_a_property_may_have_commas(client: Client, run: Run, words: list[str]) -> None:
    client.create_topic("odd", properties={"owner": "a,b=c d", "region": "eu"})
    client.create_topic("even", properties={"owner": "a", "b": "c d", "region": "eu"})
    assert run("topics", "list", *words, "-o", "name").out.split() == ["persistent://public/default/odd"]


@pytest.mark.parametrize("words", [[], ["-p", "region=eu"], ["--at", "0s"]])
def test_a_limit_says_whether_there_are_more(run: Run, words: list[str]) -> None:
    assert "there are more" in run("topics", "list", *words, "--limit", "1").err
    assert "more" not in run("topics", "list", *words, "--limit", "3").err


def test_system_topics_count_for_no_limit_where_they_are_not_shown(client: Client, run: Run) -> None:
    client.create_topic("__change_events")
    assert run("topics", "list", "--limit", "1", "-o", "name").out.split() == ["persistent://public/default/pay__eu"]
    shown = run("topics", "list", "--limit", "1", "-ist", "-o", "name").out.split()
    assert shown == ["persistent://public/default/__change_events"]
    assert run("topics", "list", "-p", "region=eu", "-ist", "--match", "**").code == 0


@pytest.mark.parametrize(
    "words",
    [["-A"], ["*"], ["-n", "*"], ["acme/pay", "-n", "public/default"], ["-n", "public/default", "-n", "acme/pay"]],
)
def test_several_namespaces_are_listed_at_once(run: Run, words: list[str]) -> None:
    listed = json.loads(run("topics", "list", *words, "-l", "team=pay", "-o", "json").out)
    assert [topic["name"][len("persistent://") :] for topic in listed] == [
        "acme/pay/orders",
        "public/default/pay__eu",
        "public/default/pay__us",
    ]


def test_to_list_many_namespaces_takes_no_request_for_each(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    perform = Client.perform

    def noted(client: Client, call: Call[Any]) -> Any:
        asked.append(call.path)
        return perform(client, call)

    monkeypatch.setattr(Client, "perform", noted)
    assert run("topics", "list", "acme/pay", "-n", "public/default").code == 0
    assert asked == ["/admin/v2/tenants", "/readyz", "/api/v1/topics"]


def test_a_list_needs_no_word_of_the_servers_health(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def hidden(client: Client) -> Readiness:
        raise UnexpectedAnswer("a proxy hides it", url=client.url, status=404)

    listed = run("topics", "list")
    monkeypatch.setattr(Client, "readiness", hidden)
    assert run("topics", "list") == listed
    assert "pay__eu" in listed.out


@pytest.mark.parametrize(
    ("words", "records"),
    [
        (["-o", "table"], []),
        (["-o", "name", "-l", "team=pay", "--limit", "1"], []),
        (["-o", "json"], ["record"]),
        (["-o", "name", "-p", "region=eu"], ["record"]),
    ],
)
def test_records_are_asked_for_only_where_they_are_needed(
    run: Run, monkeypatch: pytest.MonkeyPatch, words: list[str], records: list[str]
) -> None:
    asked: list[str] = []
    perform = Client.perform

    def noted(client: Client, call: Call[Any]) -> Any:
        asked.extend(value for name, value in call.query if name == "fields")
        return perform(client, call)

    monkeypatch.setattr(Client, "perform", noted)
    assert "pay__eu" in run("topics", "list", *words).out
    assert asked == records


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-l", "team in"], "column"),
        (["--match", "pay__"], "segment 2"),
        (["--regex", "("], "regular expression"),
        (["acme/pay", "-A"], "both given"),
        (["-w", "-p", "a=b"], "-w shows all that matches"),
    ],
)
def test_what_cannot_be_asked_for_is_refused_with_where_it_is_wrong(run: Run, words: list[str], said: str) -> None:
    refused = run("topics", "list", *words)
    assert (refused.code, said in refused.err) == (2, True)


def test_there_may_be_more_namespaces_than_can_be_named_in_one_query(run: Run, client: Client, start: Start) -> None:
    for number in range(100):
        client.create_namespace(f"acme/n{number}")
    assert json.loads(run("explain", "team=pay", "-A", "-o", "json").out)["matched"] == 3
    assert len(run("topics", "list", "-A", "-l", "team=pay", "-o", "name").out.split()) == 3
    for words in (["watch"], ["topics", "list", "-w"]):
        watching = start(*words, "-A", "-l", "team=pay", "-o", "name")
        assert len({watching.line() for _ in range(3)}) == 3
        client.create_namespace(f"acme/later-{len(words)}")
        client.create_topic(f"acme/later-{len(words)}/bills", labels={"team": "pay"})
        assert watching.line() == f"persistent://acme/later-{len(words)}/bills"
        client.delete_topic(f"acme/later-{len(words)}/bills")


def test_a_server_to_which_a_star_is_no_name_is_asked_by_names(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "topicfold.server.paths.parse_namespaces", lambda texts: Namespaces(tuple(map(parse_namespace, texts)))
    )
    assert json.loads(run("explain", "team=pay", "-A", "-o", "json").out)["matched"] == 3


def test_a_pattern_with_the_namespace_in_it_is_told_what_patterns_are_for(run: Run) -> None:
    for pattern, is_told in (("persistent://public/default/pay__*", True), ("none__*", False)):
        told = run("topics", "list", "--match", pattern).err
        assert ("--match is for what follows the namespace" in told) is is_told


def test_an_expression_that_finds_nothing_is_told_to_be_for_the_whole_name(run: Run) -> None:
    assert "--regex is for the whole of what follows the namespace" in run("topics", "list", "--regex", "rder").err
    assert "--regex" not in run("topics", "list", "-l", "team=nobody").err


def test_the_topics_of_all_namespaces_that_match_a_pattern_are_listed_and_followed(
    run: Run, start: Start, client: Client
) -> None:
    for words in (["acme/*"], ["-n", "acme/p*"], ["*/pay", "-n", "acme/pay"]):
        assert run("topics", "list", *words, "-o", "name").out.split() == ["persistent://acme/pay/orders"]
    client.update_properties("acme/pay/orders", {"region": "eu"})
    for words in (["--at", "0s"], ["--properties", "region=eu"]):
        listed = run("topics", "list", "acme/*", *words, "-o", "name").out.split()
        assert listed == ["persistent://acme/pay/orders"]
    watching = start("watch", "-n", "acme/n*", "-l", "team=pay", "-o", "name")
    assert "no topic matches yet" in watching.err_line()
    client.create_namespace("acme/new")
    client.create_topic("acme/new/bills", labels={"team": "pay"})
    assert watching.line() == "persistent://acme/new/bills"


def test_where_no_namespace_matches_those_that_there_were_or_that_are_listed_that_is_said(run: Run) -> None:
    for words in (["--at", "1s"], ["-p", "a=b"]):
        told = run("topics", "list", "none/*", *words)
        assert (told.code, told.err) == (0, "no namespace that you may see matches none/*\n")


def test_a_pattern_is_shown_to_a_shell_in_quotes(run: Run) -> None:
    told = run("topics", "list", "acme/*", "-l", "team=none")
    assert "topicfold explain team=none -n 'acme/*' tells" in told.err


def test_a_selector_is_explained_with_counts_and_what_was_misspelt(run: Run) -> None:
    told = run("explain", "team=pay,teir=gold")
    assert told.out.splitlines() == ["REQUIREMENT  TOPICS", "team=pay     2", "teir=gold    0", "all of it    0 of 3"]
    assert "no topic has key teir; did you mean tier?" in told.err


def test_an_explanation_is_data_too(run: Run) -> None:
    told = json.loads(run("explain", "team=pay", "-A", "-o", "json").out)
    assert (told["selector"], told["topics"], told["matched"]) == ("team=pay", 4, 3)
    assert told["requirements"] == [
        {"requirement": "team=pay", "key": "team", "topics": 3, "takesTopicsWithoutKey": False}
    ]


def test_a_selector_that_cannot_be_read_is_refused(run: Run) -> None:
    refused = run("explain", "team in (a")
    assert (refused.code, "column" in refused.err) == (2, True)


def test_the_past_is_listed_as_it_was(client: Client, run: Run) -> None:
    position = next(iter(client.topics().pages())).position
    client.set_labels("pay__eu", {"tier": "bronze"})
    client.delete_topic("ship__eu")
    listed = run("topics", "list", "--at", position, "-o", "json")
    assert {each["name"][28:]: each["labels"].get("tier") for each in json.loads(listed.out)} == {
        "pay__eu": "gold", "pay__us": "silver", "ship__eu": None
    }  # fmt: skip
    assert run("topics", "list", "-l", "tier=gold", "--at", position, "-o", "name").out.split() == [
        "persistent://public/default/pay__eu"
    ]
    assert run("topics", "list", "--at", position, "--limit", "1", "-o", "name").out.split() == [
        "persistent://public/default/pay__eu"
    ]
    assert run("topics", "list", "-l", "tier=gold", "--at", "0s").out == ""
    everywhere = run("topics", "list", "-A", "-l", "team=pay", "--at", "0s", "-o", "name").out.split()
    assert everywhere == [f"persistent://{name}" for name in
                          ("acme/pay/orders", "public/default/pay__eu", "public/default/pay__us")]  # fmt: skip


def test_what_the_past_cannot_be_asked_is_refused(run: Run) -> None:
    for words, said in (
        (["--at", "1h", "-w"], "from now on"),
        (["--at", "1h", "-p", "region=eu"], "knows no past"),
        (["--at", "tomorrow"], "error: --at tomorrow is neither a time nor a position"),
        (["--at", ""], "neither a time nor a position"),
        (["--at", "2099-01-01T00:00:00Z"], "in the future"),
        (["--at", "2001-01-01T00:00:00Z"], "Its known history begins at 20"),
    ):
        refused = run("topics", "list", *words)
        assert refused.code != 0
        assert said in refused.err


def test_a_listing_that_takes_no_notice_of_properties_is_told_of(bare_run: Run) -> None:
    with serving(topic_listing="all") as (url,), Client(url) as client:
        client.create_topic("orders")
        listed = bare_run("topics", "list", "-p", "owner=ann", "-o", "name", "--url", url)
    assert (listed.code, listed.out) == (0, "persistent://public/default/orders\n")
    assert "ignores --properties" in listed.err


@pytest.mark.parametrize("output", ["table", "name"])
def test_a_record_that_the_server_cannot_read_is_told_not_to_be_without_labels(
    run: Run, monkeypatch: pytest.MonkeyPatch, output: str
) -> None:
    read = Topic.of

    def seen(body: Mapping[str, Any]) -> Topic:
        return read({**body, "undecodable": not body["labels"]})

    with monkeypatch.context() as patch:
        patch.setattr(Topic, "of", seen)
        patch.setattr(Session, "count_unreadable", lambda _: 1)
        assert run("topics", "list", "-o", output).err == ""
        run("topics", "remove-custom-labels", "ship__eu", "--all")
        listed = run("topics", "list", "-o", output)
    assert "ship__eu" in listed.out
    assert listed.err == (
        "warning: the server cannot read 1 of these topics, persistent://public/default/ship__eu: "
        "their labels are not known\n"
    )
