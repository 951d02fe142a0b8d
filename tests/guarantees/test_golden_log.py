"""A recorded log folds to the digests it always had, on every node, in every version, under every hash seed.

Should this fail, the fold has changed its meaning: nodes of two versions would disagree. Raise the level instead.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter

import pytest

from tests.golden.replay import DIGESTS, digests, recorded, started
from topicfold.log.codec import decode_event
from topicfold.state.change import Outcome
from topicfold.state.invariants import check


def test_the_recorded_log_folds_to_the_recorded_digests() -> None:
    assert list(digests(recorded())) == DIGESTS.read_text().splitlines()


@pytest.mark.parametrize("seed", ["0", "1", "4242"])
def test_the_seed_of_pythons_hashes_does_not_matter(seed: str) -> None:
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    replay = [sys.executable, "-m", "tests.golden.replay"]
    told = subprocess.run(replay, env=environment, capture_output=True, text=True, check=True).stdout
    assert told == DIGESTS.read_text()


def test_the_recorded_log_meets_every_outcome_many_times() -> None:
    state = started()
    met = Counter(state.apply(state.position, decode_event(value)).outcome for value in recorded())
    assert min(met[outcome] for outcome in Outcome) > 25
    assert len(recorded()) == state.position == 1_000
    assert check(state) == []
    assert [len(state.operations.by_client), len(state.operations.by_server)] == [5, 3]


def test_one_record_less_gives_other_digests() -> None:
    values = recorded()
    state = started()
    accepted = [n for n, value in enumerate(values) if state.apply(n, decode_event(value)).outcome is Outcome.ACCEPTED]
    del values[accepted[10]]
    assert list(digests(values))[-1].split()[1] not in DIGESTS.read_text()
