"""The frozen bytes of events, and the Avro inside them."""

from __future__ import annotations

import google_crc32c
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from topicfold.log.codec import decode_audit, decode_event, encode_audit, encode_event
from topicfold.log.payload import decode_namespace, decode_tenant, decode_topic, encode_record
from topicfold.model.events import Audit, AuditTrail, Event, Operation
from topicfold.model.records import MAX_PARTITIONS, NamespaceRecord, TenantRecord, TopicRecord, frozen

IDS = st.binary(min_size=16, max_size=16)
BYTES = st.integers(0, 0xFF)
SHORTS = st.integers(0, 0xFFFF)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
MAPS = st.dictionaries(TEXTS, TEXTS, max_size=5).map(frozen)
OPERATIONS = st.builds(Operation, IDS, st.integers(0, 0x7F), st.booleans(), st.binary(min_size=8, max_size=8))
EVENTS = st.builds(
    Event,
    level=SHORTS,
    kind=BYTES,
    flags=BYTES,
    event_id=IDS,
    aggregate_kind=BYTES,
    name=TEXTS,
    partition_count=SHORTS,
    base=IDS,
    namespace_id=IDS,
    operations=st.lists(OPERATIONS, max_size=4).map(tuple),
    payload_schema=SHORTS,
    payload=st.binary(max_size=100),
    audit=st.binary(max_size=100),
)
EVENT = Event(
    level=1,
    kind=1,
    flags=0,
    event_id=bytes(range(16)),
    aggregate_kind=3,
    name="persistent://public/default/größe",
    partition_count=8,
    base=b"b" * 16,
    namespace_id=b"n" * 16,
    operations=(Operation(b"o" * 16, 1, True, b"h" * 8), Operation(b"p" * 16, 2, False, bytes(8))),
    payload_schema=1,
    payload=b"payload",
    audit=b"audit",
)


@given(EVENTS)
def test_an_event_comes_back_as_it_was_written(event: Event) -> None:
    assert decode_event(encode_event(event)) == event


def test_the_bytes_of_an_event_are_frozen() -> None:
    assert encode_event(EVENT).hex() == (
        "54464531e3228b92"
        "00010100000102030405060708090a0b0c0d0e0f030008"
        "62626262626262626262626262626262"
        "6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e"
        "0001002300020000000700000005"
        "70657273697374656e743a2f2f7075626c69632f64656661756c742f6772c3b6c39f65"
        "6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f816868686868686868"
        "70707070707070707070707070707070020000000000000000"
        "7061796c6f61646175646974"
    )


def test_no_byte_of_an_event_can_change_unnoticed() -> None:
    value = encode_event(EVENT)
    for place in range(len(value)):
        for change in (0x01, 0x80, 0xFF):
            damaged = bytearray(value)
            damaged[place] ^= change
            assert decode_event(bytes(damaged)) is None


def test_no_part_of_an_event_passes_for_the_whole() -> None:
    value = encode_event(EVENT)
    assert all(decode_event(value[:length]) is None for length in range(len(value)))
    assert all(decode_event(value + extra) is None for extra in (b"\0", value))


@given(st.binary(max_size=300))
@example(b"TFE1")
def test_garbage_is_no_event_and_no_exception(value: bytes) -> None:
    assert decode_event(value) is None


@pytest.mark.parametrize("place", range(57, 69))
@pytest.mark.parametrize("change", [0x01, 0x10, 0xFF])
def test_a_length_that_lies_under_a_right_checksum_is_no_event(place: int, change: int) -> None:
    rest = bytearray(encode_event(EVENT)[8:])
    rest[place] ^= change
    assert decode_event(sealed(rest)) is None


def test_a_name_that_is_not_utf_8_is_no_event() -> None:
    rest = bytearray(encode_event(EVENT)[8:])
    rest[rest.index(b"persistent")] = 0xFF
    assert decode_event(sealed(rest)) is None


@pytest.mark.parametrize("field", ["level", "kind", "partition_count", "payload_schema"])
def test_a_field_that_does_not_fit_is_refused(field: str) -> None:
    with pytest.raises(ValueError, match="cannot be encoded"):
        encode_event(EVENT._replace(**{field: 1 << 16}))


@given(st.builds(TopicRecord, st.integers(0, MAX_PARTITIONS), st.none() | TEXTS, MAPS, MAPS))
def test_a_topic_comes_back_as_it_was_written(record: TopicRecord) -> None:
    assert decode_topic(1, encode_record(record)) == record


@given(MAPS)
def test_a_namespace_comes_back_as_it_was_written(properties: dict[str, str]) -> None:
    record = NamespaceRecord(properties)
    assert decode_namespace(1, encode_record(record)) == record


@given(st.lists(TEXTS), st.lists(TEXTS))
def test_a_tenant_comes_back_as_it_was_written(roles: list[str], clusters: list[str]) -> None:
    record = TenantRecord(tuple(roles), tuple(clusters))
    assert decode_tenant(1, encode_record(record)) == record


def test_equal_records_have_equal_bytes_whatever_the_order_of_their_labels() -> None:
    one = TopicRecord(labels={"a": "1", "b": "2"})
    other = TopicRecord(labels={"b": "2", "a": "1"})
    assert encode_record(one) == encode_record(other)


@pytest.mark.parametrize("schema", [0, 2, 0xFFFF])
def test_a_record_of_an_unknown_schema_is_not_guessed_at(schema: int) -> None:
    assert decode_topic(schema, encode_record(TopicRecord())) is None


@given(st.binary(max_size=60))
def test_a_damaged_payload_is_unreadable_and_no_exception(payload: bytes) -> None:
    for decode in (decode_topic, decode_namespace, decode_tenant):
        decode(1, payload)


def test_a_payload_with_something_after_it_is_unreadable() -> None:
    assert decode_topic(1, encode_record(TopicRecord()) + b"\0") is None


@given(st.lists(st.builds(Audit, TEXTS, TEXTS, TEXTS), max_size=3), st.integers(0, 1 << 50), st.integers(-1, 1 << 50))
def test_who_and_why_come_back_as_they_were_written(audits: list[Audit], time_ms: int, previous: int) -> None:
    trail = AuditTrail(tuple(audits), time_ms, previous)
    assert decode_audit(encode_audit(trail)) == trail


def sealed(rest: bytearray) -> bytes:
    """Return `rest` behind the right magic and checksum."""
    return b"TFE1" + google_crc32c.value(bytes(rest)).to_bytes(4, "big") + bytes(rest)
