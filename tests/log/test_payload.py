"""Records as Avro bytes: of the lowest schema that holds them, and back as they were."""

from __future__ import annotations

import json
import math
from types import MappingProxyType
from typing import Any

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.model.policy.strategies import stored_policies
from topicfold.log.avro import read, schema_called, schema_directory, write
from topicfold.log.payload import (
    decode_indexed,
    decode_namespace,
    decode_record,
    decode_tenant,
    decode_topic,
    encode_record,
    payload_schema_of,
)
from topicfold.model.events import AggregateKind
from topicfold.model.policy.resolve import Policies
from topicfold.model.records import MAX_PARTITIONS, NamespaceRecord, Pending, Record, Step, TenantRecord, TopicRecord

PERSISTENCE = {"bookkeeperEnsemble": 1, "bookkeeperWriteQuorum": 1, "bookkeeperAckQuorum": 1}

scopes = st.none() | stored_policies
grants = st.dictionaries(st.text(max_size=5), st.lists(st.text(max_size=5), max_size=3).map(tuple), max_size=3)
pending = st.none() | st.builds(Pending, st.sampled_from(Step), st.text(max_size=5))
labels = st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=3)


@given(labels, scopes, scopes, grants, pending)
@settings(max_examples=300)
def test_a_topic_with_policies_comes_back_as_it_was(
    labels: dict[str, str], local: Policies | None, global_: Policies | None, grants: Any, pending: Pending | None
) -> None:
    record = TopicRecord(1, None, {"p": "1"}, labels, local, global_, grants, pending)
    schema, payload = payload_schema_of(record), encode_record(record)
    assert decode_topic(schema, payload) == record
    assert decode_indexed(schema, payload).labels == labels


@given(stored_policies, grants)
def test_namespaces_and_tenants_come_back_as_they_were(policies: Policies, grants: Any) -> None:
    namespace, tenant = NamespaceRecord({"p": "1"}, policies, grants), TenantRecord(("r",), (), grants)
    assert decode_namespace(payload_schema_of(namespace), encode_record(namespace)) == namespace
    assert decode_tenant(payload_schema_of(tenant), encode_record(tenant)) == tenant


@given(stored_policies, st.randoms(use_true_random=False))
def test_the_order_in_which_policies_were_set_leaves_no_trace(policies: dict[str, Any], random: Any) -> None:
    names = list(policies)
    random.shuffle(names)
    shuffled = MappingProxyType({name: policies[name] for name in names})
    assert encode_record(TopicRecord(local=shuffled)) == encode_record(TopicRecord(local=policies))


@pytest.mark.parametrize(
    ("record", "schema"),
    [
        (TopicRecord(3, "Orders", {"p": "1"}, {"a": "b"}), 1),
        (TopicRecord(local={}), 2),
        (TopicRecord(global_={}), 2),
        (TopicRecord(grants={"ann": ("admin",)}), 2),
        (TopicRecord(pending=Pending(Step.MAKE)), 2),
        (NamespaceRecord({"p": "1"}), 1),
        (NamespaceRecord(policies={"maxMessageSize": 5}), 2),
        (NamespaceRecord(grants={"ann": ("admin",)}), 2),
        (TenantRecord(("ann",), ("east",)), 1),
        (TenantRecord(grants={"ann": ("admin",)}), 2),
    ],
)
def test_a_record_is_written_with_the_lowest_schema_that_holds_it(record: Record, schema: int) -> None:
    kind = {TopicRecord: AggregateKind.TOPIC, NamespaceRecord: AggregateKind.NAMESPACE}.get(
        type(record), AggregateKind.TENANT
    )
    assert payload_schema_of(record) == schema
    assert decode_record(kind, schema, encode_record(record)) == record


def test_a_record_without_policies_has_the_bytes_it_had_before_there_were_any() -> None:
    topic = TopicRecord(3, "kafka", {"p": "1"}, {"team": "pay", "a": "b"})
    assert encode_record(topic).hex() == "06020a6b61666b610202700231000402610262087465616d0670617900"
    assert encode_record(NamespaceRecord({"p": "1"})).hex() == "020270023100"
    assert encode_record(TenantRecord(("r",), ("c",))).hex() == "0202720002026300"


