"""One watcher: start state, what is missing, then whatever comes."""

from __future__ import annotations

import asyncio

import pytest

from tests.runtime.nodes import ORDERS, Node, turns
from tests.runtime.watching.watchers import Watching, quiet, tell
from topicfold.errors import Forbidden, NotReady, TopicfoldError
from topicfold.model.names import parse_topic
from topicfold.model.records import NamespaceRecord, TopicRecord, frozen
from topicfold.model.topic_hash import topic_list_hash
from topicfold.runtime import cut
from topicfold.runtime.watching import watcher, watches
from topicfold.runtime.watching.reset import TOO_OLD
from topicfold.runtime.watching.watcher import Watcher
from topicfold.runtime.watching.watches import Watches
from topicfold.state import finding


def here(node: Node) -> dict[int, int]:
    """Return where the node is."""
    return {partition: state.position for partition, state in node.engine.states.items()}


async def test_a_start_state_ends_in_a_bookmark_and_changes_follow_as_they_come(orders: Node) -> None:
    watching = Watching(orders)
    await watching.up_to_date()
    await orders.label(k="v")
    await orders.writing.delete_topic(ORDERS, orders.asked())
    await quiet(orders)
    assert watching.kinds() == ["ADDED", "BOOKMARK", "MODIFIED", "DELETED"]
    assert watching.frames[1].members["initial"] is True


async def test_what_is_compared_with_a_number_is_prepared_in_turns_and_then_found_as_it_is(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finding, "_STEP", 1)
    monkeypatch.setattr(watches, "SLICE_SECONDS", -1.0)
    for number in range(8):
        record = TopicRecord(labels=frozen({"n": str(number)}))
        await node.writing.create_topic(parse_topic(f"t{number}"), record, node.asked())
    watching = Watching(node, "n>5")
    await turns(3)
    assert watching.frames == []
    await node.writing.set_labels(parse_topic("t0"), {"n": "9"}, node.asked())
    await watching.up_to_date()
    assert sorted(labels["n"] for _, labels in watching.told()) == ["6", "7", "9"]
    assert watching.kinds().count("ADDED") == 3


async def test_without_a_start_state_the_stream_begins_with_where_it_is(orders: Node) -> None:
    watching = Watching(orders, initial=False)
    await watching.up_to_date()
    assert watching.kinds() == ["BOOKMARK"]
    assert "initial" not in watching.frames[0].members


async def test_it_goes_on_after_a_position_and_says_nothing_where_nothing_is_missing(orders: Node) -> None:
    start = here(orders)
    await orders.label(k="v")
    resumed, idle = Watching(orders, since=start), Watching(orders, since=here(orders))
    await asyncio.gather(resumed.up_to_date(), idle.up_to_date())
    assert resumed.told() == [("MODIFIED", {"k": "v"})]
    assert resumed.kinds() == ["MODIFIED"]
    assert idle.kinds() == []


async def test_what_does_not_match_is_passed_with_a_bookmark(orders: Node) -> None:
    start = here(orders)
    await orders.label(k="v")
    watching = Watching(orders, "other", since=start)
    await watching.up_to_date()
    assert [(frame.kind, frame.positions) for frame in watching.frames] == [("BOOKMARK", here(orders))]


async def test_a_label_that_moves_out_and_in_is_told_once_each_time(orders: Node) -> None:
    watching = Watching(orders, "k=v")
    await watching.up_to_date()
    for value in "vwv":
        await orders.label(k=value)
    await quiet(orders)
    assert watching.told() == [("ADDED", {"k": "v"}), ("DELETED", {"k": "v"}), ("ADDED", {"k": "v"})]


async def test_the_start_state_is_one_cut_however_much_changes_while_it_is_written(node: Node) -> None:
    names = [parse_topic(f"t{number}") for number in range(300)]
    for name in names:
        await node.writing.create_topic(name, TopicRecord(labels=frozen({"k": "0"})), node.asked())
    watching = Watching(node, "k")
    while not watching.frames:
        await turns(1)
    for name in reversed(names):
        await node.writing.set_labels(name, {"k": "1"}, node.asked())
    await watching.up_to_date()
    await quiet(node)
    items = [frame for frame in watching.frames if frame.is_item]
    assert len({frame.name for frame in items}) == len(items) == 300
    assert {frame.members["topic"]["labels"]["k"] for frame in items} == {"0"}
    assert sorted(frame.name for frame in watching.frames if frame.kind == "MODIFIED") == sorted(
        frame.name for frame in items
    )


