"""The order of names: as sorted, however it was brought up to date."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap

from topicfold.state.indexes import name_order
from topicfold.state.indexes.name_order import NameOrder

KEYS = st.lists(st.text(max_size=3), unique=True, max_size=60)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of two to four, so that a few names fill many."""
    monkeypatch.setattr(name_order, "BLOCK", 2)


@given(keys=KEYS, steps=st.lists(st.integers(0, 9), max_size=20), data=st.data())
def test_what_follows_a_key_is_what_follows_it_in_sorted_order(
    keys: list[str], steps: list[int], data: st.DataObject
) -> None:
    order = NameOrder(keys)
    for step in steps:
        order.catch_up(step)
    order.catch_up(order.missing)
    among = data.draw(st.sets(st.sampled_from(range(len(keys)) or [0])))
    key = data.draw(st.sampled_from([*keys, "", "b"]))
    expected = sorted((each for each in among if each < len(keys) and keys[each] > key), key=keys.__getitem__)
    assert list(walked(order, keys, key, among)) == expected


def test_names_that_come_later_are_put_in_their_places() -> None:
    keys = [f"{number:03}" for number in random.Random(1).sample(range(200), 100)]
    order = NameOrder(keys)
    order.catch_up(100)
    keys += [f"{number:03}-late" for number in range(200)]
    assert order.missing == 200
    order.catch_up(1000)
    assert [keys[number] for number in walked(order, keys, "", range(300))] == sorted(keys)


def test_only_what_was_put_in_order_is_found() -> None:
    order = NameOrder(["c", "b", "a"])
    order.catch_up(2)
    assert list(walked(order, ["c", "b", "a"], "", range(3))) == [1, 0]


def test_what_is_passed_over_is_not_sorted() -> None:
    keys = [f"{number:03}" for number in random.Random(1).sample(range(200), 200)]
    order = NameOrder(keys)
    order.catch_up(200)
    unsorted = order._is_sorted.count(False)
    last = keys.index("199")
    assert (order.after("", BitMap([last])), order.after("", BitMap())) == ([last], [])
    assert order._is_sorted.count(False) >= unsorted - 2 > 0


def walked(order: NameOrder, keys: Sequence[str], key: str, among: Iterable[int]) -> Iterator[int]:
    """Yield all of `among` that follow `key`, as who goes on behind the last one."""
    wanted = BitMap(among)
    while some := order.after(key, wanted):
        yield from some
        key = keys[some[-1]]
