"""History: the chain of what took effect, read back from the log."""

from __future__ import annotations

import asyncio

import pytest

from tests.builders import NAMESPACE, TOPIC, operation
from tests.memory_log import MemoryStore
from tests.runtime.histories import AT_THE_BEGINNING, append_unreadable, history, shown, target, trim
from tests.runtime.nodes import ORDERS, Node, running, turns
from topicfold import errors
from topicfold.log.port import Entry as LogEntry
from topicfold.model.events import Audit
from topicfold.model.policy.changes import change_topic, set_value
from topicfold.model.records import NamespaceRecord, TopicRecord
from topicfold.runtime import slices
from topicfold.runtime.past.history import read_history


async def test_a_history_tells_who_changed_what_when_and_why(node: Node) -> None:
    node.engine.updates._clock_ms = lambda: 1234
    await node.writing.create_topic(ORDERS, TopicRecord(2, labels={"tier": "lead"}), node.asked(actor="ann"))
    written = await node.writing.set_labels(
        ORDERS, {"tier": "gold"}, node.asked(actor="bob", reason="SLA", request_id="r1")
    )
    changed, created = (await history(node)).entries
    assert (changed.kind, changed.changes) == ("changed", ((("labels", "tier"), "lead", "gold"),))
    assert (changed.made_by, changed.time_ms) == ((Audit("bob", "SLA", "r1"),), 1234)
    assert changed.version.etag == written.etag == node.reading.topic(ORDERS).etag
    assert (created.kind, created.made_by[0].actor) == ("created", "ann")
    assert created.changes == ((("partitions",), None, 2), (("labels", "tier"), None, "lead"))


async def test_policies_are_told_member_by_member(orders: Node) -> None:
    for size in (5, 6):
        value = {"retentionTimeInMinutes": 1, "retentionSizeInMB": size}
        updater = change_topic(TOPIC, set_value("retentionPolicies", value), is_global=size == 6)
        await orders.writing.change_topic(ORDERS, updater, orders.asked())
    path = ("policies", "global", "retentionPolicies")
    assert (await shown(orders))[0] == (
        "changed",
        [((*path, "retentionSizeInMB"), None, 6), ((*path, "retentionTimeInMinutes"), None, 1)],
    )


async def test_a_deleted_and_reborn_topic_has_one_history_through_its_end(orders: Node) -> None:
    await orders.label(team="pay")
    await orders.writing.delete_topic(ORDERS, orders.asked())
    assert [kind for kind, _ in await shown(orders)] == ["deleted", "changed", "created"]
    await orders.writing.create_topic(ORDERS, TopicRecord(labels={"a": "b"}), orders.asked())
    found = await shown(orders)
    assert [kind for kind, _ in found] == ["created", "deleted", "changed", "created"]
    assert found[0][1] == [AT_THE_BEGINNING, (("labels", "a"), None, "b")]
    assert found[1][1] == [(("partitions",), 0, None), (("labels", "team"), "pay", None)]


async def test_refusals_and_what_changed_nothing_are_no_changes(orders: Node) -> None:
    await orders.label(team="pay")
    with pytest.raises(errors.PreconditionFailed):
        await orders.writing.set_labels(ORDERS, {"a": "b"}, orders.asked(key="k1", if_match="x"))
    await orders.writing.set_labels(ORDERS, {"team": "pay"}, orders.asked(key="k2"))
    assert orders.engine.states[0].position == 7
    assert [kind for kind, _ in await shown(orders)] == ["changed", "created"]


async def test_rejected_events_are_no_changes(store: MemoryStore) -> None:
    async with running(store) as one, running(store) as other:
        await one.writing.create_topic(ORDERS, TopicRecord(), one.asked())
        await other.caught_up()
        other.log.pause()
        await one.label(a="1")
        late = asyncio.create_task(other.label(b="2"))
        await turns()
        other.log.resume()
        await late
        await one.caught_up()
        assert [changes for _, changes in await shown(one)] == [
            [(("labels", "b"), None, "2")],
            [(("labels", "a"), None, "1")],
            [AT_THE_BEGINNING],
        ]


async def test_updates_that_share_an_event_are_one_entry_with_each_who_asked(orders: Node) -> None:
    with orders.events() as appended:
        await asyncio.gather(
            orders.writing.set_labels(ORDERS, {"a": "1"}, orders.asked(actor="ann")),
            orders.writing.set_labels(ORDERS, {"a": "1"}, orders.asked(actor="nobody")),
            orders.writing.set_labels(ORDERS, {"b": "2"}, orders.asked(actor="bob")),
            orders.writing.set_labels(ORDERS, {"c": "3"}, orders.asked(actor="eve")),
            orders.writing.set_labels(ORDERS, {"c": "3"}, orders.asked(actor="nobody")),
        )
    newest, before = (await history(orders)).entries[:2]
    assert len(appended) == 2
    assert [[audit.actor for audit in entry.made_by] for entry in (newest, before)] == [["bob", "eve"], ["ann"]]
    assert newest.version.etag == orders.reading.topic(ORDERS).etag