async def test_the_end_of_a_namespace_is_a_reset_and_one_frame_however_many_topics_it_had(orders: Node) -> None:
    live, behind = Watching(orders), Watching(orders, reads=False, capacity=0)
    await live.up_to_date()
    start = here(orders)
    await orders.writing.delete_namespace("public/default", orders.asked(), force=True)
    await orders.writing.create_namespace("public/default", NamespaceRecord(), orders.asked())
    resumed = Watching(orders, since=start)
    behind.pipe.reads_at_once = True
    behind.pipe.read()
    for each in (live, behind, resumed):
        await each.up_to_date()
        reset = each.kinds().index("RESET")
        assert each.frames[reset].members["reason"] == "namespace public/default has ended"
        assert set(each.kinds()[reset + 1 :]) == {"BOOKMARK"}
        assert "DELETED" not in each.kinds()
    assert orders.engine.watches.resets == {"namespace_ended": 3}


async def test_topics_of_the_next_life_come_as_new(orders: Node) -> None:
    watching = Watching(orders)
    await watching.up_to_date()
    await orders.writing.delete_namespace("public/default", orders.asked(), force=True)
    await orders.writing.create_namespace("public/default", NamespaceRecord(), orders.asked())
    await watching.up_to_date()
    await orders.writing.create_topic(ORDERS, TopicRecord(), orders.asked())
    await quiet(orders)
    assert watching.kinds()[-1] == "ADDED"


async def test_a_position_out_of_the_window_is_a_reset_and_a_fresh_start_state(
    orders: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Watches, "is_too_old", lambda self, positions: positions != here(orders))
    start = here(orders)
    await orders.label(k="v")
    watching = Watching(orders, since=start)
    await watching.up_to_date()
    assert watching.kinds() == ["RESET", "ADDED", "BOOKMARK"]
    assert watching.frames[0].members["reason"] == TOO_OLD.reason


async def test_who_does_not_read_is_parked_and_then_gets_exactly_the_rest(orders: Node) -> None:
    slow, fast = Watching(orders, reads=False, capacity=500), Watching(orders)
    await asyncio.gather(slow.up_to_date(), fast.up_to_date())
    for number in range(400):
        await orders.label(k=str(number))
    await quiet(orders)
    assert not slow.is_up_to_date
    assert slow.pipe.held < 3_000
    assert len(fast.frames) == 402
    while not slow.is_up_to_date:
        slow.pipe.read()
        await turns(1)
    assert slow.told() == fast.told()
    slow.watcher.abandon()


async def test_who_never_reads_is_kept_little_for_whatever_happens(orders: Node) -> None:
    watching = Watching(orders, reads=False)
    await watching.up_to_date()
    for number in range(3_000):
        await orders.label(k=str(number))
    await quiet(orders)
    assert watching.pipe.held < 64 * 1024 + 40_000
    watching.pipe.abort()


async def test_it_ends_with_all_that_is_folded_and_where_that_is(orders: Node) -> None:
    watching = Watching(orders, "k")
    await watching.up_to_date()
    await orders.label(k="v")
    await orders.writing.create_topic(parse_topic("other"), TopicRecord(), orders.asked())
    assert await watching.ended() == ["BOOKMARK", "ADDED", "BOOKMARK"]
    assert watching.frames[-1].positions == here(orders)
    assert not orders.engine.watches.watchers
    assert orders.engine.watches.groups.find(watching.watcher.subject) is None


async def test_it_ends_without_a_bookmark_that_would_say_nothing_new(orders: Node) -> None:
    watching = Watching(orders)
    await watching.up_to_date()
    await orders.label(k="v")
    assert await watching.ended() == ["ADDED", "BOOKMARK", "MODIFIED"]


