"""How values of policies read on one line."""

from __future__ import annotations

from typing import Any

import pytest

from topicfold.cli.policy_output import change_line, value_line


@pytest.mark.parametrize(
    ("value", "line"),
    [
        (None, "null"),
        (0, "0"),
        (False, "false"),
        (1.5, "1.5"),
        ("FULL", "FULL"),
        (["Shared", "Failover"], "Shared,Failover"),
        ([], "[]"),
        ({}, "{}"),
        ({"tickTime": 1000, "active": True}, "tickTime=1000,active=true"),
        ({"a": {"b": {"c": 1}, "d": {}}, "e": None}, "a.b.c=1,a.d={},e=null"),
    ],
)
def test_a_value_is_one_line(value: Any, line: str) -> None:
    assert value_line(value) == line


def test_a_secret_that_was_set_is_not_told() -> None:
    set_to = {"managedLedgerOffloadBucket": "cold", "s3ManagedLedgerOffloadCredentialSecret": "hunter2"}
    assert change_line(set_to) == "managedLedgerOffloadBucket=cold,s3ManagedLedgerOffloadCredentialSecret=****"
    assert change_line(5) == "5"
