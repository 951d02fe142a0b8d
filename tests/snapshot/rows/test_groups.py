"""Topics brought together by what they have in common."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

from topicfold.snapshot.rows.groups import grouped, ranked


@pytest.mark.parametrize("kinds", [1, 3, 200, 1 << 16, (1 << 16) + 1, 300_000])
@pytest.mark.parametrize("spread", [1, 1_000_003])
def test_topics_are_brought_together_by_what_they_have_in_common_and_rise(kinds: int, spread: int) -> None:
    codes = np.random.default_rng(kinds).integers(0, kinds, 100_000) * spread
    topics = np.arange(len(codes), dtype=np.uint32)
    expected = defaultdict(list)
    for code, topic in zip(codes.tolist(), topics.tolist(), strict=True):
        expected[code].append(topic)
    groups = grouped(*ranked(codes), topics)
    found, members = groups.between(0, kinds * spread)
    assert dict(zip(found.tolist(), map(list, members), strict=True)) == expected
    assert found.tolist() == sorted(expected)


def test_nothing_is_brought_together_to_nothing() -> None:
    nothing = np.zeros(0, np.int64)
    found, members = grouped(*ranked(nothing), nothing.astype(np.uint32)).between(0, 10)
    assert (found.tolist(), members) == ([], [])
