"""Finding topics as they were over REST: at a time, so long ago, at a position or an offset."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from urllib.parse import quote

import pytest

from tests.memory_log import MemoryStore
from tests.server.finding.asking import find_all, make, names_in, pages
from tests.server.rest import LABELS, ORDERS, RestNode, rest_node
from topicfold.runtime.revision import decode_revision
from topicfold.server.finding.find import FIND_PATH
from topicfold.wire.confirmation import query_text

DEFAULT = "persistent://public/default"


class Clock:
    """A clock of nodes that goes on by a minute when told to."""

    def __init__(self) -> None:
        self.now_ms = 1_772_366_400_000  # 2026-03-01T12:00:00Z

    def __call__(self) -> int:
        return self.now_ms

    def minutes(self, number: int) -> None:
        self.now_ms += number * 60_000


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def past(store: MemoryStore, clock: Clock) -> AsyncIterator[RestNode]:
    """A node that wrote: at 12:00 its beginning, at 12:10 `orders`, at 12:20 its label, at 12:30 another topic."""
    async with rest_node(store, clock_ms=clock) as made:
        clock.minutes(10)
        await made.done("PUT", ORDERS)
        clock.minutes(10)
        await made.done("POST", LABELS, {"labels": {"team": "pay"}})
        clock.minutes(10)
        await make(made, "later", team="pay")
        clock.minutes(30)
        yield made


@pytest.mark.parametrize(
    ("at", "names"),
    [
        ("2026-03-01T12:00:00Z", []),
        ("2026-03-01T12:19:59.999Z", []),
        ("2026-03-01T12:20:00Z", ["orders"]),
        ("2026-03-01T13:25:00.5+01:00", ["orders"]),
        ("2026-03-01T12:30:00Z", ["later", "orders"]),
        ("31m", ["orders"]),
        ("1800s", ["later", "orders"]),
        ("0h", ["later", "orders"]),
    ],
)
async def test_a_time_means_what_was_written_up_to_then(past: RestNode, at: str, names: list[str]) -> None:
    found = await find_all(past, f"label=team=pay&at={quote(at)}")
    assert found == [f"{DEFAULT}/{name}" for name in names]


async def test_a_plus_that_is_not_escaped_is_understood(past: RestNode) -> None:
    assert await find_all(past, "at=2026-03-01T13:25:00+01:00") == [f"{DEFAULT}/orders"]


async def test_labels_and_version_are_those_of_then_and_the_position_finds_them_again(past: RestNode) -> None:
    now = await past.get(FIND_PATH)
    answer = await past.send("GET", f"{FIND_PATH}?at=2026-03-01T12:10:00Z")
    then = answer.json()
    assert [(item["name"], item["labels"]) for item in then["items"]] == [(f"{DEFAULT}/orders", {})]
    assert then["items"][0]["version"] != now["items"][1]["version"]
    assert answer.headers["x-log-position"] == then["position"]
    assert answer.headers["x-topicfold-query"] == query_text(["public/default"], at="2026-03-01T12:10:00Z")
    again = await past.get(f"{FIND_PATH}?at={then['position']}")
    assert again == then
    (offset,) = decode_revision(then["position"]).positions.values()
    assert names_in(await past.get(f"{FIND_PATH}?at={offset - 1}")) == names_in(then)
    assert (await find_all(past, f"at={now['position']}")) == names_in(now)


async def test_one_topic_is_read_at_a_time_too(past: RestNode) -> None:
    path = "/api/v1/topics/public/default/orders"
    assert (await past.get(f"{path}?at=40m"))["labels"] == {"team": "pay"}
    assert (await past.get(f"{path}?at=2026-03-01T12:15:00Z"))["labels"] == {}
    assert await past.problem("GET", f"{path}?at=55m") == (404, "topic_not_found")
    assert await past.problem("GET", f"{FIND_PATH}?at=1y") == await past.problem("GET", f"{FIND_PATH}?at=52w")
    assert await past.problem("GET", f"{path}?at=2026-03-01") == (400, "invalid_request")


@pytest.mark.parametrize("path", ["topics", "topics/public/default/orders", "topics/public/default/orders/effective"])
async def test_what_is_no_moment_is_told_as_it_was_given(past: RestNode, path: str) -> None:
    answer = await past.send("GET", f"/api/v1/{path}?at=yesterday")
    assert (answer.status_code, answer.json()["detail"]) == (400, "at=yesterday is neither a time nor a position")
    assert "7d" in answer.json()["hint"]


@pytest.mark.parametrize("at", ["1y", "1", "2026-03-01T12:05:00Z"])
async def test_a_topic_that_was_not_there_yet_is_told_with_what_was_asked_and_since_when_it_is_known(
    past: RestNode, at: str
) -> None:
    answer = await past.send("GET", f"/api/v1/topics/public/default/orders?at={at}")
    told = answer.json()
    assert (answer.status_code, told["detail"]) == (404, f"topic {DEFAULT}/orders not found at {at}")
    assert told["hint"] == "Its known history begins at 2026-03-01T12:10:00Z."


async def test_of_a_topic_that_had_ended_then_more_is_known_than_its_next_life(past: RestNode, clock: Clock) -> None:
    await past.done("DELETE", ORDERS)
    clock.minutes(10)
    await past.done("PUT", ORDERS)
    told = (await past.send("GET", "/api/v1/topics/public/default/orders?at=5m")).json()
    assert (told["detail"], "begins at" in told.get("hint", "")) == (f"topic {DEFAULT}/orders not found at 5m", False)


async def test_wildcards_expressions_and_selectors_hold_of_then(past: RestNode) -> None:
    await past.done("DELETE", ORDERS)
    for query in ("match=*", "regex=o.*s", "labelSelector=team,!tier", "labels=team:pay", "topics_pattern=.*orders"):
        assert await find_all(past, f"{query}&at=35m") == [f"{DEFAULT}/orders"], query
        assert f"{DEFAULT}/orders" not in await find_all(past, query)


async def test_pages_of_the_past_are_of_one_position_whatever_is_written_meanwhile(past: RestNode) -> None:
    await make(past, *(f"t{n}" for n in range(5)))
    found = []
    query = "at=0s&limit=2"
    page = await past.get(f"{FIND_PATH}?{query}")
    position = page["position"]
    while True:
        assert page["position"] == position
        found.append(page)
        if not page.get("continue"):
            break
        await make(past, f"u{len(found)}")
        page = await past.get(f"{FIND_PATH}?{query}&continue={page['continue']}")
    assert names_in(*found) == [f"{DEFAULT}/{name}" for name in ("later", "orders", *(f"t{n}" for n in range(5)))]


async def test_a_page_of_the_past_does_not_go_on_in_the_present(past: RestNode) -> None:
    first = await past.get(f"{FIND_PATH}?at=0s&limit=1")
    after = first["continue"]
    assert await past.problem("GET", f"{FIND_PATH}?limit=1&continue={after}") == (400, "invalid_request")
    assert len(await pages(past, "at=0s&limit=1")) == 2


async def test_random_positions_give_what_was_there(past: RestNode) -> None:
    chance, seen = random.Random(7), {}
    for number in range(30):
        name = f"{DEFAULT.replace('://', '/')}/t{chance.randrange(6)}"
        path = f"/admin/v2/{name}"
        if (await past.send("PUT", path)).status_code != 204:
            if chance.random() < 0.4:
                await past.done("DELETE", path)
            else:
                await past.done("POST", f"{path}/custom-labels", {"labels": {"n": str(number)}})
        answer = await past.get(FIND_PATH)
        seen[answer["position"]] = answer["items"]
    for position in chance.sample(sorted(seen), 12):
        assert (await past.get(f"{FIND_PATH}?at={position}"))["items"] == seen[position]


async def test_namespaces_that_were_not_there_then_had_no_topics(past: RestNode) -> None:
    await past.done("PUT", "/admin/v2/namespaces/public/new")
    both = "namespace=public/new&namespace=public/default"
    assert await find_all(past, f"{both}&at=55m") == []
    assert await find_all(past, f"{both}&at=45m") == [f"{DEFAULT}/orders"]
    assert await past.problem("GET", f"{FIND_PATH}?namespace=public/new&at=1m") == (404, "namespace_not_found")
    answer = await past.send("GET", f"{FIND_PATH}?at=2020-01-01T00:00:00Z")
    assert answer.status_code == 404
    assert "Its known history begins at 2026-03-01T12:00:00Z" in answer.json()["hint"]


async def test_a_namespace_that_is_gone_can_still_be_asked_about(past: RestNode, clock: Clock) -> None:
    await past.done("PUT", "/admin/v2/namespaces/public/brief")
    await make(past, "public/brief/a")
    clock.minutes(5)
    await past.done("DELETE", "/admin/v2/namespaces/public/brief?force=true")
    assert await past.problem("GET", f"{FIND_PATH}?namespace=public/brief") == (404, "namespace_not_found")
    assert await find_all(past, "namespace=public/brief&at=5m") == ["persistent://public/brief/a"]


@pytest.mark.parametrize(
    "at",
    ["", "yesterday", "2026-03-01", "2030-01-01T00:00:00Z", "99999", "-1", "AQAA", "9" * 19],
)
async def test_what_is_no_time_and_no_position_is_refused(past: RestNode, at: str) -> None:
    assert await past.problem("GET", f"{FIND_PATH}?at={quote(at)}") == (400, "invalid_request")


async def test_positions_of_other_logs_partitions_or_times_to_come_are_told_apart(past: RestNode) -> None:
    assert await past.problem("GET", f"{FIND_PATH}?at=AQ{'A' * 34}") == (410, "resync")
    await past.done("PUT", "/admin/v2/namespaces/public/pay")
    elsewhere = (await past.get(f"{FIND_PATH}?namespace=public/pay"))["position"]
    assert await past.problem("GET", f"{FIND_PATH}?at={elsewhere}") == (400, "invalid_request")
    assert await past.problem("GET", f"{FIND_PATH}?at=3&namespace=public/pay&namespace=public/default") == (
        400, "invalid_request"
    )  # fmt: skip


async def test_whole_records_are_told_as_they_were_then(past: RestNode) -> None:
    await past.done("POST", f"{ORDERS}/messageTTL?messageTTL=60")
    [item] = (await past.get(f"{FIND_PATH}?at=2026-03-01T12:20:00Z&fields=record"))["items"]
    assert (item["labels"], item["policies"]["local"]) == ({"team": "pay"}, None)
    now = await past.get(f"{FIND_PATH}?fields=record")
    assert (await past.get(f"{FIND_PATH}?at=0s&fields=record"))["items"] == now["items"]


async def test_a_position_below_a_trimmed_log_is_told_as_it_was_asked_for(past: RestNode) -> None:
    partition = past.node.engine.partition("public/default")
    await past.node.log.delete_before(partition, 4)
    answer = await past.send("GET", f"{FIND_PATH}?at=2")
    assert (answer.status_code, answer.json()["detail"]) == (
        410, f"the state at 2 is not known: partition {partition} of the log begins at offset 4 now"
    )  # fmt: skip
    assert "--snapshot DIR" in answer.json()["hint"]


async def test_more_events_than_may_be_folded_are_refused(store: MemoryStore) -> None:
    async with rest_node(store, past_max_events=3) as rest:
        await make(rest, *(f"t{n}" for n in range(5)))
        answer = await rest.send("GET", f"{FIND_PATH}?at=0s")
        assert (answer.status_code, answer.json()["code"]) == (410, "resync")
        assert "TOPICFOLD_PAST_MAX_EVENTS" in answer.json()["hint"]
