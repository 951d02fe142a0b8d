"""History: the chain of what took effect, read back from the log; and records as they once were."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.builders import NAMESPACE, TOPIC, topic_put
from tests.runtime.nodes import ORDERS, Node, running, turns
from topicfold import errors
from topicfold.log.codec import encode_audit, encode_event
from topicfold.log.memory import MemoryStore
from topicfold.log.port import Entry as LogEntry
from topicfold.model.events import AggregateKind, Audit, AuditTrail
from topicfold.model.labels import LabelRules
from topicfold.model.policy.changes import change_topic, set_value
from topicfold.model.policy.limits import Limits
from topicfold.model.records import NamespaceRecord, TopicRecord
from topicfold.runtime.group import Target
from topicfold.runtime.history import Page, read_history
from topicfold.runtime.rollback import roll_back, version_to_restore
from topicfold.runtime.versions import Version, find_version, version_at

TTL = "messageTTLInSeconds"
AT_THE_BEGINNING = (("partitions",), None, 0)


def target(node: Node, name: str = TOPIC) -> Target:
    """Return what a topic's, a namespace's or a tenant's name means."""
    if "://" in name:
        return node.engine.target(AggregateKind.TOPIC, name, NAMESPACE)
    return node.engine.target(AggregateKind.NAMESPACE if "/" in name else AggregateKind.TENANT, name)


async def history(node: Node, name: str = TOPIC, limit: int = 100, before: str = "") -> Page:
    """Return a page of a history."""
    return await read_history(node.engine, target(node, name), limit, before, node.asked().deadline)


async def shown(node: Node, name: str = TOPIC) -> list[tuple[str, list[Any] | None]]:
    """Return kind and changes of all there is, the newest first."""
    page = await history(node, name)
    return [(entry.kind, None if entry.changes is None else list(entry.changes)) for entry in page.entries]


async def at(node: Node, position: int, name: str = TOPIC) -> Version:
    """Return a record as it was."""
    return await version_at(node.engine, target(node, name), position, node.asked().deadline)


async def back(node: Node, to: str, may_change_global: bool = True, **said: Any) -> bool:
    """Roll `orders` back; return whether that changed it."""
    asked = node.asked(**said)
    version = await version_to_restore(node.engine, ORDERS, to, asked)
    written = await roll_back(node.engine, node.writing, ORDERS, version, asked, may_change_global=may_change_global)
    return written.changed


async def etags(node: Node) -> list[str]:
    """Return the versions of `orders`, the oldest first."""
    return [entry.version.etag for entry in reversed((await history(node)).entries)]


def append_unreadable(node: Node, store: MemoryStore, number: int = 7, **audit: int) -> None:
    """Append, as a node of another version would, a version of `orders` that cannot be read."""
    current = node.engine.states[0].current(AggregateKind.TOPIC, TOPIC)
    life = node.engine.states[0].namespaces[NAMESPACE].incarnation
    trail = AuditTrail((), 0, current.offset) if not audit else AuditTrail((), 0, audit["previous_offset"])
    event = topic_put(number, life, current.version, payload=b"\xff", audit=encode_audit(trail))
    store.append(0, encode_event(event))


def trim(store: MemoryStore, before: int) -> None:
    """Have the log no longer give what lies before an offset."""
    entries = store.entries[0]
    entries[:before] = [LogEntry(0, -1, b"")] * before


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
        )
    newest = (await history(orders)).entries[0]
    assert len(appended) == 2
    assert [audit.actor for entry in (await history(orders)).entries[:2] for audit in entry.made_by] == ["bob", "ann"]
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
    monkeypatch.setattr("topicfold.runtime.chain._BLOCK", 1)
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


async def test_a_refused_delete_of_the_present_life_is_known_beyond_the_ring(store: MemoryStore) -> None:
    async with running(store, server_ring=1) as node:
        await node.writing.create_topic(ORDERS, TopicRecord(), node.asked())
        with pytest.raises(errors.NotEmpty):
            await node.writing.delete_namespace(NAMESPACE, node.asked())
        await node.label(team="pay")
        assert [kind for kind, _ in await shown(node, NAMESPACE)] == ["created"]


async def test_a_record_is_read_as_it_was_at_each_position(orders: Node) -> None:
    begin, tiers = orders.engine.states[0].position, ("lead", "gold", "lead")
    for tier in tiers:
        await orders.label(tier=tier)
    found = [(await at(orders, begin + number)).record.labels.get("tier") for number in range(4)]
    assert found == [None, *tiers]
    assert [(await at(orders, begin + number)).etag for number in range(4)] == await etags(orders)


async def test_the_version_at_a_position_is_that_of_the_last_change(orders: Node) -> None:
    await orders.label(team="pay")
    await orders.writing.set_labels(ORDERS, {"team": "pay"}, orders.asked(key="unchanged"))
    found = await at(orders, orders.engine.states[0].position)
    assert (found.etag, found.record.labels) == (orders.reading.topic(ORDERS).etag, {"team": "pay"})


