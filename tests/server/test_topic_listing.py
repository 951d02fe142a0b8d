"""Listings under `/admin/v2` through a topic listing: ours, and plug-ins that do and do not do what they should."""

from __future__ import annotations

import asyncio
import threading
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from types import SimpleNamespace
from typing import Any

import pytest
from pyroaring import BitMap
from starlette.requests import Request
from starlette.responses import Response
from uvicorn.protocols.http.flow_control import FlowControl

from tests.builders import operation, topic_put
from tests.memory_log import MemoryStore
from tests.runtime.nodes import running, turns
from tests.server import plugins
from tests.server.plugins import DEFAULT, calls
from tests.server.rest import RestNode, rest_node
from topicfold.errors import BadSetting, Overloaded
from topicfold.log.codec import encode_event
from topicfold.log.payload import encode_record
from topicfold.log.port import Entry
from topicfold.model.names import parse_topic
from topicfold.model.records import NamespaceRecord, TopicRecord, frozen
from topicfold.runtime.finding.listings import Listings
from topicfold.runtime.finding.plug_in_threads import PlugInThreads
from topicfold.runtime.finding.topic_listing import ListingMode, TopicsByProperties, open_topic_listing
from topicfold.server.connections.in_flight import MADE_AT_ONCE, InFlight
from topicfold.server.connections.stream import Line, note_line
from topicfold.server.listing import CountedAnswer, listing_properties

PATH = "/admin/v2/persistent/public/default"
RECORDS = {
    "a": TopicRecord(properties=frozen({"team": "pay"})),
    "b": TopicRecord(labels=frozen({"team": "pay"}), properties=frozen({"tier": "gold"})),
    "c": TopicRecord(2, labels=frozen({"team": "pay", "tier": "lead"})),
    "d": TopicRecord(properties=frozen({"note": "team pay gold tier"})),
    "__change_events": TopicRecord(properties=frozen({"team": "pay"})),
}
ALL = ["a", "b", "c-partition-0", "c-partition-1", "d"]

Open = Callable[[str], Awaitable[RestNode]]


@pytest.fixture
async def listing_by(store: MemoryStore) -> AsyncIterator[Open]:
    """Starts a node with some topics and the topic listing of that name."""
    calls.clear()
    async with AsyncExitStack() as stack:

        async def start(name: str, **settings: Any) -> RestNode:
            rest = await stack.enter_async_context(rest_node(store, topic_listing=name, **settings))
            for local, record in RECORDS.items():
                await rest.node.writing.create_topic(parse_topic(local), record, rest.node.asked())
            return rest

        yield start


def full(*locals_: str) -> list[str]:
    """Return full names."""
    return [f"{DEFAULT}/{local}" for local in locals_]


def plugin(cls: type) -> str:
    """Return how a setting names a class."""
    return f"{cls.__module__}:{cls.__name__}"


async def test_all_takes_no_notice_of_properties(listing_by: Open) -> None:
    rest = await listing_by("all")
    assert await rest.get(f"{PATH}?properties=team=pay,nobody=has") == full(*ALL)


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ("team=pay", ["a", "b", "c-partition-0", "c-partition-1"]),
        ("team=pay,tier=gold", ["b"]),
        ("tier=lead", ["c-partition-0", "c-partition-1"]),
        ("team=gold", []),
        ("nobody=has", []),
        ("", ALL),
        ("=x,team", ALL),
        ("te%2561m=pay,tier=gold,%25ff=x", ["b"]),
        ("&property=team%3Dpay&property=tier=gold", ["b"]),
        ("team=pay&property=tier=lead", ["c-partition-0", "c-partition-1"]),
        ("&property=team=pay,tier=gold", []),
    ],
)
async def test_by_properties_lists_what_bears_them_all_as_properties_or_labels(
    listing_by: Open, properties: str, expected: list[str]
) -> None:
    rest = await listing_by("by-properties")
    assert await rest.get(f"{PATH}?properties={properties}") == full(*expected)


@pytest.mark.parametrize("text", ["team", "", "=pay", "team=gold"])
async def test_a_property_that_is_no_pair_or_contradicts_another_is_refused(listing_by: Open, text: str) -> None:
    rest = await listing_by("by-properties")
    assert await rest.problem("GET", f"{PATH}?property=team=pay&property={text}") == (412, "invalid_name")


