"""Desired state: files are read whole or not at all, and only what differs is asked for."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from topicfold.client.answers import Topic
from topicfold.client.desired import Desired, pruning, steps
from topicfold.client.desired_files import entries_of, files_under, read_files, write_lists
from topicfold.client.strict_yaml import read_documents
from topicfold.client.yaml_text import write_yaml
from topicfold.errors import Forbidden, InvalidRequest, Undecodable
from topicfold.model.differences import Difference

ORDERS = "persistent://public/default/orders"
RETENTION = {"retentionTimeInMinutes": 10, "retentionSizeInMB": 10}


def topic(name: str = ORDERS, **parts: object) -> Topic:
    """Return a topic as the server answers with it."""
    whole = {"name": name, "labels": {}, "partitions": 0, "properties": {}, "etag": "e1", "policies": {}}
    return Topic.of({**whole, **parts})


def file_with(directory: Path, text: str) -> Path:
    """Return a file of desired state."""
    path = directory / "policies.yaml"
    path.write_text(text)
    return path


def written(topics: Iterable[Topic]) -> str:
    """Return these topics as a file."""
    return write_lists({"topics": entries_of(topics)})


def problems_of(directory: Path, text: str) -> str:
    """Return what reading a file with this text is refused with."""
    with pytest.raises(InvalidRequest) as refused:
        read_files([file_with(directory, text)])
    return refused.value.reason


def test_of_a_long_file_only_a_part_has_entries_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    at_once: list[int] = []

    def topics() -> Iterator[Topic]:
        for number in range(600):
            made.append(number)
            yield topic(f"{ORDERS}-{number}")

    def counted(data: Any, **_: Any) -> str:
        at_once.append(len(made))
        made.clear()
        return write_yaml(data, is_ascii=False)

    monkeypatch.setattr("topicfold.client.yaml_text.write_yaml", counted)
    assert written(topics()).count("- name:") == 600
    assert at_once == [256, 256, 88]


def test_a_long_file_is_the_same_with_nodes_for_a_part_of_it_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    entries = [*entries_of(topic(f"{ORDERS}-{number}", labels={"n": f"{number}"}) for number in range(600))]
    parts: list[int] = []

    def counted(data: Any, *arguments: Any, **options: Any) -> str:
        parts.append(len(data))
        return write_yaml(data, *arguments, **options)

    monkeypatch.setattr("topicfold.client.yaml_text.write_yaml", counted)
    assert write_lists({"topics": entries}) == yaml.safe_dump(
        {"topics": entries}, sort_keys=False, default_flow_style=None
    )
    assert (sum(parts), max(parts)) == (600, 256)


@pytest.mark.parametrize("count", [0, 1])
def test_a_file_of_few_topics_is_read_too(tmp_path: Path, count: int) -> None:
    assert len(read_files([file_with(tmp_path, written([topic()] * count))])) == count


def test_what_is_exported_is_what_is_read(tmp_path: Path) -> None:
    there = topic(
        labels={"team": "pay", "note": "a: b"},
        properties={"n": "5"},
        partitions=3,
        policies={"local": {"retentionPolicies": RETENTION}, "global": {"messageTTLInSeconds": 60}},
    )
    desired = read_files([file_with(tmp_path, written([there]))])
    assert list(steps(desired, {ORDERS: there})) == []
    assert desired[0].partitions == 3
    assert set(desired[0].parts) == {"labels", "properties", "local", "global"}


def test_only_the_parts_that_differ_are_sent(tmp_path: Path) -> None:
    text = (
        f"topics: [{{name: orders, labels: {{tier: gold}}, policies: {{local: {{retentionPolicies: {RETENTION}}}}}}}]"
    )
    there = topic(labels={"tier": "silver"}, policies={"local": {"retentionPolicies": RETENTION}, "global": None})
    (step,) = steps(read_files([file_with(tmp_path, text)]), {ORDERS: there})
    assert step.body == {"labels": {"tier": "gold"}}
    assert step.differences == (Difference(("labels", "tier"), "silver", "gold"),)
    assert step.etag == "e1"


def test_each_document_of_a_file_is_read_whatever_those_before_it_are(tmp_path: Path) -> None:
    one, other = written([topic()]), written([topic(f"{ORDERS}2")])
    found = read_files([file_with(tmp_path, f"{one}---\n---\n{other}")])
    assert [each.name for each in found] == [ORDERS, f"{ORDERS}2"]
    told = problems_of(tmp_path, "---\n1\n---\ntopics: 2\n---\ntopics: [3]\n")
    assert told.count("expected a list of topics as the member topics") == 2
    assert "topic 1" in told


def test_a_part_that_is_left_out_stays_and_one_that_is_empty_is_emptied(tmp_path: Path) -> None:
    there = topic(labels={"tier": "gold"}, properties={"owner": "ann"})
    (step,) = steps(read_files([file_with(tmp_path, "topics: [{name: orders, labels: {}}]")]), {ORDERS: there})
    assert step.body == {"labels": {"tier": None}}


def test_what_is_sent_of_a_policy_takes_away_what_the_file_does_not_say(tmp_path: Path) -> None:
    offload = {"managedLedgerOffloadDriver": "filesystem"}
    text = f"topics: [{{name: orders, policies: {{local: {{offloadPolicies: {offload}, messageTTLInSeconds: 5}}}}}}]"
    local = {
        "offloadPolicies": offload | {"managedLedgerOffloadMaxThreads": 3},
        "retentionPolicies": RETENTION,
        "messageTTLInSeconds": 5,
    }
    (step,) = steps(read_files([file_with(tmp_path, text)]), {ORDERS: topic(policies={"local": local})})
    wanted = {"offloadPolicies": {"managedLedgerOffloadMaxThreads": None}, "retentionPolicies": None}
    assert step.body == {"policies": {"local": wanted}}


def test_policies_that_were_never_set_do_not_differ_from_none(tmp_path: Path) -> None:
    text = "topics: [{name: orders, policies: {local: {}, global: {}}}]"
    assert list(steps(read_files([file_with(tmp_path, text)]), {ORDERS: topic(policies={"local": None})})) == []


def test_a_missing_topic_is_made_with_all_that_is_said(tmp_path: Path) -> None:
    text = "topics: [{name: orders, partitions: 2, labels: {tier: gold}}]"
    (step,) = steps(read_files([file_with(tmp_path, text)]), {})
    assert step.etag is None
    assert step.body == {"labels": {"tier": "gold"}, "partitions": 2}


def test_pruning_takes_labels_and_policies_off_topics_that_no_file_names() -> None:
    there = [
        topic(labels={"team": "pay"}),
        topic("persistent://public/default/old", labels={"team": "pay"}),
        topic(ORDERS + "2"),
    ]
    (step,) = pruning(there, [Desired(ORDERS, {})])
    assert (step.name, step.body) == ("persistent://public/default/old", {"labels": {"team": None}})


def test_all_that_is_wrong_in_a_file_is_said_at_once_with_its_place(tmp_path: Path) -> None:
    text = """topics:
    - {name: "a/b", labels: {}}
    - {name: orders, lables: {}}
    - {name: parts, policies: {local: {retentionPolicies: {retentionTimeInMinutes: 1.5}, nosuch: 1}}}
    - {name: bad, labels: {"-": x}}
    """
    said = problems_of(tmp_path, text)
    assert len(said.splitlines()) == 5
    for piece in (
        "topic 1 (a/b)",
        "lables is not known",
        "policies.local.retentionPolicies.retentionTimeInMinutes: must be a whole number",
        "nosuch: is not a policy",
    ):
        assert piece in said


@pytest.mark.parametrize("text", ["[]", "topics: 3", "other: []", "topics: [3]", "topics: [{labels: {}}]", "{", "\0"])
def test_what_is_no_desired_state_is_refused(tmp_path: Path, text: str) -> None:
    assert "policies.yaml" in problems_of(tmp_path, text)


@pytest.mark.parametrize(("written", "kind"), [("123", "a number"), ("2024-01-01", "a date"), ("no", "a boolean")])
def test_a_topic_whose_name_is_no_text_to_yaml_is_told_to_be_quoted(tmp_path: Path, written: str, kind: str) -> None:
    said = problems_of(tmp_path, f"topics: [{{name: {written}}}]")
    assert said.endswith(f"name must be text, not {kind}; put it in quotes")


def test_a_name_that_is_no_text_is_not_written_out_where_its_topic_is_named(tmp_path: Path) -> None:
    inner = "&a0 [lol]"
    for level in range(1, 5):
        inner = f"&a{level} [{inner}{f', *a{level - 1}' * 9}]"
    said = problems_of(tmp_path, f"topics: [{{name: {inner}}}]")
    assert said.endswith("topic 1: name must be text, not a list; put it in quotes")


def test_policies_that_are_in_themselves_are_refused(tmp_path: Path) -> None:
    assert "local" in problems_of(tmp_path, "topics: [{name: a, policies: &p {local: *p}}]")


def test_an_object_that_stands_in_many_places_is_looked_at_once(tmp_path: Path) -> None:
    inner = "&a0 {ttl: 010}"
    for level in range(1, 4):
        others = ", ".join(f"k{number}: *a{level - 1}" for number in range(9))
        inner = f"&a{level} {{k: {inner}, {others}}}"
    said = problems_of(tmp_path, f"topics: [{{name: a, policies: {{local: {inner}}}}}]")
    assert said.count("010 would be taken for 8") == 1


def test_a_topic_that_is_given_twice_is_refused(tmp_path: Path) -> None:
    said = problems_of(tmp_path, f"topics: [{{name: orders}}, {{name: '{ORDERS}'}}]")
    assert re.search(r"topic 2 .*: all of a topic is in one entry, and .*policies\.yaml: topic 1 .* has it too", said)


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("labels: {1: a}", "labels.1: a name must be text, not a number"),
        ("labels: {null: a}", "labels.None: a name must be text, not null"),
        ("labels: {team: null}", "labels.team: must be text, a number, true or false, not null"),
        ("labels: []", "labels must be an object, not a list"),
        ("labels: !!set {team}", "labels must be an object, not a set"),
        ("policies: {local: {maxMessageSize: 2024-01-01}}", "maxMessageSize: must be a whole number, not a date"),
        ("properties: {p: [1]}", "properties.p: must be text, a number, true or false, not a list"),
        ("properties: {p: {q: 1}}", "properties.p: must be text, a number, true or false, not an object"),
        ("properties: {p: 2020-01-01}", "properties.p: must be text, a number, true or false, not a date"),
        ("properties: {p: .inf}", "properties.p: must be text, a number, true or false, not an infinite number"),
        ("properties: {p: 2020-99-99}", "line 1, column 41: '2020-99-99' is not of type timestamp"),
        ("labels: null", "labels is empty: write {} to have none, or leave it out to keep what there is"),
        ("properties: null", "properties is empty: write {}"),
        ("policies: null", "policies is empty: write {}"),
        ("policies: {local: null}", "policies.local is empty: write {}"),
        ("policies: {local: 0}", "policies.local must be an object, not a number"),
        ("policies: {locl: {}}", "policies.locl: expected local or global"),
        ("kafkaName: a b", "kafkaName: 1 to 249"),
        ("kafkaName: 5", "kafkaName: 1 to 249"),
        ("partitions: 012", "partitions: 012 would be taken for 10; write it without the 0 in front"),
        (
            "policies: {local: {messageTTLInSeconds: 1:30}}",
            "messageTTLInSeconds: 1:30 would be taken for 90; write",
        ),
        ("policies: {local: {maxMessageSize: -0_100}}", "policies.local.maxMessageSize: -0_100 would be taken for -64"),
        (
            "policies: {global: {publishRate: {<<: {publishThrottlingRateInMsg: 010}}}}",
            "policies.global.publishRate.publishThrottlingRateInMsg: 010 would be taken for 8",
        ),
    ],
)
def test_what_would_lose_something_as_text_is_refused_with_its_place(tmp_path: Path, entry: str, said: str) -> None:
    assert said in problems_of(tmp_path, f"topics: [{{name: orders, {entry}}}]")


def test_what_the_server_takes_for_unset_does_not_differ_from_nothing(tmp_path: Path) -> None:
    text = "topics: [{name: orders, policies: {local: {maxMessageSize: null, subscriptionPolicies: {}}}}]"
    assert list(steps(read_files([file_with(tmp_path, text)]), {ORDERS: topic()})) == []


def test_numbers_and_booleans_become_text_as_pulsar_takes_them(tmp_path: Path) -> None:
    (found,) = read_files([file_with(tmp_path, "topics: [{name: orders, properties: {a: 5, b: 1.5, c: true}}]")])
    assert found.parts["properties"] == {"a": "5", "b": "1.5", "c": "true"}


@pytest.mark.parametrize(
    ("written", "text"),
    [("NO", "false"), ("True", "true"), ("01234", "668"), ("0x1F", "31"), ("+5", "5"), ("-0", "0"), ("1_000", "1000"),
     ("12:30:45", "45045"), ("1.10", "1.1"), (".5", "0.5"), ("1.0e+20", "1e+20"), ("!!float 5", "5.0")],
)  # fmt: skip
@pytest.mark.parametrize("part", ["labels", "properties"])
def test_a_value_that_would_become_other_text_is_refused_until_it_is_quoted(
    tmp_path: Path, part: str, written: str, text: str
) -> None:
    plain = written.removeprefix("!!float ")
    said = problems_of(tmp_path, f"topics: [{{name: orders, {part}: {{a: {written}}}}}]")
    assert said.endswith(f"topic 1 (orders): {part}.a: {plain} would be taken for {text}; put it in quotes")
    (found,) = read_files([file_with(tmp_path, f"topics: [{{name: orders, {part}: {{a: '{plain}'}}}}]")])
    assert found.parts[part] == {"a": plain}


def test_numbers_and_booleans_of_policies_may_be_written_in_any_way(tmp_path: Path) -> None:
    policies = (
        "{schemaValidationEnforced: yes, messageTTLInSeconds: 1_0, maxMessageSize: 007, maxProducerPerTopic: '010'}"
    )
    text = f"topics: [{{name: orders, partitions: 0x2, policies: {{local: {policies}}}}}]"
    (found,) = read_files([file_with(tmp_path, text)])
    assert found.partitions == 2
    assert found.parts["local"] == {
        "schemaValidationEnforced": True,
        "messageTTLInSeconds": 10,
        "maxMessageSize": 7,
        "maxProducerPerTopic": 10,
    }


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (r'"\ud83d\ude00"', "\U0001f600"),
        ('"a\x7fb\x9fc"', "a\x7fb\x9fc"),
        (r'"\u0000\/"', "\0/"),
        ("12", "12"),
        ("1.5", "1.5"),
        ("true", "true"),
    ],
)
def test_json_is_read_as_json_where_yaml_reads_otherwise(tmp_path: Path, written: str, text: str) -> None:
    long = "k" * 1100
    (found,) = read_files(
        [file_with(tmp_path, f'{{"topics": [{{"name": "a", "properties": {{"{long}": {written}}}}}]}}')]
    )
    assert found.parts["properties"] == {long: text}


@pytest.mark.parametrize("opening", ["", "\ufeff", "\n "])
def test_a_number_of_json_may_have_an_exponent(tmp_path: Path, opening: str) -> None:
    rate = '{"persistence": {"managedLedgerMaxMarkDeleteRate": 1e-07}}'
    text = f'{opening}{{"topics": [{{"name": "a", "policies": {{"local": {rate}}}}}]}}'
    (found,) = read_files([file_with(tmp_path, text)])
    assert found.parts["local"]["persistence"]["managedLedgerMaxMarkDeleteRate"] == 1e-7


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (r'"\ud83d"', "line 1, column 50: not YAML: found invalid Unicode character escape code"),
        ("1.50", "properties.p: 1.50 would be taken for 1.5; put it in quotes"),
        ("-0", "properties.p: -0 would be taken for 0; put it in quotes"),
        ('1, "p": 2', "column 50: p is given twice, first in line 1, column 42"),
        ("9" * 5000, "is not of type int"),
    ],
)
def test_what_json_would_lose_is_refused(tmp_path: Path, written: str, said: str) -> None:
    assert said in problems_of(tmp_path, f'{{"topics": [{{"name": "a", "properties": {{"p": {written}}}}}]}}')


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("topics: [{name: a}]\ntopics: [{name: b}]", "#2, 1: topics is given twice, first in #1, 1"),
        ('{"topics": [],\n"topics": []}', "#2, 1: topics is given twice, first in #1, 2"),
        (
            "topics:\n- {name: a, labels: {team: a, 'team': zz}}",
            "#2, 31: team is given twice, first in #2, 22",
        ),
        ("topics: [{name: a, &k labels: {}, *k : {}}]", "labels is given twice"),
        ("topics: [{name: a, properties: {=: x, '=': y}}]", "= is given twice"),
        ("topics: [{name: a, <<: {}, <<: {}}]", "<< is given twice"),
        ("topics: [{name: a, <<: {labels: {}, labels: {}}}]", "labels is given twice"),
        ("topics: []\n---\n{topics: [], topics: []}", "topics is given twice"),
    ],
)
def test_a_member_that_is_given_twice_is_refused_with_both_places(tmp_path: Path, text: str, said: str) -> None:
    refused = problems_of(tmp_path, text)
    assert refused.startswith(str(tmp_path / "policies.yaml"))
    assert said in re.sub(r"line (\d+), column (\d+)", r"#\1, \2", refused)


def test_a_member_may_override_one_that_is_merged(tmp_path: Path) -> None:
    text = """topics:
    - {name: a, labels: &pay {team: pay, tier: iron}}
    - {name: b, labels: {<<: *pay, tier: gold}}
    """
    assert [each.parts["labels"] for each in read_files([file_with(tmp_path, text)])] == [
        {"team": "pay", "tier": "iron"},
        {"team": "pay", "tier": "gold"},
    ]


def test_what_overrides_a_merged_member_may_be_merged_itself_before_it_is_read(tmp_path: Path) -> None:
    text = """topics: [{name: a, policies: {local: {
      subscriptionPolicies: {sub: {dispatchRate: &slow {<<: {ratePeriodInSecond: 1}, ratePeriodInSecond: 5}}},
      dispatchRate: {<<: *slow}}}}]"""
    (found,) = read_files([file_with(tmp_path, text)])
    assert found.parts["local"]["dispatchRate"]["ratePeriodInSecond"] == 5


def test_a_merged_value_that_would_become_other_text_is_refused_unless_it_is_overridden(tmp_path: Path) -> None:
    text = "topics: [{name: a, labels: {<<: {zip: 01234}%s}}]"
    assert "labels.zip: 01234 would be taken for 668" in problems_of(tmp_path, text % "")
    for written, value in (("'01234'", "01234"), ("1234", "1234")):
        (found,) = read_files([file_with(tmp_path, text % f", zip: {written}")])
        assert found.parts["labels"] == {"zip": value}


def test_the_kafka_topic_counts_where_a_topic_is_made_and_cannot_be_changed_after(tmp_path: Path) -> None:
    desired = read_files([file_with(tmp_path, written([topic(kafkaName="shop", labels={"tier": "gold"})]))])
    (made,) = steps(desired, {})
    assert made.body["kafkaName"] == "shop"
    (step,) = steps(desired, {ORDERS: topic()})
    assert (step.body, step.differences[0]) == ({}, Difference(("kafkaName",), "orders", "shop"))
    assert ", not shop" in step.problem


def test_a_topic_without_a_kafka_topic_is_a_problem_of_its_own_and_not_of_all_that_are_compared() -> None:
    name = "non-persistent://public/default/a..b"
    [step] = steps([Desired(name, {}, kafka_name="shop")], {name: topic(name)})
    assert step.problem == "kafkaName is none, not shop; nothing of this topic was changed"


def test_a_folder_that_is_a_link_is_read_once(tmp_path: Path) -> None:
    root, shared = tmp_path / "policies", tmp_path / "shared"
    root.mkdir()
    shared.mkdir()
    file_with(shared, "topics: [{name: orders}]")
    (root / "team").symlink_to(shared)
    (root / "twice").symlink_to(shared)
    (shared / "back").symlink_to(root)
    assert [desired.name for desired in read_files(files_under(root))] == [ORDERS]


@pytest.mark.parametrize("name", ["lost.yaml", "team"])
def test_a_link_that_leads_nowhere_is_not_passed_over_as_it_may_have_been_to_a_folder(
    tmp_path: Path, name: str
) -> None:
    file_with(tmp_path, "topics: [{name: orders}]")
    (tmp_path / name).symlink_to("nowhere")
    with pytest.raises(InvalidRequest, match=f"{name}: cannot be read: No such file"):
        read_files(files_under(tmp_path))


def test_what_may_not_be_read_is_neither_left_out_nor_compared_nor_taken_for_empty(tmp_path: Path) -> None:
    hidden = topic(policies=None, properties=None, labels={"tier": "gold"})
    assert hidden.properties is None
    with pytest.raises(Forbidden, match="orders may not be read"):
        written([hidden])
    for part in ("local", "properties"):
        with pytest.raises(Forbidden):
            list(steps([Desired(ORDERS, {part: {}})], {ORDERS: hidden}))
    assert list(steps([Desired(ORDERS, {"labels": {"tier": "gold"}})], {ORDERS: hidden})) == []


def test_a_record_that_the_server_cannot_read_is_not_exported_as_an_empty_one() -> None:
    with pytest.raises(Undecodable, match="orders"):
        written([topic(undecodable=True)])


@pytest.mark.parametrize("labels", [{}, {"tier": "gold"}])
def test_a_record_that_the_server_cannot_read_differs_and_is_not_compared_with_an_empty_one(
    labels: dict[str, str],
) -> None:
    wanted = [Desired(name, {"labels": labels}) for name in (ORDERS, f"{ORDERS}2")]
    step, *others = steps(
        wanted, {ORDERS: topic(undecodable=True), f"{ORDERS}2": topic(f"{ORDERS}2", labels={"b": "c"})}
    )
    assert (step.problem, step.body, step.differences) == ("the server cannot read its record", {}, ())
    assert [each.name for each in others] == [f"{ORDERS}2"]
    assert list(pruning([topic(undecodable=True)], [])) == []


def test_a_folder_that_cannot_be_read_is_refused_and_not_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    file_with(tmp_path, "topics: []")
    scandir = os.scandir

    def failing(path: str) -> Any:
        if str(path).endswith("gone"):
            raise OSError(errno.ESTALE, "Stale file handle", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", failing)
    with pytest.raises(InvalidRequest, match="gone: cannot be read: Stale file handle"):
        files_under(tmp_path)


def test_yaml_that_would_make_objects_is_refused(tmp_path: Path) -> None:
    assert "constructor" in problems_of(tmp_path, "topics: [!!python/object/apply:os.getcwd []]")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"topics:\n- {name: a, labels: {x: y}\n- b\n", "line 3, column 1: not YAML: "),
        (b"a: b: c", "line 1, column 5: not YAML: mapping values are not allowed"),
        (b"a\0b", "not YAML: "),
        (b"\xff\xfe", "not YAML: this is not UTF-8 text"),
        (b"topics: [{name: !x a}]", "line 1, column 17: could not determine a constructor for the tag '!x'"),
        (
            b"topics: [{name: a, partitions: " + b"9" * 5000 + b"}]",
            f"line 1, column 32: '{'9' * 40}' is not of type int",
        ),
        (b"a: 0x" + b"f" * 5000, f"line 1, column 4: '0x{'f' * 38}' is not of type int"),
        (b"a: " + b":".join([b"59"] * 3000), f"line 1, column 4: '{'59:' * 13}5' is not of type int"),
        (b"a: " + b":".join([b"59"] * 300) + b".5", f"line 1, column 4: '{'59:' * 13}5' is not of type float"),
        (b"just words", "expected a list of topics as the member topics"),
    ],
)
def test_what_cannot_be_read_is_said_with_its_place(tmp_path: Path, text: bytes, said: str) -> None:
    (tmp_path / "file.yaml").write_bytes(text)
    with pytest.raises(InvalidRequest) as refused:
        read_files([tmp_path / "file.yaml"])
    assert refused.value.reason.startswith(f"{tmp_path / 'file.yaml'}: {said}")
    assert "policies apply --help" in refused.value.hint


def test_objects_too_deep_to_be_read_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def too_deep(_: str) -> None:
        raise RecursionError

    monkeypatch.setattr("topicfold.client.desired_files.read_documents", too_deep)
    assert problems_of(tmp_path, "").endswith("policies.yaml: nested too deep to be read")


def test_files_of_a_folder_are_found_in_order(tmp_path: Path) -> None:
    (tmp_path / "b.yml").touch()
    (tmp_path / "a.yaml").touch()
    (tmp_path / "notes.txt").touch()
    assert [path.name for path in files_under(tmp_path)] == ["a.yaml", "b.yml"]
    hidden = tmp_path / ".venv" / "lib"
    hidden.mkdir(parents=True)
    for place in (hidden / "c.yaml", tmp_path / ".d.yaml"):
        place.touch()
    assert [path.name for path in files_under(tmp_path)] == ["a.yaml", "b.yml"]
    assert [path.name for path in files_under(hidden)] == ["c.yaml"]
    with pytest.raises(InvalidRequest, match="no such file"):
        files_under(tmp_path / "missing")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipe has a name here")
def test_a_pipe_is_taken_for_a_file_as_of_a_shell_that_hands_over_what_a_command_prints(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "63")
    assert files_under(tmp_path / "63") == [tmp_path / "63"]


@pytest.mark.parametrize("number", [4, 0])
def test_another_number_of_partitions_is_told_and_nothing_of_the_topic_is_changed(tmp_path: Path, number: int) -> None:
    text = f"topics: [{{name: orders, partitions: {number}, labels: {{tier: gold}}}}]"
    (step,) = steps(read_files([file_with(tmp_path, text)]), {ORDERS: topic(partitions=2)})
    assert f"partitions is 2, not {number}" in step.problem
    assert step.body == {}


def test_of_a_topic_whose_partitions_are_not_said_any_number_will_do(tmp_path: Path) -> None:
    text = "topics: [{name: orders, labels: {tier: gold}}]"
    (step,) = steps(read_files([file_with(tmp_path, text)]), {ORDERS: topic(partitions=2)})
    assert (step.problem, step.body) == ("", {"labels": {"tier": "gold"}})


@pytest.mark.parametrize("written", ["!!bool maybe", "!!int ''", "!!float ''", "!!timestamp x"])
def test_a_value_that_is_not_what_its_tag_says_is_told_with_its_place(written: str) -> None:
    with pytest.raises(yaml.YAMLError, match=r"is not of type (bool|int|float|timestamp)(.|\n)*line 2"):
        read_documents(f"a: 1\nb: {written}\n")
