"""One row a topic: numbers stay, tombstones keep versions, labels follow the record."""

from __future__ import annotations

import json

import pytest
from pyroaring import BitMap

from tests.builders import an_id
from topicfold.log.payload import decode_indexed, encode_record
from topicfold.model.finding.pattern import parse_pattern
from topicfold.model.records import Pending, Step, TopicRecord, frozen
from topicfold.state.aggregate import ABSENT, Aggregate, Etag
from topicfold.state.topic_table import TopicTable


def live(version: int, **labels: str) -> Aggregate:
    """Return a live topic of that version with these labels."""
    payload = encode_record(TopicRecord(labels=frozen(labels)))
    return Aggregate(an_id(version), True, Etag(an_id(version), 1), 1, payload, version)


def dead(version: int) -> Aggregate:
    """Return a tombstone."""
    return Aggregate(an_id(version), False, Etag(an_id(version), 1), 0, b"", version)


def table(*rows: tuple[str, Aggregate]) -> TopicTable:
    """Return a table to which `rows` were put in this order."""
    topics = TopicTable(decode_indexed)
    for key, topic in rows:
        topics.put(f"persistent://public/default/{key}", key, topic)
    return topics


def test_a_topic_that_never_was_is_absent() -> None:
    assert table().get("orders") is ABSENT


def test_a_row_comes_back_as_it_was_put() -> None:
    topics = table(("orders", live(1, team="pay")), ("bills", live(2)), ("orders", live(3, tier="gold")))
    assert topics.get("orders") == live(3, tier="gold")
    assert topics.get("bills") == live(2)
    assert (topics.get("orders").version, topics.labels(0), topics.labels(1)) == (an_id(3), {"tier": "gold"}, {})


def test_a_tombstone_keeps_number_and_version_and_nothing_else() -> None:
    topics = table(("orders", live(1, team="pay")), ("orders", dead(2)), ("bills", live(3)))
    assert topics.get("orders") == dead(2)
    assert (topics.numbers, list(topics), len(topics)) == ({"orders": 0, "bills": 1}, [1], 1)
    assert (topics.labels(0), topics.index.borne()) == ({}, [])


def test_a_reborn_topic_has_its_old_number_and_only_its_new_labels() -> None:
    topics = table(("orders", live(1, team="pay")), ("orders", dead(2)), ("orders", live(3, tier="gold")))
    assert (topics.numbers["orders"], topics.labels(0)) == (0, {"tier": "gold"})
    assert list(topics.matching({"tier": "gold"})) == [0]
    assert list(topics.matching({"team": "pay"})) == []


def test_an_unreadable_payload_is_kept_raw_and_listed_without_labels() -> None:
    broken = live(2)._replace(payload=b"\xff\xff")
    topics = table(("orders", live(1, team="pay")), ("orders", broken))
    assert topics.get("orders").payload == b"\xff\xff"
    assert (list(topics.undecodable), list(topics), topics.labels(0)) == ([0], [0], {})


def test_a_readable_payload_or_a_delete_repairs_an_unreadable_one() -> None:
    broken = live(1)._replace(payload=b"\xff\xff")
    for repair in (live(2, team="pay"), dead(2)):
        assert list(table(("orders", broken), ("orders", repair)).undecodable) == []


def test_a_payload_of_a_newer_schema_counts_as_unreadable() -> None:
    assert list(table(("orders", live(1)._replace(payload_schema=2))).undecodable) == [0]


def test_without_labels_all_live_topics_match() -> None:
    topics = table(("a", live(1)), ("b", live(2)), ("a", dead(3)))
    assert list(topics.matching({})) == [1]


def test_the_digest_sum_does_not_depend_on_the_order_in_which_topics_came() -> None:
    one = table(("a", live(1)), ("b", live(2, team="pay")))
    other = table(("b", live(2, team="pay")), ("a", live(1)))
    assert one.digest_sum == other.digest_sum != table(("a", live(1)), ("b", live(2))).digest_sum


@pytest.mark.parametrize("left_out", [set(), {0}, {99}, {3, 4, 50}, set(range(0, 100, 2)), set(range(100))])
def test_keys_come_in_the_order_of_numbers_however_many_are_left_out(left_out: set[int]) -> None:
    topics = table(*((f"t{number}", live(1)) for number in range(100)))
    numbers = [number for number in range(100) if number not in left_out]
    assert topics.keys_of(BitMap(numbers)) == [f"t{number}" for number in numbers]


def test_a_topic_is_found_by_its_name_while_it_lives() -> None:
    rows = [("pay__a", live(1)), ("pay__b", live(2)), ("pay__a", live(3)), ("pay__b", dead(4)), ("pay.c", dead(5))]
    assert list(table(*rows).names.matching(parse_pattern("pay__*"))) == [0]
    assert list(table(*rows, ("pay__b", live(6))).names.matching(parse_pattern("**"))) == [0, 1]


def test_a_table_has_its_own_separator() -> None:
    topics = TopicTable(decode_indexed, ".")
    topics.put("persistent://public/default/pay.a", "pay.a", live(1))
    assert list(topics.names.matching(parse_pattern("pay.*", "."))) == [0]


def test_partitions_are_indexed_of_partitioned_topics_and_of_no_other() -> None:
    grown = live(1)._replace(payload=encode_record(TopicRecord(partitions=3)))
    assert table(("a", live(1)), ("b", grown)).partitions == {1: 3}
    for gone in (live(2), dead(2), grown._replace(payload=b"\xff")):
        assert table(("b", grown), ("b", gone)).partitions == {}


def test_names_in_kafka_and_pending_steps_are_indexed_while_they_last() -> None:
    record = TopicRecord(kafka_name="legacy", pending=Pending(Step.MAKE))
    named = live(1)._replace(payload_schema=2, payload=encode_record(record))
    found = table(("a", live(1)), ("b", named))
    assert (found.kafka_names, found.named.of("legacy"), found.pending) == ({1: "legacy"}, (1,), {1})
    for gone in (live(2), dead(2)):
        after = table(("b", named), ("b", gone))
        assert (after.kafka_names, after.named.of("legacy"), after.pending) == ({}, (), set())


def test_columns_show_what_rows_show() -> None:
    record = TopicRecord(labels=frozen({"team": "pay"}), kafka_name="legacy", partitions=3)
    named = live(1)._replace(payload=encode_record(record))
    found = table(("a", live(1, team="pay", tier="gold")), ("gone", live(1)), ("b", named), ("gone", dead(2)))
    columns = found.shown_columns([2, 0])
    rows = found.keyed([2, 0], found.shown_all([2, 0]))
    assert [key for key, _ in rows] == columns.keys == ["b", "a"]
    assert [row.labels for _, row in rows] == [tuple(json.loads(b"{%b}" % labels).items()) for labels in columns.labels]
    assert [row.partitions for _, row in rows] == columns.partitions == [3, 0]
    assert [row.kafka_name for _, row in rows] == columns.kafka_names == ["legacy", None]
    assert [(*row.etag, row.offset) for _, row in rows] == columns.versions


def test_grants_are_indexed_while_they_last() -> None:
    record = TopicRecord(grants={"reader": ("consume", "produce")})
    granted = live(1)._replace(payload_schema=2, payload=encode_record(record))
    made = table(("a", live(1)), ("b", granted))
    assert made.grants == {1: {"reader": ("consume", "produce")}}
    assert list(made.granted.to("reader")[("consume", "produce")]) == [1]
    for gone in (live(2), dead(2), granted._replace(payload=b"\xff")):
        made = table(("b", granted), ("b", gone))
        assert (made.grants, made.granted.to("reader")) == ({}, {})