async def test_a_topic_was_not_there_before_it_was_made_and_after_it_ended(orders: Node) -> None:
    born = orders.engine.states[0].position
    await orders.writing.delete_topic(ORDERS, orders.asked())
    for position in (born - 1, born + 1):
        with pytest.raises(errors.TopicNotFound, match=f"at position {position}"):
            await at(orders, position)
    assert (await at(orders, born)).record == TopicRecord()


async def test_a_position_that_is_not_folded_yet_is_waited_for(orders: Node) -> None:
    position = orders.engine.states[0].position + 1
    read = asyncio.create_task(at(orders, position))
    await turns()
    await orders.label(team="pay")
    assert (await read).record.labels == {"team": "pay"}
    with pytest.raises(errors.PositionTimeout):
        await version_at(orders.engine, target(orders), position + 1, orders.asked(0.01).deadline)


async def test_a_position_before_what_the_log_holds_is_an_error_that_says_so(orders: Node, store: MemoryStore) -> None:
    await orders.label(team="pay")
    trim(store, before=4)
    with pytest.raises(errors.Resync, match="at offset 3, the log no longer holds the record"):
        await at(orders, 4)
    assert (await at(orders, 5)).record.labels == {"team": "pay"}


@pytest.mark.parametrize("is_reborn", [True, False])
async def test_a_former_life_of_the_namespace_can_no_longer_be_told(orders: Node, is_reborn: bool) -> None:
    position = orders.engine.states[0].position
    await orders.writing.delete_namespace(NAMESPACE, orders.asked(), force=True)
    await orders.writing.create_namespace(NAMESPACE, NamespaceRecord(), orders.asked())
    if is_reborn:
        await orders.writing.create_topic(ORDERS, TopicRecord(), orders.asked())
    with pytest.raises(errors.Resync, match="was made again at offset 5"):
        await at(orders, position)


async def test_a_version_is_found_by_etag_id_or_offset(orders: Node) -> None:
    await orders.label(team="pay")
    await orders.label(team="ops")
    middle = (await history(orders)).entries[1].version
    deadline = orders.asked().deadline
    for name in (middle.etag, f'"{middle.etag}"', middle.etag.partition(".")[0], str(middle.offset)):
        assert await find_version(orders.engine, target(orders), name, deadline) == middle


@pytest.mark.parametrize("name", ["", "latest", "12.5.1", "-3", "g" * 32, "1" * 40])
async def test_what_cannot_be_a_version_is_said_to_be_none(orders: Node, name: str) -> None:
    with pytest.raises(errors.InvalidRequest, match="neither an ETag nor an offset"):
        await find_version(orders.engine, target(orders), name, orders.asked().deadline)


async def test_an_unknown_version_is_told_with_those_that_come_nearest(orders: Node) -> None:
    for number in range(7):
        await orders.label(number=str(number))
    known = await etags(orders)
    begun, last = known[2].partition(".")[0], orders.engine.states[0].position - 1
    for name, nearest in (("f" * 32, known[:2:-1]), (f"{begun}.9", [known[2]]), (str(last + 50), known[:2:-1]),
                          (begun[:-1] + "f", known[:2:-1])):  # fmt: skip
        with pytest.raises(errors.VersionNotFound) as caught:
            await find_version(orders.engine, target(orders), name, orders.asked().deadline)
        assert caught.value.values["nearest"] == nearest


async def test_a_rollback_restores_all_but_grants_in_one_update(node: Node) -> None:
    old = TopicRecord(3, None, {"p": "1"}, {"team": "pay"}, {TTL: 5}, {TTL: 6}, {"ann": ("admin",)})
    new = TopicRecord(4, labels={"x": "y"}, grants={"eve": ("watch",)})
    await node.writing.create_topic(ORDERS, old, node.asked())
    await node.writing.grow_partitions(ORDERS, 4, node.asked())
    await node.writing.change_topic(ORDERS, lambda _: new, node.asked())
    with node.events() as appended:
        assert await back(node, (await etags(node))[0], actor="bob")
    found = node.reading.topic(ORDERS).record
    assert found == TopicRecord(4, None, old.properties, old.labels, old.local, old.global_, new.grants)
    assert len(appended) == 1
    newest = (await history(node)).entries[0]
    assert newest.made_by == (Audit("bob", f"rollback to {(await etags(node))[0]}", ""),)


async def test_a_rollback_to_what_is_there_already_changes_nothing(orders: Node) -> None:
    await orders.label(team="pay")
    with orders.events() as appended:
        assert not await back(orders, (await etags(orders))[-1])
    assert appended == []


