"""Whose an override is that no policy asks for now: what enforcers note for those after them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pytest
from structlog.testing import capture_logs

from tests.enforcement.conftest import ORDERS, RETENTION, TEN_MINUTES, Site, following
from tests.memory_cluster import MemoryCluster
from tests.runtime.nodes import turns
from topicfold.cluster.port import Configuration
from topicfold.enforcement import enforcer as enforcing
from topicfold.enforcement import notes
from topicfold.enforcement.enforcer import Enforcer
from topicfold.enforcement.former import FormerSayings
from topicfold.enforcement.notes import ENFORCED, Notes
from topicfold.errors import ClusterRefused, ClusterUnavailable, TooLarge, TopicfoldError
from topicfold.model.events import AggregateKind
from topicfold.model.names import parse_topic

SIZE = {"max.message.bytes": "9"}


def is_noted(site: Site) -> bool:
    """Return whether any enforcer has noted anything."""
    engine = site.node.engine
    return engine.states[engine.partition(ENFORCED)].current(AggregateKind.TENANT, ENFORCED).is_live


@pytest.fixture(params=["one enforcer", "one after another"])
async def enforcer(site: Site, request: pytest.FixtureRequest) -> Callable[[], Enforcer]:
    """Return what gives the enforcer of each pass."""
    one = site.enforcer()
    return lambda: one if request.param == "one enforcer" else site.enforcer()


async def set_enforced_and_removed(site: Site, enforcer: Callable[[], Enforcer], *, size: int = 9) -> None:
    """Have a policy enforced and taken away again, by passes of their own."""
    await site.set("orders", "maxMessageSize", size)
    await site.again(enforcer())
    await site.remove("orders", "maxMessageSize")
    await site.again(enforcer())
    assert await site.own("orders") == {}


async def test_an_override_that_equals_a_policy_which_was_taken_away_is_somebody_elses(
    site: Site, enforcer: Callable[[], Enforcer]
) -> None:
    await site.make("orders")
    await set_enforced_and_removed(site, enforcer)
    await site.cluster.alter("orders", SIZE)
    assert await site.again(enforcer()) == []
    assert await site.own("orders") == SIZE


async def test_one_that_read_the_history_before_it_took_something_away_reads_it_anew(site: Site) -> None:
    await site.make("orders")
    await site.set("orders", "maxMessageSize", 9)
    await site.once()
    await site.remove("orders", "maxMessageSize")
    restarted = site.enforcer()
    assert len(await site.again(restarted)) == 1
    await site.cluster.alter("orders", SIZE)
    assert await site.again(restarted) == []
    assert await site.own("orders") == SIZE


async def test_what_somebody_else_made_of_an_override_stays_when_the_policy_goes(site: Site) -> None:
    await site.make("orders")
    await site.set("orders", "maxMessageSize", 9)
    enforcer = site.enforcer()
    await site.again(enforcer)
    await site.remove("orders", "maxMessageSize")
    await site.cluster.alter("orders", {"max.message.bytes": "10"})
    assert await site.again(enforcer) == []
    assert await site.own("orders") == {"max.message.bytes": "10"}


async def test_a_policy_that_goes_by_the_very_next_event_after_a_clean_pass_is_known(site: Site) -> None:
    await site.make("orders")
    await site.set("orders", "maxMessageSize", 9)
    engine, topic = site.node.engine, parse_topic("orders")
    former = FormerSayings(engine, Notes(engine, site.cluster.bootstrap))
    state = engine.states[engine.partition(topic.namespace)]
    clean = state.position
    await site.remove("orders", "maxMessageSize")
    assert state.position == clean + 1
    former.note_clean(str(topic), clean)
    assert await former.of(topic) == {("max.message.bytes", "9")}
    former.note_clean(str(topic), clean + 1)
    assert await former.of(topic) == set()


async def test_a_history_that_did_not_go_on_is_not_read_again(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    await site.make("orders")
    await site.set("orders", "maxMessageSize", 9)
    former = FormerSayings(site.node.engine, Notes(site.node.engine, site.cluster.bootstrap))
    said = await former.of(parse_topic("orders"))
    with monkeypatch.context() as unread:
        unread.setattr(site.node.log, "read", None)
        assert await former.of(parse_topic("orders")) == said == {("max.message.bytes", "9")}
    await site.set("orders", "maxMessageSize", 8)
    assert len(await former.of(parse_topic("orders"))) == 2


async def test_a_policy_that_came_after_that_is_told_by_the_history_again(
    site: Site, enforcer: Callable[[], Enforcer]
) -> None:
    await site.make("orders")
    await set_enforced_and_removed(site, enforcer, size=8)
    await site.set("orders", "maxMessageSize", 9)
    await site.once()
    for size in (10, 11):
        await site.set("orders", "maxMessageSize", size)
    await site.remove("orders", "maxMessageSize")
    assert len(await site.again(enforcer())) == 1
    assert await site.own("orders") == {}


async def set_and_remove_two(site: Site) -> None:
    """Leave something to be taken away of two topics: what a policy has set that is gone."""
    for name in ("a", "orders"):
        await site.make(name)
        await site.set(name, "maxMessageSize", 9)
    await site.once()
    for name in ("a", "orders"):
        await site.remove(name, "maxMessageSize")


async def test_a_pass_that_could_not_take_everything_away_says_nothing_of_it(site: Site) -> None:
    await set_and_remove_two(site)
    allow = site.refuse("orders", ClusterRefused("its policy forbids it", kafka_topic="orders"))
    await site.once()
    allow()
    assert len(await site.once()) == 1
    assert await site.own("orders") == {}


async def test_a_pass_that_could_not_read_what_a_topic_has_says_nothing_of_it(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    await set_and_remove_two(site)
    configurations = site.cluster.configurations

    async def without_orders(names: Sequence[str]) -> Mapping[str, Configuration | TopicfoldError]:
        return {**await configurations(names), "orders": ClusterUnavailable("no answer", kafka_topic="orders")}

    monkeypatch.setattr(site.cluster, "configurations", without_orders)
    await site.once()
    monkeypatch.undo()
    await site.once()
    assert await site.own("orders") == {}


async def test_a_later_pass_that_could_says_so(site: Site) -> None:
    await set_and_remove_two(site)
    enforcer = site.enforcer()
    allow = site.refuse("orders", ClusterRefused("its policy forbids it", kafka_topic="orders"))
    await site.again(enforcer)
    allow()
    await site.again(enforcer)
    await site.cluster.alter("orders", SIZE)
    assert await site.once() == []


@pytest.mark.parametrize("away", ["at first", "half-way"])
async def test_one_that_follows_notes_what_it_took_away_when_an_outage_is_over(
    site: Site, monkeypatch: pytest.MonkeyPatch, away: str
) -> None:
    monkeypatch.setattr(enforcing, "_TOPICS_A_QUESTION", 1)
    await set_and_remove_two(site)
    allow = site.refuse("a" if away == "at first" else "orders", ClusterUnavailable("no answer"))
    async with following(site.enforcer()):
        await asyncio.sleep(0.03)
        if away == "half-way":
            await MemoryCluster.alter(site.cluster, "orders", {"max.message.bytes": None})
        allow()
        await site.reaches("orders", {})
        await site.reaches("a", {})
        await asyncio.sleep(0.03)
    await site.cluster.alter("orders", SIZE)
    assert await site.once() == []


async def test_a_dry_run_notes_nothing(site: Site) -> None:
    await site.make("orders")
    site.with_defaults(maxMessageSize=9)
    await site.once(only_shows=True)
    assert not is_noted(site)


async def test_a_pass_that_takes_nothing_away_notes_nothing(site: Site) -> None:
    await site.make("orders")
    await site.set("orders", "maxMessageSize", 9)
    await site.once()
    await site.once()
    assert not is_noted(site)


async def test_a_default_that_is_no_more_is_uncovered_by_the_next_enforcer(site: Site) -> None:
    await site.make("orders")
    site.with_defaults(maxMessageSize=9)
    await site.once()
    assert await site.own("orders") == SIZE
    site.with_defaults()
    assert await site.once() == [f"changed {ORDERS}: max.message.bytes 9 -> (the cluster's) (no policy any more)"]
    await site.cluster.alter("orders", SIZE)
    assert await site.once() == []


async def test_a_default_is_known_still_when_a_former_policy_was_taken_away_beside_it(site: Site) -> None:
    await site.make("orders")
    site.with_defaults(maxMessageSize=9)
    await site.set("orders", RETENTION, TEN_MINUTES)
    await site.once()
    await site.remove("orders", RETENTION)
    await site.once()
    assert await site.own("orders") == SIZE
    site.with_defaults()
    await site.once()
    assert await site.own("orders") == {}


async def test_a_default_that_is_no_more_is_forgotten_though_nothing_is_left_of_it(site: Site) -> None:
    await site.make("orders")
    site.with_defaults(maxMessageSize=9)
    await site.once()
    await site.cluster.alter("orders", {"max.message.bytes": None})
    site.with_defaults()
    assert await site.once() == []
    await site.cluster.alter("orders", SIZE)
    assert await site.once() == []
    assert await site.own("orders") == SIZE


async def test_what_a_default_told_in_a_pass_that_was_broken_off_is_uncovered_by_the_next(site: Site) -> None:
    for name in ("orders", "zebra"):
        await site.make(name)
    site.with_defaults(maxMessageSize=9)
    allow = site.refuse("zebra", ClusterUnavailable("no answer"))
    with pytest.raises(ClusterUnavailable):
        await site.once()
    allow()
    assert await site.own("orders") == SIZE
    site.with_defaults()
    await site.once()
    assert await site.own("orders") == {}


async def test_a_default_that_was_changed_twice_is_known_until_it_is_taken_away(site: Site) -> None:
    await site.make("orders")
    site.with_defaults(maxMessageSize=9)
    await site.once()
    site.with_defaults(compactionThreshold=5)
    site.cluster.is_reachable = False
    with pytest.raises(Exception, match="cluster"):
        await site.once()
    site.cluster.heal()
    site.with_defaults()
    assert len(await site.once()) == 1
    assert await site.own("orders") == {}


async def test_notes_of_one_cluster_say_nothing_of_another(site: Site) -> None:
    here, there = Notes(site.node.engine, "here:9092"), Notes(site.node.engine, "there:9092")
    await here.add(frozenset({("max.message.bytes", "9")}))
    assert (len(here.read().sayings), len(there.read().sayings)) == (1, 0)
    await there.add(frozenset({("retention.ms", "1")}))
    assert (len(here.read().sayings), len(there.read().sayings)) == (1, 1)


async def test_where_notes_are_kept_is_no_tenant(site: Site) -> None:
    await Notes(site.node.engine, "here:9092").add(frozenset({("max.message.bytes", "9")}))
    assert site.node.reading.tenants() == ["public"]


async def test_a_note_that_takes_the_log_a_while_is_waited_for(site: Site) -> None:
    kept = Notes(site.node.engine, "here:9092")
    site.node.log.fate = site.node.log.hold
    adding = asyncio.create_task(kept.add(frozenset({("max.message.bytes", "9")})))
    await turns(50)
    site.node.log.release()
    await adding
    assert kept.read().sayings == {("max.message.bytes", "9")}


@pytest.mark.parametrize("is_too_large", [False, True])
async def test_a_note_that_cannot_be_written_is_told_of_and_holds_up_nothing(
    site: Site, monkeypatch: pytest.MonkeyPatch, is_too_large: bool
) -> None:
    def refuse(*_: object) -> None:
        raise TooLarge("above the topic's limit")

    monkeypatch.setattr(notes, "_SECONDS_A_NOTE", 0.02)
    await site.make("orders")
    site.with_defaults(maxMessageSize=9)
    site.node.log.fate = refuse if is_too_large else site.node.log.lose
    with capture_logs() as lines:
        assert len(await site.once()) == 1
    assert await site.own("orders") == SIZE
    said = [line for line in lines if line["event"] == "enforcement_not_noted"]
    assert said
    assert all(line["log_level"] == "error" and line["reason"] for line in said)


async def test_a_note_on_a_log_that_was_put_back_from_a_copy_and_renewed_holds_as_before(site: Site) -> None:
    engine = site.node.engine
    partition = engine.partition("public/default")
    kept = Notes(engine, "cluster:9092")
    await kept.settle(frozenset(), engine.revision((partition,)))
    before = kept.read().clean
    engine.identity = replace(engine.identity, incarnation=b"r" * 16)
    assert kept.read().clean == before != {}


async def test_a_position_of_a_form_that_is_not_known_here_is_taken_for_none(site: Site) -> None:
    kept = Notes(site.node.engine, "cluster:9092")
    await kept._write(lambda _: frozenset({f"{notes.CLEAN}=2.later", "retention.ms=1"}), "by a later version")
    assert (kept.read().sayings, kept.read().clean) == (frozenset({("retention.ms", "1")}), {})
