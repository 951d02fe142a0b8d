"""`topicfold serve`: which settings reach the server. The server itself is replaced; it has tests of its own."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.cli.conftest import Run


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return the list that settings of servers go to."""
    for name in ("LOG_FILE", "KAFKA_BOOTSTRAP", "KAFKA_SETTINGS", "HOST", "PORT"):
        monkeypatch.delenv(f"TOPICFOLD_{name}", raising=False)
    settings: list[Any] = []
    module = ModuleType("topicfold.server.run")
    module.serve = lambda given: settings.append(given) or 0  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "topicfold.server.run", module)
    return settings


def test_without_flags_the_defaults_hold(bare_run: Run, served: list[Any]) -> None:
    assert bare_run("serve").code == 0
    assert (served[0].host, served[0].port, served[0].kafka_bootstrap) == ("127.0.0.1", 8080, None)


def test_flags_become_settings(bare_run: Run, served: list[Any]) -> None:
    bare_run("serve", "--kafka", "b:9092", "--host", "::1", "--port", "0", "--kafka-setting", "security.protocol=SSL")
    assert (served[0].kafka_bootstrap, served[0].host, served[0].port) == ("b:9092", "::1", 0)
    assert served[0].kafka_settings == {"security.protocol": "SSL"}


def test_flags_go_before_environment_before_file(
    bare_run: Run, served: list[Any], config_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config_file.write_text('[server]\nport = 1\nhost = "localhost"\npartitions = 3')
    monkeypatch.setenv("TOPICFOLD_PORT", "2")
    bare_run("serve")
    assert (served[0].port, served[0].host, served[0].partitions) == (2, "localhost", 3)
    bare_run("serve", "--port", "3")
    assert served[1].port == 3


def test_a_log_file_on_the_command_line_goes_before_kafka_elsewhere(
    bare_run: Run, served: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOPICFOLD_KAFKA_BOOTSTRAP", "b:9092")
    bare_run("serve", "--log", "events.db")
    assert (served[0].kafka_bootstrap, str(served[0].log_file)) == (None, "events.db")


@pytest.mark.parametrize(
    ("text", "said"), [("[server]\nprot = 1", "Did you mean 'port'?"), ("[server]\nport = 'x'", "port: ")]
)
def test_a_mistake_in_the_files_server_table_is_a_usage_error(
    bare_run: Run, served: list[Any], config_file: Path, text: str, said: str
) -> None:
    config_file.write_text(text)
    failed = bare_run("serve")
    assert (failed.code, served) == (2, [])
    assert said in failed.err


def test_a_file_and_kafka_together_are_refused(bare_run: Run, served: list[Any]) -> None:
    assert bare_run("serve", "--log", "a.db", "--kafka", "b:9092").code == 2
    assert served == []


@pytest.mark.parametrize(
    ("missing", "arguments", "command"),
    [
        ("pydantic_settings", [], "pip install 'topicfold[server]'"),
        ("pydantic_settings", ["--kafka", "b:9092"], "pip install 'topicfold[server,kafka]'"),
        ("confluent_kafka", ["--kafka", "b:9092"], "pip install 'topicfold[server,kafka]'"),
    ],
)
def test_without_the_packages_for_serving_the_command_that_installs_them_is_printed(
    bare_run: Run, served: list[Any], monkeypatch: pytest.MonkeyPatch, missing: str, arguments: list[str], command: str
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    monkeypatch.delitem(sys.modules, "topicfold.settings", raising=False)
    failed = bare_run("serve", *arguments)
    assert (failed.code, served) == (1, [])
    assert f"hint: {command}\n" in failed.err
