"""Whatever part of a state is damaged, `check` says so."""

from __future__ import annotations

from array import array
from itertools import count, islice
from operator import attrgetter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import NAMESPACE, TOPIC, an_id, fold, folded, namespace_put, tenant_put, topic_delete, topic_put
from topicfold.log.payload import decode_indexed, encode_record
from topicfold.model.events import AggregateKind
from topicfold.model.records import NO_GRANTS, TopicRecord
from topicfold.state.fold import PartitionState
from topicfold.state.indexes import label_index, name_index
from topicfold.state.invariants import check, steps
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
    assert says(state, "public/default is live and has no table of topics")


def test_a_namespace_that_its_tenant_does_not_lead_to_is_found(state: PartitionState) -> None:
    del state.names_of["public"][NAMESPACE]
    assert says(state, "public/default is not among the namespaces that bear its tenant's name")


def test_a_table_of_a_namespace_that_is_not_live_is_found(state: PartitionState, table: TopicTable) -> None:
    state.topics["acme/pay"] = TopicTable(decode_indexed)
    assert says(state, "acme/pay is not live and has a table of topics")


@pytest.mark.parametrize(
    "change", [{"version": an_id(9)}, {"incarnation": an_id(9)}, {"payload": b"x"}, {"is_live": False}]
)
def test_a_changed_namespace_is_found(state: PartitionState, change: dict[str, object]) -> None:
    state.namespaces[NAMESPACE] = state.namespaces[NAMESPACE]._replace(**change)
    assert says(state, "the sum of tenants and namespaces")


def test_a_changed_or_missing_tenant_is_found(state: PartitionState) -> None:
    state.tenants["public"] = state.tenants["public"]._replace(version=an_id(9))
    assert says(state, "the sum of tenants and namespaces")
    del state.tenants["public"]
    assert says(state, "the sum of tenants and namespaces")


@pytest.mark.parametrize("place", [0, 16, 32, 34, 44, 60 + 3, 120 + 15])
def test_a_changed_row_is_found(state: PartitionState, table: TopicTable, place: int) -> None:
    table._rows[place] ^= 1
    assert says(state, "does not fit its record: hash")


def test_a_changed_payload_is_found(state: PartitionState, table: TopicTable) -> None:
    table._payloads[0] = encode_record(TopicRecord())
    assert says(state, "orders does not fit its record: hash, labels")


def test_a_changed_digest_sum_is_found(state: PartitionState, table: TopicTable) -> None:
    table.digest_sum ^= 1
    assert says(state, "the sum is not that of the topics")


def test_numbers_that_are_not_those_of_the_keys_are_found(state: PartitionState, table: TopicTable) -> None:
    table.numbers["orders"], table.numbers["orders2"] = 1, 0
    assert says(state, "orders does not fit its record: number")


@pytest.mark.parametrize("number", [0, 2])
def test_a_topic_that_is_live_only_in_the_row_or_only_in_the_set_is_found(
    state: PartitionState, table: TopicTable, number: int
) -> None:
    table.live ^= type(table.live)([number])
    assert says(state, "does not fit its record: hash")


def test_a_live_number_without_a_row_is_found(state: PartitionState, table: TopicTable) -> None:
    table.live.add(77)
    assert says(state, "there is a number in live that no topic has")


@pytest.mark.parametrize(("number", "words"), [(0, "its record: undecodable"), (77, "in undecodable that no topic")])
def test_a_wrongly_undecodable_topic_is_found(
    state: PartitionState, table: TopicTable, number: int, words: str
) -> None:
    table.undecodable.add(number)
    assert says(state, words)


@pytest.mark.parametrize("members", ["non_persistent", "system"])
def test_a_topic_of_the_wrong_sort_is_found(state: PartitionState, table: TopicTable, members: str) -> None:
    getattr(table, members).add(0)
    assert says(state, f"orders does not fit its record: {members}")


def test_a_topic_wrongly_taken_for_ending_is_found(state: PartitionState, table: TopicTable) -> None:
    table.ending.add(0)
    assert says(state, "orders does not fit its record: ending")


@pytest.mark.parametrize("partitions", [{}, {1: 4}, {1: 3, 0: 3}])
def test_wrong_numbers_of_partitions_are_found(
    state: PartitionState, table: TopicTable, partitions: dict[int, int]
) -> None:
    table.partitions = partitions
    assert says(state, "does not fit its record: partitions")


def test_a_wrong_name_in_kafka_is_found(state: PartitionState, table: TopicTable) -> None:
    table.kafka_names[0] = "legacy"
    assert says(state, "orders does not fit its record: kafka_name")


def test_a_topic_that_is_listed_by_a_name_in_kafka_and_has_none_is_found(
    state: PartitionState, table: TopicTable
) -> None:
    table.named.replace(0, None, "legacy")
    assert check(state) == ["public/default: listed as naming Kafka topic legacy, wrongly: orders"]


