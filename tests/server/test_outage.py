"""The log cannot be reached: reads go on and say how old they are, changes fail fast or say they do not know."""

from __future__ import annotations

import asyncio
import time

import pytest

from tests.memory_log import MemoryStore
from tests.server.rest import LABELS, NATIVE, ORDERS, RestNode, rest_node
from topicfold.errors import LogUnavailable

BODY = {"labels": {"a": "b"}}


def cut(rest: RestNode) -> None:
    """Make the log unreachable, as the engine finds within a second."""
    rest.node.log.is_cut = True
    rest.node.engine.freshness.on_unavailable(LogUnavailable("cut off"))


async def test_reads_go_on_and_their_age_grows(orders: RestNode) -> None:
    cut(orders)
    ages = []
    for path in (NATIVE, LABELS, NATIVE):
        answer = await orders.send("GET", path)
        assert answer.status_code == 200
        ages.append(float(answer.headers["x-log-age"]))
        await asyncio.sleep(0.005)
    assert ages == sorted(ages)
    assert ages[0] < ages[-1]


@pytest.mark.parametrize(
    "path", [f"{NATIVE}-2", LABELS.replace("orders", "refunds"), "/admin/v2/namespaces/public/none"]
)
async def test_that_something_is_not_there_says_from_where_and_how_old_it_may_be(orders: RestNode, path: str) -> None:
    read = await orders.send("GET", path)
    assert read.status_code == 404
    assert float(read.headers["x-log-age"]) < 60
    cut(orders)
    later = await orders.send("GET", path)
    assert (later.status_code, later.headers["x-log-position"]) == (404, read.headers["x-log-position"])
    assert float(later.headers["x-log-age"]) > 0


async def test_a_change_is_503_at_once_and_not_applied(orders: RestNode) -> None:
    cut(orders)
    started = time.perf_counter()
    answer = await orders.send("POST", LABELS, BODY)
    assert time.perf_counter() - started < 10
    assert (answer.status_code, answer.json()["code"]) == (503, "log_unavailable")
    assert int(answer.headers["retry-after"]) >= 1
    assert "a" not in await orders.get(LABELS)


async def test_a_read_that_wants_to_be_linearizable_is_503(orders: RestNode) -> None:
    cut(orders)
    orders.node.log.fate = orders.node.log.lose_and_say_so
    assert await orders.problem("GET", NATIVE, x_consistency="linearizable") == (503, "log_unavailable")


async def test_a_refusal_that_cannot_be_made_sure_is_503(orders: RestNode) -> None:
    orders.node.log.is_cut = True
    path = "/admin/v2/persistent/public/default/none/custom-labels"
    assert await orders.problem("POST", path, BODY) == (503, "log_unavailable")


async def test_an_admin_read_waits_for_a_silent_log_a_quarter_of_a_second(orders: RestNode) -> None:
    orders.node.log.answers.clear()
    started = time.perf_counter()
    answer = await orders.send("GET", LABELS)
    orders.node.log.answers.set()
    assert answer.status_code == 200
    assert 0.2 < time.perf_counter() - started < 10


@pytest.mark.parametrize("path", [NATIVE, "/api/v1/topics", LABELS])
async def test_neither_a_native_read_nor_one_that_names_a_position_waits_for_a_silent_log(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.setattr("topicfold.runtime.reading.BARRIER_SECONDS", 60)
    async with rest_node(store, request_timeout_seconds=30) as rest:
        position = (await rest.done("PUT", ORDERS)).headers["x-log-position"]
        rest.node.log.answers.clear()
        async with asyncio.timeout(20):
            await rest.get(path, x_min_position=position)
            if path != LABELS:
                await rest.get(path)
        rest.node.log.answers.set()


async def test_everything_goes_on_when_the_log_is_back(orders: RestNode) -> None:
    cut(orders)
    assert await orders.problem("POST", LABELS, BODY) == (503, "log_unavailable")
    orders.node.log.is_cut = False
    await orders.node.caught_up()
    await orders.done("POST", LABELS, BODY)
