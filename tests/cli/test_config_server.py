"""`topicfold config server`: every setting of a server, what it means, its value and where that is from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from topicfold.cli.config import resolve_config
from topicfold.cli.server_settings import server_settings
from topicfold.settings import Settings


def told(run: Run) -> dict[str, Any]:
    """Return what the command says, as data."""
    shown = run("config", "server", "-o", "json")
    assert (shown.code, shown.err) == (0, "")
    found: dict[str, Any] = json.loads(shown.out)
    return found


def test_every_setting_is_told_with_what_it_means(bare_run: Run) -> None:
    found = told(bare_run)
    assert list(found) == list(Settings.model_fields)
    assert [name for name, each in found.items() if not each["meaning"]] == []
    assert found["port"]["value"] == 8080
    assert {each["origin"] for each in found.values()} == {"default"}


def test_it_says_that_they_are_no_running_servers(bare_run: Run) -> None:
    assert "one that runs has what it was started with\n" in bare_run("config", "server").err


def test_a_variable_goes_before_the_file_and_each_is_told_as_the_origin(
    bare_run: Run, config_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config_file.write_text("[server]\nport = 1\npartitions = 16")
    monkeypatch.setenv("TOPICFOLD_PORT", "2")
    found = told(bare_run)
    assert (found["port"]["value"], found["port"]["origin"]) == ("2", "TOPICFOLD_PORT")
    assert (found["partitions"]["value"], found["partitions"]["origin"]) == (16, str(config_file))


@pytest.mark.parametrize(
    ("whole", "expected"),
    [
        (None, {"client.id": "mine", "acks": "all", "debug": "broker"}),
        ('{"retries": "1", "client.id": "x"}', {"client.id": "mine", "acks": "all", "retries": "1"}),
    ],
)
def test_an_entry_in_a_variable_goes_before_the_one_in_the_table_and_what_is_shown_is_in_force(
    bare_run: Run, config_file: Path, monkeypatch: pytest.MonkeyPatch, whole: str | None, expected: dict[str, str]
) -> None:
    config_file.write_text('[server.kafka_settings]\n"client.id" = "file"\ndebug = "broker"')
    monkeypatch.setenv("TOPICFOLD_KAFKA_SETTINGS__client.id", "mine")
    monkeypatch.setenv("TOPICFOLD_KAFKA_SETTINGS__ACKS", "all")
    if whole:
        monkeypatch.setenv("TOPICFOLD_KAFKA_SETTINGS", whole)
    assert told(bare_run)["kafka_settings"]["value"] == expected
    assert server_settings(resolve_config({}), {}, "serving").kafka_settings == expected


@pytest.mark.parametrize("whole", [None, '{"messageTTLInSeconds": 2}'])
def test_a_policy_in_a_variable_goes_before_the_one_in_the_table_though_its_name_has_no_case(
    bare_run: Run, config_file: Path, monkeypatch: pytest.MonkeyPatch, whole: str | None
) -> None:
    config_file.write_text("[server.policy_defaults]\nmessageTTLInSeconds = 1")
    monkeypatch.setenv("TOPICFOLD_POLICY_DEFAULTS__messageTTLInSeconds", "3")
    if whole:
        monkeypatch.setenv("TOPICFOLD_POLICY_DEFAULTS", whole)
    assert told(bare_run)["policy_defaults"]["value"] == {"messageTTLInSeconds": "3"}
    settings = server_settings(resolve_config({}), {}, "serving")
    assert settings.policy_limits.defaults == {"messageTTLInSeconds": 3}


@pytest.mark.parametrize(
    ("variable", "text"),
    [("TOPICFOLD_KAFKA_SETTINGS", '{"sasl.password": "4711"}'), ("TOPICFOLD_KAFKA_SETTINGS__sasl.password", "4711")],
)
def test_secrets_are_masked_wherever_they_stand(
    bare_run: Run, monkeypatch: pytest.MonkeyPatch, variable: str, text: str
) -> None:
    monkeypatch.setenv(variable, text)
    assert told(bare_run)["kafka_settings"]["value"] == {"sasl.password": "****"}


@pytest.mark.parametrize(
    "text", ['{"sasl.password": "hunter2"', '[{"sasl.password": "hunter2"}]', '{"sasl.password": {"it": "hunter2"}}']
)
def test_a_table_that_is_none_is_masked_whole_for_its_entries_may_be_secret(
    bare_run: Run, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv("TOPICFOLD_KAFKA_SETTINGS", text)
    shown = bare_run("config", "server", "-o", "json")
    assert "hunter2" not in shown.out
    assert "****" in shown.out


def test_a_table_that_is_nested_too_deep_is_none(bare_run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOPICFOLD_KAFKA_SETTINGS", '{"a": ' * 5_000)
    assert told(bare_run)["kafka_settings"]["value"] == "****"


def test_a_table_of_the_file_that_is_none_is_masked_too(bare_run: Run, config_file: Path) -> None:
    config_file.write_text('[server]\nkafka_settings = "sasl.password=hunter2"')
    assert told(bare_run)["kafka_settings"]["value"] == "****"


@pytest.mark.parametrize(
    ("command", "name"), [("server", "follow_every_seconds"), ("view", "server.follow_every_seconds")]
)
def test_a_time_in_the_file_is_shown_as_it_stands_there(
    bare_run: Run, config_file: Path, command: str, name: str
) -> None:
    config_file.write_text("[server]\nfollow_every_seconds = 00:00:05")
    shown = bare_run("config", command, "-q")
    assert (shown.code, shown.err) == (0, "")
    assert [line.split()[1] for line in shown.out.splitlines() if line.split()[0] == name] == ["00:00:05"]


@pytest.mark.parametrize("name", ["ssl.key.pem", "sasl.password", "ssl.key.password"])
def test_whatever_keeps_a_key_of_kafka_secret_is_masked(
    bare_run: Run, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("TOPICFOLD_KAFKA_SETTINGS", json.dumps({name: "4711", "ssl.ca.pem": "public"}))
    assert told(bare_run)["kafka_settings"]["value"] == {name: "****", "ssl.ca.pem": "public"}


def test_a_password_that_holds_an_at_sign_is_masked_whole(bare_run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOPICFOLD_AUTH_JWKS_URL", "https://me:p@hunter2@issuer.example/keys")
    assert told(bare_run)["auth_jwks_url"]["value"] == "https://****@issuer.example/keys"


def test_a_password_in_a_brokers_name_is_masked(bare_run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOPICFOLD_KAFKA_BOOTSTRAP", "b1:9092, me:hun,ter2@b2:9092")
    assert told(bare_run)["kafka_bootstrap"]["value"] == "****@b2:9092"


@pytest.mark.parametrize("end", ["?api_key=hunter2", "?of=a@b&code=hunter2", "#hunter2"])
def test_what_follows_the_path_of_a_url_is_masked_for_it_may_be_a_key(
    bare_run: Run, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    monkeypatch.setenv("TOPICFOLD_AUTH_JWKS_URL", f"https://issuer.example/keys{end}")
    assert told(bare_run)["auth_jwks_url"]["value"] == f"https://issuer.example/keys{end[0]}****"


def test_serve_says_where_all_settings_are_listed(bare_run: Run) -> None:
    assert "topicfold config server" in " ".join(bare_run("serve", "--help").out.split())


@pytest.mark.parametrize(
    "words", [("config", "server"), ("serve",), ("compact",), ("trim",), ("copy",), ("renew",), ("enforce",)]
)
def test_help_of_a_command_that_asks_no_server_shows_no_option_that_is_about_one(
    bare_run: Run, words: tuple[str, ...]
) -> None:
    shown = bare_run(*words, "--help").out
    assert ("--output" in shown, "--url" in shown, "--token" in shown) == (True, False, False)
