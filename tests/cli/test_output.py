"""What is printed where: data on stdout, the rest on stderr, machine formats exact, tables lined up."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.conftest import Run
from tests.terminal import Terminal
from topicfold.cli.config import ColorMode, OutputFormat
from topicfold.cli.main import main
from topicfold.cli.output import Output, data_of, is_colored_on, to_json, to_yaml
from topicfold.client import Client
from topicfold.client.desired_files import read_files, write_lists
from topicfold.client.yaml_text import write_yaml
from topicfold.wire.resources import TopicItem


@pytest.fixture
def table() -> Output:
    return Output(OutputFormat.TABLE, ColorMode.NEVER, is_quiet=False)


def test_columns_of_a_table_line_up(table: Output, capsys: pytest.CaptureFixture[str]) -> None:
    table.show(None, [], ("TOPIC", "N"), [("a", "1"), ("a-long-name", "22")])
    assert capsys.readouterr().out == "TOPIC        N\na            1\na-long-name  22\n"


def test_columns_line_up_after_wide_letters(table: Output, capsys: pytest.CaptureFixture[str]) -> None:
    table.show(None, [], ("TOPIC", "N"), [("用户", "1"), ("abcde", "2")])
    assert capsys.readouterr().out.splitlines()[1:] == ["用户   1", "abcde  2"]


def test_characters_that_steer_a_terminal_are_shown_escaped(table: Output, capsys: pytest.CaptureFixture[str]) -> None:
    table.show(None, [], ("TOPIC",), [("\x1b[31mred\n",)])
    assert capsys.readouterr().out.splitlines()[1] == "\\x1b[31mred\\n"


@pytest.mark.parametrize("output_format", ["json", "yaml", "name"])
def test_nor_does_any_format_hand_them_to_one(
    output_format: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("topicfold.cli.output.is_unicode", lambda: True)
    text = "\x1b[2J\x9b31m\x85\x7f\u2028\u202eevil\u2066\u200f\u061c\né"
    output = Output(OutputFormat(output_format), ColorMode.NEVER, is_quiet=False)
    output.show([text], [text], ("NAME",), [(text,)])
    output.show_event([text], text, text)
    shown = capsys.readouterr().out
    assert [each for each in shown.replace("\n", "") if not each.isprintable()] == []
    assert shown.count("é") == 2
    if output_format == "json":
        assert json.loads(shown.splitlines()[-1]) == [text]
    elif output_format == "yaml":
        assert list(yaml.safe_load_all(shown)) == [[text], [text]]
    else:
        assert shown.splitlines() == [r"\x1b[2J\x9b31m\x85\x7f\u2028\u202eevil\u2066\u200f\u061c\né"] * 2


def test_a_long_list_is_the_same_yaml_with_nodes_for_a_part_of_it_at_a_time(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    members = [{"name": f"t-{number}", "labels": {"n": f"{number}"}} for number in range(600)]
    parts: list[int] = []

    def counted(data: Any, *arguments: Any, **options: Any) -> str:
        parts.append(len(data))
        return write_yaml(data, *arguments, **options)

    whole = to_yaml(members)
    monkeypatch.setattr("topicfold.client.yaml_text.write_yaml", counted)
    Output(OutputFormat.YAML, ColorMode.NEVER, is_quiet=False).show_data(members)
    assert capsys.readouterr().out == whole
    assert (sum(parts), max(parts)) == (600, 256)


def test_a_file_of_desired_state_hands_none_to_one_and_is_read_as_it_was(tmp_path: Path) -> None:
    entries = [{"name": "persistent://public/default/x", "properties": {"a\u202eb": "c\\\u202ed"}}]
    text = write_lists({"topics": entries})
    assert "\u202e" not in text
    file = tmp_path / "topics.yaml"
    file.write_text(text, encoding="utf-8")
    assert read_files([file])[0].parts["properties"] == {"a\u202eb": "c\\\u202ed"}


def test_a_long_line_is_neither_wrapped_nor_cut(run: Run, client: Client) -> None:
    name = "x" * 240
    client.create_topic(name, labels={"note": "y" * 128})
    lines = run("topics", "list").out.splitlines()
    assert len(lines) == 2
    assert json.loads(run("topics", "list", "-o", "json").out)[0]["labels"] == {"note": "y" * 128}


def test_yaml_and_json_say_the_same_with_the_names_of_the_rest_api(run: Run, client: Client) -> None:
    client.create_topic("orders", kafka_name="shop", labels={"since": "2026-01-01", "n": "010"})
    told = yaml.safe_load(run("topics", "get", "orders", "-o", "yaml").out)
    assert told == json.loads(run("topics", "get", "orders", "-o", "json").out)
    assert (told["kafkaName"], told["labels"]) == ("shop", {"since": "2026-01-01", "n": "010"})
    assert run("topicPolicies", "get-message-ttl", "orders", "-o", "yaml").out == "null\n"


def test_labels_in_a_cell_can_be_typed_again(run: Run, client: Client) -> None:
    labels = {"mark": " x ", "note": "a,b\\c", "team": "pay"}
    client.create_topic("orders", labels=labels)
    cell = run("topics", "list").out.partition(" 0 ")[2].strip("\n").lstrip()
    assert cell == r"mark=\ x\ ,note=a\,b\\c,team=pay"
    client.create_topic("refunds")
    run("topics", "set-custom-labels", "refunds", "--labels", cell)
    assert client.get_labels("refunds") == labels


def test_an_empty_table_prints_nothing_and_empty_json_is_a_list(run: Run) -> None:
    assert run("topics", "list").out == ""
    assert json.loads(run("topics", "list", "-o", "json").out) == []


def test_members_are_called_as_the_rest_api_calls_them(run: Run, client: Client) -> None:
    client.create_topic("orders")
    shown = json.loads(run("topics", "get", "orders", "-o", "json").out)
    assert shown.keys() == TopicItem.model_json_schema()["properties"].keys()


@pytest.mark.parametrize("data", [[], [1], ({"a": ["x\ny", {}]}, None, "é"), [[], [[]]]])
def test_a_list_is_written_member_by_member_as_it_would_be_at_once(
    data: Sequence[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    Output(OutputFormat.JSON, ColorMode.NEVER, is_quiet=False).show_data(data)
    assert capsys.readouterr().out == to_json(data_of(data))


def test_notes_go_to_stderr_and_quiet_drops_them(run: Run) -> None:
    told = run("topics", "create", "orders")
    assert (told.out, told.err) == ("", "created persistent://public/default/orders\n")
    assert run("topics", "create", "refunds", "--quiet").err == ""


def test_json_is_never_coloured(run: Run, client: Client) -> None:
    client.create_topic("orders")
    assert "\x1b" not in run("topics", "list", "-o", "json", "--color", "always").out
    assert "\x1b[1mTOPIC" in run("topics", "list", "--color", "always").out


@pytest.mark.parametrize(
    ("variables", "mode", "stream", "expected"),
    [
        ({}, ColorMode.AUTO, Terminal(), True),
        ({}, ColorMode.AUTO, io.StringIO(), False),
        ({"NO_COLOR": "1"}, ColorMode.AUTO, Terminal(), False),
        ({"NO_COLOR": ""}, ColorMode.AUTO, Terminal(), True),
        ({"FORCE_COLOR": "1"}, ColorMode.AUTO, io.StringIO(), True),
        ({"NO_COLOR": "1"}, ColorMode.ALWAYS, io.StringIO(), True),
        ({"FORCE_COLOR": "1"}, ColorMode.NEVER, Terminal(), False),
        ({"TERM": "dumb"}, ColorMode.AUTO, Terminal(), False),
    ],
)
def test_colour_is_for_terminals_and_can_be_forced_or_forbidden(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], mode: ColorMode, stream: io.StringIO, expected: bool
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert is_colored_on(stream, mode) is expected


def test_json_keeps_to_ascii_where_stdout_cannot_take_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="latin-1"))
    assert to_json("用").isascii()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="UTF-8"))
    assert to_json("用") == '"用"\n'


def test_yaml_keeps_to_ascii_where_stdout_cannot_take_more(monkeypatch: pytest.MonkeyPatch) -> None:
    _latin_1(monkeypatch)
    text = to_yaml({"name": "用→"})
    assert text.isascii()
    assert yaml.safe_load(text) == {"name": "用→"}


def test_a_table_escapes_what_stdout_cannot_take(
    monkeypatch: pytest.MonkeyPatch, server_url: str, client: Client
) -> None:
    client.create_topic("orders", labels={"name": "Zürich→用"})
    monkeypatch.setenv("TOPICFOLD_URL", server_url)
    stdout = _latin_1(monkeypatch)
    assert main(["topics", "list"]) == 0
    assert stdout.buffer.getvalue().endswith(b"name=Z\xfcrich\\u2192\\u7528\n")


def test_a_help_is_shown_where_stdout_cannot_take_all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    stdout = _latin_1(monkeypatch)
    assert main(["serve", "--help"]) == 0
    assert b"--superusers ROLE,\\u2026" in stdout.buffer.getvalue()


def _latin_1(monkeypatch: pytest.MonkeyPatch) -> io.TextIOWrapper[io.BytesIO]:
    """Put a stdout into place that takes the letters of Western Europe, and return it."""
    stdout = io.TextIOWrapper(io.BytesIO(), encoding="latin-1")
    monkeypatch.setattr(sys, "stdout", stdout)
    return stdout


@pytest.mark.parametrize(
    ("text", "written"), [(os.fsdecode(b"/t/\xff"), r'"/t/\uDCFF"'), ("\U0001f389 é", "\U0001f389 é"), (r"\U", r"\U")]
)
def test_yaml_shows_emoji_as_they_are_and_bytes_that_are_no_text_escaped(text: str, written: str) -> None:
    shown = write_yaml({"file": text, "name": "orders"}, is_ascii=False)
    assert shown == f"file: {written}\nname: orders\n"
    assert yaml.safe_load(shown)["file"] == text