@pytest.mark.parametrize("field", ["labels", "properties", "grants"])
def test_the_order_of_a_map_leaves_no_trace(field: str) -> None:
    value: Any = ("a",) if field == "grants" else "a"
    one, other = (dict.fromkeys(keys, value) for keys in ("xyz", "zyx"))
    assert encode_record(TopicRecord(**{field: one})) == encode_record(TopicRecord(**{field: other}))


@pytest.mark.parametrize(
    "wrong", [{"partitions": -1}, {"partitions": MAX_PARTITIONS + 1}, {"pending": {"step": "dance", "kafkaId": ""}}]
)
def test_a_topic_that_there_cannot_be_is_not_read(wrong: dict[str, Any]) -> None:
    schema = schema_called("topic-2")
    fields = read(schema, encode_record(TopicRecord(pending=Pending(Step.MAKE))))
    assert fields is not None
    assert decode_topic(2, write(schema, fields)) is not None
    payload = write(schema, fields | wrong)
    assert decode_topic(2, payload) is decode_indexed(2, payload) is None


@pytest.mark.parametrize(
    "half",
    [
        {"retentionPolicies": {"retentionTimeInMinutes": 60}},
        {"publishRate": {}},
        {"backLogQuotaMap": {"message_age": {"limitSize": 1, "policy": "producer_exception"}}},
        {"subscriptionPolicies": {"audit": {"dispatchRate": {"dispatchThrottlingRateInMsg": 5}}}},
    ],
)
def test_a_policy_without_a_member_that_it_always_has_is_not_read(half: Policies) -> None:
    payload = encode_record(TopicRecord(labels={"a": "b"}, local=half))
    assert decode_topic(2, payload) is decode_topic(2, encode_record(TopicRecord(global_=half))) is None
    assert decode_namespace(2, encode_record(NamespaceRecord(policies=half))) is None
    assert decode_indexed(2, payload).labels == {"a": "b"}


@pytest.mark.parametrize(
    "beyond",
    [
        {"messageTTLInSeconds": 1 << 31},
        {"publishRate": {"publishThrottlingRateInMsg": -(1 << 40), "publishThrottlingRateInByte": 1}},
        {"subscribeRate": {"subscribeThrottlingRatePerConsumer": 1, "ratePeriodInSecond": (1 << 63) - 1}},
        {"persistence": PERSISTENCE | {"managedLedgerMaxMarkDeleteRate": math.nan}},
    ],
)
def test_a_policy_with_a_number_that_no_such_policy_has_is_not_read(beyond: Policies) -> None:
    local = {"customLabels": {"a": "b"}, "policies": beyond}
    fields = {"partitions": 0, "properties": {}, "local": local, "grants": {}}
    payload = write(in_longs("topic-2"), fields)
    assert decode_topic(2, payload) is None
    assert decode_indexed(2, payload).labels == {"a": "b"}
    of_namespace = write(in_longs("namespace-2"), {"properties": {}, "policies": beyond, "grants": {}})
    assert decode_namespace(2, of_namespace) is None


def in_longs(name: str) -> Any:
    """Return a schema whose numbers have 64 bits; otherwise it writes the same bytes."""
    text = (schema_directory() / f"{name}.avsc").read_text()
    return fastavro.parse_schema(json.loads(text.replace('"int"', '"long"')))


def test_no_policies_and_none_left_are_told_apart() -> None:
    for record in (TopicRecord(), TopicRecord(local={}), TopicRecord(global_={}), TopicRecord(local={}, global_={})):
        found = decode_topic(payload_schema_of(record), encode_record(record))
        assert (found.local, found.global_) == (record.local, record.global_)


def test_what_is_no_kind_of_record_is_none() -> None:
    assert decode_record(AggregateKind.NONE, 1, b"") is None


def test_where_memory_is_short_a_record_is_not_taken_for_one_that_nobody_can_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def has_no_room(*datum: Any) -> None:
        raise MemoryError

    monkeypatch.setattr("fastavro.schemaless_reader", has_no_room)
    with pytest.raises(MemoryError):
        decode_topic(1, encode_record(TopicRecord(properties={"p": "short of memory"})))
