"""Positions of which none covers the other become one that does."""

from __future__ import annotations

from topicfold.runtime.revision import Revision
from topicfold.wire.positions import covering

LOG, OTHER_LOG = b"i" * 16, b"o" * 16


def at(positions: dict[int, int], log: bytes = LOG) -> str:
    return str(Revision(log, positions))


def test_two_positions_become_the_later_one_of_each_partition() -> None:
    assert covering(at({0: 7, 1: 2}), at({1: 9, 2: 1})) == at({0: 7, 1: 9, 2: 1})


def test_none_at_all_takes_nothing_away() -> None:
    assert [covering("", at({0: 1})), covering(at({0: 1}), ""), covering("", "")] == [at({0: 1}), at({0: 1}), ""]


def test_of_two_logs_or_formats_the_one_that_was_told_last_counts() -> None:
    assert covering(at({0: 7}), at({0: 1}, OTHER_LOG)) == at({0: 1}, OTHER_LOG)
    assert covering(at({0: 7}), "of a later version") == "of a later version"
