"""The integer values of a key are those a walk over its values finds, after any history."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from topicfold.model.selector import integer_of
from topicfold.state.integer_values import IntegerValues

values = st.sampled_from(["0", "-0", "1", "01", "+1", "5", "-3", "lead", "", "1_0", str(2**63 - 1), str(-(2**63))])


def walked(pairs: dict[str, int], bound: int, sign: int) -> list[int]:
    """Return the pairs whose value lies on that side of `bound`."""
    integers = ((integer_of(value), pair) for value, pair in pairs.items())
    return sorted(pair for integer, pair in integers if integer is not None and (integer - bound) * sign > 0)


@given(st.dictionaries(values, st.none()), st.lists(values, max_size=20), st.sampled_from([-4, -3, 0, 1, 4, 2**63 - 1]))
def test_those_above_and_below_are_those_of_a_walk(first: dict[str, None], toggled: list[str], bound: int) -> None:
    pairs = {value: pair for pair, value in enumerate(first)}
    kept = IntegerValues(pairs)
    for pair, value in enumerate(toggled, start=100):
        if value in pairs:
            kept.discard(value, pairs.pop(value))
        else:
            kept.add(value, pairs.setdefault(value, pair))
    assert sorted(kept.above(bound)) == walked(pairs, bound, 1)
    assert sorted(kept.below(bound)) == walked(pairs, bound, -1)
