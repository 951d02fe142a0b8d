"""Updates that fail when they are run again, though an earlier attempt of them may still be accepted."""

from __future__ import annotations

import asyncio
from itertools import cycle

import pytest
from structlog.testing import capture_logs

from tests.memory_log import MemoryStore
from tests.runtime.nodes import ORDERS, Node, running, turns
from topicfold.errors import InvalidRequest, LogUnavailable, NotReady, OutcomeUnknown, Overloaded, PolicyUnmet, TooLarge
from topicfold.log.port import Failed, LogDenied, LogFull, SettingProblem
from topicfold.model.records import NamespaceRecord, TopicRecord
from topicfold.model.updates import Postponed
from topicfold.runtime.asking import Written
from topicfold.state.fold import PartitionState


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("topicfold.runtime.writing.updates.RETRY_AFTER_SECONDS", 0.0)


async def sent_and_then_failing(
    orders: Node, error: Exception, seconds: float = 5.0, **asked: str
) -> asyncio.Task[Written]:
    """Return a change whose first attempt is on its way, seemingly lost, and whose updater raises from then on."""
    runs = 0

    def updater(old: TopicRecord) -> TopicRecord:
        nonlocal runs
        runs += 1
        if runs > 1:
            raise error
        return old.with_labels({"team": "pay"})

    def hold_and_deny(partition: int, value: bytes, failed: Failed) -> None:
        orders.log.hold(partition, value, failed)
        orders.log.fate = orders.log.hold
        orders.log.lose_and_say_so(partition, value, failed)

    orders.log.fate = hold_and_deny
    write = asyncio.create_task(orders.writing.change_topic(ORDERS, updater, orders.asked(seconds, **asked)))
    await turns(20)
    assert runs == 2
    return write


@pytest.mark.parametrize("error", [PolicyUnmet("not beside this"), ZeroDivisionError(), Postponed()], ids=repr)
async def test_an_attempt_that_lands_after_all_is_answered_as_done(orders: Node, error: Exception) -> None:
    write = await sent_and_then_failing(orders, error)
    assert not write.done()
    orders.log.release()
    assert (await write).changed
    assert orders.labels() == {"team": "pay"}


@pytest.mark.parametrize("error", [PolicyUnmet("not beside this"), ZeroDivisionError()], ids=repr)
async def test_what_was_told_to_have_failed_never_lands(orders: Node, error: Exception) -> None:
    write = await sent_and_then_failing(orders, error)
    orders.log.held.reverse()
    orders.log.release()
    with pytest.raises(type(error)):
        await write
    await orders.caught_up()
    assert orders.labels() == {}


async def test_what_stays_undecided_is_an_unknown_outcome(orders: Node) -> None:
    write = await sent_and_then_failing(orders, Postponed(), seconds=0.05)
    with pytest.raises(OutcomeUnknown):
        await write


async def test_why_the_log_takes_nothing_is_said_with_the_unknown_outcome_and_once_in_the_journal(orders: Node) -> None:
    def refuse(partition: int, value: bytes, failed: Failed) -> None:
        sentence = next(sentences)
        asyncio.get_running_loop().call_soon(failed, LogUnavailable(f"Kafka refuses: {sentence}", hint="Allow Write."))

    sentences = cycle(["not you", "not you either"])
    orders.log.fate = refuse
    with capture_logs() as said, pytest.raises(OutcomeUnknown, match="not known yet; the log said: Kafka refuses"):
        await orders.writing.set_labels(ORDERS, {"team": "pay"}, orders.asked(0.05))
    [warning] = [each for each in said if each["event"] == "log_takes_nothing"]
    assert (warning["reason"], warning["hint"]) == ("Kafka refuses: not you", "Allow Write.")
    refusal = orders.engine.freshness.refusal
    assert refusal is not None
    assert refusal.hint == "Allow Write."


async def test_that_the_log_takes_nothing_is_said_no_longer_once_it_has_taken_a_change(orders: Node) -> None:
    call_soon = asyncio.get_running_loop().call_soon
    orders.log.fate = lambda partition, value, failed: call_soon(failed, LogUnavailable("no leader"))
    with pytest.raises(OutcomeUnknown):
        await orders.writing.set_labels(ORDERS, {"team": "pay"}, orders.asked(0.05))
    assert orders.engine.freshness.refusal is not None
    orders.log.fate = orders.log.take
    await orders.writing.set_labels(ORDERS, {"team": "pay"}, orders.asked())
    assert orders.engine.freshness.refusal is None