async def test_by_properties_says_what_is_there_at_the_end(listing_by: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("topicfold.runtime.finding.topic_listing._STEP", 1)
    monkeypatch.setattr("topicfold.runtime.slices.SLICE_SECONDS", -1)
    rest = await listing_by("by-properties")
    engine = rest.node.engine
    listing = TopicsByProperties()
    await listing.initialize(engine)
    listed = asyncio.ensure_future(listing.list("public/default", ListingMode.ALL, {"team": "pay"}))
    await asyncio.sleep(0)
    table = engine.tables.of("public/default")
    assert table is not None
    state = engine.states[engine.partition("public/default")]
    owner = state.namespaces["public/default"].incarnation
    for number, local, record in ((77, "a", RECORDS["d"]), (78, "e", RECORDS["a"])):
        changes: dict[str, Any] = {"payload": encode_record(record), "operations": (operation(number),)}
        event = topic_put(number, owner, table.get(local).version, name=f"{DEFAULT}/{local}", **changes)
        engine.reader.deliver([Entry(state.partition, state.position, encode_event(event))])
    assert not listed.done()
    numbers = await listed
    assert isinstance(numbers, BitMap)
    assert {table.keys[number] for number in numbers} == {"__change_events", "b", "c", "e"}


@pytest.mark.parametrize(
    ("listing", "query", "said"),
    [
        ("all", "properties=team=pay", None),
        ("by-properties", "properties=team=pay,b=%25C3%25BC,=x,y", r'{"b":"\u00fc","team":"pay"}'),
        ("by-properties", "", None),
        (plugin(plugins.Chosen), "properties=team=pay", '{"team":"pay"}'),
        (plugin(plugins.Heedless), "properties=team=pay", None),
    ],
)
async def test_a_listing_that_goes_by_properties_says_by_which(
    listing_by: Open, listing: str, query: str, said: str | None
) -> None:
    rest = await listing_by(listing)
    assert (await rest.send("GET", f"{PATH}?{query}")).headers.get("X-Topicfold-Properties") == said


async def test_a_plug_in_is_asked_with_mode_and_properties(listing_by: Open) -> None:
    rest = await listing_by(plugin(plugins.Chosen))
    only = f"{DEFAULT}/d%20{DEFAULT}/c%20{DEFAULT}/a"
    assert await rest.get(f"{PATH}?properties=only={only}") == full("a", "c-partition-0", "c-partition-1", "d")
    await rest.get("/admin/v2/namespaces/public/default/topics?mode=ALL&properties=a=b")
    await rest.get("/admin/v2/non-persistent/public/default?properties=a=b")
    assert calls == [
        ("initialize",),
        ("list", "public/default", "PERSISTENT", "only=" + only.replace("%20", " ")),
        ("list", "public/default", "ALL"),
        ("list", "public/default", "NON_PERSISTENT"),
    ]


@pytest.mark.parametrize("cls", [plugins.Chosen, plugins.Plain])
async def test_what_a_plug_in_names_can_only_be_less(listing_by: Open, cls: type) -> None:
    rest = await listing_by(plugin(cls))
    strange = [f"{DEFAULT}/nobody", "persistent://public/other/a", "a", "non-persistent://public/default/a", "x://y"]
    only = "%20".join([*full("a", "b", "c-partition-1", "c-partition-9", "__change_events"), *strange])
    assert await rest.get(f"{PATH}?properties=only={only}") == full("a", "b", "c-partition-1")
    assert await rest.get(f"{PATH}?custom-labels=team:pay&properties=only={only}") == full("b", "c-partition-1")
    with_system = await rest.get(f"{PATH}?includeSystemTopic=true&properties=only={only}")
    assert with_system == full("__change_events", "a", "b", "c-partition-1")


async def test_finding_is_by_the_index_whatever_a_plug_in_lists(listing_by: Open) -> None:
    rest = await listing_by(plugin(plugins.Chosen))
    assert await rest.get(PATH) == []
    assert (await rest.get("/api/v1/topics?labelSelector=team"))["counts"]["matched"] > 0
    assert ("list", "public/default", "ALL") not in calls


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("raise", "raised RuntimeError"),
        ("none", "it returned NoneType, not a list of names"),
        ("type", "raised TypeError"),
        ("text", "it returned str, not a list of names"),
        ("numbers", "it named 1, which is not text"),
        ("hang", "took longer than 0.2 s"),
        ("deaf", "took longer than 0.2 s"),
        ("interrupt", "raised KeyboardInterrupt"),
        ("exit", "raised SystemExit"),
        ("cancel", "raised CancelledError"),
        ("end", "raised CancelledError"),
    ],
)
async def test_a_plug_in_that_does_not_work_is_a_problem_of_its_own(listing_by: Open, how: str, said: str) -> None:
    rest = await listing_by(plugin(plugins.Broken))
    if how in ("hang", "deaf"):
        object.__setattr__(rest.node.engine.options, "request_timeout_seconds", 0.2)
    answer = await rest.send("GET", f"{PATH}?properties=how={how}")
    assert (answer.status_code, answer.json()["code"]) == (500, "listing_failed")
    assert said in answer.json()["reason"]
    assert "secret" not in answer.text
    assert "Traceback" not in answer.text