async def test_a_history_comes_in_pages(orders: Node) -> None:
    for number in range(7):
        await orders.label(number=str(number))
    whole, paged, before = (await history(orders)).entries, [], ""
    for size in (3, 3, 2):
        page = await history(orders, limit=3, before=before)
        assert len(page.entries) == size
        paged += page.entries
        before = page.before
    assert (tuple(paged), before) == (whole, "")


async def test_a_page_is_not_shifted_by_what_happens_meanwhile(orders: Node) -> None:
    for number in range(4):
        await orders.label(number=str(number))
    whole, page = (await history(orders)).entries, await history(orders, limit=2)
    await orders.label(number="new")
    rest = await history(orders, before=page.before)
    assert page.entries + rest.entries == whole


@pytest.mark.parametrize("before", ["x", "3", "3-zz", f"999-{'0' * 32}", f"3-{'0' * 32}"])
async def test_a_cursor_that_no_page_gave_is_refused(orders: Node, before: str) -> None:
    with pytest.raises(errors.InvalidRequest, match="not where a page ended"):
        await history(orders, before=before)


async def test_a_record_that_cannot_be_read_is_an_entry_and_the_history_goes_on(
    orders: Node, store: MemoryStore
) -> None:
    append_unreadable(orders, store)
    await orders.caught_up()
    await orders.writing.delete_topic(ORDERS, orders.asked())
    assert await shown(orders) == [("deleted", None), ("changed", None), ("created", [AT_THE_BEGINNING])]
    assert (await history(orders)).gap is None


async def test_an_event_that_does_not_say_where_its_predecessor_lies_ends_the_history_with_a_gap(
    orders: Node, store: MemoryStore
) -> None:
    append_unreadable(orders, store, previous_offset=-1)
    await orders.caught_up()
    page = await history(orders)
    assert [(entry.kind, entry.changes) for entry in page.entries] == [("changed", None)]
    assert (page.gap.offset, page.before) == (4, "")
    assert "does not say" in page.gap.reason


@pytest.mark.parametrize("elsewhere", [0, 1, 2])
async def test_a_false_word_on_where_the_predecessor_lies_is_not_believed(
    orders: Node, store: MemoryStore, elsewhere: int
) -> None:
    append_unreadable(orders, store, previous_offset=elsewhere)
    await orders.caught_up()
    page = await history(orders)
    assert len(page.entries) == 1
    assert (page.gap.offset, page.gap.reason) == (elsewhere, "another record lies there")


async def test_an_event_that_names_itself_as_its_predecessor_is_not_walked_for_ever(
    orders: Node, store: MemoryStore
) -> None:
    append_unreadable(orders, store)
    await orders.caught_up()
    append_unreadable(orders, store, previous_offset=len(store.entries[0]))
    await orders.caught_up()
    page = await history(orders)
    assert [(entry.kind, entry.changes) for entry in page.entries] == [("changed", None)]
    assert "does not say" in page.gap.reason


async def test_who_made_a_change_is_nobody_where_that_is_not_told_of_each(orders: Node, store: MemoryStore) -> None:
    append_unreadable(orders, store, operations=(operation(1), operation(2)))
    await orders.caught_up()
    assert [entry.made_by for entry in (await history(orders)).entries[:-1]] == [()]


