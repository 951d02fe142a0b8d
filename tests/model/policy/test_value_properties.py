"""Values of policies, whatever they are: canonical once read, the same after every way they go, or refused whole."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.model.policy.strategies import given_values, json_values, stored_values
from topicfold.errors import InvalidPolicy
from topicfold.model.policy.description import Policy
from topicfold.model.policy.shapes import PERSISTENCE
from topicfold.model.policy.table import POLICIES
from topicfold.model.policy.values import Kind, Number, Shape, frozen_value, plain_value, read_value, shown_value

policies = st.sampled_from(POLICIES)


def read(kind: Kind, said: Any) -> tuple[Any, set[str]]:
    """Return the value that was read, and the places of all that is wrong: one of the two is empty."""
    try:
        return read_value(kind, said, "it"), set()
    except InvalidPolicy as error:
        return None, {each["path"] for each in error.values["violations"]}


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
@given(st.data())
def test_a_canonical_value_survives_every_way_it_goes(policy: Policy, data: st.DataObject) -> None:
    value = data.draw(stored_values(policy.kind))
    over_http = json.loads(json.dumps(shown_value(policy.kind, value)))
    assert read_value(policy.kind, plain_value(value), "it") == value
    assert frozen_value(json.loads(json.dumps(plain_value(value)))) == value
    if not (isinstance(policy.kind, Shape) and policy.kind.is_sparse):
        assert read_value(policy.kind, over_http, "it", refuses_unknown=True) == value


@given(policies, json_values)
def test_any_json_becomes_a_value_that_stays_as_it_is_or_is_refused(policy: Policy, said: Any) -> None:
    value, wrong = read(policy.kind, said)
    assert wrong or read(policy.kind, plain_value(value)) == (value, set())


@given(st.integers(), st.sampled_from([32, 64]))
def test_a_whole_number_is_kept_exactly_or_refused(number: int, bits: int) -> None:
    fits = -(1 << (bits - 1)) <= number < 1 << (bits - 1)
    for said in (number, str(number)):
        assert read(Number(bits), said) == ((number, set()) if fits else (None, {""}))


@given(st.floats())
def test_a_float_is_a_whole_number_if_it_tells_one_exactly(number: float) -> None:
    is_whole = number.is_integer() and abs(number) < 1 << 53
    assert read(Number(64), number) == ((int(number), set()) if is_whole else (None, {""}))


@given(given_values(PERSISTENCE), st.sets(st.sampled_from([member.name for member in PERSISTENCE.members])))
def test_every_member_that_is_wrong_is_named_and_no_other(said: dict[str, Any], broken: set[str]) -> None:
    assert read(PERSISTENCE, said | {name: [] for name in broken})[1] == broken
