"""The grant index answers as a look at all topics would, after any history."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from topicfold.model.records import NO_GRANTS, Grants
from topicfold.state.indexes.grant_index import GrantIndex

ROLES = ("ann", "bob")
grants = st.dictionaries(
    st.sampled_from(ROLES), st.sampled_from([("consume",), ("watch",), ("consume", "watch")]), max_size=2
)
histories = st.lists(st.tuples(st.integers(0, 5), grants), max_size=30)


def granted(history: list[tuple[int, Grants]]) -> tuple[GrantIndex, dict[int, Grants]]:
    """Return the index after a history of topics' grants, and what each grants at last."""
    index: GrantIndex = GrantIndex()
    last: dict[int, Grants] = {}
    for number, new in history:
        index.replace(number, last.get(number, NO_GRANTS), new)
        last[number] = new
    return index, last


@given(histories)
def test_who_grants_what_to_a_role_is_found_and_nothing_else_is_kept(history: list[tuple[int, Grants]]) -> None:
    index, last = granted(history)
    for role in ROLES:
        expected: dict[tuple[str, ...], list[int]] = {}
        for number in sorted(last):
            if role in last[number]:
                expected.setdefault(last[number][role], []).append(number)
        assert {actions: list(topics) for actions, topics in index.to(role).items()} == expected
    assert all(index.lists(number, each) for number, each in last.items())
    assert not any(index.misfiled(last))
    for number, old in last.items():
        index.replace(number, old, NO_GRANTS)
    assert not index._topics


def test_whoever_is_listed_and_grants_nothing_or_something_else_is_found() -> None:
    everybody: dict[int, Grants] = {number: {"ann": ("consume",)} for number in range(1_500)}
    index, _ = granted(list(everybody.items()))
    filing = ("ann", ("consume",))
    assert [*index.misfiled(everybody)] == [None] * 4
    for number in (0, 512, 1_400):
        for other in ({"ann": ("watch",)}, {"bob": ("consume",)}, NO_GRANTS):
            seen = everybody | {number: other}
            assert [each for each in index.misfiled(seen) if each] == [filing]
            assert index.strangers(filing, seen) == [number]


def test_what_is_granted_may_change_between_the_steps_of_a_check() -> None:
    index, last = granted([(number, {"ann": ("consume",)}) for number in range(1_500)])
    steps = index.misfiled(last)
    assert next(steps) is None
    for number, old in last.items():
        last[number] = {"bob": ("watch",), "eve": ("consume",)}
        index.replace(number, old, last[number])
    assert not any(steps)


def test_a_topic_that_is_not_listed_under_what_it_grants_is_found() -> None:
    index, last = granted([(3, {"ann": ("consume",)})])
    index.to("ann")[("consume",)].discard(3)
    assert not index.lists(3, last[3])
    assert not GrantIndex().lists(3, last[3])
    assert [each for each in index.misfiled(last) if each] == [("ann", ("consume",))]
