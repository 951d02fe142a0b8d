"""The fold rule, line by line."""

from __future__ import annotations

import sys
import weakref

import pytest

from tests.builders import (
    NAMESPACE,
    TOPIC,
    an_id,
    empty_state,
    event,
    fold,
    folded,
    namespace_delete,
    namespace_put,
    operation,
    tenant_put,
    topic_delete,
    topic_put,
)
from topicfold.errors import LevelUnsupported
from topicfold.model.events import GENESIS, REQUIRE_EMPTY, AggregateKind, Event, Kind, Verdict
from topicfold.state.aggregate import NO_ETAG, Aggregate, Etag
from topicfold.state.change import Outcome
from topicfold.state.fold import PartitionState

LIFE = an_id(1)
MADE = namespace_put(1)
BORN = topic_put(2, LIFE, labels={"team": "pay"})
ENDED = topic_delete(3, LIFE, an_id(2))


def topic(state: PartitionState) -> Aggregate:
    """Return the topic that these tests are about."""
    return state.current(AggregateKind.TOPIC, TOPIC)


def namespace(state: PartitionState) -> Aggregate:
    """Return the namespace that these tests are about."""
    return state.current(AggregateKind.NAMESPACE, NAMESPACE)


def has_no_effect(state: PartitionState, late: Event) -> bool:
    """Fold `late`; return whether only the position moved."""
    before = (state.digest(), state.position)
    change = state.apply(state.position, late)
    assert change.outcome in (Outcome.REJECTED, Outcome.NO_OP)
    return (state.digest(), state.position) == (before[0], before[1] + 1) and not change.settled


def test_a_topics_event_on_its_current_version_takes_effect() -> None:
    state = folded(MADE, BORN)
    assert (topic(state).version, topic(state).is_live, topic(state).payload) == (an_id(2), True, BORN.payload)
    assert state.topics[NAMESPACE].labels(0) == {"team": "pay"}


def test_once_a_batch_is_stored_only_the_tables_hold_its_topics() -> None:
    state, before = empty_state(), sys.getrefcount(BORN.event_id)
    fold(state, [MADE, BORN])
    after = sys.getrefcount(BORN.event_id)
    assert after == before
    table = weakref.ref(state.topics[NAMESPACE])
    state.apply(2, namespace_delete(3, LIFE))
    assert table() is None


def test_the_same_payload_under_another_schema_is_indexed_anew() -> None:
    state = folded(MADE, BORN, BORN._replace(event_id=an_id(3), base=an_id(2), payload_schema=99))
    table = state.topics[NAMESPACE]
    assert (table.labels(0), list(table.undecodable)) == ({}, [0])


@pytest.mark.parametrize("base", [GENESIS, an_id(1), an_id(9)], ids=["genesis", "superseded", "unknown"])
def test_a_topics_event_on_another_version_has_no_effect(base: bytes) -> None:
    assert has_no_effect(folded(MADE, BORN), topic_put(4, LIFE, base))
    assert has_no_effect(folded(MADE, BORN), topic_delete(4, LIFE, base))


def test_of_two_events_on_one_version_the_first_in_the_log_wins() -> None:
    state = folded(MADE, BORN, topic_put(4, LIFE, an_id(2)))
    assert has_no_effect(state, topic_put(5, LIFE, an_id(2)))
    assert topic(state).version == an_id(4)


def test_a_topics_event_in_a_namespace_that_never_was_has_no_effect() -> None:
    assert has_no_effect(folded(), topic_put(2, GENESIS))
    assert has_no_effect(folded(), topic_put(2, LIFE))


def test_a_topics_event_in_a_namespace_that_ended_has_no_effect() -> None:
    state = folded(MADE, BORN, namespace_delete(3, LIFE))
    assert has_no_effect(state, topic_put(4, LIFE, an_id(2)))
    assert has_no_effect(state, topic_put(5, LIFE))
    assert has_no_effect(state, topic_put(6, GENESIS))


def test_a_topics_event_of_another_life_of_its_namespace_has_no_effect() -> None:
    state = folded(MADE, namespace_delete(3, LIFE), namespace_put(4, an_id(3)))
    assert has_no_effect(state, topic_put(5, LIFE))
    assert state.apply(state.position, topic_put(6, an_id(4))).outcome is Outcome.ACCEPTED