def test_a_topic_that_is_not_listed_by_its_name_in_kafka_is_found(state: PartitionState, table: TopicTable) -> None:
    fold(state, [topic_put(7, LIFE, an_id(3), payload=encode_record(TopicRecord(kafka_name="legacy")))])
    assert check(state) == []
    table.named.replace(0, "legacy", None)
    assert says(state, "orders does not fit its record: kafka_name_index")


def test_a_topic_that_waits_for_nothing_and_is_said_to_is_found(state: PartitionState, table: TopicTable) -> None:
    table.pending.add(0)
    assert says(state, "orders does not fit its record: pending")


def test_a_topic_that_the_name_index_lost_or_kept_is_found(state: PartitionState, table: TopicTable) -> None:
    table.names.discard(0)
    assert says(state, "orders does not fit its record: name_index")
    table.names.add(0)
    assert check(state) == []
    table.names.add(2)
    assert says(state, "orders3 does not fit its record: name_index")


def test_grants_that_no_record_has_are_found(state: PartitionState, table: TopicTable) -> None:
    table.grants[0] = {"stranger": ("admin",)}
    assert says(state, "orders does not fit its record: grants")


def test_a_grant_that_a_topic_is_listed_with_and_does_not_make_is_found(
    state: PartitionState, table: TopicTable
) -> None:
    table.granted.replace(0, NO_GRANTS, {"stranger": ("admin",)})
    assert check(state) == ["public/default: listed as granting to stranger, wrongly: orders"]


def test_a_grant_that_a_topic_makes_and_is_not_listed_with_is_found(state: PartitionState, table: TopicTable) -> None:
    record = TopicRecord(grants={"reader": ("consume",)})
    fold(state, [topic_put(7, LIFE, an_id(3), payload_schema=2, payload=encode_record(record))])
    assert check(state) == []
    table.granted.replace(0, {"reader": ("consume",)}, NO_GRANTS)
    assert says(state, "orders does not fit its record: grant_index")


def test_a_topic_whose_labels_were_lost_is_found(state: PartitionState, table: TopicTable) -> None:
    table._labels[0] = b""
    assert says(state, "orders does not fit its record: labels")


def test_postings_with_one_topic_too_many_or_too_few_are_found(state: PartitionState, table: TopicTable) -> None:
    postings = table.index.having("team", "pay")
    postings.add(1)
    assert check(state) == ["public/default: listed as team=pay, wrongly: orders2"]
    postings.add(77)
    assert check(state) == ["public/default: listed as team=pay, wrongly: number 77, orders2"]
    postings.discard(0)
    assert says(state, "orders does not fit its record: label_index")


def test_a_pair_that_nobody_bears_is_found(state: PartitionState, table: TopicTable) -> None:
    table.index._intern("tier", "gold")
    assert check(state) == [f"public/default: listed as {label}, wrongly: nobody" for label in ("tier=gold", "tier")]


def test_a_wrong_union_by_key_is_found(state: PartitionState, table: TopicTable) -> None:
    table.index.having_key("team").add(1)
    assert check(state) == ["public/default: listed as team, wrongly: orders2"]
    table.index.having_key("team").discard(0)
    assert says(state, "orders does not fit its record: label_index")


@pytest.mark.parametrize("lead", ["to another pair", "nowhere"])
def test_a_label_that_leads_elsewhere_is_found(state: PartitionState, table: TopicTable, lead: str) -> None:
    values = table.index._values["team"]
    values |= {"pay": 7} if lead == "to another pair" else {"gone": 0}
    assert says(state, "label_index" if lead == "to another pair" else "there are numbers or labels that nobody has")


def test_a_key_that_leads_to_a_topic_of_another_name_is_found(state: PartitionState, table: TopicTable) -> None:
    table.numbers["ghost"] = 0
    assert says(state, "there are numbers or labels that nobody has")


@pytest.mark.parametrize("ids", [b"\xff\xff\xff\x7f", b"\0", 8 * b"\0"])
def test_labels_that_stand_for_no_pairs_or_for_one_twice_are_found(
    state: PartitionState, table: TopicTable, ids: bytes
) -> None:
    table._labels[0] = ids
    assert says(state, "orders does not fit its record: label")


@pytest.mark.parametrize("part", ["pending", "partitions", "kafka_names", "grants", "names._everyone"])
def test_a_number_that_no_topic_has_is_found(state: PartitionState, table: TopicTable, part: str) -> None:
    members = attrgetter(part)(table)
    if isinstance(members, dict):
        members[3] = 1
    else:
        members.add(3)
    assert says(state, f"there is a number in {part.replace('_every', 'every')} that no topic has")


