"""Tables: whole lines where they are read by programs, and no wider than a terminal where they are read by people."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from tests.terminal import Terminal
from topicfold.cli.config import ColorMode, OutputFormat
from topicfold.cli.output import Output
from topicfold.cli.tables import _wrapped, left_out, table_lines

HEADER = ("TOPIC", "N", "LABELS")
TIME = "2026-11-25T13:26:03.877Z"


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


def test_a_name_of_several_words_is_broken_between_them(shown: Shown) -> None:
    names = ("subscriptionExpirationTimeInMinutes", "x" * 35)
    lines = shown(44, ("POLICY", "VALUE"), [(name, "1,2,3,4,5,6,7,8,9,10,11") for name in names])
    firsts = [line.split()[0] for line in lines[1:] if not line.startswith(" ")]
    assert firsts == ["subscription", "ExpirationTimeIn", "Minutes", "x" * 19, "x" * 16]


@pytest.mark.parametrize(
    ("cell", "pieces"),
    [
        ("allowed_custom_label_keys", ["allowed_custom_label_", "keys"]),
        ("eu-central-1__confirmed-orders", ["eu-central-1__", "confirmed-orders"]),
        ("all, by-properties or by,  package", ["all, by-properties or", "by,  package"]),
        ("twenty-two-letters,and, more", ["twenty-two-letters,and,", "more"]),
    ],
)
def test_a_cell_is_broken_at_the_marks_in_it_and_no_line_begins_with_the_blank_behind_one(
    cell: str, pieces: list[str]
) -> None:
    assert _wrapped(cell, 23) == pieces


def test_words_that_fill_a_column_to_its_end_stay_in_one_line(shown: Shown) -> None:
    lines = shown(44, ("POLICY", "VALUE"), [("maxConsumersPerSubscription", "1,2,3,4,5,6,7,8,9,10,11" * 2)])
    assert [line.split()[0] for line in lines[1:]] == ["maxConsumers", "Per", "Subscription"]


def test_the_last_column_is_wrapped_at_its_commas(shown: Shown) -> None:
    lines = shown(60, HEADER, [("orders", "1", ",".join(f"key{n}=value{n}" for n in range(6)))])
    assert lines == [
        "TOPIC   N  LABELS",
        "orders  1  key0=value0,key1=value1,key2=value2,key3=value3,",
        "           key4=value4,key5=value5",
    ]


@pytest.mark.parametrize("outlier", [("x" * 240, "1", "tier=gold"), ("orders", "1", ",".join(["key=value"] * 40))])
def test_one_cell_far_wider_than_the_others_does_not_wrap_their_rows(shown: Shown, outlier: tuple[str, ...]) -> None:
    usual = [(f"prod.payments.orders.v{number}", "1", "owner=team-12,pii=false,tier=gold") for number in range(99)]
    lines = shown(80, HEADER, [*usual, outlier])
    assert len(lines) < 1 + len(usual) + 10
    assert all(any(name in line and labels in line for line in lines) for name, _, labels in usual)
    assert "".join(lines).count("x") == outlier[0].count("x")


@pytest.mark.parametrize("width", [100, 120, 150])
def test_a_name_stays_whole_where_the_last_column_is_wrapped_anyway_and_has_room_for_its_words(
    shown: Shown, width: int
) -> None:
    usual = [(f"policy{number}", "1", ",".join(f"member{each}=value" for each in range(20))) for number in range(20)]
    name = "offload.thresholdInBytesOfWhatIsOffloaded"
    assert any(line.startswith(f"{name}  1  ") for line in shown(width, HEADER, [*usual, (name, "1", "9")]))


def test_where_nobody_looks_a_cell_far_wider_than_the_others_pushes_only_its_own_row() -> None:
    usual = [(f"topic{number}", "1", "tier=gold") for number in range(20)]
    others = [("x" * 38, "12345678901", ""), ("x" * 240, "1", "")]
    lines = table_lines(("TOPIC", "PARTITIONS", "LABELS"), [*usual, *others])
    assert lines[0] == f"TOPIC{' ' * 35}PARTITIONS   LABELS"
    assert lines[1] == f"topic0{' ' * 34}1            tier=gold"
    assert lines[-2:] == [f"{'x' * 38}  12345678901", f"{'x' * 240}  1"]


@pytest.mark.parametrize("width", range(60, 130, 7))
@pytest.mark.parametrize("who", ["ann", "cn=ann.of.payments,ou=people,o=acme.example", TIME])
@pytest.mark.parametrize(
    "change", ["created", f"properties.until: {TIME} → {TIME}", f"{TIME}.{TIME}", f"a{TIME}{TIME}"]
)
def test_a_time_is_never_broken(shown: Shown, width: int, who: str, change: str) -> None:
    lines = shown(width, ("VERSION", "WHEN", "WHO", "CHANGE"), [("1234", TIME, who, change)])
    assert sum(line.count(TIME) for line in lines) == 1 + who.count(TIME) + change.count(TIME)
    assert max(map(len, lines)) <= max(width, 100)


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


def test_a_spare_column_is_left_out_before_others_are_wrapped_and_that_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    header, row = ("POLICY", "ENFORCED BY", "VALUE"), ("a-policy-of-twenty-five-c", "spare", "value" * 6)
    for columns, shown, said in (
        (60, f"POLICY                     VALUE\na-policy-of-twenty-five-c  {'value' * 6}\n", True),
        (
            80,
            f"POLICY                     ENFORCED BY  VALUE\na-policy-of-twenty-five-c  spare        {row[2]}\n",
            False,
        ),
    ):
        monkeypatch.setenv("COLUMNS", str(columns))
        with monkeypatch.context() as patched:
            patched.setattr(sys, "stdout", terminal := Terminal())
            output = Output(OutputFormat.TABLE, ColorMode.NEVER, is_quiet=False)
            output.show({}, [], header, [row], spare=["ENFORCED BY"])
        assert terminal.getvalue() == shown
        left_out = "left out: column ENFORCED BY; a wider terminal shows it all, and so does -o json\n"
        assert capsys.readouterr().err == (left_out if said else "")


def test_no_spare_column_is_left_out_where_it_is_enough_to_wrap_the_last_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", terminal := Terminal())
        Output(OutputFormat.TABLE, ColorMode.NEVER, is_quiet=False).show(
            {}, [], ("POLICY", "ENFORCED BY", "VALUE"), [("a-policy", "spare", "value," * 20)], spare=["ENFORCED BY"]
        )
    shown = terminal.getvalue()
    assert ("ENFORCED BY" in shown, shown.count("value")) == (True, 20)
    assert capsys.readouterr().err == ""


def test_no_spare_column_is_left_out_for_one_cell_far_wider_than_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(sys, "stdout", Terminal())
    assert left_out(HEADER, [*[("orders", "1", "tier=gold")] * 9, ("x" * 90, "1", "tier=gold")], ["N"]) == []


def test_where_nobody_looks_no_column_is_left_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    Output(OutputFormat.TABLE, ColorMode.NEVER, is_quiet=False).show(
        {}, [], HEADER, [("x" * 90, "1", "y" * 90)], spare=HEADER[:2]
    )
    assert capsys.readouterr() == (f"TOPIC{' ' * 87}N  LABELS\n{'x' * 90}  1  {'y' * 90}\n", "")


CHANGES = [
    ("1285", TIME, "anonymous", "audit", "policies.local.retentionPolicies.retentionTimeInMinutes: – → 129600"),
    ("", "", "", "", "labels.tier: gold → lead"),
    ("7", TIME, "anonymous", "", "created"),
]


def test_a_last_column_too_narrow_for_its_words_has_lines_of_its_own(shown: Shown) -> None:
    header = ("VERSION", "WHEN", "WHO", "WHY", "CHANGE")
    assert shown(80, header, CHANGES) == [
        "VERSION  WHEN                      WHO        WHY    CHANGE",
        f"1285     {TIME}  anonymous  audit",
        "    policies.local.retentionPolicies.retentionTimeInMinutes: – → 129600",
        "    labels.tier: gold → lead",
        f"7        {TIME}  anonymous",
        "    created",
    ]
    assert len(shown(130, header, CHANGES)) == 4


def test_a_word_that_no_line_can_hold_does_not_move_the_last_column(shown: Shown) -> None:
    assert shown(80, ("A", "B"), [("x" * 40, "y" * 90)])[1].endswith(f"  {'y' * 38}")
