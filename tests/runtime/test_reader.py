"""The reader: every record has one exit, whatever it holds and however it is batched."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from tests.builders import NAMESPACE, an_id, empty_state, event, namespace_put, operation, topic_delete, topic_put
from tests.golden.replay import recorded, started
from tests.state.histories import PARTITION, Log, logs
from topicfold.errors import LevelUnsupported, LogGap, NotReady, OperatorNeeded
from topicfold.log.codec import encode_event
from topicfold.log.payload import decode_indexed
from topicfold.log.port import Entry
from topicfold.model.events import GENESIS, AggregateKind, Event, Kind, partition_of
from topicfold.runtime.reader import Reader
from topicfold.runtime.tracker import Tracker
from topicfold.state import topic_table
from topicfold.state.change import Change, Outcome
from topicfold.state.fold import PartitionState
from topicfold.state.indexed import Indexed
from topicfold.state.invariants import check
from topicfold.state.operations import Operations


def entries(*values: bytes, start: int = 0, partition: int = 0) -> list[Entry]:
    """Return records of these values."""
    return [Entry(partition, start + number, value) for number, value in enumerate(values)]


def reader_of(
    *states: PartitionState,
    tracker: Tracker | None = None,
    listeners: list[object] | None = None,
    withheld: list[int] | None = None,
) -> Reader:
    """Return a reader of these partitions, that notes which of them are `withheld`."""
    withhold = ([] if withheld is None else withheld).append
    reader = Reader({state.partition: state for state in states}, tracker or Tracker(), withhold)
    for listener in listeners or ():
        reader.listen(listener)
    return reader


def raising(error: Exception) -> Callable[..., None]:
    """Return what raises `error`, whatever it is called with."""

    def broken(*_: object) -> None:
        raise error

    return broken


MADE = encode_event(namespace_put(1))
BORN = encode_event(topic_put(2, an_id(1)))
LEVEL_2 = encode_event(event(3, Kind.LEVEL, AggregateKind.NONE, ""))


@given(logs, st.data())
def test_any_split_into_batches_and_any_repetition_gives_the_same_digest(log: Log, data: st.DataObject) -> None:
    values = [b"" if record is None else encode_event(record) for record in log]
    whole, split = (reader_of(started()) for _ in range(2))
    whole.deliver(entries(*values, partition=PARTITION))
    position = 0
    while position < len(values):
        end = data.draw(st.integers(position + 1, len(values)))
        again = data.draw(st.integers(max(0, position - 3), position))
        split.deliver(entries(*values[again:end], start=again, partition=PARTITION))
        position = end
    assert split.states[PARTITION].digest() == whole.states[PARTITION].digest()
    assert split.counts == whole.counts
    assert check(whole.states[PARTITION]) == check(split.states[PARTITION]) == []


def test_garbage_is_counted_and_stops_nothing() -> None:
    reader = reader_of(empty_state())
    noise = [b"", b"\x00" * 100, b"TFE1", b"TFE1" + b"\xff" * 200, MADE[:-1], MADE + b"x", b"{}" * 50]
    reader.deliver(entries(MADE, *noise, BORN))
    assert reader.counts == {Outcome.ACCEPTED: 2, Outcome.GARBAGE: len(noise)}
    assert reader.garbage == {0: (len(noise), len(noise))}
    assert (reader.faults, reader.states[0].position) == ({}, 9)


def test_a_flood_of_garbage_is_logged_by_where_it_begins_and_ten_times_as_much_later() -> None:
    reader = reader_of(empty_state())
    with capture_logs() as lines:
        reader.deliver(entries(MADE, *[b"noise"] * 120))
    told = [(line["partition"], line["offset"], line["records"]) for line in lines if line["event"] == "garbage_in_log"]
    assert told == [(0, 1, 1), (0, 10, 10), (0, 100, 100)]


@given(st.lists(st.binary(max_size=200), max_size=20))
def test_any_values_are_folded_without_a_fault(values: list[bytes]) -> None:
    reader = reader_of(empty_state())
    reader.deliver(entries(*values))
    assert (reader.faults, reader.states[0].position, reader.counts.total()) == ({}, len(values), len(values))


def test_every_record_of_the_recorded_log_is_counted_once() -> None:
    reader = reader_of(started())
    reader.deliver(entries(*recorded(), partition=PARTITION))
    assert reader.counts.total() == len(recorded())


def test_records_below_the_position_are_dropped() -> None:
    reader = reader_of(empty_state())
    reader.deliver(entries(MADE, BORN))
    reader.deliver(entries(b"another", b"past"))
    assert reader.counts == {Outcome.ACCEPTED: 2}


def test_a_gap_stops_the_partition_before_it() -> None:
    reader = reader_of(empty_state())
    reader.deliver([*entries(MADE), *entries(BORN, start=2), *entries(BORN, start=1)])
    assert isinstance(reader.faults[0], LogGap)
    assert reader.faults[0].values == {"partition": 0, "expected": 1, "found": 2}
    assert (reader.states[0].position, len(reader.states[0].topics[NAMESPACE])) == (1, 0)


def test_a_fault_of_one_partition_leaves_the_others_alone() -> None:
    reader = reader_of(empty_state(0, 64), empty_state(1, 64))
    reader.deliver([Entry(0, 5, b""), Entry(1, 0, b""), Entry(0, 0, b""), Entry(1, 1, b"")])
    assert (list(reader.faults), reader.states[0].position, reader.states[1].position) == ([0], 0, 2)


def test_a_level_that_is_not_known_stops_the_partition_at_that_record() -> None:
    reader = reader_of(empty_state())
    reader.deliver(entries(MADE, LEVEL_2, BORN))
    assert isinstance(reader.faults[0], LevelUnsupported)
    assert (reader.states[0].position, reader.counts) == (1, {Outcome.ACCEPTED: 1})
    assert reader.states[0].namespaces[NAMESPACE].is_live


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ZeroDivisionError("by zero"), "failed at offset 1: ZeroDivisionError('by zero')"),
        (MemoryError(), "failed at offset 1: not enough memory"),
    ],
)
def test_a_fold_that_fails_skips_nothing_stops_the_partition_and_has_it_withheld(
    error: Exception, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    state, withheld = empty_state(), []
    monkeypatch.setattr(Operations, "add", raising(error))
    reader = reader_of(state, withheld=withheld)
    reader.deliver(entries(b"earlier", encode_event(namespace_put(1, operations=(operation(1),))), b"later"))
    assert type(reader.faults[0]) is OperatorNeeded
    assert reader.faults[0].reason == f"folding {told}"
    assert (state.position, reader.counts) == (1, {Outcome.GARBAGE: 1})
    assert withheld == [0]


def test_where_topics_cannot_be_indexed_their_partition_is_withheld_and_no_other() -> None:
    mine, withheld = partition_of(NAMESPACE, 2), []
    broken, sound = PartitionState(mine, 2, decode=raising(MemoryError())), empty_state(1 - mine, 2)
    reader = reader_of(broken, sound, withheld=withheld)
    born = topic_put(2, an_id(1), operations=(operation(2),))
    reader.deliver([*entries(MADE, encode_event(born), partition=mine), Entry(1 - mine, 0, b"")])
    assert [(each, fault.reason) for each, fault in reader.faults.items()] == [
        (mine, "storing failed in the batch that ends at offset 1: not enough memory")
    ]
    assert withheld == [mine]


def test_what_could_not_be_stored_is_not_tried_again_by_who_asks_for_a_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    state = empty_state()
    reader = reader_of(state)
    monkeypatch.setattr(topic_table, "hash_of", raising(ZeroDivisionError("by zero")))
    reader.deliver(entries(MADE, encode_event(topic_put(2, an_id(1)))))
    assert reader.faults[0].reason == "storing failed in the batch that ends at offset 1: ZeroDivisionError('by zero')"
    assert state.mark().position == 2


def test_a_topic_that_is_changed_several_times_in_a_batch_is_indexed_once_as_it_is_then() -> None:
    decoded = []

    def decode(schema: int, payload: bytes) -> Indexed | None:
        decoded.append(payload)
        return decode_indexed(schema, payload)

    def labelled(number: int, team: str) -> Event:
        base = an_id(number - 1) if number > 2 else GENESIS
        return topic_put(number, an_id(1), base, labels={"team": team}, operations=(operation(number),))

    state = PartitionState(0, 1, decode=decode)
    changes = [labelled(2, "pay"), labelled(3, "ship"), labelled(4, "ship")]
    reader_of(state).deliver(entries(MADE, *map(encode_event, changes)))
    assert decoded == [changes[-1].payload]
    assert [list(state.topics[NAMESPACE].matching({"team": team})) for team in ("pay", "ship")] == [[], [0]]
    reader_of(state).deliver(entries(encode_event(labelled(5, "ship")), start=4))
    assert len(decoded) == 1
    assert check(state) == []


def test_a_topic_without_payload_is_indexed_anew_where_it_ends_or_begins_though_its_payload_stays_the_same() -> None:
    state = empty_state()
    empty = topic_put(2, an_id(1))._replace(payload_schema=0, payload=b"")
    reader_of(state).deliver(entries(MADE, encode_event(empty)))
    assert list(state.topics[NAMESPACE].undecodable) == [0]
    reader_of(state).deliver(entries(encode_event(topic_delete(3, an_id(1), an_id(2))), start=2))
    assert list(state.topics[NAMESPACE].undecodable) == check(state) == []
    again = empty._replace(event_id=an_id(4), base=an_id(3))
    reader_of(state).deliver(entries(encode_event(again), start=3))
    assert list(state.topics[NAMESPACE].undecodable) == [0]
    assert check(state) == []


def test_where_somebody_could_not_be_told_of_a_batch_its_partitions_are_withheld() -> None:
    def forgets(partition: int, change: Change) -> None:
        raise MemoryError

    told, withheld = [], []
    states = [empty_state(number, 64) for number in range(3)]
    reader = reader_of(*states, listeners=[forgets, lambda *change: told.append(change)], withheld=withheld)
    reader.deliver([Entry(0, 0, b""), Entry(2, 0, b"")])
    reader.deliver([Entry(0, 1, b""), Entry(1, 0, b"")])
    assert sorted(withheld) == sorted(reader.faults) == [0, 1, 2]
    place = "in the batch that ends at offset 0"
    assert reader.faults[2].reason == f"telling of changes failed {place}: not enough memory"
    assert ([state.position for state in states], told) == ([1, 1, 1], [])


def test_the_first_fault_is_the_one_that_is_told() -> None:
    reader = reader_of(empty_state(0, 2), empty_state(1, 2))
    reader.stop(LogGap("first"), 1)
    reader.stop(LogGap("second"), None)
    assert {partition: fault.reason for partition, fault in reader.faults.items()} == {0: "second", 1: "first"}


async def test_everybody_is_told_after_the_whole_batch_is_folded_first_the_tracker() -> None:
    tracker, state, told = Tracker(), empty_state(), []

    def listen(partition: int, change: Change) -> None:
        told.append((partition, change.event.event_id, state.position, waits[change.event.event_id].done()))

    waits = {an_id(number): tracker.expect_event(0, an_id(number)) for number in (1, 2)}
    position = asyncio.create_task(tracker.wait_for(0, 2, 0, None))
    await asyncio.sleep(0)
    reader_of(state, tracker=tracker, listeners=[listen]).deliver(entries(MADE, BORN))
    assert told == [(0, an_id(1), 2, True), (0, an_id(2), 2, True)]
    await position


async def test_a_stopped_partition_completes_nobody() -> None:
    tracker = Tracker()
    reader = reader_of(empty_state(), tracker=tracker)
    wait = asyncio.create_task(tracker.wait_for(0, 1, 0, None))
    await asyncio.sleep(0)
    reader.stop(LogGap("gap"), 0)
    reader.deliver(entries(MADE))
    await asyncio.sleep(0)
    assert not wait.done()
    tracker.close()
    with pytest.raises(NotReady):
        await wait