async def test_an_error_under_a_key_is_the_answer_to_it_for_good(orders: Node) -> None:
    asked = {"key": "k", "method": "POST", "actor": "ann"}

    def unmet(old: object) -> TopicRecord:
        raise PolicyUnmet("not beside this")

    with pytest.raises(PolicyUnmet):
        await orders.writing.change_topic(ORDERS, unmet, orders.asked(**asked))
    with pytest.raises(InvalidRequest, match="refused before"):
        await orders.writing.change_topic(ORDERS, lambda old: TopicRecord(1), orders.asked(**asked))
    assert orders.reading.topic(ORDERS).record == TopicRecord()


async def test_what_shares_a_key_is_told_the_same_reason(orders: Node) -> None:
    def unmet(old: object) -> TopicRecord:
        raise PolicyUnmet("not beside this")

    asked = [orders.asked(key="k", method="POST") for _ in range(2)]
    answers = await asyncio.gather(
        *(orders.writing.change_topic(ORDERS, unmet, each) for each in asked), return_exceptions=True
    )
    assert [str(answer) for answer in answers] == ["not beside this"] * 2


async def test_an_attempt_too_large_to_be_sent_again_does_not_say_that_nothing_happened(orders: Node) -> None:
    write = await sent_and_then_failing(orders, ZeroDivisionError())
    orders.log.held[:] = orders.log.held[:1]

    def refuse(partition: int, value: bytes, failed: Failed) -> None:
        raise TooLarge("no event is so large", limit=1)

    orders.log.fate = refuse
    queue = next(iter(orders.engine.updates._queues.values()))
    orders.engine.updates._resend(queue, queue.latest)
    with pytest.raises(OutcomeUnknown):
        await write


async def test_that_the_log_denies_a_change_is_said_at_once_with_what_allows_it(orders: Node) -> None:
    orders.log.fate, tries = orders.log.deny, orders.log.tries
    sent, queued = (
        asyncio.create_task(orders.writing.set_labels(ORDERS, {key: "x"}, orders.asked(60))) for key in ("a", "b")
    )
    with pytest.raises(OutcomeUnknown, match="most likely not in the log: not you") as unknown:
        await sent
    operation = unknown.value.values["operation"]
    assert unknown.value.hint.startswith(f"let it allows it. GET /api/v1/operations/{operation} tells its outcome")
    with pytest.raises(LogDenied, match="not you") as refused:
        await queued
    assert refused.value.hint == "let it"
    assert (len(orders.engine.updates), orders.log.tries) == (0, tries + 1)
    orders.log.fate = orders.log.take
    await orders.label(c="x")
    assert orders.labels() == {"c": "x"}


async def test_what_was_sent_before_the_log_denied_it_may_have_been_let_in(orders: Node) -> None:
    orders.log.fate = orders.log.hold
    sent = asyncio.create_task(orders.writing.set_labels(ORDERS, {"a": "x"}, orders.asked(60)))
    await turns()
    queue = next(iter(orders.engine.updates._queues.values()))
    orders.log.fate = orders.log.deny
    orders.engine.updates._resend(queue, queue.latest)
    with pytest.raises(OutcomeUnknown):
        await sent
    orders.log.release()
    await orders.caught_up()
    assert orders.labels() == {"a": "x"}


async def test_a_full_log_is_said_at_once_and_the_next_change_finds_room(orders: Node) -> None:
    orders.log.fate = orders.log.be_full
    asked = orders.asked(key="k", method="POST")
    with pytest.raises(LogFull, match="no room") as refused:
        await orders.writing.set_labels(ORDERS, {"team": "pay"}, asked)
    assert refused.value.hint == "Make some."
    assert len(orders.engine.updates) == 0
    orders.log.fate = orders.log.take
    assert (await orders.writing.set_labels(ORDERS, {"team": "pay"}, asked)).changed
    assert orders.labels() == {"team": "pay"}


