"""Updates: what each does to a record, to none, and to a record that is already as wanted."""

from __future__ import annotations

import pytest

from topicfold.model import updates
from topicfold.model.events import Verdict
from topicfold.model.labels import LabelRules
from topicfold.model.records import NamespaceRecord, Pending, Record, Step, TenantRecord, TopicRecord, frozen
from topicfold.model.updates import Refuse, Updater

TOPIC = TopicRecord(labels=frozen({"team": "pay", "tier": "gold"}))
PARTITIONED = TopicRecord(partitions=3)


def verdict(updater: Updater, old: Record | None) -> Verdict | None:
    """Return why the update refuses, None where it does not."""
    new = updater(old)
    return new.verdict if isinstance(new, Refuse) else None


def test_creating_makes_a_record_only_where_none_is() -> None:
    create = updates.create(TOPIC, "topic orders")
    assert create(None) == TOPIC
    assert verdict(create, PARTITIONED) is Verdict.ALREADY_EXISTS


def test_ensuring_leaves_a_live_record_as_it_is() -> None:
    ensure = updates.ensure(TenantRecord())
    assert ensure(None) == TenantRecord()
    assert ensure(TenantRecord(("admin",))) == TenantRecord(("admin",))


def test_deleting_what_is_missing_is_refused() -> None:
    missing = updates.namespace_missing("a/b")
    assert updates.delete(missing)(None) is missing
    assert updates.delete(missing)(NamespaceRecord()) is None


@pytest.mark.parametrize(
    ("record", "is_partitioned", "expected"),
    [
        (TOPIC, None, None),
        (PARTITIONED, None, None),
        (TOPIC, False, None),
        (PARTITIONED, True, None),
        (TOPIC, True, Verdict.WRONG_KIND),
        (PARTITIONED, False, Verdict.WRONG_KIND),
        (None, None, Verdict.TOPIC_NOT_FOUND),
    ],
)
def test_a_topic_is_deleted_as_what_it_is(
    record: TopicRecord | None, is_partitioned: bool | None, expected: Verdict | None
) -> None:
    assert verdict(updates.delete_topic("orders", is_partitioned=is_partitioned), record) == expected


@pytest.mark.parametrize(
    ("record", "wanted", "expected"),
    [
        (PARTITIONED, 3, None),
        (PARTITIONED, 2, Verdict.FEWER_PARTITIONS),
        (TOPIC, 2, Verdict.WRONG_KIND),
        (None, 2, Verdict.WRONG_KIND),
    ],
)
def test_partitions_only_grow_and_only_where_there_are_some(
    record: TopicRecord | None, wanted: int, expected: Verdict | None
) -> None:
    assert verdict(updates.grow_partitions("orders", wanted), record) == expected
    assert updates.grow_partitions("orders", 5)(PARTITIONED) == TopicRecord(partitions=5)


def test_setting_labels_keeps_the_others_and_everything_else() -> None:
    old = TopicRecord(3, "kafka", frozen({"p": "1"}), TOPIC.labels)
    new = updates.set_labels("orders", {"tier": "lead", "a": "b"}, LabelRules())(old)
    assert new == TopicRecord(3, "kafka", frozen({"p": "1"}), frozen({"team": "pay", "tier": "lead", "a": "b"}))


def test_labels_may_not_become_more_than_the_limit_but_may_change_beyond_it() -> None:
    rules = LabelRules(max_labels=1)
    assert verdict(updates.set_labels("orders", {"new": "x"}, rules), TOPIC) is Verdict.TOO_MANY_LABELS
    assert verdict(updates.set_labels("orders", {"tier": "x"}, rules), TOPIC) is None


@pytest.mark.parametrize(
    ("keys", "left"),
    [(["team"], {"tier": "gold"}), (["absent"], {"team": "pay", "tier": "gold"}), ([], TOPIC.labels), (None, {})],
)
def test_labels_are_taken_off_by_key_or_all_at_once(keys: list[str] | None, left: dict[str, str]) -> None:
    new = updates.remove_labels("orders", keys)(TOPIC)
    assert isinstance(new, TopicRecord)
    assert new.labels == left


@pytest.mark.parametrize(
    "updater", [updates.set_labels("orders", {"a": "b"}, LabelRules()), updates.remove_labels("orders", None)]
)
def test_labels_of_a_missing_topic_are_refused(updater: Updater) -> None:
    assert verdict(updater, None) is Verdict.TOPIC_NOT_FOUND


def test_an_updater_cannot_reach_the_record_it_is_given() -> None:
    with pytest.raises(TypeError):
        TOPIC.labels["team"] = "other"  # type: ignore[index]
    with pytest.raises(AttributeError):
        TOPIC.partitions = 7  # type: ignore[misc]


def test_a_frozen_copy_does_not_follow_the_mapping_it_was_made_from() -> None:
    pairs = {"b": "1", "a": "2"}
    copy = frozen(pairs)
    pairs["c"] = "3"
    assert list(copy.items()) == [("a", "2"), ("b", "1")]


def test_a_tenant_is_replaced_only_where_it_is() -> None:
    replace = updates.replace_tenant("acme", TenantRecord(("root",)))
    assert replace(TenantRecord()) == TenantRecord(("root",))
    assert verdict(replace, None) is Verdict.TENANT_NOT_FOUND


def test_properties_are_merged_and_taken_off_one_by_one() -> None:
    both = updates.set_properties("t", {"a": "1", "b": "2"})(TopicRecord(properties=frozen({"b": "3"}), partitions=2))
    assert both == TopicRecord(properties=frozen({"a": "1", "b": "2"}), partitions=2)
    assert updates.remove_property("t", "a")(both) == TopicRecord(properties=frozen({"b": "2"}), partitions=2)
    assert updates.remove_property("t", "nosuch")(both) == both
    for updater in (updates.set_properties("t", {"a": "1"}), updates.remove_property("t", "a")):
        assert verdict(updater, None) is Verdict.TOPIC_NOT_FOUND


def test_a_topic_whose_end_is_decided_is_gone_for_whoever_would_change_it() -> None:
    update = updates.unless_ending("orders", updates.set_labels("orders", {"tier": "gold"}, LabelRules()))
    ending = TopicRecord(pending=Pending(Step.END, "id"))
    refused = update(ending)
    assert isinstance(refused, Refuse)
    assert refused.verdict is Verdict.TOPIC_NOT_FOUND
    for pending in (None, Pending(Step.MAKE)):
        assert update(TopicRecord(pending=pending)) == TopicRecord(pending=pending, labels={"tier": "gold"})
