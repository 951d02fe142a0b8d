"""The envelope's bytes are frozen: what one version wrote, every other reads alike, and garbage is garbage to all."""

from __future__ import annotations

import google_crc32c
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import an_id
from topicfold.log.codec import decode_event, encode_event
from topicfold.model.events import Event, Operation

KNOWN = Event(
    level=1,
    kind=1,
    flags=1,
    event_id=bytes(range(16)),
    aggregate_kind=3,
    name="persistent://public/default/örders",
    partition_count=8,
    base=bytes(range(16, 32)),
    namespace_id=bytes(range(32, 48)),
    operations=(Operation(an_id(7), 2, True, b"bodyhash"), Operation(an_id(8), 0, False, bytes(8))),
    payload_schema=1,
    payload=b"payload",
    audit=b"audit",
)
KNOWN_HEX = (
    "54464531de38ec59"  # magic, CRC
    "00010101"  # level, kind, flags
    "000102030405060708090a0b0c0d0e0f"  # event id
    "030008"  # aggregate kind, partition count
    "101112131415161718191a1b1c1d1e1f"  # base
    "202122232425262728292a2b2c2d2e2f"  # namespace id
    "0001"  # payload schema
    "002300020000000700000005"  # lengths
    "70657273697374656e743a2f2f7075626c69632f64656661756c742fc3b67264657273"  # name
    "0000000000000000000000000000000782626f6479686173680000000000000000000000000000000800000000"
    "0000000000"  # operations
    "7061796c6f61646175646974"  # payload, audit
)

ids = st.binary(min_size=16, max_size=16)
u8, u16 = st.integers(0, 255), st.integers(0, 65_535)
operations = st.builds(Operation, ids, st.integers(0, 127), st.booleans(), st.binary(min_size=8, max_size=8))
events = st.builds(
    Event, u16, u8, u8, ids, u8, st.text(), u16, ids, ids, st.lists(operations, max_size=3).map(tuple), u16,
    st.binary(), st.binary(),
)  # fmt: skip


def with_crc(rest: bytes) -> bytes:
    """Return `rest` behind the magic and a CRC that fits."""
    return b"TFE1" + google_crc32c.value(rest).to_bytes(4, "big") + rest


def test_a_known_event_has_the_bytes_it_always_had() -> None:
    assert encode_event(KNOWN).hex() == KNOWN_HEX
    assert decode_event(bytes.fromhex(KNOWN_HEX)) == KNOWN


@given(events)
def test_every_event_comes_back_from_its_bytes(event: Event) -> None:
    assert decode_event(encode_event(event)) == event


@given(st.binary() | st.binary().map(with_crc) | st.binary(min_size=78, max_size=90).map(with_crc))
def test_any_bytes_are_an_event_or_garbage_and_nothing_else_happens(value: bytes) -> None:
    event = decode_event(value)
    assert event is None or encode_event(event) == value


@pytest.mark.parametrize("length", [0, 1, 4, 8, 60, len(encode_event(KNOWN)) - 1])
def test_a_truncated_record_is_garbage_even_with_a_fitting_crc(length: int) -> None:
    value = encode_event(KNOWN)
    assert decode_event(value[:length]) is None
    assert decode_event(with_crc(value[8:length])) is None


@pytest.mark.parametrize("place", range(65, 77), ids=str)
def test_a_length_that_does_not_add_up_is_garbage(place: int) -> None:
    rest = bytearray(encode_event(KNOWN)[8:])
    rest[place - 8] = 0xFF
    assert decode_event(with_crc(bytes(rest))) is None


def test_bytes_beyond_the_end_make_a_record_garbage() -> None:
    assert decode_event(with_crc(encode_event(KNOWN)[8:] + b"\0")) is None


def test_a_name_that_is_not_utf_8_makes_a_record_garbage() -> None:
    assert decode_event(with_crc(encode_event(KNOWN)[8:].replace("ö".encode(), b"\xc3\xc3"))) is None


@pytest.mark.parametrize(
    "unfit",
    [
        KNOWN._replace(level=65_536),
        KNOWN._replace(kind=-1),
        KNOWN._replace(name="x" * 65_536),
        KNOWN._replace(payload_schema=65_536),
        KNOWN._replace(operations=(Operation(an_id(1), 256, False, bytes(8)),)),
    ],
    ids=["level", "kind", "name", "schema", "verdict"],
)
def test_what_does_not_fit_its_place_is_not_written(unfit: Event) -> None:
    with pytest.raises(ValueError, match="cannot be encoded"):
        encode_event(unfit)
