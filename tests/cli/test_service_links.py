"""What Kubernetes tells pods of a Service called topicfold is no setting."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cli.conftest import Run

LINKS = {
    "SERVICE_HOST": "10.96.0.7",
    "SERVICE_PORT": "8080",
    "SERVICE_PORT_HTTPS": "8080",
    "PORT": "tcp://10.96.0.7:8080",
    "PORT_8080_TCP": "tcp://10.96.0.7:8080",
    "PORT_8080_TCP_PROTO": "tcp",
    "PORT_8080_TCP_PORT": "8080",
    "PORT_8080_TCP_ADDR": "10.96.0.7",
}


def told(run: Run) -> dict[str, Any]:
    """Return the settings of a server, of which none is warned of."""
    shown = run("config", "server", "-o", "json")
    assert (shown.code, shown.err) == (0, "")
    found: dict[str, Any] = json.loads(shown.out)
    return found


@pytest.mark.parametrize("service", ["TOPICFOLD", "TOPICFOLD_READS"])
def test_a_pod_beside_a_service_called_topicfold_has_the_settings_that_it_was_given(
    bare_run: Run, monkeypatch: pytest.MonkeyPatch, service: str
) -> None:
    for name, text in LINKS.items():
        monkeypatch.setenv(f"{service}_{name}", text)
    monkeypatch.setenv("TOPICFOLD_PARTITIONS", "16")
    found = told(bare_run)
    assert (found["port"]["value"], found["port"]["origin"]) == (8080, "default")
    assert (found["partitions"]["value"], found["partitions"]["origin"]) == ("16", "TOPICFOLD_PARTITIONS")


def test_a_port_that_the_pod_itself_names_stays(bare_run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in {**LINKS, "PORT": "8081"}.items():
        monkeypatch.setenv(f"TOPICFOLD_{name}", text)
    assert told(bare_run)["port"]["value"] == "8081"
