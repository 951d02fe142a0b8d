"""What the documents name is there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from topicfold.cli import main as entry

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), ROOT / "deploy" / "README.md"]
# Of pulsar, spark-submit and scripts/bench.
OTHERS = {"--expiry-time", "--archives", "--master", "--large"}


def flags(command: Any) -> Iterator[str]:
    """Yield the flags of a command, and of those below it."""
    for parameter in command.params:
        yield from (*parameter.opts, *parameter.secondary_opts)
    for each in getattr(command, "commands", {}).values():
        yield from flags(each)


@pytest.fixture(scope="module")
def known() -> set[str]:
    groups = [get_command(import_module(module).app) for module, _ in entry._GROUPS.values()]
    return {"--help", *OTHERS, *(flag for each in (get_command(entry.app), *groups) for flag in flags(each))}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_each_flag_that_a_sentence_names_is_one(document: Path, known: set[str]) -> None:
    assert set(re.findall(r"`(--[a-z][a-z-]+)", document.read_text())) - known == set()
