"""Payloads: one record has one spelling, and no bytes can do more harm than be unreadable."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicfold.log import codec
from topicfold.log import payload as payloads
from topicfold.log.payload import encode_record
from topicfold.model.events import Audit, AuditTrail
from topicfold.model.records import (
    MAX_PARTITIONS,
    NamespaceRecord,
    Pending,
    Step,
    TenantRecord,
    TopicRecord,
    frozen,
)
from topicfold.state.indexed import Indexed

pairs = st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=4).map(frozen)
texts = st.lists(st.text(max_size=5), max_size=3).map(tuple)
topics = st.builds(TopicRecord, st.integers(0, MAX_PARTITIONS), st.none() | st.text(max_size=5), pairs, pairs)
trails = st.builds(
    AuditTrail,
    st.lists(st.builds(Audit, st.text(), st.text(), st.text()), max_size=3).map(tuple),
    st.integers(0, 2**62),
    st.integers(-1, 2**62),
)
DECODERS = [payloads.decode_topic, payloads.decode_indexed, payloads.decode_namespace, payloads.decode_tenant]


@given(topics)
def test_a_topic_comes_back_from_its_payload_and_is_indexed_as_it_is(record: TopicRecord) -> None:
    payload = encode_record(record)
    assert payloads.decode_topic(1, payload) == record
    assert payloads.decode_indexed(1, payload) == Indexed(
        labels=record.labels, partitions=record.partitions, kafka_name=record.kafka_name
    )


@pytest.mark.parametrize("pending", [Pending(Step.MAKE), Pending(Step.END, "id")])
def test_what_is_left_to_do_in_kafka_comes_back_and_is_indexed(pending: Pending) -> None:
    record = TopicRecord(3, pending=pending)
    payload = encode_record(record)
    assert payloads.payload_schema_of(record) == 2
    assert payloads.decode_topic(2, payload) == record
    assert payloads.decode_indexed(2, payload) == Indexed(labels={}, partitions=3, pending=pending.step)


@given(pairs, texts, texts)
def test_namespaces_and_tenants_come_back_from_their_payloads(
    properties: dict[str, str], roles: tuple[str, ...], clusters: tuple[str, ...]
) -> None:
    namespace, tenant = NamespaceRecord(properties), TenantRecord(roles, clusters)
    assert payloads.decode_namespace(1, encode_record(namespace)) == namespace
    assert payloads.decode_tenant(1, encode_record(tenant)) == tenant


@given(trails)
def test_who_and_why_comes_back(trail: AuditTrail) -> None:
    assert codec.decode_audit(codec.encode_audit(trail)) == trail


@given(st.dictionaries(st.text(max_size=3), st.text(max_size=3), min_size=2), st.randoms(use_true_random=False))
def test_the_order_in_which_pairs_were_given_leaves_no_trace(pairs: dict[str, str], random: object) -> None:
    shuffled = list(pairs.items())
    random.shuffle(shuffled)
    one = TopicRecord(properties=pairs, labels=pairs)
    other = TopicRecord(properties=dict(shuffled), labels=dict(shuffled))
    assert encode_record(one) == encode_record(other)


@given(st.binary(), st.integers(0, 3))
def test_any_bytes_are_a_record_or_unreadable(payload: bytes, schema: int) -> None:
    found = [decode(schema, payload) for decode in DECODERS]
    assert (found[0] is None) == (found[1] is None)
    assert schema == 1 or found == [None] * 4
    codec.decode_audit(payload)


@given(topics, st.data())
def test_a_damaged_payload_is_read_whole_or_not_at_all(record: TopicRecord, data: st.DataObject) -> None:
    payload = bytearray(encode_record(record))
    payload[data.draw(st.integers(0, len(payload) - 1))] = data.draw(st.integers(0, 255))
    found = payloads.decode_topic(1, bytes(payload))
    assert found is None or payloads.decode_topic(1, encode_record(found)) == found


@pytest.mark.parametrize("length", range(len(encode_record(TopicRecord(labels={"team": "pay"})))))
def test_a_truncated_payload_is_unreadable(length: int) -> None:
    assert payloads.decode_topic(1, encode_record(TopicRecord(labels={"team": "pay"}))[:length]) is None


def test_bytes_beyond_the_end_make_a_payload_unreadable() -> None:
    assert payloads.decode_topic(1, encode_record(TopicRecord()) + b"\0") is None


@pytest.mark.parametrize(
    "payload",
    [
        b"\x01" + encode_record(TopicRecord())[1:],
        encode_record(TopicRecord(MAX_PARTITIONS + 1)),
        b"\x00\x02" + b"\xfe" * 9 + b"\x01x",
        b"\x00\x00" + b"\xfe" * 9 + b"\x01",
    ],
    ids=["negative partitions", "too many partitions", "a name of 2^62 bytes", "2^62 properties"],
)
def test_absurd_numbers_make_a_payload_unreadable(payload: bytes) -> None:
    assert payloads.decode_topic(1, payload) is None


def test_known_payloads_have_the_bytes_they_always_had() -> None:
    topic = TopicRecord(3, "kafka", frozen({"p": "1"}), frozen({"team": "pay", "a": "b"}))
    assert encode_record(topic).hex() == "06020a6b61666b610202700231000402610262087465616d0670617900"
    assert encode_record(NamespaceRecord(frozen({"p": "1"}))).hex() == "020270023100"
    assert encode_record(TenantRecord(("r",), ("c",))).hex() == "0202720002026300"