async def test_a_client_that_never_reads_is_cut_off_when_it_must_end(
    orders: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("topicfold.runtime.watching.watcher.CLOSE_SECONDS", 0.01)
    watching = Watching(orders, reads=False, capacity=0)
    await turns()
    await watching.ended()
    assert watching.pipe.is_cut


async def test_nobody_is_left_behind_when_the_client_is_gone(orders: Node) -> None:
    watchings = [Watching(orders), Watching(orders, reads=False, capacity=0), Watching(orders, since=here(orders))]
    await turns(3)
    for each in watchings:
        each.watcher.abandon()
        each.pipe.read()
        await asyncio.wait_for(each.task, 1)
    assert not orders.engine.watches.watchers
    assert list(orders.engine.watches.groups) == []


async def test_a_wait_for_the_future_ends_with_the_stream(orders: Node) -> None:
    never = asyncio.Event()

    async def reaching() -> None:
        await never.wait()

    watching = Watching(orders, since={0: 10**6}, reaching=reaching())
    await turns()
    assert await watching.ended() == []


async def test_an_error_of_the_wait_is_the_streams(orders: Node) -> None:
    async def reaching() -> None:
        raise Forbidden("no")

    watching = Watching(orders, since={0: 0}, reaching=reaching())
    with pytest.raises(Forbidden):
        await watching.task


async def test_a_start_state_during_which_too_much_changes_begins_anew(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watcher, "CHUNK", 1)
    monkeypatch.setattr(cut, "MAX_CHANGES", 1)
    for name in "abcd":
        await node.writing.create_topic(parse_topic(name), TopicRecord(), node.asked())
    watching = Watching(node, reads=False, capacity=1)
    while not watching.frames:
        await turns(1)
    for value in "vw":
        await node.writing.set_labels(parse_topic("d"), {"k": value}, node.asked())
    while not watching.is_up_to_date:
        watching.pipe.read()
        await turns(1)
    lost, after = watching.kinds()[: -len("abcd") - 1], watching.kinds()[-len("abcd") - 1 :]
    assert {*lost[:-1]} == {"ADDED"}
    assert [lost[-1], *after] == ["RESET", *["ADDED"] * 4, "BOOKMARK"]


async def test_the_hash_of_a_start_state_is_of_what_it_holds_though_nobody_was_told_of_that_yet(
    orders: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(2):
        await Watching(orders).up_to_date()
    monkeypatch.setattr(orders.engine.watches.pump, "_wake", lambda: None)
    await orders.writing.create_topic(parse_topic("refunds"), TopicRecord(), orders.asked())
    watching = Watching(orders)
    while len(watching.frames) < 3:
        await turns(1)
    names = [each.name for each in watching.frames[:2]]
    assert watching.frames[2].members["hash"] == topic_list_hash(names)


async def test_equal_hash_means_no_start_state(orders: Node) -> None:
    first = Watching(orders)
    await first.up_to_date()
    names_hash = first.frames[-1].members["hash"]
    same, other = Watching(orders, known_hash=names_hash), Watching(orders, known_hash="00000000")
    await asyncio.gather(same.up_to_date(), other.up_to_date())
    assert (same.kinds(), other.kinds()) == (["BOOKMARK"], ["ADDED", "BOOKMARK"])


class Gate:
    """Says whether somebody may go on, when asked."""

    def __init__(self) -> None:
        self.is_open = True
        self.asked = 0
        self.answers = asyncio.Event()
        self.answers.set()

    async def __call__(self) -> None:
        self.asked += 1
        await self.answers.wait()
        if not self.is_open:
            raise Forbidden("not any more")


async def test_nothing_is_shown_after_a_change_of_rights_until_they_were_looked_at(orders: Node) -> None:
    gate = Gate()
    watching = Watching(orders, admits=gate)
    await watching.up_to_date()
    gate.answers.clear()
    orders.engine.watches.recheck()
    await orders.label(k="v")
    await quiet(orders)
    assert watching.kinds() == ["ADDED", "BOOKMARK"]
    gate.answers.set()
    await watching.up_to_date()
    assert watching.kinds() == ["ADDED", "BOOKMARK", "MODIFIED"]


async def test_rights_that_change_while_they_are_looked_at_are_looked_at_again(orders: Node) -> None:
    gate = Gate()
    watching = Watching(orders, admits=gate)
    await watching.up_to_date()
    asked = gate.asked
    gate.answers.clear()
    for _ in range(2):
        orders.engine.watches.recheck()
        await turns()
    gate.answers.set()
    await orders.label(k="v")
    await quiet(orders)
    await watching.up_to_date()
    assert gate.asked == asked + 2


async def test_who_may_no_more_is_shown_no_more(orders: Node) -> None:
    gate = Gate()
    watching = Watching(orders, admits=gate)
    await watching.up_to_date()
    gate.is_open = False
    orders.engine.watches.recheck()
    await orders.label(k="v")
    with pytest.raises(Forbidden):
        await asyncio.wait_for(watching.task, 1)
    assert watching.kinds() == ["ADDED", "BOOKMARK"]


async def test_a_start_state_stops_where_rights_are_taken_away(node: Node) -> None:
    for number in range(300):
        await node.writing.create_topic(parse_topic(f"t{number}"), TopicRecord(), node.asked())
    gate = Gate()
    watching = Watching(node, admits=gate)
    while not watching.frames:
        await turns(1)
    gate.is_open = False
    node.engine.watches.recheck()
    with pytest.raises(Forbidden):
        await asyncio.wait_for(watching.task, 1)
    assert len(watching.frames) < 300


async def test_a_watch_that_the_pump_gave_up_ends_with_its_error(orders: Node) -> None:
    watching = Watching(orders)
    await watching.up_to_date()
    watching.watcher.fail(TopicfoldError("broken"))
    with pytest.raises(TopicfoldError, match="broken"):
        await watching.task


async def test_one_that_never_comes_up_to_date_ends_in_time_all_the_same(
    orders: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watcher, "CLOSE_SECONDS", 0.01)
    monkeypatch.setattr(watcher, "SLICE_SECONDS", 0.0)
    monkeypatch.setattr(Watcher, "_write_part", lambda self: False)
    start = here(orders)
    await orders.label(k="v")
    watching = Watching(orders, since=start)
    await turns()
    watching.watcher.end()
    await asyncio.wait_for(watching.task, 60)
    assert watching.kinds() == []


async def test_one_that_fails_in_its_start_state_shows_no_more_of_it(node: Node) -> None:
    for number in range(300):
        await node.writing.create_topic(parse_topic(f"t{number}"), TopicRecord(), node.asked())
    watching = Watching(node)
    while not watching.frames:
        await turns(1)
    node.engine.watches.fail(0, NotReady("partition 0 has stopped"))
    with pytest.raises(NotReady):
        await asyncio.wait_for(watching.task, 1)
    assert len(watching.frames) < 300


async def test_one_that_fails_while_it_waits_for_its_position_ends_with_the_error(node: Node) -> None:
    watching = Watching(node, since={0: 1_000_000}, reaching=asyncio.sleep(5))
    await turns()
    node.engine.watches.fail(0, NotReady("partition 0 has stopped"))
    with pytest.raises(NotReady):
        await asyncio.wait_for(watching.task, 1)


async def test_one_that_was_let_in_before_its_partition_stopped_is_shown_nothing_of_it(orders: Node) -> None:
    orders.engine.watches.fail(0, NotReady("partition 0 has stopped"))
    for start in ({}, {"since": here(orders)}, {"since": here(orders), "reaching": asyncio.sleep(60)}):
        watching = Watching(orders, **start)
        with pytest.raises(NotReady):
            await asyncio.wait_for(watching.task, 1)
        assert watching.frames == []


async def test_one_that_was_let_in_before_its_node_stops_ends_like_all_others(orders: Node) -> None:
    await orders.engine.watches.close()
    start = here(orders)
    await orders.label(k="v")
    watching = Watching(orders, since=start)
    await asyncio.wait_for(watching.task, 1)
    assert watching.kinds() == ["MODIFIED"]


async def test_a_client_that_is_gone_before_its_stream_begins_is_not_waited_for(orders: Node) -> None:
    watching = Watching(orders, since={0: 10**6}, reaching=asyncio.sleep(60))
    watching.watcher.abandon()
    await asyncio.wait_for(watching.task, 1)


async def test_a_bookmark_goes_to_who_lacks_it_and_a_ping_to_who_does_not(orders: Node) -> None:
    first = Watching(orders, "other")
    await first.up_to_date()
    await orders.label(k="v")
    second = Watching(orders, "other")
    await second.up_to_date()
    tell(orders)
    await quiet(orders)
    assert (first.kinds(), first.pipe.pings) == (["BOOKMARK", "BOOKMARK"], 0)
    assert [frame.members.get("initial", False) for frame in first.frames] == [True, False]
    assert (second.kinds(), second.pipe.pings) == (["BOOKMARK"], 1)
