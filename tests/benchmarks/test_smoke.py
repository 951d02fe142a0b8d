"""The harness works: tiny runs of what needs no broker, and of one benchmark that does. Numbers are not judged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.benchmarks import boot, compaction, find, fold, memory, selectors, watches, wildcards
from tests.benchmarks.report import Goal, Row, percentile, print_table, row
from tests.benchmarks.site import QUICK, Site
from tests.brokers.process import KafkaProcess


def test_selectors_find_what_a_scan_finds() -> None:
    with Site(QUICK) as site:
        rows = list(selectors.run(site))
    assert [each.what.split()[0] for each in rows] == ["as", "names,", "as", "names,", "reading"]


def test_wildcards_find_what_a_scan_finds() -> None:
    with Site(QUICK) as site:
        rows = list(wildcards.run(site))
    assert [each.goal is None for each in rows] == [False, False, False, True, False, False, True, True]


def test_memory_states_bytes_beside_plain_dictionaries() -> None:
    with Site(QUICK) as site:
        (only,) = memory.run(site)
    assert only.ours.median > 0
    assert only.theirs.median > 0


@pytest.mark.kafka
def test_watches_lose_nothing(own_broker: KafkaProcess) -> None:
    with Site(QUICK, own_broker) as site:
        rows = {each.what: each for each in watches.run(site)}
    counted = [each for what, each in rows.items() if "lost" in what or "not come" in what]
    assert [each.met for each in counted] == [True, True]
    assert all(each.theirs.low > 0 for each in counted)


def test_finding_over_http_is_measured_beside_a_scan() -> None:
    with Site(QUICK) as site:
        rows = list(find.run(site))
    assert all(each.ours.low > 0 and each.theirs.low > 0 for each in rows)


@pytest.mark.kafka
def test_fold_counts_every_event_of_the_log(own_broker: KafkaProcess) -> None:
    with Site(QUICK, own_broker) as site:
        rows = list(fold.run(site))
    assert all(each.ours.median > 0 for each in rows)


@pytest.mark.kafka
def test_boot_loads_what_it_compares(own_broker: KafkaProcess) -> None:
    with Site(QUICK, own_broker) as site:
        rows = list(boot.run(site))
    assert [each.goal is None for each in rows] == [False, True, False]
    assert all(each.ours.low > 0 and each.theirs.low > 0 for each in rows)


def test_a_ratio_is_taken_pair_by_pair() -> None:
    made = row("name: what", "ms", [2.0, 9.0, 8.0], "bare", [1.0, 3.0, 4.0], Goal("ratio", "≤", 2.5))
    assert made.ratio == (2.0, 2.0, 3.0)
    assert made.met


@pytest.mark.parametrize(("comparison", "met"), [("≤", False), ("≥", True), ("=", False)])
def test_a_goal_bounds_the_median(comparison: str, met: bool) -> None:
    assert row("name: what", "/s", [2.0], "bare", [1.0], Goal("ours", comparison, 1.0)).met is met  # type: ignore[arg-type]


def test_a_row_is_json_and_a_line_of_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    made: Row = row("name: what", "/s", [2_000.0, 1_000.0, 3_000.0], "bare", [1_000.0])
    assert json.loads(json.dumps(made.as_json()))["ratio"]["high"] == 3.0
    print_table("header", [made])
    assert "2,000 (1,000–3,000)" in capsys.readouterr().out


def test_a_percentile_is_one_of_the_samples() -> None:
    assert percentile([float(number) for number in range(100)], 99) == 99.0


def test_a_site_leaves_nothing_behind() -> None:
    with Site(QUICK) as site:
        directory: Path = site.directory
        assert directory.is_dir()
    assert not directory.exists()


@pytest.mark.kafka
@pytest.mark.slow
def test_compaction_counts_every_event_of_the_log(own_broker: KafkaProcess) -> None:
    with Site(QUICK, own_broker) as site:
        rows = list(compaction.run(site))
    assert all(each.ours.median >= 0 for each in rows)
    assert len(rows) == 17