@pytest.fixture(params=["frequent", "rare"])
def named(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> PartitionState:
    """A state with three topics `a__0` to `a__2`, the last one dead, and one called `b`."""
    monkeypatch.setattr(name_index, "_RARE_MEMBERS", 1 if request.param == "frequent" else 9)
    names = [f"persistent://{NAMESPACE}/{local}" for local in ("a__0", "a__1", "a__2", "b")]
    puts = [topic_put(number, LIFE, name=name) for number, name in enumerate(names, 2)]
    return folded(namespace_put(1), *puts, topic_delete(9, LIFE, an_id(4), name=names[2]))


@pytest.mark.parametrize("number", [2, 3, 77])
def test_who_is_filed_by_a_segment_that_is_not_theirs_is_found(named: PartitionState, number: int) -> None:
    names = named.topics[NAMESPACE].names
    filed = names._frequent.get((0, "a"))
    if filed is not None:
        filed.add(number)
    else:
        names._rare.add(name_index._fingerprint((0, "a")), number)
    assert len(check(named)) == 1
    assert says(named, f"wrongly: {['a__2', 'b'][number - 2] if number < 4 else 'number 77'}")


@pytest.mark.parametrize("spoil", ["segment", "length", "another length", "everyone"])
def test_who_is_not_filed_as_the_name_says_is_found(named: PartitionState, spoil: str) -> None:
    names = named.topics[NAMESPACE].names
    if spoil == "segment":
        filed = names._frequent.get((0, "a"))
        (names._rare if filed is None else filed).discard(*([] if filed else [name_index._fingerprint((0, "a"))]), 1)
    elif spoil == "length":
        names._lengths[2].discard(1)
    elif spoil == "everyone":
        names._everyone.discard(1)
    else:
        names._lengths[1].add(1)
    assert check(named) == [f"what is stored of persistent://{NAMESPACE}/a__1 does not fit its record: name_index"]


def test_a_look_at_members_out_of_order_ends() -> None:
    names = [f"persistent://{NAMESPACE}/t{number}" for number in range(31)]
    puts = [topic_put(number, LIFE, name=name, labels={"team": "pay"}) for number, name in enumerate(names, 2)]
    table = folded(namespace_put(1), *puts).topics[NAMESPACE]
    table.index.having("team", "pay")._members = array("I", [20, 5, 30, 4])
    assert set(islice(table.index.misfiled(table.label_ids), 9)) == {None}
    assert len(list(islice(table.index.misfiled(table.label_ids), 9))) < 9
    table.names._rare._chunks = [array("Q", [20 << 32, 5 << 32, 30 << 32, 4 << 32])]
    assert set(islice(table.names.misfiled(), 9)) == {20, 5, 30, 4, None}
    assert len(list(islice(table.names.misfiled(), 99))) < 99


NAMES = [f"persistent://{NAMESPACE}/{local}" for local in ("a", "a__b", "a__c", "a__d", "a__b__c", "b__b__c", "c__")]
labels_or_end = st.none() | st.dictionaries(st.sampled_from("ab"), st.sampled_from("123"), max_size=2)
changes = st.tuples(st.integers(0, 12), st.sampled_from(NAMES), labels_or_end)


@given(st.lists(labels_or_end, min_size=len(NAMES), max_size=len(NAMES)), st.lists(changes, min_size=5, max_size=25))
@settings(max_examples=500)
def test_what_the_fold_changes_between_two_steps_is_no_flaw(
    first: list[dict[str, str] | None], then: list[tuple[int, str, dict[str, str] | None]]
) -> None:
    state = folded(namespace_put(1))
    numbers = count(2)

    def put(name: str, labels: dict[str, str] | None) -> None:
        base, number = state.current(AggregateKind.TOPIC, name).version, next(numbers)
        if labels is None:
            state.apply(state.position, topic_delete(number, LIFE, base, name=name))
        else:
            state.apply(state.position, topic_put(number, LIFE, base, name=name, labels=labels))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(name_index, "_RARE_MEMBERS", 2)
        patch.setattr(name_index, "_LOOKED_AT", 1)
        patch.setattr(label_index, "_LOOKED_AT", 1)
        for name, labels in zip(NAMES, first, strict=True):
            put(name, labels)
        looking = steps(state)
        for after, name, labels in then:
            assert [flaw for _, flaw in islice(looking, after) if flaw] == []
            put(name, labels)
        assert [flaw for _, flaw in looking if flaw] == []
        assert check(state) == []


def test_the_greatest_number_there_is_is_a_stranger_as_any_other_and_told_once() -> None:
    state = folded(
        namespace_put(1),
        *[topic_put(10 + each, an_id(1), name=f"persistent://{NAMESPACE}/a__{each}") for each in range(300)],
    )
    state.topics[NAMESPACE].names._frequent[0, "a"].add(2**32 - 1)
    assert [told for told in check(state) if "by a segment" in told] == [
        f"{NAMESPACE}: listed by a segment of the name, wrongly: number {2**32 - 1}"
    ]
