"""Tokens: opaque, the same on every node, refused politely where they are not ours."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import an_id
from topicfold.errors import InvalidRequest, Resync
from topicfold.runtime.revision import Revision, parse_revision

OURS = an_id(7)
positions = st.dictionaries(st.integers(0, 7), st.integers(0, 2**64 - 1), max_size=8)
revisions = positions.map(lambda found: Revision(OURS, found))


@given(revisions)
def test_a_revision_comes_back_from_its_text(revision: Revision) -> None:
    assert parse_revision(str(revision), OURS, 8) == revision


@given(revisions)
def test_a_token_goes_through_headers_and_queries_as_it_is(revision: Revision) -> None:
    assert set(str(revision)) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


@given(positions)
def test_the_order_in_which_positions_came_leaves_no_trace(found: dict[int, int]) -> None:
    assert str(Revision(OURS, found)) == str(Revision(OURS, dict(reversed(found.items()))))


@given(revisions)
def test_a_revision_of_another_log_asks_to_read_anew(revision: Revision) -> None:
    with pytest.raises(Resync):
        parse_revision(str(revision), an_id(8), 8)


@given(st.text() | st.binary().map(lambda raw: base64.urlsafe_b64encode(raw).decode()) | revisions.map(str))
def test_any_text_is_a_revision_or_is_refused(text: str) -> None:
    try:
        revision = parse_revision(text, OURS, 8)
    except (InvalidRequest, Resync):
        return
    assert revision.incarnation == OURS


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "AQ",
        "not one of ours",
        "é",
        str(Revision(OURS, {0: 1}))[:-2],
        str(Revision(OURS, {0: 1})) + "AA",
        "A" * 90,
    ],
)
def test_what_is_no_token_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest):
        parse_revision(text, OURS, 8)


def test_a_partition_that_the_log_does_not_have_is_refused() -> None:
    token = str(Revision(OURS, {7: 1}))
    assert parse_revision(token, OURS, 8).positions == {7: 1}
    with pytest.raises(InvalidRequest):
        parse_revision(token, OURS, 7)


@given(revisions, revisions)
def test_merging_never_loses_sight_of_anything(one: Revision, other: Revision) -> None:
    both = one.merged(other)
    assert both == other.merged(one)
    for part in (one, other):
        assert all(both.positions[partition] >= position for partition, position in part.positions.items())
    assert set(both.positions) == set(one.positions) | set(other.positions)


def test_merging_with_none_changes_nothing() -> None:
    assert Revision(OURS, {1: 2}).merged(None) == Revision(OURS, {1: 2})