def test_a_deleted_topic_keeps_its_version_and_nothing_else() -> None:
    state = folded(MADE, BORN, ENDED)
    assert topic(state) == Aggregate(an_id(3), False, NO_ETAG, 0, b"", 2)
    assert state.topics[NAMESPACE].index.borne() == []


def test_a_late_update_of_a_deleted_topic_never_lands_on_its_successor() -> None:
    state = folded(MADE, BORN, ENDED)
    assert has_no_effect(state, topic_put(4, LIFE, an_id(2)))
    assert has_no_effect(state, topic_put(5, LIFE))
    fold(state, [topic_put(6, LIFE, an_id(3))])
    assert has_no_effect(state, topic_put(7, LIFE, an_id(2)))
    assert (topic(state).version, state.topics[NAMESPACE].labels(0)) == (an_id(6), {})


def test_the_end_of_a_namespace_ends_its_topics_and_forgets_their_tombstones() -> None:
    state = folded(
        MADE, BORN, topic_put(3, LIFE, name=TOPIC + "2"), namespace_delete(4, LIFE), namespace_put(5, an_id(4))
    )
    assert (topic(state).version, len(state.topics[NAMESPACE])) == (GENESIS, 0)
    assert state.apply(state.position, topic_put(6, an_id(5))).outcome is Outcome.ACCEPTED


def test_the_digest_of_an_ended_namespace_does_not_know_its_topics() -> None:
    other = topic_put(2, LIFE, labels={"team": "ship"})
    end = namespace_delete(4, LIFE)
    assert folded(MADE, BORN, end).digest() == folded(MADE, other, end).digest()


def test_changing_a_live_namespace_keeps_its_incarnation_and_its_topics() -> None:
    state = folded(MADE, BORN, namespace_put(3, LIFE))
    assert (namespace(state).version, namespace(state).incarnation) == (an_id(3), LIFE)
    assert topic(state).is_live
    assert state.apply(state.position, topic_put(4, LIFE, an_id(2))).outcome is Outcome.ACCEPTED


def test_a_put_over_a_dead_namespace_begins_a_new_incarnation() -> None:
    state = folded(MADE, namespace_delete(2, LIFE))
    assert (namespace(state).incarnation, namespace(state).version) == (GENESIS, an_id(2))
    fold(state, [namespace_put(3, an_id(2))])
    assert namespace(state).incarnation == an_id(3)


@pytest.mark.parametrize("base", [GENESIS, an_id(7)])
def test_a_namespaces_event_on_another_version_has_no_effect(base: bytes) -> None:
    for late in (namespace_put(3, base), namespace_delete(3, base), namespace_delete(3, base, flags=REQUIRE_EMPTY)):
        assert has_no_effect(folded(MADE, BORN), late)


def test_deleting_a_namespace_that_never_was_leaves_a_tombstone() -> None:
    state = folded(namespace_delete(1, GENESIS, operations=(operation(9, Verdict.NAMESPACE_NOT_FOUND),)))
    assert (namespace(state).version, namespace(state).is_live) == (an_id(1), False)
    assert has_no_effect(state, namespace_put(2, GENESIS))


def test_a_delete_that_requires_emptiness_is_accepted_as_a_refusal_where_a_topic_lives() -> None:
    state = folded(MADE, BORN)
    before = namespace(state)
    (change,) = fold(state, [namespace_delete(3, LIFE, flags=REQUIRE_EMPTY, operations=(operation(9), operation(8)))])
    assert change.outcome is Outcome.ACCEPTED
    assert [settled.verdict for _, settled in change.settled] == [Verdict.NOT_EMPTY, Verdict.NOT_EMPTY]
    assert namespace(state) == before._replace(version=an_id(3), offset=2)
    assert topic(state).is_live
    assert has_no_effect(state, namespace_delete(4, LIFE))


@pytest.mark.parametrize("events", [[], [BORN, ENDED]], ids=["never had topics", "only tombstones"])
def test_a_delete_that_requires_emptiness_ends_an_empty_namespace(events: list[Event]) -> None:
    state = folded(MADE, *events)
    (change,) = fold(state, [namespace_delete(9, LIFE, flags=REQUIRE_EMPTY, operations=(operation(9),))])
    assert [settled.verdict for _, settled in change.settled] == [Verdict.CHANGED]
    assert not namespace(state).is_live


