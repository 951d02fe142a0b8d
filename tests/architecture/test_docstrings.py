"""Examples in docstrings are true."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

import topicfold

PACKAGE = Path(topicfold.__file__).parent
WITH_EXAMPLES = sorted(path for path in PACKAGE.rglob("*.py") if ">>> " in path.read_text())


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_every_example_gives_what_it_says(path: Path) -> None:
    name = ".".join(("topicfold", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0
    assert result.failed == 0
