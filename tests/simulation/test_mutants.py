"""Each rule that makes the engine correct, removed: the simulation notices. A judge that never frowns is no judge."""

from __future__ import annotations

import pytest

from tests.simulation.mutants import MUTANTS, Mutant
from tests.simulation.world import simulate

SEEDS = 1_000
"""So many are tried."""


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_an_engine_without_one_of_its_rules_is_caught(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(mutant.seed, mutant.seed + SEEDS):
        with monkeypatch.context() as patch:
            mutant.break_it(patch)
            broken = [each.rule for each in simulate(seed).violations]
        assert "error" not in broken, "the mutant does not fit the engine any more"
        if broken:
            return
    pytest.fail(f"{SEEDS} histories without a violation, though: {mutant}")


def test_every_rule_that_the_simulation_must_need_has_a_mutant() -> None:
    assert {1, 2, 3, 5, 6, 7, 8} <= {mutant.rule for mutant in MUTANTS}