async def test_a_version_that_was_just_made_on_another_node_is_found(store: MemoryStore) -> None:
    async with running(store) as one, running(store) as other:
        await one.writing.create_topic(ORDERS, TopicRecord(), one.asked())
        await other.caught_up()
        other.log.pause()
        await one.label(team="pay")
        going_back = asyncio.create_task(back(other, (await etags(one))[-1]))
        await turns()
        other.log.resume()
        assert not await going_back


async def test_a_rollback_keeps_its_condition_and_is_applied_once_for_a_key(orders: Node) -> None:
    await orders.label(team="pay")
    await orders.label(team="ops")
    first, second, _ = await etags(orders)
    with pytest.raises(errors.PreconditionFailed):
        await back(orders, first, if_match=second)
    assert await back(orders, second, key="k", body=b"second")
    await orders.label(team="dev")
    assert await back(orders, second, key="k", body=b"second")
    assert orders.labels() == {"team": "dev"}


async def test_a_rollback_reaches_through_the_end_of_a_topic_and_never_revives_one(orders: Node) -> None:
    await orders.label(team="pay")
    version = (await etags(orders))[-1]
    await orders.writing.delete_topic(ORDERS, orders.asked())
    with pytest.raises(errors.TopicNotFound):
        await back(orders, version)
    end = (await etags(orders))[-1]
    await orders.writing.create_topic(ORDERS, TopicRecord(), orders.asked())
    with pytest.raises(errors.InvalidRequest, match="is the end of"):
        await back(orders, end)
    assert await back(orders, version)
    assert orders.labels() == {"team": "pay"}


async def test_a_version_that_cannot_be_read_is_no_place_to_go_back_to(orders: Node, store: MemoryStore) -> None:
    append_unreadable(orders, store)
    await orders.caught_up()
    offset = str(orders.engine.states[0].position - 1)
    await orders.writing.delete_topic(ORDERS, orders.asked())
    await orders.writing.create_topic(ORDERS, TopicRecord(), orders.asked())
    with pytest.raises(errors.Undecodable):
        await back(orders, offset)


async def test_who_may_not_change_global_policies_does_not_by_going_back(node: Node) -> None:
    await node.writing.create_topic(ORDERS, TopicRecord(global_={TTL: 5}), node.asked())
    await node.writing.change_topic(ORDERS, lambda _: TopicRecord(labels={"a": "b"}), node.asked())
    first = (await etags(node))[0]
    with pytest.raises(errors.Forbidden):
        await back(node, first, may_change_global=False)
    assert await back(node, first)
    await node.label(c="d")
    assert await back(node, first, may_change_global=False)


async def test_what_may_no_longer_be_set_is_not_gone_back_to(store: MemoryStore) -> None:
    async with running(store) as lax:
        for record in (TopicRecord(labels={"x": "y"}), TopicRecord(local={"maxMessageSize": 2000}), TopicRecord()):
            await lax.writing.create_topic(ORDERS, record, lax.asked())
            await lax.writing.delete_topic(ORDERS, lax.asked())
        await lax.writing.create_topic(ORDERS, TopicRecord(), lax.asked())
        labelled, _, sized, *_ = await etags(lax)
    rules, limits = LabelRules(allowed_keys=frozenset({"team"})), Limits(max_message_bytes=1000)
    async with running(store, label_rules=rules, limits=limits) as strict:
        with pytest.raises(errors.InvalidLabels):
            await back(strict, labelled)
        with pytest.raises(errors.PolicyUnmet):
            await back(strict, sized)


async def test_where_topics_have_no_policies_going_back_changes_none(store: MemoryStore) -> None:
    async with running(store, limits=Limits(policies_enabled=False)) as node:
        for record in (TopicRecord(local={TTL: 5}), TopicRecord(labels={"a": "b"}), TopicRecord()):
            await node.writing.create_topic(ORDERS, record, node.asked())
            await node.writing.delete_topic(ORDERS, node.asked())
        await node.writing.create_topic(ORDERS, TopicRecord(), node.asked())
        with_policies, _, labelled, *_ = await etags(node)
        with pytest.raises(errors.PoliciesDisabled):
            await back(node, with_policies)
        assert await back(node, labelled)


async def test_a_rollback_that_makes_retention_and_quota_contradict_each_other_is_refused(orders: Node) -> None:
    retention = {"retentionTimeInMinutes": 10, "retentionSizeInMB": 10}
    quota = {"destination_storage": {"limitSize": 2**30, "limitTime": 0, "policy": "producer_exception"}}
    await orders.writing.change_topic(
        ORDERS, change_topic(TOPIC, set_value("retentionPolicies", retention)), orders.asked()
    )
    await orders.writing.change_topic(ORDERS, lambda old: TopicRecord(), orders.asked())
    version = (await etags(orders))[1]
    await orders.writing.change_namespace(
        NAMESPACE, lambda old: NamespaceRecord(policies={"backLogQuotaMap": quota}), orders.asked()
    )
    with pytest.raises(errors.PolicyUnmet):
        await back(orders, version)
