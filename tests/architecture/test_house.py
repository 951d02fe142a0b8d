"""The house: names of modules, docstrings, and what may be said in the fold."""

from __future__ import annotations

import ast
import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import topicfold
from topicfold import errors

PACKAGE = Path(topicfold.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))
PURE = [path for path in MODULES if path.relative_to(PACKAGE).parts[0] in ("model", "state")]
INSIDE = [
    path
    for path in MODULES
    if path.relative_to(PACKAGE).parts[0] in ("model", "state", "log", "cluster", "runtime", "enforcement")
]
TESTS = sorted(Path(__file__).parents[1].rglob("test_*.py"))
FORBIDDEN = {"utils", "util", "helpers", "common", "core", "base", "constants", "types", "misc", "manager", "managers"}


def short(path: Path) -> str:
    """Return a module's path inside the package."""
    return str(path.relative_to(PACKAGE))


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield the public functions of a module and the public methods of its public classes."""
    body = ast.parse(path.read_text()).body
    for owner in (body, *(node.body for node in body if isinstance(node, ast.ClassDef) and node.name[0] != "_")):
        for node in owner:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_"):
                yield node


@pytest.mark.parametrize("path", MODULES, ids=short)
def test_no_module_is_named_for_being_a_drawer(path: Path) -> None:
    assert FORBIDDEN.isdisjoint({path.stem, path.parent.name})


@pytest.mark.parametrize("path", MODULES, ids=short)
def test_every_module_says_what_is_in_it(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text()))


@pytest.mark.parametrize("path", INSIDE, ids=short)
def test_every_public_function_is_documented(path: Path) -> None:
    assert [each.name for each in functions(path) if not ast.get_docstring(each)] == []


def raised(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """Return which of our errors a function raises by itself."""
    calls = (node.exc for node in ast.walk(function) if isinstance(node, ast.Raise))
    names = {call.func.id for call in calls if isinstance(call, ast.Call) and isinstance(call.func, ast.Name)}
    return {name for name in names if hasattr(errors, name)}


@pytest.mark.parametrize("path", INSIDE, ids=short)
def test_a_function_that_raises_an_error_of_ours_says_so(path: Path) -> None:
    silent = {
        f"{each.name}: {name}"
        for each in functions(path)
        for name in raised(each)
        if name not in (ast.get_docstring(each) or "").partition("Raises:")[2]
    }
    assert silent == set()


@pytest.mark.parametrize("path", PURE, ids=short)
def test_the_pure_half_waits_for_nothing_and_reads_no_clock(path: Path) -> None:
    tree = ast.parse(path.read_text())
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert imported.isdisjoint({"asyncio", "time", "datetime", "random", "secrets", "os", "threading", "logging"})
    assert not any(isinstance(node, ast.Await | ast.AsyncFunctionDef) for node in ast.walk(tree))


@pytest.mark.parametrize("path", PURE, ids=short)
def test_the_pure_half_never_asks_for_a_hash_that_differs_between_processes(path: Path) -> None:
    # The name index looks every answer up by name, so that nobody can choose names that make it slow.
    allowed = 1 if short(path) == "state/indexes/name_index.py" else 0
    calls = [node.func for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    assert len([call for call in calls if isinstance(call, ast.Name) and call.id in ("hash", "id")]) == allowed


def test_no_test_module_is_imported_by_another() -> None:
    imports = (node for path in TESTS for node in ast.walk(ast.parse(path.read_text())))
    sources = {node.module or "" for node in imports if isinstance(node, ast.ImportFrom)}
    assert {each for each in sources if each.rpartition(".")[2].startswith("test_")} == set()


def test_every_module_of_the_engine_can_be_imported_by_itself() -> None:
    for module in pkgutil.walk_packages([str(PACKAGE)], "topicfold."):
        if module.name.split(".")[1] in ("model", "state", "log", "runtime"):
            importlib.import_module(module.name)
