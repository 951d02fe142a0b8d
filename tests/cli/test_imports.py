"""What starting the command line costs: counted in modules, which do not depend on the machine's mood."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

HEAVY = {
    "apsw",
    "confluent_kafka",
    "fastapi",
    "fastavro",
    "httpx2",
    "opentelemetry",
    "pydantic",
    "pydantic_settings",
    "rich",
    "structlog",
    "tomllib",
    "uvicorn",
}
# Typer reads the values of options with it.
TYPERS_OWN = {"pydantic"}


def loaded_by(*arguments: str) -> set[str]:
    code = (
        "import json, sys; from topicfold.cli.main import main; main(sys.argv[1:]); "
        "print('\\n' + json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"
    )
    ran = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    return set(json.loads(ran.stdout.splitlines()[-1]))


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    assert loaded_by(*arguments) & HEAVY == set()


@pytest.mark.parametrize(
    "arguments",
    [
        ["topics", "--help"],
        ["topicPolicies", "--help"],
        ["report", "labels", "--help"],
        ["serve", "--help"],
        ["config", "view"],
        ["no-such-command"],
    ],
)
def test_what_needs_no_server_imports_only_what_typer_does(arguments: list[str]) -> None:
    assert loaded_by(*arguments) & HEAVY <= TYPERS_OWN


def test_a_command_imports_the_client_and_nothing_of_the_server() -> None:
    loaded = loaded_by("topics", "list", "--url", "http://127.0.0.1:1")
    assert "httpx2" in loaded
    assert loaded & HEAVY <= TYPERS_OWN | {"httpx2"}


def test_help_imports_only_its_own_package_and_what_errors_names_and_counts_are() -> None:
    code = "import sys, topicfold.cli.main; print(*(name for name in sys.modules if name.startswith('topicfold')))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    others = {name for name in ran.stdout.split() if not name.startswith(("topicfold.cli", "topicfold.model"))}
    leaves = {"topicfold.text", "topicfold.text.counting", "topicfold.process", "topicfold.process.shortage"}
    assert others <= {"topicfold", "topicfold.errors", *leaves}
    assert "topicfold.model.policy" not in ran.stdout.split()
