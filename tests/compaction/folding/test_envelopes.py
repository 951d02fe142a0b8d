"""Columns say of every record, whatever its bytes, what the codec says of it alone."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import an_id, namespace_put, operation, topic_delete, topic_put
from topicfold.compaction.folding.envelopes import take_apart
from topicfold.log.codec import decode_event, encode_event
from topicfold.model.events import Event

EVENTS = [
    namespace_put(1),
    topic_put(2, an_id(1), labels={"team": "pay"}, operations=(operation(7), operation(8, 5, by_client=False))),
    topic_put(3, an_id(1), name="persistent://public/default/übung", audit=b"who"),
    topic_delete(4, an_id(1), an_id(2)),
]


@st.composite
def values(draw: st.DrawFn) -> bytes:
    value = bytearray(encode_event(draw(st.sampled_from(EVENTS))))
    match draw(st.sampled_from(["whole", "whole", "flipped", "cut", "longer", "bytes"])):
        case "flipped":
            value[draw(st.integers(0, len(value) - 1))] ^= 1 << draw(st.integers(0, 7))
        case "cut":
            del value[draw(st.integers(0, len(value) - 1)) :]
        case "longer":
            value += draw(st.binary(min_size=1, max_size=9))
        case "bytes":
            return draw(st.binary(max_size=90))
    return bytes(value)


def by_columns(array: pa.BinaryArray) -> list[Event | None]:
    rows, found = take_apart(array)
    events: list[Event | None] = [None] * len(array)
    for n, row in enumerate(rows.tolist()):
        events[row] = found.event(n)
    return events


def one_by_one(records: list[bytes]) -> list[Event | None]:
    decoded = [decode_event(each) for each in records]
    return [event and event._replace(partition_count=0) for event in decoded]


@given(st.lists(values(), max_size=12))
def test_columns_say_what_the_codec_says(records: list[bytes]) -> None:
    assert by_columns(pa.array(records, pa.binary())) == one_by_one(records)


@given(st.lists(values(), min_size=2, max_size=6), st.data())
def test_a_slice_of_a_column_is_read_from_where_it_begins(records: list[bytes], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(records)))
    assert by_columns(pa.array(records, pa.binary())[start:]) == one_by_one(records[start:])


@pytest.mark.parametrize("place", [0, 4, 8, 76])
def test_a_record_damaged_at_any_part_of_its_head_is_garbage(place: int) -> None:
    value = bytearray(encode_event(EVENTS[1]))
    value[place] ^= 1
    assert by_columns(pa.array([bytes(value)], pa.binary())) == [None]


def test_a_name_that_is_no_text_is_garbage() -> None:
    event = topic_put(2, an_id(1), name="persistent://public/default/orders")
    broken = encode_event(event).replace(b"orders", b"\xff\xff\xff\xff\xff\xff")
    from google_crc32c import value as crc

    broken = broken[:4] + crc(broken[8:]).to_bytes(4, "big") + broken[8:]
    assert by_columns(pa.array([broken], pa.binary())) == [decode_event(broken)] == [None]
