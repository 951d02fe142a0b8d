"""Hashes of aggregates: every field counts, and a sum forgets what was replaced."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import an_id
from topicfold.state.aggregate import Aggregate, Etag, add_hashes, hash_of

TOPIC = Aggregate(an_id(1), True, Etag(an_id(2), 3), 1, b"payload", 9, an_id(4))
hashes = st.integers(0, 2**128 - 1)


@pytest.mark.parametrize(
    "other",
    [
        TOPIC._replace(version=an_id(9)),
        TOPIC._replace(is_live=False),
        TOPIC._replace(etag=Etag(an_id(9), 3)),
        TOPIC._replace(etag=Etag(an_id(2), 4)),
        TOPIC._replace(payload_schema=2),
        TOPIC._replace(payload=b"payloae"),
        TOPIC._replace(incarnation=an_id(9)),
    ],
)
def test_every_folded_field_counts(other: Aggregate) -> None:
    assert hash_of(3, "orders", other) != hash_of(3, "orders", TOPIC)


def test_kind_and_name_count_and_do_not_run_into_the_payload() -> None:
    found = {hash_of(3, "ab", TOPIC), hash_of(2, "ab", TOPIC), hash_of(3, "a", TOPIC._replace(payload=b"bpayload"))}
    assert len(found) == 3


def test_where_an_event_lies_does_not_count() -> None:
    assert hash_of(3, "orders", TOPIC._replace(offset=10)) == hash_of(3, "orders", TOPIC)


def test_the_hash_is_the_one_that_other_versions_compute() -> None:
    assert f"{hash_of(3, 'orders', TOPIC):032x}" == "fe721f68f1be57828dfc7e7d711d7a64"


@given(hashes, hashes, hashes)
def test_replacing_a_part_of_a_sum_forgets_the_old_one(total: int, old: int, new: int) -> None:
    assert add_hashes(add_hashes(total, old), new, old) == add_hashes(total, new) < 2**128