def test_a_forced_delete_ends_a_namespace_with_its_topics() -> None:
    state = folded(MADE, BORN, namespace_delete(3, LIFE))
    assert (namespace(state).is_live, topic(state).is_live, state.topics) == (False, False, {})


def test_a_tenant_has_a_chain_of_versions_of_its_own() -> None:
    state = folded(tenant_put(1), tenant_put(2, an_id(1)))
    assert has_no_effect(state, tenant_put(3, an_id(1)))
    assert state.tenants["public"].version == an_id(2)
    end = event(4, Kind.DELETE, AggregateKind.TENANT, "public", an_id(2))
    fold(state, [end])
    assert (state.tenants["public"].is_live, state.tenants["public"].version) == (False, an_id(4))


def test_a_tenant_a_namespace_and_a_topic_of_equal_versions_do_not_touch_each_other() -> None:
    state = folded(tenant_put(1, name="a"), namespace_put(1, name="a/b"))
    fold(state, [topic_put(1, LIFE, name="persistent://a/b/c"), tenant_put(2, an_id(1), name="a")])
    assert (state.namespaces["a/b"].version, state.current(AggregateKind.TOPIC, "persistent://a/b/c").version) == (
        LIFE,
        LIFE,
    )


@pytest.mark.parametrize(
    "stray",
    [
        namespace_put(2, name="acme/pay"),
        tenant_put(2, name="acme"),
        topic_put(2, LIFE, name="persistent://acme/pay/orders"),
    ],
    ids=lambda stray: stray.name,
)
def test_an_event_in_the_wrong_partition_has_no_effect(stray: Event) -> None:
    right = next(n for n in range(64) if has_effect(stray, n))
    assert [n for n in range(64) if has_effect(stray, n)] == [right]


def has_effect(stray: Event, partition: int) -> bool:
    """Return whether `stray` belongs to `partition` of 64."""
    return empty_state(partition, 64).apply(0, stray).outcome is not Outcome.NO_OP


@pytest.mark.parametrize(
    "strange",
    [
        BORN._replace(kind=0),
        BORN._replace(kind=7),
        BORN._replace(kind=255),
        BORN._replace(kind=Kind.BARRIER),
        BORN._replace(kind=Kind.DIGEST),
        BORN._replace(kind=Kind.HEADER),
        BORN._replace(aggregate_kind=AggregateKind.NONE),
        BORN._replace(aggregate_kind=4),
        BORN._replace(level=0),
        BORN._replace(level=2),
        BORN._replace(name="orders"),
        BORN._replace(name="http://public/default/orders"),
        BORN._replace(name=""),
        namespace_put(2, name="public"),
        namespace_put(2, name="a/b/c"),
        namespace_put(2, name=""),
        tenant_put(2, name="public/x"),
        tenant_put(2, name=""),
        event(2, Kind.LEVEL, AggregateKind.NONE, "")._replace(level=2),
    ],
    ids=lambda strange: f"{strange.kind}-{strange.aggregate_kind}-{strange.level}-{strange.name}",
)
def test_unknown_kinds_levels_and_shapes_are_no_ops(strange: Event) -> None:
    state = folded(MADE)
    assert has_no_effect(state, strange)
    fold(state, [BORN])
    assert topic(state).version == an_id(2)


def test_garbage_only_moves_the_position() -> None:
    state = folded(MADE, None, BORN)
    assert state.position == 3
    assert state.digest() == folded(MADE, BORN).digest()


def test_a_level_that_this_version_does_not_know_stops_before_the_record() -> None:
    state = folded(MADE, BORN)
    before = state.digest()
    with pytest.raises(LevelUnsupported) as caught:
        state.apply(2, event(3, Kind.LEVEL, AggregateKind.NONE, ""))
    assert caught.value.values == {"partition": 0, "offset": 2}
    assert (state.position, state.level, state.digest()) == (2, 1, before)


