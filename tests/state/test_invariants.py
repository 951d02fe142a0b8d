"""Whatever part of a state is damaged, `check` says so."""

from __future__ import annotations

import pytest

from tests.builders import NAMESPACE, TOPIC, an_id, folded, namespace_put, tenant_put, topic_delete, topic_put
from topicfold.log.payload import encode_record
from topicfold.model.records import TopicRecord
from topicfold.state.fold import PartitionState
from topicfold.state.invariants import check
from topicfold.state.topic_table import TopicTable

LIFE = an_id(1)


@pytest.fixture
def state() -> PartitionState:
    """A state with three topics: one labelled, one partitioned and unlabelled, one dead."""
    partitioned = encode_record(TopicRecord(partitions=3))
    return folded(
        namespace_put(1),
        tenant_put(2),
        topic_put(3, LIFE, labels={"team": "pay"}),
        topic_put(4, LIFE, name=TOPIC + "2", payload=partitioned),
        topic_put(5, LIFE, name=TOPIC + "3", payload=b"\xff"),
        topic_delete(6, LIFE, an_id(5), name=TOPIC + "3"),
    )


@pytest.fixture
def table(state: PartitionState) -> TopicTable:
    """The table of those topics."""
    return state.topics[NAMESPACE]


def says(state: PartitionState, words: str) -> bool:
    """Return whether `check` finds something, and says this of it."""
    return words in "; ".join(check(state))


def test_a_sound_state_has_no_violations(state: PartitionState) -> None:
    assert check(state) == []


def test_a_missing_table_is_found(state: PartitionState) -> None:
    del state.topics[NAMESPACE]
    assert says(state, "but live namespaces ['public/default']")


def test_a_table_of_a_namespace_that_is_not_live_is_found(state: PartitionState, table: TopicTable) -> None:
    state.topics["acme/pay"] = table.emptied()
    assert says(state, "tables of ['acme/pay', 'public/default']")


@pytest.mark.parametrize(
    "change", [{"version": an_id(9)}, {"incarnation": an_id(9)}, {"payload": b"x"}, {"is_live": False}]
)
def test_a_changed_namespace_is_found(state: PartitionState, change: dict[str, object]) -> None:
    state.namespaces[NAMESPACE] = state.namespaces[NAMESPACE]._replace(**change)
    assert says(state, "the digest sum of tenants and namespaces")


def test_a_changed_or_missing_tenant_is_found(state: PartitionState) -> None:
    state.tenants["public"] = state.tenants["public"]._replace(version=an_id(9))
    assert says(state, "the digest sum of tenants and namespaces")
    del state.tenants["public"]
    assert says(state, "the digest sum of tenants and namespaces")


@pytest.mark.parametrize("place", [0, 16, 32, 34, 44, 60 + 3, 120 + 15])
def test_a_changed_row_is_found(state: PartitionState, table: TopicTable, place: int) -> None:
    table._rows[place] ^= 1
    assert says(state, "the stored hash is not that of the row")


def test_a_changed_payload_is_found(state: PartitionState, table: TopicTable) -> None:
    table._payloads[0] = encode_record(TopicRecord())
    assert says(state, "orders: the stored hash is not that of the row")
    assert says(state, "orders: labels {'team': 'pay'}, the record says {}")


def test_a_changed_digest_sum_is_found(state: PartitionState, table: TopicTable) -> None:
    table.digest_sum ^= 1
    assert says(state, "the digest sum is not that of the rows")


def test_numbers_that_are_not_those_of_the_keys_are_found(state: PartitionState, table: TopicTable) -> None:
    table.numbers["orders"], table.numbers["orders2"] = 1, 0
    assert says(state, "the numbers are not those of the keys")


@pytest.mark.parametrize("number", [0, 2])
def test_a_topic_that_is_live_only_in_the_row_or_only_in_the_set_is_found(
    state: PartitionState, table: TopicTable, number: int
) -> None:
    table.live ^= type(table.live)([number])
    assert says(state, "the stored hash is not that of the row")


def test_a_live_number_without_a_row_is_found(state: PartitionState, table: TopicTable) -> None:
    table.live.add(77)
    assert says(state, "the sets of live or undecodable topics")


@pytest.mark.parametrize("number", [0, 77])
def test_a_wrongly_undecodable_topic_is_found(state: PartitionState, table: TopicTable, number: int) -> None:
    table.undecodable.add(number)
    assert says(state, "the sets of live or undecodable topics")


@pytest.mark.parametrize("members", ["non_persistent", "system"])
def test_a_topic_of_the_wrong_sort_is_found(state: PartitionState, table: TopicTable, members: str) -> None:
    getattr(table, members).add(0)
    assert says(state, "the sets of non-persistent or system topics")


def test_a_topic_wrongly_taken_for_ending_is_found(state: PartitionState, table: TopicTable) -> None:
    table.ending.add(0)
    assert says(state, "who waits for a step there")


@pytest.mark.parametrize("partitions", [{}, {1: 4}, {1: 3, 0: 3}])
def test_wrong_numbers_of_partitions_are_found(
    state: PartitionState, table: TopicTable, partitions: dict[int, int]
) -> None:
    table.partitions = partitions
    assert says(state, "the numbers of partitions")


def test_a_wrong_name_in_kafka_is_found(state: PartitionState, table: TopicTable) -> None:
    table.kafka_names[0] = "legacy"
    assert says(state, "names in Kafka")


def test_a_topic_that_waits_for_nothing_and_is_said_to_is_found(state: PartitionState, table: TopicTable) -> None:
    table.pending.add(0)
    assert says(state, "names in Kafka")


def test_a_topic_that_the_name_index_lost_or_kept_is_found(state: PartitionState, table: TopicTable) -> None:
    table.names.discard(0)
    assert says(state, "the name index differs")
    table.names.add(0)
    assert check(state) == []
    table.names.add(2)
    assert says(state, "the name index differs")


def test_grants_that_no_record_has_are_found(state: PartitionState, table: TopicTable) -> None:
    table.grants[0] = {"stranger": ("admin",)}
    assert says(state, "the grants are not those of the records")


def test_a_topic_whose_labels_were_lost_is_found(state: PartitionState, table: TopicTable) -> None:
    table._labels[0] = b""
    assert says(state, "orders: labels {}, the record says {'team': 'pay'}")


def test_postings_with_one_topic_too_many_or_too_few_are_found(state: PartitionState, table: TopicTable) -> None:
    postings = table.index.having("team", "pay")
    postings.add(1)
    assert says(state, "the label index differs")
    postings.discard(1)
    postings.discard(0)
    assert says(state, "the label index differs")


def test_a_pair_that_nobody_bears_is_found(state: PartitionState, table: TopicTable) -> None:
    table.index._intern("tier", "gold")
    assert says(state, "the label index differs")


def test_a_wrong_union_by_key_is_found(state: PartitionState, table: TopicTable) -> None:
    table.index.having_key("team").add(1)
    assert says(state, "the unions by key differ")
