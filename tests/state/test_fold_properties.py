"""What holds of every log, whatever is in it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import empty_state, fold
from tests.state.histories import NAMESPACES, PARTITION, PARTITIONS, Log, logs
from tests.state.naive_fold import NaiveFold
from topicfold.log.codec import decode_event, encode_event
from topicfold.log.payload import decode_topic
from topicfold.model.events import AggregateKind
from topicfold.model.names import topic_of_key
from topicfold.state.change import Outcome
from topicfold.state.fold import PartitionState
from topicfold.state.invariants import check

many = settings(max_examples=400)


def state_of(log: Log, *, client_ring: int = 100) -> PartitionState:
    """Return the state that `log` comes to."""
    state = empty_state(PARTITION, PARTITIONS, client_ring=client_ring)
    fold(state, log)
    return state


@given(logs)
@many
def test_the_fold_gives_what_the_rule_as_worded_gives(log: Log) -> None:
    state, naive = state_of(log), NaiveFold(PARTITION, PARTITIONS).fold(log)
    found = {(AggregateKind.TENANT, name): tenant for name, tenant in state.tenants.items()}
    found |= {(AggregateKind.NAMESPACE, name): namespace for name, namespace in state.namespaces.items()}
    for namespace, table in state.topics.items():
        found |= {(AggregateKind.TOPIC, topic_of_key(namespace, key)): table.get(key) for key in table.keys}
    assert {what: each.version for what, each in found.items()} == naive.versions
    assert {what: each.payload for what, each in found.items() if each.is_live} == naive.live
    assert {n: each.incarnation for n, each in state.namespaces.items() if each.is_live} == naive.incarnations
    assert {i: state.operations.get(i).verdict for i in naive.operations} == naive.operations


@given(logs, st.integers(2, 30))
@many
def test_a_log_folded_in_batches_gives_what_its_records_give_one_by_one(log: Log, batch: int) -> None:
    state, together = empty_state(PARTITION, PARTITIONS), empty_state(PARTITION, PARTITIONS)
    for start in range(0, len(log), batch):
        records = list(enumerate(log[start : start + batch], start))
        changes = [together.fold(offset, event) for offset, event in records]
        together.store()
        assert changes == [state.apply(offset, event) for offset, event in records]
        assert together.digest() == state.digest()
        assert check(together) == []


@given(logs)
@many
def test_the_digest_in_the_middle_of_a_batch_is_that_of_what_was_folded(log: Log) -> None:
    state, together = empty_state(PARTITION, PARTITIONS), empty_state(PARTITION, PARTITIONS)
    for offset, event in enumerate(log):
        state.apply(offset, event)
        together.fold(offset, event)
    assert together.digest() == state.digest()


@given(logs)
@many
def test_a_folded_state_agrees_with_itself(log: Log) -> None:
    assert check(state_of(log)) == []


@given(logs, st.sampled_from(["team", "tier"]), st.sampled_from(["pay", "gold", "ship"]))
def test_topics_found_by_label_are_those_whose_records_say_so(log: Log, key: str, value: str) -> None:
    state = state_of(log)
    for table in state.topics.values():
        records = {n: decode_topic(table.row(n).payload_schema, table.row(n).payload) for n in table}
        bearing = [n for n, record in records.items() if record and record.labels.get(key) == value]
        assert list(table.matching({key: value})) == sorted(bearing)
        assert list(table.undecodable) == sorted(n for n, record in records.items() if record is None)


@given(logs, st.data())
@many
def test_a_record_again_at_any_later_place_changes_nothing_at_the_end(log: Log, data: st.DataObject) -> None:
    repeated = list(log)
    for _ in range(data.draw(st.integers(1, 5))):
        original = data.draw(st.integers(0, len(repeated) - 1))
        place = data.draw(st.integers(original + 1, len(repeated)))
        repeated.insert(place, repeated[original])
    assert state_of(repeated).digest() == state_of(log).digest()


@given(logs)
def test_a_superseded_version_is_never_current_again(log: Log) -> None:
    state, taken = empty_state(PARTITION, PARTITIONS), []
    for event in log:
        if state.apply(state.position, event).outcome is Outcome.ACCEPTED:
            taken.append(event.event_id)
    assert len(taken) == len(set(taken))


@given(logs)
def test_accepted_events_of_an_aggregate_form_one_chain(log: Log) -> None:
    state = empty_state(PARTITION, PARTITIONS)
    for event in log:
        if event is not None:
            before = state.current(event.aggregate_kind, event.name).version
        if state.apply(state.position, event).outcome is Outcome.ACCEPTED:
            assert event.base == before
            assert state.current(event.aggregate_kind, event.name).version == event.event_id


@given(logs)
def test_a_rejected_record_leaves_no_trace(log: Log) -> None:
    state = empty_state(PARTITION, PARTITIONS)
    effective = [event for event in log if state.apply(state.position, event).outcome is Outcome.ACCEPTED]
    assert state_of(effective).digest() == state.digest()


@given(logs)
def test_the_same_records_through_their_bytes_give_the_same_digest(log: Log) -> None:
    through_bytes = [event and decode_event(encode_event(event)) for event in log]
    assert state_of(through_bytes).digest() == state_of(log).digest()


@given(logs, st.integers(1, 5))
def test_the_rings_hold_the_last_operations_in_order(log: Log, capacity: int) -> None:
    state, kept = empty_state(PARTITION, PARTITIONS, client_ring=capacity), []
    for event in log:
        for operation_id, _ in state.apply(state.position, event).settled:
            if event.operations[0].by_client and operation_id not in kept:
                kept = [*kept, operation_id][-capacity:]
    assert [i for i in kept if state.operations.by_client.get(i)] == kept
    assert len(state.operations.by_client) == len(kept)


@pytest.mark.parametrize("what", ["accepted", "rejected", "no_op", "garbage"])
def test_the_logs_of_these_tests_have_records_of_every_outcome(what: str) -> None:
    seen: set[Outcome] = set()

    @given(logs)
    @settings(database=None)
    def look(log: Log) -> None:
        state = empty_state(PARTITION, PARTITIONS)
        seen.update(change.outcome for change in fold(state, log))

    look()
    assert Outcome(what) in seen


def test_one_namespace_of_these_tests_belongs_elsewhere() -> None:
    state = state_of([])
    assert [state._belongs(name) for name in NAMESPACES] == [True, True, False]