async def test_calls_that_hang_are_bounded_and_stop_nothing_but_listings(
    listing_by: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("topicfold.runtime.finding.plug_in_threads.PlugInThreads.__init__.__defaults__", (2,))
    rest = await listing_by(plugin(plugins.Hanging))
    object.__setattr__(rest.node.engine.options, "request_timeout_seconds", 0.1)
    for number in range(2):
        assert await rest.problem("GET", f"{PATH}?properties=hang={number}") == (500, "listing_failed")
    answer = await rest.send("GET", PATH)
    assert (answer.status_code, answer.headers["retry-after"], answer.json()["code"]) == (503, "1", "overloaded")
    assert "2 calls of the topic listing tests.server.plugins:Hanging have not returned" in answer.json()["reason"]
    object.__setattr__(rest.node.engine.options, "request_timeout_seconds", 5.0)
    assert await asyncio.wait_for(asyncio.to_thread(lambda: "others have threads"), 5)
    assert (await rest.get("/api/v1/topics?labelSelector=team"))["counts"]["matched"] > 0


async def test_a_call_for_which_there_is_no_thread_takes_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    threads = PlugInThreads("mine", 1)

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        for _ in range(2):
            with pytest.raises(RuntimeError, match="new thread"):
                await threads.call(int)
    assert await threads.call(int) == 0


async def test_a_call_that_fails_leaves_room_for_no_more_than_before() -> None:
    threads, may_end = PlugInThreads("mine", 1), threading.Event()

    def fail() -> None:
        raise RuntimeError("of its own")

    with pytest.raises(RuntimeError, match="of its own"):
        await threads.call(fail)
    first = asyncio.create_task(threads.call(may_end.wait, 30))
    await asyncio.sleep(0)
    with pytest.raises(Overloaded):
        await threads.call(int)
    may_end.set()
    await first


async def test_names_that_are_made_one_by_one_may_wait_without_stopping_the_node(listing_by: Open) -> None:
    rest = await listing_by(plugin(plugins.Hanging))
    object.__setattr__(rest.node.engine.options, "request_timeout_seconds", 0.2)
    for later in ("later", "view"):
        assert await rest.problem("GET", f"{PATH}?properties=hang={later}") == (500, "listing_failed")
    object.__setattr__(rest.node.engine.options, "request_timeout_seconds", 5.0)
    assert await rest.get(PATH) == full("a")


async def test_an_empty_name_names_nothing(listing_by: Open) -> None:
    rest = await listing_by(plugin(plugins.Named))
    assert await rest.get(PATH) == []


async def test_names_that_are_not_there_are_not_kept(listing_by: Open) -> None:
    rest = await listing_by(plugin(plugins.Endless))
    object.__setattr__(rest.node.engine.options, "request_timeout_seconds", 1.0)
    tracemalloc.start()
    assert await rest.problem("GET", PATH) == (500, "listing_failed")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2_000_000


async def test_numbers_of_a_namespace_that_ended_choose_nothing_of_the_next(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    called, may_end = asyncio.Event(), asyncio.Event()

    async def held(*_: object) -> list[str]:
        called.set()
        await may_end.wait()
        return [f"{DEFAULT}/a"]

    monkeypatch.setattr(plugins.Chosen, "list", held)
    async with rest_node(store, topic_listing=plugin(plugins.Chosen)) as rest:
        writing, asked = rest.node.writing, rest.node.asked
        await writing.create_topic(parse_topic("a"), TopicRecord(), asked())
        listing = asyncio.create_task(rest.problem("GET", f"{PATH}?properties=only={DEFAULT}/a"))
        await asyncio.wait_for(called.wait(), 5)
        await writing.delete_namespace("public/default", asked(), force=True)
        await writing.create_namespace("public/default", NamespaceRecord(), asked())
        await writing.create_topic(parse_topic("b"), TopicRecord(), asked())
        may_end.set()
        assert await listing == (503, "overloaded")


async def test_a_request_that_is_given_up_is_no_failure_of_the_listing(store: MemoryStore) -> None:
    async with running(store) as node:
        listings = Listings(node.engine, plugins.Broken(), "broken")
        listing = asyncio.create_task(listings.choose("public/default", ListingMode.ALL, {"how": "hang"}))
        await asyncio.sleep(0.05)
        listing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await listing
        await listings.close()


async def test_a_plug_in_that_cannot_be_made_ready_is_tried_again(listing_by: Open) -> None:
    rest = await listing_by(plugin(plugins.Unready))
    for _ in range(2):
        assert await rest.problem("GET", PATH) == (500, "listing_failed")


async def test_equal_listings_at_the_same_time_share_one_run(listing_by: Open) -> None:
    rest = await listing_by(plugin(plugins.Chosen))
    queries = [f"only={DEFAULT}/a", f"only={DEFAULT}/a", f"only={DEFAULT}/b"]
    answers = await asyncio.gather(*(rest.get(f"{PATH}?properties={query}") for query in queries))
    assert answers == [full("a"), full("a"), full("b")]
    assert len([call for call in calls if call[0] == "list"]) == 2


async def test_who_lists_what_they_have_just_made_does_not_share_a_run_that_began_before(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    there: list[str] = []
    begun: list[list[str]] = []
    called, may_end = asyncio.Event(), asyncio.Event()

    async def held(*_: object) -> list[str]:
        known = full(*there)
        begun.append(known)
        called.set()
        await may_end.wait()
        return known

    monkeypatch.setattr(plugins.Chosen, "list", held)
    async with rest_node(store, topic_listing=plugin(plugins.Chosen)) as rest:

        async def make(name: str) -> None:
            await rest.node.writing.create_topic(parse_topic(name), TopicRecord(), rest.node.asked())
            there.append(name)

        await make("a")
        early = asyncio.create_task(rest.get(PATH))
        await asyncio.wait_for(called.wait(), 5)
        await make("b")
        late = [asyncio.create_task(rest.get(PATH)) for _ in range(2)]
        await asyncio.sleep(0.05)
        may_end.set()
        assert await early == full("a")
        assert await asyncio.gather(*late) == [full("a", "b")] * 2
        assert len(begun) == 2


async def test_a_plug_in_is_closed_once_it_was_made_ready(store: MemoryStore) -> None:
    calls.clear()
    async with running(store) as node:
        for _ in range(2):
            listings = Listings(node.engine, plugins.Chosen(), "chosen")
            await listings.close()
        assert calls == []
        await listings.start()
        await listings.start()
        await listings.close()
    assert calls == [("initialize",), ("close",)]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nothing", "none of all, by-properties, nor package.module:Class"),
        ("no.such:Class", "No module named"),
        ("tests.server.plugins:Nothing", "has no attribute 'Nothing'"),
        ("tests.server.plugins:Incomplete", "has no method list nor close"),
        ("tests.server.plugins:DEFAULT", "not callable"),
        ("tests.server.plugins:Unmade", "cannot be loaded: OSError: no such host"),
        ("tests.server..plugins:Chosen", "cannot be loaded"),
    ],
)
def test_a_setting_that_names_no_listing_is_refused(name: str, said: str) -> None:
    with pytest.raises(BadSetting, match=said):
        open_topic_listing(name)


async def test_listings_on_their_way_are_bounded_in_bytes(listing_by: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    in_flight = InFlight(500, 500)
    monkeypatch.setattr("topicfold.server.node.InFlight", lambda *limits: in_flight)
    rest = await listing_by("all")
    in_flight.take("ann", 499)
    answer = await rest.send("GET", PATH)
    assert (answer.status_code, answer.headers["retry-after"], answer.json()["code"]) == (503, "1", "overloaded")
    in_flight.give_back("ann", 499)
    for _ in range(3):
        assert await rest.get(PATH) == full(*ALL)


async def test_few_listings_are_made_at_once_and_the_others_wait_for_their_turn(
    listing_by: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    rest = await listing_by("all")
    making, most = 0, 0

    async def body(chosen: object, names: object) -> bytes:
        nonlocal making, most
        making += 1
        most = max(most, making)
        await turns(5)
        making -= 1
        return b"[]"

    monkeypatch.setattr("topicfold.server.listing._body", body)
    answers = await asyncio.gather(*(rest.send("GET", PATH) for _ in range(20)))
    assert ([answer.status_code for answer in answers], most) == ([200] * 20, MADE_AT_ONCE)


async def test_listings_that_are_being_made_are_bounded_too(listing_by: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("topicfold.server.node.InFlight", lambda *limits: InFlight(100, 100))
    monkeypatch.setattr("topicfold.runtime.slices.SLICE_SECONDS", -1)
    rest = await listing_by("all")
    answers = await asyncio.gather(*(rest.send("GET", PATH) for _ in range(10)))
    assert sorted({answer.status_code for answer in answers}) == [200, 503]
    assert await rest.get(PATH) == full(*ALL)


@pytest.mark.parametrize("is_read", [True, False])
async def test_an_answer_counts_until_its_client_has_read_it_or_may_wait_no_longer(
    monkeypatch: pytest.MonkeyPatch, is_read: bool
) -> None:
    monkeypatch.setattr("topicfold.server.listing.MAX_SECONDS", 60.0 if is_read else 0.1)
    in_flight, aborted = InFlight(10, 10), list[bool]()
    transport: Any = SimpleNamespace(pause_reading=None, abort=lambda: aborted.append(True))
    flow = FlowControl(transport)
    flow.pause_writing()
    scope: dict[str, Any] = {"type": "http"}
    note_line(scope, Line(transport, flow))

    async def passed(_: object = None) -> Any:
        """Send what is to be sent."""

    answering = asyncio.create_task(
        CountedAnswer(Response(b"0123456789"), Request(scope), in_flight)(scope, passed, passed)
    )
    await turns()
    with pytest.raises(Overloaded):
        in_flight.take("ben", 1)
    if is_read:
        flow.resume_writing()
    await answering
    in_flight.take("ben", 10)
    assert aborted == ([] if is_read else [True])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("k1=v1,k2=v2", {"k1": "v1", "k2": "v2"}),
        ("a=b=c", {"a": "b=c"}),
        ("a,b=,=c,", {"b": ""}),
        ("a%3Db=c%2Cd", {"a=b": "c,d"}),
        ("a+b=c%20d", {"a b": "c d"}),
        ("%zz=a,b=%ff,c=d", {"c": "d"}),
        (" ", {}),
        ("", {}),
    ],
)
def test_properties_are_read_as_pulsar_reads_them(text: str, expected: dict[str, str]) -> None:
    assert listing_properties({"properties": [text]}) == expected


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"enable_broker_topic_list_watcher": False}, "enable_broker_topic_list_watcher"),
        ({"topic_listing": plugin(plugins.Chosen)}, "topic listing tests.server.plugins:Chosen"),
    ],
)
async def test_topics_are_not_watched_beside_another_listing(
    store: MemoryStore, settings: dict[str, Any], said: str
) -> None:
    async with rest_node(store, **settings) as rest:
        answer = await rest.send("GET", "/api/v1/watch")
        assert (answer.status_code, answer.json()["code"]) == (405, "watches_disabled")
        assert said in answer.text


@pytest.mark.parametrize("listing", ["all", "by-properties"])
async def test_the_first_topic_of_a_namespace_is_listed_that_came_while_it_was_listed(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch, listing: str
) -> None:
    async with rest_node(store, topic_listing=listing) as rest:
        choose = Listings.choose

        async def choose_first(self: Listings, *asked: Any) -> Any:
            chosen = await choose(self, *asked)
            await rest.node.writing.create_topic(parse_topic("a"), TopicRecord(), rest.node.asked())
            return chosen

        monkeypatch.setattr(Listings, "choose", choose_first)
        assert await rest.get(PATH) == full("a")