def test_a_level_that_is_known_makes_events_of_the_old_one_no_ops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("topicfold.state.fold.SUPPORTED_LEVEL", 2)
    state = folded(MADE, BORN, event(3, Kind.LEVEL, AggregateKind.NONE, ""))
    assert state.level == 2
    assert has_no_effect(state, topic_put(4, LIFE, an_id(2)))
    assert has_no_effect(state, event(5, Kind.LEVEL, AggregateKind.NONE, ""))
    assert state.apply(5, topic_put(6, LIFE, an_id(2), level=2)).outcome is Outcome.ACCEPTED


def test_the_verdict_does_not_read_the_payload_and_keeps_it_raw() -> None:
    state = folded(MADE, topic_put(2, LIFE, payload=b"\xde\xad", operations=(operation(9),)))
    assert (topic(state).payload, topic(state).version) == (b"\xde\xad", an_id(2))
    assert list(state.topics[NAMESPACE].undecodable) == [0]
    fold(state, [topic_put(3, LIFE, an_id(2), labels={"a": "b"})])
    assert (list(state.topics[NAMESPACE].undecodable), state.topics[NAMESPACE].labels(0)) == ([], {"a": "b"})


def test_the_etag_names_the_last_operation_of_the_group_that_changed_the_record() -> None:
    group = (operation(8), operation(9), operation(10, Verdict.UNCHANGED), operation(11, Verdict.TOO_MANY_LABELS))
    (_, change) = fold(state := empty_state(), [MADE, topic_put(2, LIFE, operations=group)])
    assert topic(state).etag == Etag(an_id(2), 2)
    assert [settled.etag.place for _, settled in change.settled] == [1, 2, 2, 2]


def test_events_that_change_nothing_move_the_version_and_leave_the_etag() -> None:
    state = folded(MADE, topic_put(2, LIFE, operations=(operation(8),)))
    fold(state, [topic_put(3, LIFE, an_id(2), operations=(operation(9, Verdict.UNCHANGED),))])
    assert (topic(state).version, topic(state).etag) == (an_id(3), Etag(an_id(2), 1))


def test_operations_of_accepted_events_are_remembered_and_those_of_rejected_ones_are_not() -> None:
    state = folded(MADE, topic_put(2, LIFE, operations=(operation(8), operation(9, Verdict.PRECONDITION_FAILED))))
    fold(state, [topic_put(3, LIFE, operations=(operation(10),))])
    found = [state.operations.get(an_id(number)) for number in (8, 9, 10)]
    assert [each and each.verdict for each in found] == [Verdict.CHANGED, Verdict.PRECONDITION_FAILED, None]


def test_an_operation_keeps_the_verdict_it_got_first() -> None:
    state = folded(MADE, topic_put(2, LIFE, operations=(operation(8),)))
    fold(state, [topic_put(3, LIFE, an_id(2), operations=(operation(8, Verdict.UNCHANGED),))])
    assert state.operations.get(an_id(8)) == (Verdict.CHANGED, Etag(an_id(2), 1), bytes(8))


def test_an_event_twice_in_the_log_counts_once() -> None:
    state = folded(MADE, BORN)
    for again in (MADE, BORN, BORN):
        assert has_no_effect(state, again)


def test_what_is_not_there_is_absent_in_every_spelling() -> None:
    state = folded(MADE)
    for kind, name in ((1, "x"), (2, "x/y"), (3, "persistent://x/y/z"), (3, TOPIC), (3, "orders"), (0, "")):
        assert state.current(kind, name).version == GENESIS


@pytest.mark.parametrize("by_client", [True, False])
def test_the_digest_covers_both_rings(by_client: bool) -> None:
    refused = [topic_put(2, LIFE, operations=(operation(n, Verdict.UNCHANGED, by_client=by_client),)) for n in (8, 9)]
    assert folded(MADE, refused[0]).digest() != folded(MADE, refused[1]).digest()


def test_the_digest_covers_the_level() -> None:
    state, raised = folded(MADE), folded(MADE)
    raised.level = 2
    assert state.digest() != raised.digest()


def test_an_event_whose_id_is_the_mark_for_none_is_garbage() -> None:
    state = folded()
    assert has_no_effect(state, namespace_put(0, name="public/zeros"))
    assert "public/zeros" not in state.namespaces
