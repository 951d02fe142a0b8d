"""`topicfold policies`: topics written to files, compared with them, and made what they say."""

from __future__ import annotations

import io
import json
import re
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.conftest import Run
from topicfold.cli.steps import summed_up
from topicfold.client import Client, ServerUnreachable
from topicfold.client.answers import Topic
from topicfold.client.applying import Applied, apply_steps
from topicfold.client.desired import Step
from topicfold.model.differences import Difference

pytestmark = pytest.mark.usefixtures("nobody")
ORDERS = "persistent://public/default/orders"
RETENTION = {"retentionTimeInMinutes": 10, "retentionSizeInMB": 10}


def test_what_was_exported_does_not_differ(run: Run, exported: Path) -> None:
    same = run("policies", "diff", "-f", str(exported))
    assert (same.code, same.err) == (0, "0 of 3 namespaces and topics differ\n")
    assert run("policies", "export", "public/default").out == exported.read_text()


def test_a_directory_to_come_is_not_taken_for_a_file(run: Run, tmp_path: Path) -> None:
    refused = run("policies", "export", "public/default", "-f", f"{tmp_path}/new/")
    assert (refused.code, list(tmp_path.iterdir())) == (2, [])
    assert refused.err.endswith(f"hint: Name a file in it: -f {tmp_path}/new/policies.yaml\n")


@pytest.mark.usefixtures("exported")
def test_namespaces_that_match_a_pattern_are_exported_as_they_are_and_as_they_were(run: Run) -> None:
    for words in ([], ["--at", "0s"]):
        written = run("policies", "export", "public/d*", *words)
        names = [each["name"] for each in yaml.safe_load(written.out)["topics"]]
        assert names == ["persistent://public/default/old", ORDERS]
    refused = run("policies", "export", "none/*", "--at", "0s")
    assert (refused.code, refused.err) == (2, "error: no namespace that you may see matches none/*\n")


def test_applying_an_export_of_then_undoes_what_was_done_since(
    run: Run, client: Client, exported: Path, tmp_path: Path
) -> None:
    then = client.find_topics().position
    before = {topic.name: topic for topic in client.find_topics().topics}
    client.set_labels("old", {"team": "oops", "stage": "x"})
    client.set_policy("old", "messageTTLInSeconds", 5)
    client.set_policy("orders", "retentionPolicies", {"retentionTimeInMinutes": 1, "retentionSizeInMB": 1})
    client.patch_topic("old", {"properties": {"new": "x"}})
    client.delete_topic("orders")
    file = tmp_path / "then.yaml"
    assert run("policies", "export", "public/default", "--at", then, "-f", str(file)).code == 0
    assert run("policies", "apply", "-f", str(file), "--reason", "undone").code == 0
    for topic in client.find_topics().topics:
        same = before.pop(topic.name)
        assert (topic.labels, topic.properties, topic.partitions) == (same.labels, same.properties, same.partitions)
    assert before == {}
    assert [run("policies", "diff", "-f", str(each)).code for each in (file, exported)] == [0, 0]


def test_an_export_has_pulsars_own_topics_too(run: Run, client: Client) -> None:
    client.create_topic("__change_events", labels={"team": "pay"})
    assert "__change_events" in run("policies", "export", "public/default").out


