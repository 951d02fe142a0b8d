"""The integer values of a key are those a walk over its topics finds, after any history."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from topicfold.model.finding.selector import integer_of
from topicfold.state.indexes.integer_values import IntegerValues

MOST, LEAST = 2**63 - 1, -(2**63)
values = st.sampled_from(["0", "-0", "1", "01", "+1", "5", "-3", "lead", "", "1_0", str(MOST), str(LEAST)])
bounds = st.sampled_from([LEAST, -4, -3, 0, 1, 4, MOST])


def walked(borne: dict[int, str], bound: int, sign: int) -> list[int]:
    """Return the topics whose value lies on that side of `bound`."""
    integers = ((integer_of(value), number) for number, value in borne.items())
    return sorted(number for integer, number in integers if integer is not None and (integer - bound) * sign > 0)


@given(st.lists(st.tuples(st.integers(0, 5), values), max_size=20), bounds)
def test_those_above_and_below_are_those_of_a_walk(history: list[tuple[int, str]], bound: int) -> None:
    kept, borne = IntegerValues("n", until=0), dict[int, str]()
    for number, value in history:
        if number in borne:
            kept.discard(borne[number], number)
        kept.add(value, number)
        borne[number] = value
    assert list(kept.above(bound)) == walked(borne, bound, 1)
    assert list(kept.below(bound)) == walked(borne, bound, -1)
