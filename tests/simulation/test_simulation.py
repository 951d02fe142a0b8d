"""Seeded histories of the shipped engine on a log that fails in every way it may: no promise is ever broken.

`TOPICFOLD_SIM_SEEDS` chooses what runs: "12345" is that seed alone, "0-99999" a night's work. A failure prints its
seed, a trace of what concerns it, and how to run it alone.
"""

from __future__ import annotations

import gc
import os

import pytest

from tests.simulation.coverage import Coverage
from tests.simulation.world import simulate

CHUNK = 50


def _seeds() -> range:
    first, _, last = os.environ.get("TOPICFOLD_SIM_SEEDS", "0-1999").partition("-")
    return range(int(first), int(last or first) + 1)


@pytest.mark.parametrize("start", _seeds()[::CHUNK])
def test_no_history_breaks_a_promise(start: int) -> None:
    seeds = _seeds()
    errors = []
    for seed in range(start, min(start + CHUNK, seeds.stop)):
        judgement = simulate(seed)
        assert not judgement.violations, str(judgement)
        errors.append((seed, judgement.loop_errors))
    del judgement
    gc.collect()
    assert not [(seed, found) for seed, found in errors if found], "errors that nobody retrieved"


def test_the_same_seed_is_the_same_run() -> None:
    for seed in range(10):
        assert simulate(seed).fingerprint == simulate(seed).fingerprint


def test_another_seed_is_another_run() -> None:
    assert simulate(1).fingerprint != simulate(2).fingerprint


def test_histories_reach_every_corner() -> None:
    coverage = Coverage()
    for seed in range(150):
        coverage.add(simulate(seed).evidence)
    assert not coverage.missed(), f"never seen: {coverage.missed()}; seen: {coverage}"