def test_an_export_to_a_dash_is_printed_as_diff_reads_it_from_there(
    run: Run, exported: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(exported.parent)
    printed = run("policies", "export", "public/default", "-f", "-")
    assert (printed.out, printed.err) == (exported.read_text(), "")
    monkeypatch.setattr(sys, "stdin", io.StringIO(printed.out))
    assert run("policies", "diff", "-f", "-").code == 0


class Latin1(io.TextIOWrapper):
    """A stream with bytes in it that takes other letters than UTF-8 has."""

    def __init__(self, content: bytes = b"") -> None:
        super().__init__(io.BytesIO(content), encoding="latin-1", write_through=True)


def test_an_export_says_the_same_where_stdout_and_stdin_are_not_in_utf_8(
    run: Run, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.create_topic("orders", properties={"a": "用", "b": "é"})
    printed = Latin1()
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", printed)
        assert run("policies", "export", "public/default").code == 0
    text = printed.buffer.getvalue()  # type: ignore[attr-defined]  # it is a BytesIO
    assert yaml.safe_load(text)["topics"][0]["properties"] == {"a": "用", "b": "é"}
    in_utf_8 = yaml.safe_dump(yaml.safe_load(text), allow_unicode=True).encode()
    for content in (text, in_utf_8):
        monkeypatch.setattr(sys, "stdin", Latin1(content))
        assert run("policies", "diff", "-f", "-").code == 0
    monkeypatch.setattr(sys, "stdin", Latin1(in_utf_8 + b"\xe9"))
    assert "not UTF-8 text" in run("policies", "diff", "-f", "-").err


def test_an_export_makes_the_same_topics_elsewhere(run: Run, client: Client, exported: Path) -> None:
    before = client.get_topic("orders")
    client.delete_topic("orders")
    assert run("policies", "apply", "-f", str(exported)).code == 0
    after = client.get_topic("orders")
    assert (after.partitions, after.kafka_name) == (2, "shop-orders")
    assert (after.labels, after.properties, after.policies) == (before.labels, before.properties, before.policies)


def test_what_a_file_no_longer_says_of_a_part_is_gone_once_it_is_applied(
    run: Run, client: Client, exported: Path
) -> None:
    text = exported.read_text().replace("tier: gold", "env: prod").replace("n: '010'", "m: '010'")
    exported.write_text(text.replace("messageTTLInSeconds: 60", ""))
    assert run("policies", "apply", "-f", str(exported)).code == 0
    after = client.get_topic("orders")
    assert (after.labels, after.properties) == ({"env": "prod", "team": "pay"}, {"m": "010", "yes": "no"})
    assert after.policies == {"local": {"retentionPolicies": RETENTION}, "global": {}}


def test_a_new_topic_s_number_of_partitions_is_part_of_the_difference(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "new.yaml"
    file.write_text("topics: [{name: orders, partitions: 12}, {name: plain}]")
    orders, plain = run("policies", "diff", "-f", str(file)).out.splitlines()[1:]
    assert orders.endswith("  a new topic with 12 partitions")
    assert plain.endswith("  a new topic")


def test_a_difference_is_a_table_and_exit_code_1(run: Run, changed: Path) -> None:
    shown = run("policies", "diff", "-f", str(changed))
    assert shown.code == 1
    assert shown.out.splitlines() == [
        "TOPIC                               FIELD                                               OLD → NEW",
        f"{ORDERS}  labels.tier                                         gold → iron",
        " " * 36 + "policies.local.retentionPolicies.retentionSizeInMB  10 → 20",
    ]
    assert shown.err == "1 of 3 namespaces and topics differs: 2 changed\n"


def test_a_difference_in_json_has_the_values_themselves(run: Run, changed: Path) -> None:
    shown = run("policies", "diff", "-f", str(changed), "-o", "json")
    (topic,) = json.loads(shown.out)
    assert (shown.code, topic["topic"], topic["new"], topic["problem"]) == (1, ORDERS, False, "")
    assert topic["changes"] == [
        {"path": ["labels", "tier"], "old": "gold", "new": "iron"},
        {"path": ["policies", "local", "retentionPolicies", "retentionSizeInMB"], "old": 10, "new": 20},
    ]


def test_a_difference_has_the_names_and_values_that_the_history_will_have(
    run: Run, client: Client, changed: Path
) -> None:
    (topic,) = json.loads(run("policies", "diff", "-f", str(changed), "-o", "json").out)
    run("policies", "apply", "-f", str(changed))
    (newest,) = json.loads(run("history", "orders", "--limit", "1", "-o", "json").out)
    assert newest["changes"] == topic["changes"]


def test_what_would_be_taken_away_is_marked_and_counted(run: Run, exported: Path) -> None:
    exported.write_text(exported.read_text().replace(", tier: gold", "").replace("messageTTLInSeconds: 60", ""))
    shown = run("policies", "diff", "-f", str(exported))
    assert "labels.tier                          gold → – (removed)" in shown.out
    assert "policies.global.messageTTLInSeconds  60 → – (removed)" in shown.out
    assert shown.err == "1 of 3 namespaces and topics differs: 2 removed\n"


def test_what_is_summed_up_has_its_thousands_apart() -> None:
    step = Step(ORDERS, "1.1", {}, (Difference(("labels", "team"), None, "pay"),))
    assert summed_up([step] * 1_200) == ": 1,200 added"


def test_secrets_are_masked_in_differences(run: Run, client: Client, tmp_path: Path) -> None:
    client.create_topic("orders")
    file = tmp_path / "secret.yaml"
    policy = "{managedLedgerOffloadDriver: filesystem, s3ManagedLedgerOffloadCredentialSecret: abc}"
    file.write_text(f"topics: [{{name: orders, policies: {{local: {{offloadPolicies: {policy}}}}}}}]")
    for form in ("table", "json"):
        shown = run("policies", "diff", "-f", str(file), "-o", form).out
        assert ("****" in shown, "abc" in shown) == (True, False)


def test_an_export_in_json_is_a_file_too(run: Run, exported: Path) -> None:
    told = run("policies", "export", "public/default", "-o", "json")
    assert yaml.safe_load(exported.read_text()) == json.loads(told.out)
    exported.write_text(told.out)
    assert run("policies", "diff", "-f", str(exported)).code == 0


def test_a_dry_run_changes_nothing(run: Run, client: Client, changed: Path) -> None:
    before = client.get_topic("orders")
    tried = run("policies", "apply", "-f", str(changed), "--dry-run")
    assert tried.code == 0
    assert tried.err.endswith("would change 1 topic: 2 changed; 0 would be refused\n")
    assert client.get_topic("orders") == before


def test_a_dry_run_says_what_the_server_would_refuse(run: Run, client: Client, changed: Path) -> None:
    versions = len(client.history("orders").entries)
    text = changed.read_text().replace("InMB: 20", "InMB: 0").replace("{team: pay}", "{team: ship}")
    changed.write_text(text + "- {name: new, policies: {local: {shadowTopics: [persistent://public/default/no]}}}\n")
    tried = run("policies", "apply", "-f", str(changed), "--dry-run")
    done = run("policies", "apply", "-f", str(changed), "--no-progress")
    assert (tried.code, done.code) == (7, 7)
    assert "would change 1 topic: 1 changed; 2 would be refused\n" in tried.err
    assert "changed 1 topic, 2 failed\n" in done.err
    errors = [line for line in done.err.splitlines() if line.startswith("error: ")]
    assert [line for line in tried.err.splitlines() if line.startswith("error: ")] == errors
    assert len(client.history("orders").entries) == versions
    pruning = ("policies", "apply", "-f", str(changed), "--dry-run", "--prune", "-l", "tier in (a)")
    assert f"topicfold {shlex.join(pruning)}\n" in run(*pruning).err


def test_a_dry_run_does_nothing_even_for_new_topics(run: Run, client: Client, tmp_path: Path) -> None:
    file = tmp_path / "new.yaml"
    file.write_text("topics: [{name: orders, labels: {team: pay}}]")
    assert run("policies", "apply", "-f", str(file), "--dry-run").code == 0
    assert client.find_topics().topics == ()


def test_what_differs_is_applied_in_one_update_and_then_nothing_is_left_to_do(
    run: Run, client: Client, changed: Path
) -> None:
    versions = len(client.history("orders").entries)
    done = run("policies", "apply", "-f", str(changed), "--reason", "review")
    assert (done.code, done.err.splitlines()[-1]) == (0, "changed 1 topic, 0 failed")
    topic, entries = client.get_topic("orders"), client.history("orders").entries
    assert topic.labels["tier"] == "iron"
    assert topic.policies == {
        "local": {"retentionPolicies": {**RETENTION, "retentionSizeInMB": 20}},
        "global": {"messageTTLInSeconds": 60},
    }
    assert (len(entries), entries[0].made_by[0].reason) == (versions + 1, "review")
    again = run("policies", "apply", "-f", str(changed))
    assert (again.code, again.err) == (0, "changed 0 topics, 0 failed\n")
    assert client.get_topic("orders") == topic


def test_what_is_applied_without_a_reason_says_in_the_history_by_what_it_was_done(
    run: Run, client: Client, changed: Path
) -> None:
    run("policies", "apply", "-f", str(changed))
    assert client.history("orders").entries[0].made_by[0].reason == "topicfold policies apply"


def test_files_that_name_no_topic_are_refused_and_told_how_one_looks(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "none.yaml"
    file.write_text("topics: []")
    refused = run("policies", "apply", "-f", str(file))
    assert (refused.code, refused.err.splitlines()[0]) == (2, "error: no namespace or topic is named in these files")
    assert refused.err.endswith("topicfold policies apply --help shows how such files look.\n")


def test_topics_that_are_made_are_not_called_changed(run: Run, client: Client, changed: Path) -> None:
    changed.write_text(changed.read_text() + "- {name: new}\n- {name: newer, labels: {team: pay}}\n")
    words = ("policies", "apply", "-f", str(changed))
    assert "would create 2 topics, change 1 topic: " in run(*words, "--dry-run").err
    assert run(*words).err.endswith("created 2 topics, changed 1 topic, 0 failed\n")


def test_in_json_an_application_tells_what_became_of_each_topic(run: Run, changed: Path) -> None:
    changed.write_text(changed.read_text().replace("InMB: 20", "InMB: 0").replace("{team: pay}", "{team: ship}"))
    done = run("policies", "apply", "-f", str(changed), "-o", "json")
    old, orders = json.loads(done.out)
    assert (done.code, old["problem"]) == (7, "")
    assert "retention" in orders["problem"]


def test_what_is_known_of_an_application_that_was_stopped_is_told_in_json_too(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "some.yaml"
    file.write_text("topics: [{name: a}, {name: b, labels: {team: pay}}, {name: c}]")

    def stopping(client: Client, steps: Sequence[Step]) -> Iterator[Applied]:
        yield Applied(steps[1].name, "refused")
        raise KeyboardInterrupt

    monkeypatch.setattr("topicfold.client.applying.try_steps", stopping)
    stopped = run("policies", "apply", "-f", str(file), "--dry-run", "-o", "json", "--reason", "a review",
                  "--timeout-seconds", "20", "--token", "secret")  # fmt: skip
    (known,) = json.loads(stopped.out)
    assert (stopped.code, known["topic"], known["problem"]) == (130, "persistent://public/default/b", "refused")
    assert (
        f"To continue: topicfold policies apply -f {file} --dry-run --reason 'a review' --timeout-seconds 20.0\n"
        in stopped.err
    )


def test_another_kafka_topic_is_an_error_of_its_topic_and_the_others_are_done(
    run: Run, client: Client, changed: Path
) -> None:
    text = changed.read_text().replace("shop-orders", "elsewhere").replace("{team: pay}", "{team: ship}")
    changed.write_text(text)
    assert "shop-orders → elsewhere" in run("policies", "diff", "-f", str(changed)).out
    done = run("policies", "apply", "-f", str(changed))
    assert done.code == 7
    assert f"{ORDERS}: kafkaName is shop-orders, not elsewhere" in done.err
    assert (client.get_topic("orders").labels["tier"], client.get_labels("old")) == ("gold", {"team": "ship"})


def test_what_the_server_refuses_is_said_and_the_others_are_done(run: Run, client: Client, changed: Path) -> None:
    changed.write_text(changed.read_text().replace("InMB: 20", "InMB: 0").replace("{team: pay}", "{team: ship}"))
    done = run("policies", "apply", "-f", str(changed))
    assert done.code == 7
    assert f"error: {ORDERS}: " in done.err
    assert "public/default/old: " not in done.err
    assert f"hint: once this is fixed: topicfold policies apply -f {changed}\n" in done.err
    assert "changed 1 topic, 1 failed" in done.err
    assert ("labels.team" in done.out, "retentionSizeInMB" in done.out) == (True, False)
    assert (client.get_topic("orders").labels["tier"], client.get_labels("old")) == ("gold", {"team": "ship"})


def test_what_somebody_changes_meanwhile_is_refused_in_one_line_that_names_the_topic_once(
    run: Run, client: Client, changed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(*arguments: Any) -> Iterator[Any]:
        client.set_labels("orders", {"tier": "lead"})
        return apply_steps(*arguments)

    monkeypatch.setattr("topicfold.client.applying.apply_steps", late)
    done = run("policies", "apply", "-f", str(changed))
    assert done.code == 7
    assert f"error: {ORDERS} has another version now\n" in done.err
    assert client.get_labels("orders")["tier"] == "lead"


@pytest.fixture
def half_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server cannot read the record of `orders`, and says so."""
    read = Topic.of

    def seen(body: Mapping[str, Any]) -> Topic:
        empty: dict[str, Any] = {"labels": {}, "properties": {}, "policies": None, "undecodable": True}
        return read({**body, **empty} if body["name"] == ORDERS else body)

    monkeypatch.setattr(Topic, "of", seen)


def test_a_record_that_the_server_cannot_read_is_no_empty_one_in_a_difference(
    run: Run, exported: Path, half_read: None
) -> None:
    found = run("policies", "diff", "-f", str(exported))
    assert found.code == 1
    assert re.search(rf"^{ORDERS} +\(topic\) +the server cannot read its record$", found.out, re.MULTILINE)
    assert found.err == "1 of 3 namespaces and topics differs\n"


def test_a_record_that_the_server_cannot_read_is_a_problem_of_its_topic_and_the_others_are_done(
    run: Run, client: Client, changed: Path, half_read: None
) -> None:
    changed.write_text(changed.read_text().replace("{team: pay}", "{team: ship}"))
    for options, told in (["--dry-run"], "would change 1 topic"), ([], "changed 1 topic, 1 failed"):
        done = run("policies", "apply", "-f", str(changed), *options)
        assert (done.code, told in done.err) == (7, True)
        assert f"{ORDERS}: the server cannot read its record\n" in done.err
    assert client.get_labels("old") == {"team": "ship"}


def test_stdin_is_a_file_called_dash(run: Run, exported: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(exported.read_text()))
    assert run("policies", "diff", "-f", "-").err == "0 of 3 namespaces and topics differ\n"


def test_each_thing_that_is_wrong_with_a_file_is_a_line(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "wrong.yaml"
    file.write_text("topics: [{name: orders, lables: {}}, {name: pay, partitions: x}]")
    *lines, _ = run("policies", "diff", "-f", str(file)).err.splitlines()
    assert [line.partition(": topic ")[2][:10] for line in lines] == ["1 (orders)", "2 (pay): p"]


def test_a_missing_namespace_is_found_before_anything_is_changed(run: Run, tmp_path: Path, client: Client) -> None:
    file = tmp_path / "some.yaml"
    file.write_text("topics: [{name: orders}, {name: no/where/orders}]")
    refused = run("policies", "apply", "-f", str(file))
    assert (refused.code, client.find_topics().topics) == (3, ())
    assert "hint: topicfold namespaces create no/where\n" in refused.err


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("labels: {1: a}", "topic 1 (orders): labels.1: a name must be text"),
        ("labels: {zip: 01234}", "topic 1 (orders): labels.zip: 01234 would be taken for 668; put it in quotes"),
        ("labels: {a: x}, labels: {b: y}", "labels is given twice"),
    ],
)
def test_a_wrong_file_is_refused_before_anything_is_asked(run: Run, tmp_path: Path, entry: str, said: str) -> None:
    file = tmp_path / "wrong.yaml"
    file.write_text(f"topics: [{{name: orders, {entry}}}]")
    refused = run("policies", "apply", "-f", str(file))
    assert refused.code == 2
    assert said in refused.err


@pytest.mark.parametrize(("error", "code"), [(KeyboardInterrupt(), 130), (ServerUnreachable("gone"), 6)])
def test_what_ends_an_application_half_way_is_told_with_how_to_go_on(
    run: Run, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int
) -> None:
    file = tmp_path / "some.yaml"
    file.write_text(f"topics: [{', '.join(f'{{name: t{number}}}' for number in range(5))}]")

    def stopping(client: Client, steps: Sequence[Step], reason: str) -> Iterator[Applied]:
        yield from apply_steps(client, steps[:2], reason)
        raise error

    with monkeypatch.context() as patched:
        patched.setattr("topicfold.client.applying.apply_steps", stopping)
        stopped = run("policies", "apply", "-f", str(file))
    assert stopped.code == code
    known = "apply policies: stopped; the outcome of 2 of 5 topics is known, 3 left. "
    assert f"{known}To continue: topicfold policies apply -f {file}\n" in stopped.err
    assert len(client.find_topics().topics) == stopped.out.count("a new topic") == 2
    assert run("policies", "apply", "-f", str(file)).err.endswith("created 3 topics, 0 failed\n")
    assert len(client.find_topics().topics) == 5