async def test_a_full_log_says_nothing_of_an_attempt_before_it(orders: Node) -> None:
    def hold_then_be_full(partition: int, value: bytes, failed: Failed) -> None:
        orders.log.hold(partition, value, failed)
        orders.log.fate = orders.log.be_full
        orders.log.lose_and_say_so(partition, value, failed)

    orders.log.fate = hold_then_be_full
    first, second = (
        asyncio.create_task(orders.writing.set_labels(ORDERS, {key: "x"}, orders.asked())) for key in ("a", "b")
    )
    await turns(20)
    assert not first.done()
    with pytest.raises(LogFull):
        await orders.writing.set_labels(ORDERS, {"c": "x"}, orders.asked())
    orders.log.release()
    assert (await first).changed
    assert (await second).changed
    assert orders.labels() == {"a": "x", "b": "x"}


async def test_a_log_without_room_is_looked_at_in_the_next_second(orders: Node) -> None:
    full = SettingProblem("disk", "full", "one with room", False, "Make some.")
    orders.log.problems = (full,)
    orders.log.fate = orders.log.be_full
    with pytest.raises(LogFull):
        await orders.writing.set_labels(ORDERS, {"team": "pay"}, orders.asked())
    await orders.engine.freshness.check_settings()
    assert orders.engine.freshness.problems == (full,)


async def test_an_attempt_that_was_lost_is_made_again_once_the_log_can_be_reached(orders: Node) -> None:
    told: list[Failed] = []
    orders.log.fate = lambda partition, value, failed: told.append(failed)
    write = asyncio.create_task(orders.writing.set_labels(ORDERS, {"team": "pay"}, orders.asked()))
    await turns()
    orders.log.is_cut = True
    orders.engine.freshness.on_unavailable(LogUnavailable("gone"))
    [failed] = told
    failed(LogUnavailable("lost"))
    await turns(20)
    assert not write.done()
    orders.log.fate, orders.log.is_cut = orders.log.take, False
    await orders.engine.barriers.ends()
    orders.engine.updates.tick()
    assert (await write).changed


async def test_only_those_who_wait_in_a_partition_that_is_given_up_are_told_so() -> None:
    async with running(MemoryStore(partitions=2)) as node:
        partitions = [node.engine.partition(name) for name in ("public/one", "public/two")]
        assert sorted(partitions) == [0, 1]
        node.log.fate = node.log.hold
        writes = [
            asyncio.create_task(node.writing.create_namespace(name, NamespaceRecord(), node.asked()))
            for name in ("public/one", "public/two")
        ]
        await turns()
        node.engine.updates.give_up(partitions[0])
        with pytest.raises(OutcomeUnknown):
            await writes[0]
        node.log.release()
        assert (await writes[1]).changed


async def test_who_waits_for_a_change_of_which_folding_fails_is_told_so_and_not_that_time_is_up(
    orders: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    def runs_short(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(PartitionState, "fold", runs_short)
    with pytest.raises(OutcomeUnknown, match=r"this node folds partition \d no further"):
        await orders.label(team="pay")
    with pytest.raises(NotReady, match="folding failed at offset"):
        await orders.label(team="pay")


async def test_an_append_that_the_log_cannot_take_just_now_is_made_in_a_moment(
    orders: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(orders.engine.updates, "tick", lambda: None)

    def turn_away(partition: int, value: bytes, failed: Failed) -> None:
        orders.log.fate = orders.log.take
        raise Overloaded("10,000 appends are waiting")

    orders.log.fate = turn_away
    assert (await orders.writing.set_labels(ORDERS, {"team": "pay"}, orders.asked())).changed


async def test_an_event_larger_than_the_log_takes_is_refused_and_the_next_is_written(orders: Node) -> None:
    def refuse(partition: int, value: bytes, failed: Failed) -> None:
        orders.log.fate = orders.log.take
        raise TooLarge("above the topic's limit")

    orders.log.fate = refuse
    with pytest.raises(TooLarge):
        await orders.writing.set_labels(ORDERS, {"team": "pay"}, orders.asked())
    assert (await orders.writing.set_labels(ORDERS, {"team": "ops"}, orders.asked())).changed
    assert orders.labels() == {"team": "ops"}
