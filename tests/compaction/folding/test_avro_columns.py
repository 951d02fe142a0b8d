"""Columns say of every payload and audit trail, damaged ones too, what Avro's own library says of it alone."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from topicfold.compaction.folding.avro_columns import Cursor, read_plain_topics, read_plain_trails
from topicfold.compaction.folding.history import trails_of
from topicfold.compaction.folding.labels import read_topics
from topicfold.compaction.folding.operations import operations_of
from topicfold.compaction.folding.spans import Spans, spans_of
from topicfold.log.codec import decode_audit, encode_audit
from topicfold.log.payload import decode_indexed, decode_topic, encode_record, payload_schema_of
from topicfold.model.events import Audit, AuditTrail
from topicfold.model.records import TopicRecord, frozen

many = settings(max_examples=400)
texts = st.text(max_size=5) | st.sampled_from(["team", "a" * 70, "x" * 130, "ü" * 40])
pairs = st.dictionaries(texts, texts, max_size=4).map(frozen)
records = st.builds(
    TopicRecord,
    st.integers(0, 10_000),
    st.none() | texts,
    pairs,
    pairs,
    st.sampled_from([None, {"deduplicationEnabled": True}]),
)
trails = st.builds(
    AuditTrail,
    st.lists(st.builds(Audit, texts, texts, texts), max_size=3).map(tuple),
    st.integers(-(2**63), 2**63 - 1),
    st.integers(-1, 2**40),
)


@st.composite
def damaged(draw: st.DrawFn, whole: bytes) -> bytes:
    raw = bytearray(whole)
    match draw(st.sampled_from(["whole", "whole", "flipped", "cut", "longer"])):
        case "flipped" if raw:
            raw[draw(st.integers(0, len(raw) - 1))] ^= 1 << draw(st.integers(0, 7))
        case "cut":
            del raw[draw(st.integers(0, len(raw))) :]
        case "longer":
            raw += draw(st.binary(min_size=1, max_size=3))
    return bytes(raw)


def spans(pieces: list[bytes]) -> Spans:
    lengths = np.array([len(each) for each in pieces], dtype=np.int64)
    return spans_of(np.frombuffer(b"".join(pieces), np.uint8), np.cumsum(lengths) - lengths, lengths)


@given(
    st.lists(records.flatmap(lambda r: st.tuples(st.just(payload_schema_of(r)), damaged(encode_record(r)))), max_size=6)
)
@many
def test_payloads_in_columns_say_what_each_says(written: list[tuple[int, bytes]]) -> None:
    schemas = np.array([schema for schema, _ in written], dtype=np.int64)
    found = read_topics(schemas, spans([raw for _, raw in written]), np.ones(len(written), dtype=bool))
    others, columns = set(found.others.tolist()), found.labels.plain_column()
    for row, (schema, raw) in enumerate(written):
        indexed, record = decode_indexed(schema, raw), decode_topic(schema, raw)
        labels = columns[row].as_py()
        assert (labels if labels is None else dict(labels)) == (indexed and dict(indexed.labels))
        if row not in others:
            assert record is not None
            assert record.partitions == found.partitions[row]
            assert dict(record.properties) == dict(found.properties[row].as_py())
            assert (record.kafka_name, record.local, record.global_, record.pending) == (None,) * 4


@given(st.lists(trails.flatmap(lambda t: st.tuples(st.just(len(t.operations)), damaged(encode_audit(t)))), max_size=6))
@many
def test_audit_trails_in_columns_say_what_each_says(written: list[tuple[int, bytes]]) -> None:
    operations = operations_of(spans([bytes(25) * count for count, _ in written]))
    found = trails_of(spans([raw for _, raw in written]), operations)
    first = 0
    for row, (count, raw) in enumerate(written):
        trail = decode_audit(raw)
        if trail is not None and len(trail.operations) != count:
            trail = None
        assert (found.times[row].as_py(), found.previous_offsets[row].as_py()) == (
            (trail.time_ms, trail.previous_offset) if trail else (None, None)
        )
        for place in range(count):
            columns = (found.actors, found.reasons, found.request_ids)
            expected = tuple(trail.operations[place]) if trail else (None, None, None)
            assert tuple(each[first + place].as_py() for each in columns) == expected
        first += count


def test_entries_that_are_claimed_and_have_no_bytes_take_no_room() -> None:
    eight_thousand = b"\xfe\x7f"
    topics = read_plain_topics(spans([b"\0\0" + eight_thousand] * 10))
    trails = read_plain_trails(spans([eight_thousand] * 10))
    assert Cursor(spans([eight_thousand])).number(np.zeros(1, np.int64)) == 8_191
    assert not topics.is_plain.any()
    assert not trails.is_plain.any()
    assert (topics.properties.counts.sum(), trails.counts.sum(), len(trails.actors)) == (0, 0, 0)
