"""Digest records: their bytes are frozen, and nothing else is taken for one."""

from __future__ import annotations

from topicfold.log.codec import decode_event
from topicfold.log.digest_record import MAX_NAME_LENGTH, Statement, digest_value, statements_in
from topicfold.model.events import Event, Kind

STATEMENTS = (Statement(5, bytes(range(16))), Statement(1 << 40, b"\xff" * 16))


def event(node: str = "node1:8080") -> Event:
    found = decode_event(digest_value(1, bytes(16), node, 3, STATEMENTS))
    assert found is not None
    return found


def test_a_digest_record_is_read_back_as_it_was_written() -> None:
    assert statements_in(event(), 3) == STATEMENTS
    assert (event().kind, event().name) == (Kind.DIGEST, "node1:8080")


def test_its_bytes_are_frozen() -> None:
    assert event().payload.hex() == (
        "0003" "0000000000000005" "000102030405060708090a0b0c0d0e0f" "0000010000000000" + "ff" * 16
    )  # fmt: skip


def test_to_another_partition_it_says_nothing() -> None:
    assert statements_in(event(), 2) == ()


def test_a_name_that_is_too_long_is_cut() -> None:
    assert len(event("n" * 70_000).name) == MAX_NAME_LENGTH
