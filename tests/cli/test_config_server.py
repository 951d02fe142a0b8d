"""`topicfold config server`: every setting of a server, what it means, its value and where that is from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
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


def test_a_variable_goes_before_the_file_and_each_is_told_as_the_origin(
    bare_run: Run, config_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config_file.write_text("[server]\nport = 1\npartitions = 16")
    monkeypatch.setenv("TOPICFOLD_PORT", "2")
    found = told(bare_run)
    assert (found["port"]["value"], found["port"]["origin"]) == ("2", "TOPICFOLD_PORT")
    assert (found["partitions"]["value"], found["partitions"]["origin"]) == (16, str(config_file))


@pytest.mark.parametrize(
    ("variable", "text"),
    [("TOPICFOLD_KAFKA_SETTINGS", '{"sasl.password": "4711"}'), ("TOPICFOLD_KAFKA_SETTINGS__sasl.password", "4711")],
)
def test_secrets_are_masked_wherever_they_stand(
    bare_run: Run, monkeypatch: pytest.MonkeyPatch, variable: str, text: str
) -> None:
    monkeypatch.setenv(variable, text)
    assert told(bare_run)["kafka_settings"]["value"] == {"sasl.password": "****"}


def test_serve_says_where_all_settings_are_listed(bare_run: Run) -> None:
    assert "topicfold config server" in " ".join(bare_run("serve", "--help").out.split())
