"""Tables: whole lines where they are read by programs, and no wider than a terminal where they are read by people."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from typing import Any

import pytest

from topicfold.cli.tables import table_lines

HEADER = ("TOPIC", "N", "LABELS")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


Shown = Callable[..., list[str]]


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Shown:
    """What a terminal of some columns is shown."""

    def show(columns: int, *table: Any) -> list[str]:
        monkeypatch.setenv("COLUMNS", str(columns))
        with monkeypatch.context() as patched:
            patched.setattr(sys, "stdout", Terminal())
            return table_lines(*table)

    return show


def test_where_nobody_looks_a_row_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert table_lines(HEADER, [("x" * 90, "1", "y" * 90)])[1] == f"{'x' * 90}  1  {'y' * 90}"


def test_the_last_column_is_wrapped_at_its_commas(shown: Shown) -> None:
    lines = shown(60, HEADER, [("orders", "1", ",".join(f"key{n}=value{n}" for n in range(6)))])
    assert lines == [
        "TOPIC   N  LABELS",
        "orders  1  key0=value0,key1=value1,key2=value2,key3=value3,",
        "           key4=value4,key5=value5",
    ]


@pytest.mark.parametrize("name", ["x" * 90, "persistent://public/default/orders", "\u7528" * 50, "a"], ids=len)
@pytest.mark.parametrize("labels", ["y" * 200, "", "team=pay", "\u7528,\u6237" * 30], ids=len)
@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_line_is_wider_than_the_terminal_and_nothing_is_lost(
    shown: Shown, name: str, labels: str, width: int
) -> None:
    lines = shown(width, HEADER, [(name, "1", labels)])
    assert max(sum(1 + (each > "\u7000") for each in line) for line in lines) <= width
    whole = "".join(lines[1:])
    assert all(whole.count(each) >= (name + labels).count(each) for each in set(name + labels))


def test_a_spare_column_goes_before_others_are_wrapped(shown: Shown) -> None:
    row = ("a-policy-of-twenty-five-c", "spare", "value" * 6)
    assert shown(60, ("POLICY", "ENFORCED BY", "VALUE"), [row], ["ENFORCED BY"]) == [
        "POLICY                     VALUE",
        f"a-policy-of-twenty-five-c  {'value' * 6}",
    ]
    assert "ENFORCED BY" in shown(80, ("POLICY", "ENFORCED BY", "VALUE"), [row], ["ENFORCED BY"])[0]
