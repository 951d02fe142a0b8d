"""One group commit: updates in order, each on what those before it produced, none harmed by another."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from tests.builders import NAMESPACE, TOPIC, an_id, operation, topic_put
from topicfold.errors import NewerSchema, PolicyUnmet, Undecodable
from topicfold.log.codec import MAX_EVENT_BYTES, encode_audit, encode_event
from topicfold.log.payload import MAX_PAYLOAD_BYTES, decode_topic, encode_record
from topicfold.model import updates
from topicfold.model.events import PAYLOAD_SCHEMA, AggregateKind, Audit, AuditTrail, Verdict
from topicfold.model.labels import LabelRules
from topicfold.model.records import Record, TopicRecord, frozen
from topicfold.model.updates import Postponed, Refuse, Updater
from topicfold.runtime.writing.group_commit import MAX_GROUP, GroupCommit, run_group
from topicfold.runtime.writing.update import Target, Update
from topicfold.state.aggregate import ABSENT, Aggregate, Etag
from topicfold.wire.headers import MAX_CHANGE_REASON_LENGTH

TARGET = Target(AggregateKind.TOPIC, TOPIC, NAMESPACE, 0)
EVENT = an_id(50)
LIVE = Aggregate(an_id(1), True, Etag(an_id(1), 1), 1, encode_record(TopicRecord(labels={"team": "pay"})), 7)
RAW = LIVE._replace(payload=b"\xff")


def update(
    updater: Updater, target: Target = TARGET, *, by_client: bool = False, reason: str = "", **fields: object
) -> Update:
    """Return an update in the queue."""
    settled = asyncio.get_running_loop().create_future()
    return Update(target, operation(9, by_client=by_client), updater, Audit("", reason, ""), settled, **fields)


def labels(**pairs: str) -> Updater:
    """Return the update that sets these labels."""
    return updates.set_labels("orders", pairs, LabelRules())


def failing(old: Record | None) -> Record:
    """Fail, as an update with a defect does."""
    raise ZeroDivisionError


def run(*waiting: Update, on: Aggregate = LIVE) -> GroupCommit:
    """Run these updates as one group."""
    return run_group(TARGET, waiting, on, EVENT)


def record_of(group: GroupCommit) -> TopicRecord | None:
    """Return the record that the group leaves."""
    return decode_topic(group.schema, group.payload)


async def test_each_update_sees_what_those_before_it_produced() -> None:
    group = run(update(labels(a="1")), update(updates.remove_labels("orders", ["a"])), update(labels(b="2")))
    assert record_of(group).labels == {"team": "pay", "b": "2"}
    assert group.verdicts == [Verdict.CHANGED] * 3
    assert group.etags == [Etag(EVENT, 1), Etag(EVENT, 2), Etag(EVENT, 3)]


async def test_creating_deleting_and_creating_again_fit_in_one_group() -> None:
    create = updates.create(TopicRecord(labels=frozen({"new": "1"})), "topic orders")
    group = run(update(create), update(updates.delete_topic("orders", is_partitioned=None)), update(create), on=ABSENT)
    assert (group.verdicts, group.is_live) == ([Verdict.CHANGED] * 3, True)
    assert record_of(group).labels == {"new": "1"}


async def test_a_group_that_ends_in_a_delete_carries_no_payload() -> None:
    group = run(update(labels(a="1")), update(updates.delete_topic("orders", is_partitioned=None)))
    assert (group.is_live, group.schema, group.payload, group.changes) == (False, 0, b"", True)


async def test_an_update_that_changes_nothing_is_unchanged_and_leaves_bytes_and_etag() -> None:
    group = run(update(labels(team="pay")))
    assert (group.verdicts, group.etags, group.payload) == ([Verdict.UNCHANGED], [LIVE.etag], LIVE.payload)
    assert not group.must_be_logged


@pytest.mark.parametrize("updater", [labels(team="pay"), updates.create(TopicRecord(), "topic orders")])
async def test_a_no_or_unchanged_of_a_clients_key_must_be_logged(updater: Updater) -> None:
    group = run(update(updater), update(updater, by_client=True))
    assert group.must_be_logged
    assert not group.changes


async def test_a_no_of_an_update_in_an_undecided_event_must_be_logged() -> None:
    assert run(update(labels(team="pay"), in_attempt=True)).must_be_logged


async def test_a_refused_update_does_not_keep_the_next_one_back() -> None:
    refused = update(updates.create(TopicRecord(), "topic orders"))
    group = run(refused, update(labels(a="1")))
    assert group.verdicts == [Verdict.ALREADY_EXISTS, Verdict.CHANGED]
    assert group.etags == [LIVE.etag, Etag(EVENT, 2)]
    assert refused.refusal == Refuse(Verdict.ALREADY_EXISTS, "topic orders exists already")


async def test_if_match_is_compared_with_what_the_updates_before_produced() -> None:
    first, stale = update(labels(a="1"), if_match=str(LIVE.etag)), update(labels(b="2"), if_match=str(LIVE.etag))
    chained = update(labels(c="3"), if_match=str(Etag(EVENT, 1)))
    group = run(first, stale, chained)
    assert group.verdicts == [Verdict.CHANGED, Verdict.PRECONDITION_FAILED, Verdict.CHANGED]
    assert record_of(group).labels == {"team": "pay", "a": "1", "c": "3"}


@pytest.mark.parametrize("if_match", ["*", str(LIVE.etag)])
async def test_a_fitting_if_match_lets_an_update_through(if_match: str) -> None:
    assert run(update(labels(a="1"), if_match=if_match)).verdicts == [Verdict.CHANGED]


@pytest.mark.parametrize("if_match", ["*", str(LIVE.etag)])
async def test_if_match_does_not_let_a_record_be_made_where_none_is(if_match: str) -> None:
    group = run(update(updates.create(TopicRecord(), "topic orders"), if_match=if_match), on=ABSENT)
    assert group.verdicts == [Verdict.PRECONDITION_FAILED]


async def test_an_update_that_fails_fails_alone() -> None:
    bad, good = update(failing), update(labels(a="1"))
    group = run(bad, good)
    assert (group.updates, record_of(group).labels["a"]) == ([good], "1")
    with pytest.raises(ZeroDivisionError):
        bad.settled.result()


def unmet(old: Record | None) -> Record:
    """Refuse by an error, as an update does that meets what it cannot know before."""
    raise PolicyUnmet("not beside this")


def undecodable(old: Record | None) -> Record:
    """Refuse by the error that something around the record cannot be read."""
    raise Undecodable("its namespace cannot be read")


@pytest.mark.parametrize(
    ("updater", "flags", "verdict"),
    [
        (failing, {"in_attempt": True}, Verdict.FAILED),
        (unmet, {"in_attempt": True}, Verdict.FAILED),
        (unmet, {"by_client": True}, Verdict.FAILED),
        (undecodable, {"by_client": True}, Verdict.UNDECODABLE),
    ],
    ids=["a defect in flight", "an error in flight", "an error under a key", "what cannot be read under a key"],
)
async def test_an_update_that_fails_is_refused_by_an_event_where_an_earlier_one_may_be_accepted(
    updater: Updater, flags: dict[str, bool], verdict: Verdict
) -> None:
    bad, good = update(updater, **flags), update(labels(a="1"))
    group = run(bad, good)
    assert group.must_be_logged
    assert (group.verdicts, record_of(group).labels["a"]) == ([verdict, Verdict.CHANGED], "1")
    assert not bad.settled.done()
    assert isinstance(bad.failure, ZeroDivisionError | PolicyUnmet | Undecodable)


async def test_what_cannot_be_told_yet_is_left_waiting_while_an_earlier_attempt_is_undecided() -> None:
    def postponed(old: Record | None) -> Record:
        raise Postponed

    sent, new = update(postponed, in_attempt=True), update(postponed, by_client=True)
    assert run(sent, new).updates == []
    assert (sent.settled.done(), new.settled.done()) == (False, True)
    new.settled.exception()


@pytest.mark.parametrize("properties", [{"p": "\ud800"}, {"p": 3}], ids=["not utf-8", "no text"])
async def test_an_update_whose_record_cannot_be_written_fails_alone(properties: dict[str, str]) -> None:
    bad = update(lambda old: TopicRecord(properties=properties))
    good = update(updates.remove_labels("orders", None))
    group = run(good, bad)
    assert (group.updates, record_of(group)) == ([good], TopicRecord())
    assert bad.settled.exception() is not None


async def test_a_record_that_grows_too_large_is_refused_alone() -> None:
    huge = TopicRecord(properties={"p": "x" * MAX_PAYLOAD_BYTES})
    group = run(update(labels(a="1")), update(lambda old: huge), update(labels(b="2")))
    assert group.verdicts == [Verdict.CHANGED, Verdict.RECORD_TOO_LARGE, Verdict.CHANGED]
    assert record_of(group).labels == {"team": "pay", "a": "1", "b": "2"}


async def test_an_update_that_must_travel_alone_does() -> None:
    alone = update(updates.delete_topic("orders", is_partitioned=None), alone=True)
    before, after = update(labels(a="1")), update(labels(b="2"))
    assert run(before, alone, after).updates == [before]
    assert run(alone, after).updates == [alone]


async def test_a_group_has_a_limit() -> None:
    waiting = [update(labels(a=str(number))) for number in range(MAX_GROUP + 5)]
    assert len(run(*waiting).updates) == MAX_GROUP


async def test_a_group_with_the_longest_reasons_and_the_largest_record_fits_in_an_event() -> None:
    huge = TopicRecord(properties={"p": "x" * (MAX_PAYLOAD_BYTES - 100)})
    reason = "\U0001d11e" * MAX_CHANGE_REASON_LENGTH
    waiting = [update(lambda old: huge, reason=reason) for _ in range(MAX_GROUP)]
    group = run(*waiting)
    trail = AuditTrail(tuple(each.audit for each in group.updates), 0, 0)
    done = tuple(each.operation for each in group.updates)
    event = topic_put(50, an_id(1), payload=group.payload, audit=encode_audit(trail), operations=done)
    assert 1 < len(done) < MAX_GROUP
    assert len(encode_event(event)) <= MAX_EVENT_BYTES


async def test_updates_that_are_settled_already_are_left_out() -> None:
    settled = update(labels(a="1"))
    settled.settled.set_result(None)
    assert run(settled).updates == []


async def test_an_unreadable_record_is_changed_by_nobody() -> None:
    group = run(update(labels(a="1"), by_client=True), on=RAW)
    assert group.verdicts == [Verdict.UNDECODABLE]
    assert (group.schema, group.payload, group.is_live) == (RAW.payload_schema, RAW.payload, True)


@pytest.mark.parametrize(
    ("repair", "left"),
    [
        (lambda old: TopicRecord(), TopicRecord()),
        (lambda old: TopicRecord(partitions=3), TopicRecord(partitions=3)),
        (updates.delete_topic("orders", is_partitioned=None), None),
    ],
    ids=["with a blank one", "with another", "by a delete"],
)
async def test_an_unreadable_record_is_repaired_by_a_whole_one_or_a_delete(
    repair: Callable[[Record | None], Record | None], left: TopicRecord | None
) -> None:
    group = run(update(repair, replaces_whole=True), on=RAW)
    assert (group.verdicts, record_of(group)) == ([Verdict.CHANGED], left)


async def test_after_a_repair_the_next_updates_of_the_group_go_on() -> None:
    group = run(update(lambda old: TopicRecord(), replaces_whole=True), update(labels(a="1")), on=RAW)
    assert record_of(group).labels == {"a": "1"}


async def test_a_record_of_a_newer_schema_is_not_touched() -> None:
    waiting = [update(labels(a="1")), update(lambda old: TopicRecord(), replaces_whole=True)]
    group = run(*waiting, on=LIVE._replace(payload_schema=PAYLOAD_SCHEMA + 1))
    assert group.updates == []
    for each in waiting:
        with pytest.raises(NewerSchema):
            each.settled.result()


async def test_a_topics_update_among_those_of_its_namespace_is_refused_and_the_namespace_left_as_it_is() -> None:
    namespace = Target(AggregateKind.NAMESPACE, NAMESPACE, NAMESPACE, 0)
    group = run_group(namespace, [update(labels(a="1"), by_client=True)], ABSENT, EVENT)
    assert (group.verdicts, group.is_live) == ([Verdict.NAMESPACE_NOT_FOUND], False)
