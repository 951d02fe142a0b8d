"""How many processors a process may use: its own, and what quotas of its control groups leave of them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from topicfold.process.processors import usable_processors


@pytest.fixture(autouse=True)
def four_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3})


@pytest.mark.parametrize(
    ("own", "quotas", "usable"),
    [
        ("0::/\n", {"": "50000 100000"}, 0.5),
        ("0::/\n", {"": "max 100000"}, 4),
        ("0::/\n", {}, 4),
        ("0::/\n", {"": "800000 100000"}, 4),
        ("0::/system.slice/topicfold.service\n", {"system.slice/topicfold.service": "150000 100000"}, 1.5),
        ("0::/system.slice/topicfold.service\n", {"system.slice": "25000 50000", "other": "1 100"}, 0.5),
        ("3:cpu:/a\n0::/b\n", {"a": "10000 100000", "b": "max 100000"}, 4),
        ("3:cpu:/a\n", {"a": "10000 100000"}, 4),
        ("0::/\n", {"": "garbage"}, 4),
    ],
)
def test_the_least_quota_of_a_process_s_control_groups_counts(
    own: str, quotas: dict[str, str], usable: float, tmp_path: Path
) -> None:
    groups = tmp_path / "cgroup"
    groups.mkdir()
    (tmp_path / "own").write_text(own)
    for group, quota in quotas.items():
        (groups / group).mkdir(parents=True, exist_ok=True)
        (groups / group / "cpu.max").write_text(quota)
    assert usable_processors(tmp_path / "own", groups) == usable


def test_without_control_groups_those_count_that_it_may_run_on(tmp_path: Path) -> None:
    assert usable_processors(tmp_path / "none", tmp_path) == 4
