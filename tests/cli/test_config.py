"""Which setting wins, where it came from, and what a mistake in the file is told."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import httpx2
import pytest

from tests.cli.conftest import Run


def value_and_origin(run: Run, *arguments: str) -> dict[str, str]:
    shown = run("config", "view", "--show-origin", "-o", "json", *arguments)
    found: dict[str, str] = json.loads(shown.out)["timeout_seconds"]
    return found


def test_flags_go_before_environment_before_file_before_defaults(
    bare_run: Run, config_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert value_and_origin(bare_run) == {"value": 30.0, "origin": "default"}
    config_file.write_text("timeout_seconds = 4")
    assert value_and_origin(bare_run) == {"value": 4.0, "origin": str(config_file)}
    monkeypatch.setenv("TOPICFOLD_TIMEOUT_SECONDS", "3")
    assert value_and_origin(bare_run) == {"value": 3.0, "origin": "TOPICFOLD_TIMEOUT_SECONDS"}
    assert value_and_origin(bare_run, "--timeout-seconds", "2") == {"value": 2.0, "origin": "flag"}


def test_the_help_names_a_variable_for_every_setting_that_is_shown(bare_run: Run) -> None:
    named = " ".join(bare_run("--help").out.split()).partition("Settings come from")[2].partition("then the file")[0]
    shown = json.loads(bare_run("config", "view", "-o", "json").out)
    assert [name for name in shown if f"_{name.upper()} " not in named.replace(",", " ")] == []


def test_topicfold_config_names_another_file(bare_run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.toml").write_text("timeout_seconds = 7")
    monkeypatch.setenv("TOPICFOLD_CONFIG", str(tmp_path / "mine.toml"))
    assert value_and_origin(bare_run)["value"] == 7.0
    monkeypatch.setenv("TOPICFOLD_CONFIG", str(tmp_path / "missing.toml"))
    assert bare_run("config", "view").code == 2


def test_a_file_that_an_empty_variable_names_is_the_usual_one_which_need_not_be_there(
    bare_run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOPICFOLD_CONFIG", "")
    assert bare_run("config", "view", "-o", "name").code == 0


def test_the_usual_file_need_not_be_there_where_nobody_may_look_and_one_that_is_seen_is_never_passed_over(
    bare_run: Run, config_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(path: Path, **_: object) -> str:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr(Path, "read_text", refused)
    assert bare_run("config", "view", "-o", "name").code == 0
    config_file.touch()
    assert f"{config_file}: cannot be read" in bare_run("config", "view").err
    config_file.unlink()
    monkeypatch.setenv("TOPICFOLD_CONFIG", str(config_file))
    assert f"{config_file}: cannot be read" in bare_run("config", "view").err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('ulr = "http://h"', "Did you mean 'url'?"),
        ("colour = 1", "Did you mean 'color'?"),
        ("port = 81", "hint: It is a setting of a server: write it below [server]."),
        ("zzz = 1", "Known keys: url, "),
        ("url = http", "need quotes"),
        ("url = 5", "config.toml: url = 5: expected text, in quotes"),
        ("tls_ca_file = 5", "expected text, in quotes"),
        ('token = ["hidden"]', "config.toml: token = '****': expected text, in quotes"),
        ('output = "xml"', "expected one of table, json, yaml, name"),
        ("timeout_seconds = -1", "above 0"),
        ("timeout_seconds = true", "config.toml: timeout_seconds = True: expected seconds above 0, at most 3600"),
        ("timeout_seconds = []", "config.toml: timeout_seconds = []: expected seconds above 0, at most 3600"),
        (f"timeout_seconds = {'1' * 400}", "expected seconds above 0, at most 3600"),
        (f"timeout_seconds = {'1' * 5_000}", "5000 digits"),
        (f"[server]\nport = 0x{'f' * 5_000}", "4300 digits"),
        (r'token_file = "a\u0000b"', "token_file = 'a\\x00b': a path cannot hold a zero character"),
        ("server = 3", "[server]"),
    ],
)
def test_a_mistake_in_the_file_is_named_with_the_file_and_a_way_out(
    bare_run: Run, config_file: Path, text: str, said: str
) -> None:
    config_file.write_text(text)
    failed = bare_run("config", "view")
    assert failed.code == 2
    assert str(config_file) in failed.err
    assert said in failed.err


def test_a_file_that_is_no_text_is_refused(bare_run: Run, config_file: Path) -> None:
    config_file.write_bytes(b"\xff")
    failed = bare_run("config", "view")
    assert (failed.code, failed.err.startswith(f"error: {config_file}: cannot be read: ")) == (2, True)


def test_a_file_that_is_nested_too_deep_is_refused(bare_run: Run, config_file: Path) -> None:
    config_file.write_text(f"url = {'[' * 5_000}")
    failed = bare_run("config", "view")
    assert (failed.code, failed.err) == (2, f"error: {config_file}: nested too deep to be read\n")


def test_a_mistake_in_a_flag_is_named_with_what_would_be_right(bare_run: Run) -> None:
    failed = bare_run("config", "view", "--timeout-seconds", "-1")
    assert (failed.code, failed.err) == (2, "error: --timeout-seconds -1.0: expected seconds above 0, at most 3600\n")


@pytest.mark.parametrize(
    ("variable", "text", "said"),
    [
        (
            "TOPICFOLD_TIMEOUT_SECONDS",
            "abc",
            "TOPICFOLD_TIMEOUT_SECONDS = 'abc': expected seconds above 0, at most 3600",
        ),
        ("TOPICFOLD_QUIET", "maybe", "TOPICFOLD_QUIET = 'maybe': expected true or false"),
        ("TOPICFOLD_OUTPUT", "xml", "TOPICFOLD_OUTPUT = 'xml': expected one of table, json, yaml, name"),
    ],
)
def test_a_mistake_in_a_variable_is_named_with_what_would_be_right(
    bare_run: Run, monkeypatch: pytest.MonkeyPatch, variable: str, text: str, said: str
) -> None:
    monkeypatch.setenv(variable, text)
    failed = bare_run("config", "view")
    assert (failed.code, failed.err) == (2, f"error: {said}\n")


@pytest.mark.parametrize(
    ("variable", "said"),
    [
        ("TOPICFOLD_ULR", "warning: TOPICFOLD_ULR is not a setting; did you mean TOPICFOLD_URL?\n"),
        ("TOPICFOLD_KAFKA_BOOSTRAP", "did you mean TOPICFOLD_KAFKA_BOOTSTRAP?\n"),
        ("TOPICFOLD_LOG", "did you mean TOPICFOLD_LOG_FILE?\n"),
        ("TOPICFOLD_KAFKA", "did you mean TOPICFOLD_KAFKA_BOOTSTRAP?\n"),
        ("TOPICFOLD_TIMEOUT", "did you mean TOPICFOLD_TIMEOUT_SECONDS?\n"),
        ("TOPICFOLD_ZZZ", "TOPICFOLD_ZZZ is not a setting\n"),
        ("TOPICFOLD_NONSENSE", "TOPICFOLD_NONSENSE is not a setting\n"),
        ("TOPICFOLD_WORKERS", "TOPICFOLD_WORKERS is not a setting\n"),
        ("topicfold_url", "warning: topicfold_url is not a setting; did you mean TOPICFOLD_URL?\n"),
        ("topicfold_port", ""),
        ("TOPICFOLD_PORT", ""),
        ("TOPICFOLD_KAFKA_SETTINGS__acks", ""),
        ("TOPICFOLD_TEST_X", ""),
        ("TOPICFOLD_SIM_SEEDS", ""),
    ],
)
def test_a_variable_that_is_no_setting_is_warned_of(
    bare_run: Run, monkeypatch: pytest.MonkeyPatch, variable: str, said: str
) -> None:
    monkeypatch.setenv(variable, "1")
    shown = bare_run("config", "view")
    assert shown.code == 0
    assert shown.err.endswith(said) if said else shown.err == ""


def test_where_a_value_comes_from_is_a_column_where_it_is_asked_for(bare_run: Run, config_file: Path) -> None:
    config_file.write_text("timeout_seconds = 4\n[server]\nport = 81")
    columns = ("SETTING", "VALUE", "ORIGIN")
    told = ("timeout_seconds", "4.0", str(config_file)), ("server.port", "81", str(config_file))
    for options, count in (((), 2), (("--show-origin",), 3)):
        shown = bare_run("config", "view", *options).out.splitlines()
        header, *rows = (tuple(line.split(maxsplit=2)) for line in shown)
        assert header == columns[:count]
        assert {each[:count] for each in told} <= {*rows}


def test_secrets_are_masked(bare_run: Run, config_file: Path) -> None:
    config_file.write_text(
        'url = "http://me:hunter2@h"\ntoken = "hunter2"\n'
        '[server.kafka_settings]\n"sasl.password" = "hunter2"\n"sasl.username" = "me"'
    )
    shown = bare_run("config", "view", "--show-origin").out
    assert "hunter2" not in shown
    assert "server.kafka_settings.sasl.username" in shown


def test_the_token_goes_with_every_request(bare_run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str | None] = []

    def answer(_: httpx2.HTTPTransport, request: httpx2.Request) -> httpx2.Response:
        asked.append(request.headers.get("Authorization"))
        return httpx2.Response(200, json=[])

    monkeypatch.setattr(httpx2.HTTPTransport, "handle_request", answer)
    bare_run("tenants", "list")
    monkeypatch.setenv("TOPICFOLD_TOKEN", "hunter2")
    bare_run("tenants", "list")
    assert asked == [None, "Bearer hunter2"]


def test_an_output_format_of_the_file_holds_for_every_command(bare_run: Run, config_file: Path) -> None:
    config_file.write_text('output = "json"')
    assert json.loads(bare_run("config", "view").out)["output"] == "json"


def test_a_file_that_begins_with_a_byte_order_mark_is_read_as_one_without(bare_run: Run, config_file: Path) -> None:
    config_file.write_text("timeout_seconds = 4\r\nquiet = true\r\n", encoding="utf-8-sig")
    assert value_and_origin(bare_run) == {"value": 4.0, "origin": str(config_file)}


def test_who_has_no_home_has_no_file_there(bare_run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(_: int) -> None:
        raise KeyError("uid not found")

    for variable in ("HOME", "XDG_CONFIG_HOME", "TOPICFOLD_CONFIG"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr("pwd.getpwuid", nobody)
    assert bare_run("config", "view", "-o", "name").code == 0
    monkeypatch.setenv("TOPICFOLD_CONFIG", "~/mine.toml")
    assert "~/mine.toml: there is no such file" in bare_run("config", "view").err


def test_a_server_key_that_is_none_is_shown_and_named(bare_run: Run, config_file: Path) -> None:
    config_file.write_text("[server]\nprot = 81")
    viewed = bare_run("config", "view", "-o", "json")
    assert (viewed.code, json.loads(viewed.out)["server.prot"]) == (0, 81)
    assert viewed.err == f"warning: {config_file}: unknown key 'prot'\nhint: Did you mean 'port'?\n"