async def test_a_log_that_gives_little_at_once_tells_the_whole_history(
    orders: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        await orders.label(number=str(number))
    whole, read = await history(orders), orders.log.read

    async def sparing(partition: int, offset: int, limit: int) -> list[LogEntry]:
        return await read(partition, offset, min(limit, 2))

    monkeypatch.setattr(orders.log, "read", sparing)
    assert (await history(orders), whole.gap) == (whole, None)


async def test_what_was_trimmed_is_said_to_be(orders: Node, store: MemoryStore) -> None:
    for number in range(3):
        await orders.label(number=str(number))
    trim(store, before=5)
    page = await history(orders)
    assert [(entry.kind, entry.changes) for entry in page.entries] == [
        ("changed", ((("labels", "number"), "1", "2"),)),
        ("changed", None),
    ]
    assert (page.gap.offset, page.gap.reason) == (4, "the log no longer holds the record")


async def test_a_gap_is_told_on_the_last_page_only(orders: Node, store: MemoryStore) -> None:
    for number in range(3):
        await orders.label(number=str(number))
    trim(store, before=5)
    first = await history(orders, limit=1)
    last = await history(orders, before=first.before)
    assert (first.gap, last.gap.offset) == (None, 4)


async def test_a_gap_that_is_met_by_looking_ahead_waits_for_its_page(orders: Node, store: MemoryStore) -> None:
    append_unreadable(orders, store, previous_offset=-1)
    await orders.caught_up()
    await orders.writing.delete_topic(ORDERS, orders.asked())
    first = await history(orders, limit=1)
    last = await history(orders, before=first.before)
    assert (len(first.entries), first.gap) == (1, None)
    assert (len(last.entries), last.gap.offset) == (1, 4)


@pytest.mark.parametrize("error", [errors.TopicNotFound, errors.NamespaceNotFound])
async def test_what_never_was_has_no_history(node: Node, error: type[errors.TopicfoldError]) -> None:
    if error is errors.NamespaceNotFound:
        await node.writing.delete_namespace(NAMESPACE, node.asked())
    with pytest.raises(error):
        await history(node)


async def test_a_log_that_does_not_answer_ends_a_page_early(orders: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(5):
        await orders.label(number=str(number))
    read = orders.log.read
    monkeypatch.setattr("topicfold.runtime.past.chain._BLOCK", 1)
    calls: list[int] = []

    async def sometimes(partition: int, offset: int, limit: int) -> list[LogEntry]:
        calls.append(offset)
        if len(calls) > 3:
            await asyncio.sleep(9)
        return await read(partition, offset, limit)

    monkeypatch.setattr(orders.log, "read", sometimes)
    asked = asyncio.get_running_loop().time() + 0.05
    page = await read_history(orders.engine, target(orders), 100, "", asked)
    assert len(page.entries) == 2
    with pytest.raises(errors.LogUnavailable):
        await read_history(orders.engine, target(orders), 100, "", asked)
    monkeypatch.undo()
    assert len((await history(orders, before=page.before)).entries) == 4


async def test_versions_that_lie_close_together_are_read_from_the_log_at_once(
    orders: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        await orders.label(number=str(number))
    reads: list[int] = []
    read = orders.log.read

    async def counted(partition: int, offset: int, limit: int) -> list[LogEntry]:
        reads.append(offset)
        return list(await read(partition, offset, limit))

    monkeypatch.setattr(orders.log, "read", counted)
    assert len((await history(orders)).entries) == 6
    assert len(reads) == 1


async def test_namespaces_and_tenants_have_histories_too(node: Node) -> None:
    assert await shown(node, NAMESPACE) == [("created", [])]
    assert await shown(node, "public") == [("created", [(("adminRoles",), None, []), (("allowedClusters",), None, [])])]


async def test_a_delete_of_a_namespace_that_was_refused_is_no_change(orders: Node) -> None:
    with pytest.raises(errors.NotEmpty):
        await orders.writing.delete_namespace(NAMESPACE, orders.asked())
    assert [kind for kind, _ in await shown(orders, NAMESPACE)] == ["created"]
    await orders.writing.delete_namespace(NAMESPACE, orders.asked(), force=True)
    await orders.writing.create_namespace(NAMESPACE, NamespaceRecord(), orders.asked())
    await orders.writing.create_topic(ORDERS, TopicRecord(), orders.asked())
    with pytest.raises(errors.NotEmpty):
        await orders.writing.delete_namespace(NAMESPACE, orders.asked())
    assert [kind for kind, _ in await shown(orders, NAMESPACE)] == ["created", "deleted", "created"]


async def test_a_delete_of_a_former_life_that_was_empty_is_told(node: Node) -> None:
    for _ in range(2):
        await node.writing.create_namespace("public/pay", NamespaceRecord(), node.asked())
        await node.writing.delete_namespace("public/pay", node.asked())
    await node.writing.create_namespace("public/pay", NamespaceRecord(), node.asked())
    kinds = [kind for kind, _ in await shown(node, "public/pay")]
    assert kinds == ["created", "deleted", "created", "deleted", "created"]


async def test_a_refused_delete_of_the_present_life_is_known_beyond_the_ring(store: MemoryStore) -> None:
    async with running(store, server_ring=1) as node:
        await node.writing.create_topic(ORDERS, TopicRecord(), node.asked())
        with pytest.raises(errors.NotEmpty):
            await node.writing.delete_namespace(NAMESPACE, node.asked())
        await node.label(team="pay")
        assert [kind for kind, _ in await shown(node, NAMESPACE)] == ["created"]


async def test_a_delete_of_a_former_life_is_told_beyond_the_ring(store: MemoryStore) -> None:
    async with running(store, server_ring=1) as node:
        await node.writing.delete_namespace(NAMESPACE, node.asked())
        for _ in range(2):
            await node.writing.create_namespace(NAMESPACE, NamespaceRecord(), node.asked())
            await node.writing.delete_namespace(NAMESPACE, node.asked())
        kinds = [kind for kind, _ in await shown(node, NAMESPACE)]
        assert kinds == ["deleted", "created", "deleted", "created", "deleted", "created"]


async def test_others_have_their_turn_between_any_two_changes_of_a_long_history(
    orders: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(20):
        await orders.label(number=str(number))
    monkeypatch.setattr(slices, "SLICE_SECONDS", -1.0)
    taken = 0
    reading = asyncio.create_task(history(orders))
    while not reading.done():
        await turns(1)
        taken += 1
    assert len(reading.result().entries) == 21
    assert taken > 20


async def test_a_page_of_large_records_ends_early_and_is_gone_on_from(
    orders: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        await orders.label(number=str(number))
    whole = await history(orders)
    monkeypatch.setattr("topicfold.runtime.past.history.MAX_PAGE_BYTES", 1)
    entries, before, pages = [], "", 0
    while not pages or before:
        page = await history(orders, before=before)
        entries += page.entries
        before, pages = page.before, pages + 1
    assert (tuple(entries), pages) == (whole.entries, 6)
