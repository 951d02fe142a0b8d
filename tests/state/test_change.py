"""What a folded record shows to whoever watches topics."""

from __future__ import annotations

from hypothesis import given

from tests.builders import (
    NAMESPACE,
    an_id,
    empty_state,
    fold,
    namespace_delete,
    namespace_put,
    operation,
    topic_delete,
)
from tests.builders import topic_put as put
from tests.state.histories import PARTITION, PARTITIONS, Log, logs
from topicfold.model.events import Event, Verdict
from topicfold.state.change import Effect, NamespaceTurn, TopicChange, TopicDelta, TopicRow

LIFE = an_id(1)
CHANGED = (operation(1),)


def effects(*events: Event) -> list[TopicDelta | NamespaceTurn | None]:
    """Return what each of `events` shows, after a namespace was made."""
    return [shown(change.effect) for change in fold(empty_state(), (namespace_put(1), *events))][1:]


def shown(effect: Effect | None) -> TopicDelta | NamespaceTurn | None:
    """Return what an effect shows, None where there is none."""
    return effect.delta() if isinstance(effect, TopicChange) else effect


def labels_of(row: TopicRow | None) -> dict[str, str] | None:
    """Return the labels that a row shows, None for no topic."""
    return None if row is None else dict(row.labels)


def test_a_change_shows_the_labels_before_and_after() -> None:
    born = put(2, LIFE, labels={"team": "pay"}, operations=CHANGED)
    moved = put(3, LIFE, an_id(2), labels={"team": "ship"}, operations=CHANGED)
    first, second = effects(born, moved)
    assert isinstance(first, TopicDelta)
    assert isinstance(second, TopicDelta)
    assert (labels_of(first.before), labels_of(first.after)) == (None, {"team": "pay"})
    assert (labels_of(second.before), labels_of(second.after)) == ({"team": "pay"}, {"team": "ship"})
    assert (second.key, second.offset, second.after and second.after.offset) == ("orders", 2, 2)


def test_labels_of_a_pair_that_nobody_bears_any_more_stay_readable() -> None:
    born = put(2, LIFE, labels={"team": "pay"}, operations=CHANGED)
    moved = put(3, LIFE, an_id(2), labels={"team": "ship"}, operations=CHANGED)
    other = put(4, LIFE, name=f"persistent://{NAMESPACE}/other", labels={"tier": "gold"}, operations=CHANGED)
    _, second, _ = effects(born, moved, other)
    assert isinstance(second, TopicDelta)
    assert labels_of(second.before) == {"team": "pay"}


def test_an_end_shows_nothing_after() -> None:
    *_, ended = effects(put(2, LIFE, operations=CHANGED), topic_delete(3, LIFE, an_id(2), operations=CHANGED))
    assert isinstance(ended, TopicDelta)
    assert (labels_of(ended.before), ended.after) == ({}, None)


def test_an_event_that_changed_no_record_shows_nothing() -> None:
    unchanged = (operation(2, Verdict.UNCHANGED),)
    *_, logged = effects(put(2, LIFE, operations=CHANGED), put(3, LIFE, an_id(2), operations=unchanged))
    assert logged is None
    assert effects(topic_delete(2, LIFE, an_id(0), operations=(operation(1, Verdict.TOPIC_NOT_FOUND),))) == [None]


def test_other_labels_are_shown_though_the_event_says_that_nothing_changed() -> None:
    unchanged = (operation(2, Verdict.UNCHANGED),)
    for labels in ({"team": "ship"}, {}):
        born = put(2, LIFE, labels={"team": "pay"}, operations=CHANGED)
        *_, other = effects(born, put(3, LIFE, an_id(2), labels=labels, operations=unchanged))
        assert isinstance(other, TopicDelta)
        assert (labels_of(other.before), labels_of(other.after)) == ({"team": "pay"}, labels)


def test_a_rejected_event_shows_nothing() -> None:
    assert effects(put(2, LIFE, an_id(7), operations=CHANGED)) == [None]


def test_a_namespaces_end_and_beginning_are_shown_as_its_turns() -> None:
    ended, begun = effects(namespace_delete(2, LIFE), namespace_put(3, an_id(2)))
    assert ended == NamespaceTurn(NAMESPACE, is_live=False, offset=1)
    assert begun == NamespaceTurn(NAMESPACE, is_live=True, offset=2)


def test_a_namespaces_end_says_whether_topics_ended_with_it() -> None:
    *_, ended = effects(put(2, LIFE, operations=CHANGED), namespace_delete(3, LIFE))
    assert ended == NamespaceTurn(NAMESPACE, is_live=False, offset=2, had_topics=True)
    gone = topic_delete(3, LIFE, an_id(2), operations=CHANGED)
    *_, ended = effects(put(2, LIFE, operations=CHANGED), gone, namespace_delete(4, LIFE))
    assert ended == NamespaceTurn(NAMESPACE, is_live=False, offset=3)


def test_a_change_of_a_namespaces_record_is_no_turn() -> None:
    assert effects(namespace_put(2, LIFE)) == [None]


@given(logs)
def test_what_is_shown_added_up_is_what_lives(log: Log) -> None:
    state = empty_state(PARTITION, PARTITIONS)
    held: dict[str, dict[str, TopicRow]] = {}
    for change in fold(state, log):
        match shown(change.effect):
            case NamespaceTurn(namespace, True):
                held[namespace] = {}
            case NamespaceTurn(namespace):
                del held[namespace]
            case TopicDelta(namespace, key, before, after):
                assert labels_of(held[namespace].pop(key, None)) == labels_of(before)
                held[namespace] |= {} if after is None else {key: after}
    for namespace, table in state.topics.items():
        found = {table.keys[number]: table.shown(number) for number in table}
        assert {key: labels_of(row) for key, row in held[namespace].items()} == {
            key: labels_of(row) for key, row in found.items()
        }
