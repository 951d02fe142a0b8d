"""History, older versions and rollback over REST."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.memory_log import MemoryStore
from tests.runtime.nodes import turns
from tests.server.rest import LABELS, NATIVE, ORDERS, RestNode, rest_node
from topicfold.runtime import slices
from topicfold.runtime.past.history import Entry
from topicfold.server.connections.in_flight import InFlight
from topicfold.wire.history import History, history_entry
from topicfold.wire.resources import TopicItem

HISTORY, ROLLBACK = f"{NATIVE}/history", f"{NATIVE}/rollback"
TTL = f"{ORDERS}/messageTTL"
Caller = dict[str, str]
OTHER_LOG = "AQ" + "A" * 34


async def entries(rest: RestNode) -> list[dict[str, Any]]:
    """Return the whole history of `orders`."""
    return (await rest.get(HISTORY))["items"]


async def label(rest: RestNode, tier: str, **headers: str) -> str:
    """Set the label `tier` of `orders`; return its ETag."""
    return (await rest.done("POST", LABELS, {"labels": {"tier": tier}}, **headers)).headers["etag"].strip('"')


async def test_a_history_says_who_when_why_and_what(orders: RestNode) -> None:
    etag = await label(orders, "lead", x_change_reason="SLA", x_request_id="r-7")
    answer = await orders.send("GET", HISTORY)
    history = answer.json()
    History.model_validate(history)
    newest = history["items"][0]
    assert newest | {"position": "", "time": "", "offset": 0} == {
        "etag": etag,
        "offset": 0,
        "position": "",
        "kind": "changed",
        "time": "",
        "madeBy": [{"actor": "anonymous", "reason": "SLA", "requestId": "r-7"}],
        "changes": [{"path": ["labels", "tier"], "old": "gold", "new": "lead"}],
    }
    assert newest["position"] == history["position"] == answer.headers["x-log-position"]
    assert newest["time"].startswith("20")
    assert newest["time"].endswith("Z")
    assert (history["name"], history["before"], history["gap"]) == ("persistent://public/default/orders", None, None)


async def test_policies_of_both_scopes_are_told_member_by_member(orders: RestNode) -> None:
    await orders.done("POST", f"{TTL}?messageTTL=60")
    await orders.done("POST", f"{ORDERS}/publishRate?isGlobal=true", {"publishThrottlingRateInMsg": 5})
    rate, ttl = (entry["changes"] for entry in (await entries(orders))[:2])
    assert ttl == [{"path": ["policies", "local", "messageTTLInSeconds"], "old": None, "new": 60}]
    assert {"path": ["policies", "global", "publishRate", "publishThrottlingRateInMsg"], "old": None, "new": 5} in rate


async def test_a_secret_is_masked_in_the_history(orders: RestNode) -> None:
    secret = "s3ManagedLedgerOffloadCredentialSecret"
    body = {"managedLedgerOffloadDriver": "S3", "managedLedgerOffloadBucket": "b", secret: "sesame"}
    await orders.done("POST", f"{ORDERS}/offloadPolicies", body)
    answer = await orders.send("GET", HISTORY)
    assert "sesame" not in answer.text
    change = {"path": ["policies", "local", "offloadPolicies", secret], "old": None, "new": "****"}
    assert change in answer.json()["items"][0]["changes"]


async def test_a_deleted_topic_still_has_its_history(orders: RestNode) -> None:
    await orders.done("DELETE", NATIVE)
    assert [entry["kind"] for entry in await entries(orders)] == ["deleted", "changed", "created"]
    await orders.done("PUT", NATIVE)
    assert [entry["kind"] for entry in await entries(orders)] == ["created", "deleted", "changed", "created"]


async def test_others_have_their_turn_between_any_two_changes_that_are_written(
    orders: RestNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken, written, told = 0, [], history_entry

    def writing(entry: Entry, *, shows_grants: bool) -> dict[str, Any]:
        written.append(taken)
        return told(entry, shows_grants=shows_grants)

    for number in range(10):
        await orders.done("POST", LABELS, {"labels": {"number": str(number)}})
    monkeypatch.setattr("topicfold.server.history.history_entry", writing)
    monkeypatch.setattr(slices, "SLICE_SECONDS", -1.0)
    asking = asyncio.create_task(orders.get(HISTORY))
    while not asking.done():
        await asyncio.sleep(0)
        taken += 1
    assert len(asking.result()["items"]) == len(set(written)) == 12


async def test_a_history_is_read_in_pages(orders: RestNode) -> None:
    for tier in "abcde":
        await label(orders, tier)
    whole, paged, query = await entries(orders), [], "?limit=3"
    while query:
        page = await orders.get(HISTORY + query)
        assert len(page["items"]) <= 3
        paged += page["items"]
        query = page["before"] and f"?limit=3&before={page['before']}"
    assert paged == whole
    assert len(whole) == 7


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=1001", "limit=x", "limit=-1", "limit=1.5", "before=", "before=x", "before=9-0",
              "limit=1&limit=2", "after=3", "limit=" + "9" * 5000, "limit=" + "1".zfill(9) + "0" * 5000,
              "limit=0000010009"],
)  # fmt: skip
async def test_a_malformed_question_is_400(orders: RestNode, query: str) -> None:
    assert await orders.problem("GET", f"{HISTORY}?{query}") == (400, "invalid_request")


async def test_what_never_was_has_no_history(orders: RestNode) -> None:
    assert await orders.problem("GET", f"{NATIVE}2/history") == (404, "topic_not_found")
    assert await orders.problem("DELETE", f"{NATIVE}2") == (404, "topic_not_found")
    assert await orders.problem("GET", f"{NATIVE}2/history") == (404, "topic_not_found")
    assert await orders.problem("GET", "/api/v1/topics/public/lost/orders/history") == (404, "namespace_not_found")
    assert await orders.problem("GET", f"{HISTORY}?domain=non-persistent") == (404, "topic_not_found")


@pytest.mark.parametrize(("method", "path"), [("GET", "history"), ("POST", "rollback")])
async def test_a_partition_has_no_history_of_its_own(orders: RestNode, method: str, path: str) -> None:
    assert await orders.problem(method, f"{NATIVE}-partition-0/{path}", {"to": "1"}) == (400, "invalid_name")


async def test_a_topic_is_read_as_it_was_at_an_offset_and_at_a_position(orders: RestNode) -> None:
    etags = [await label(orders, tier) for tier in ("lead", "iron")]
    iron, lead, gold, _ = await entries(orders)
    for place in (lead["offset"], lead["position"]):
        answer = await orders.send("GET", f"{NATIVE}?at={place}")
        TopicItem.model_validate(answer.json())
        assert answer.json()["labels"] == {"team": "pay", "tier": "lead"}
        assert answer.headers["etag"] == f'"{etags[0]}"' == f'"{answer.json()["etag"]}"'
    assert (await orders.get(f"{NATIVE}?at={gold['offset']}"))["labels"]["tier"] == "gold"
    assert await orders.get(f"{NATIVE}?at={iron['offset']}") == await orders.get(NATIVE)


async def test_a_topic_that_is_gone_is_read_as_it_was(orders: RestNode) -> None:
    then = (await orders.send("GET", NATIVE)).headers["x-log-position"]
    await orders.done("DELETE", NATIVE)
    assert (await orders.get(f"{NATIVE}?at={then}"))["labels"] == {"team": "pay", "tier": "gold"}
    end = (await entries(orders))[0]["offset"]
    assert await orders.problem("GET", f"{NATIVE}?at={end}") == (404, "topic_not_found")


@pytest.mark.parametrize(
    ("at", "status"),
    [("0", 404), ("99999", 400), ("9" * 30, 400), ("x", 400), ("-1", 400), ("", 400), (OTHER_LOG, 410)],
)
async def test_a_position_that_means_nothing_here_is_said_to_mean_nothing(
    orders: RestNode, at: str, status: int
) -> None:
    assert (await orders.send("GET", f"{NATIVE}?at={at}")).status_code == status


async def test_a_position_of_other_partitions_says_nothing_of_a_topic(orders: RestNode) -> None:
    elsewhere = (await orders.done("PUT", "/admin/v2/tenants/acme")).headers["x-log-position"]
    answer = await orders.send("GET", f"{NATIVE}?at={elsewhere}")
    assert answer.status_code == 400
    assert "X-Log-Position from an answer about its namespace" in answer.json()["hint"]


async def test_a_rollback_restores_a_version_and_is_a_change_like_any_other(orders: RestNode) -> None:
    await orders.done("POST", f"{TTL}?messageTTL=60")
    await label(orders, "lead")
    await orders.done("DELETE", TTL)
    wanted = (await entries(orders))[2]
    answer = await orders.done("POST", ROLLBACK, {"to": wanted["etag"]})
    item = await orders.get(NATIVE)
    assert item["labels"]["tier"] == "gold"
    assert item["policies"]["local"] == {"messageTTLInSeconds": 60}
    assert answer.headers["etag"] == f'"{item["etag"]}"'
    newest = (await entries(orders))[0]
    assert newest["madeBy"][0]["reason"] == f"rollback to version {wanted['offset']}"
    assert len(newest["changes"]) == 2


async def test_a_version_may_be_named_by_its_offset_or_id_and_the_current_one_changes_nothing(
    orders: RestNode,
) -> None:
    etag = await label(orders, "lead")
    for name in (etag, etag.partition(".")[0], str((await entries(orders))[0]["offset"])):
        assert (await orders.done("POST", ROLLBACK, {"to": name})).headers["etag"] == f'"{etag}"'
    assert len(await entries(orders)) == 3


async def test_an_unknown_version_is_404_with_the_nearest(orders: RestNode) -> None:
    known = [entry["etag"] for entry in await entries(orders)]
    answer = await orders.send("POST", ROLLBACK, {"to": "f" * 32})
    assert (answer.status_code, answer.json()["code"]) == (404, "version_not_found")
    assert answer.json()["nearest"] == known
    assert answer.json()["hint"] == f"The history shows all. The nearest are {', '.join(known)}."


@pytest.mark.parametrize("body", [None, {}, {"to": 5}, {"to": ""}, {"to": "latest"}, {"to": "1", "x": 1}, []])
async def test_a_malformed_rollback_is_400(orders: RestNode, body: object) -> None:
    assert await orders.problem("POST", ROLLBACK, body) == (400, "invalid_request")


async def test_a_rollback_keeps_its_condition_and_its_key(orders: RestNode) -> None:
    first = (await entries(orders))[1]["etag"]
    assert await orders.problem("POST", ROLLBACK, {"to": first}, if_match=f'"{first}"') == (412, "precondition_failed")
    done = await orders.done("POST", ROLLBACK, {"to": first}, idempotency_key="k")
    await label(orders, "iron")
    again = await orders.done("POST", ROLLBACK, {"to": first}, idempotency_key="k")
    assert again.headers["x-operation-id"] == done.headers["x-operation-id"]
    assert (await orders.get(NATIVE))["labels"] == {"tier": "iron"}
    problem = await orders.problem("POST", ROLLBACK, {"to": "0"}, idempotency_key="k")
    assert problem == (422, "idempotency_key_reused")


async def test_a_deleted_topic_is_not_revived_by_a_rollback(orders: RestNode) -> None:
    first = (await entries(orders))[1]["etag"]
    await orders.done("DELETE", NATIVE)
    assert await orders.problem("POST", ROLLBACK, {"to": first}) == (404, "topic_not_found")


@pytest.fixture
async def closed(store: MemoryStore, tmp_path: Path) -> AsyncIterator[tuple[RestNode, Caller, Caller]]:
    """A node that has no topic yet and wants to know who asks, its superuser, and somebody without rights."""
    tokens = tmp_path / "tokens"
    tokens.write_text("t-root root\nt-ann ann\n")
    tokens.chmod(0o600)
    root, ann = ({"authorization": f"Bearer t-{name}"} for name in ("root", "ann"))
    async with rest_node(store, auth_static_tokens_file=tokens, superusers=("root",)) as rest:
        yield rest, root, ann


async def test_grants_are_shown_to_who_may_change_them_only_and_never_come_back(
    closed: tuple[RestNode, Caller, Caller],
) -> None:
    rest, root, ann = closed
    made = (await rest.done("PUT", NATIVE, **root)).headers["etag"].strip('"')
    await rest.done("POST", f"{ORDERS}/permissions/ann", ["read-policies", "update-policies"], **root)
    granted = (await rest.get(HISTORY, **root))["items"][0]
    assert granted["changes"][0]["path"] == ["grants", "ann"]
    assert (await rest.get(HISTORY, **ann))["items"][0] == granted | {"changes": []}
    await rest.done("POST", ROLLBACK, {"to": made}, **ann)
    await rest.done("POST", f"{TTL}?messageTTL=5&isGlobal=true", **root)
    assert await rest.problem("POST", ROLLBACK, {"to": granted["etag"]}, **ann) == (403, "forbidden")
    await rest.done("DELETE", f"{ORDERS}/permissions/ann", **root)
    await rest.done("POST", ROLLBACK, {"to": granted["etag"]}, **root)
    assert await rest.problem("GET", HISTORY, **ann) == (403, "forbidden")


async def test_a_grant_on_a_topic_shows_nothing_of_a_topic_of_that_name_before(
    closed: tuple[RestNode, Caller, Caller],
) -> None:
    rest, root, ann = closed
    await rest.done("PUT", NATIVE, {"labels": {"secret": "x"}}, **root)
    await rest.done("POST", LABELS, {"labels": {"secret": "y"}}, **root)
    page = await rest.get(f"{HISTORY}?limit=1", **root)
    await rest.done("DELETE", NATIVE, **root)
    await rest.done("PUT", NATIVE, **root)
    await rest.done("POST", f"{ORDERS}/permissions/ann", ["read-policies", "update-policies"], **root)
    old, cursor = page["items"][0]["offset"], page["before"]
    shown = await rest.get(HISTORY, **ann)
    assert ([each["kind"] for each in shown["items"]], shown["before"]) == (["changed", "created"], None)
    assert await rest.problem("GET", f"{NATIVE}?at={old}", **ann) == (404, "topic_not_found")
    assert await rest.problem("POST", ROLLBACK, {"to": str(old)}, **ann) == (404, "version_not_found")
    assert (await rest.get(f"{HISTORY}?before={cursor}", **ann))["items"] == []
    assert len((await rest.get(HISTORY, **root))["items"]) == 5
    assert (await rest.get(f"{NATIVE}?at={old}", **root))["labels"] == {"secret": "y"}


async def test_what_could_not_be_set_now_is_not_gone_back_to(rest: RestNode) -> None:
    await rest.done("PUT", f"{NATIVE}2")
    policies = {"shadowTopics": ["persistent://public/default/orders2"], "maxMessageSize": 7}
    await rest.done("PUT", NATIVE, {"policies": {"local": policies}})
    await rest.done("POST", LABELS, {"labels": {"a": "b"}})
    newest, oldest = (each["etag"] for each in await entries(rest))
    await rest.done("DELETE", f"{NATIVE}2")
    await rest.done("POST", ROLLBACK, {"to": oldest})
    await rest.done("DELETE", f"{ORDERS}/shadowTopics")
    answer = await rest.send("POST", ROLLBACK, {"to": newest})
    assert (answer.status_code, answer.json()["violations"][0]["path"]) == (400, "policies.local.shadowTopics")


async def test_a_cluster_that_is_gone_is_not_gone_back_to(rest: RestNode) -> None:
    await rest.done("PUT", "/admin/v2/clusters/east", {"serviceUrl": "http://east:8080"})
    await rest.done("PUT", NATIVE, {"policies": {"local": {"replicationClusters": ["standalone", "east"]}}})
    etag = (await entries(rest))[0]["etag"]
    await rest.done("DELETE", f"{ORDERS}/replication")
    await rest.done("DELETE", "/admin/v2/clusters/east")
    answer = await rest.send("POST", ROLLBACK, {"to": etag})
    assert (answer.status_code, answer.json()["violations"][0]["path"]) == (400, "policies.local.replicationClusters")


async def test_where_topics_have_no_policies_going_back_to_some_is_405(store: MemoryStore) -> None:
    async with rest_node(store) as on:
        await on.done("PUT", NATIVE, {"policies": {"local": {"maxMessageSize": 7}}})
        await on.done("DELETE", f"{ORDERS}/maxMessageSize")
        etag = (await entries(on))[1]["etag"]
    async with rest_node(store, topic_level_policies_enabled=False) as off:
        assert await off.problem("POST", ROLLBACK, {"to": etag}) == (405, "policies_disabled")


async def test_a_history_has_what_was_written_on_another_node_before_it_was_asked_for(nodes: list[RestNode]) -> None:
    one, other, _ = nodes
    await one.done("PUT", NATIVE)
    await other.node.caught_up()
    other.node.log.pause()
    await one.done("POST", LABELS, {"labels": {"a": "b"}})
    asked = asyncio.create_task(other.get(HISTORY))
    await turns()
    other.node.log.resume()
    assert len((await asked)["items"]) == 2


async def test_another_node_tells_the_same_history(nodes: list[RestNode]) -> None:
    one, other, _ = nodes
    await one.done("PUT", NATIVE)
    position = (await one.done("POST", LABELS, {"labels": {"a": "b"}})).headers["x-log-position"]
    here, there = await one.get(HISTORY), await other.get(HISTORY, x_min_position=position)
    assert here["items"] == there["items"]


async def test_long_histories_on_their_way_are_bounded_in_bytes_and_short_ones_are_not(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_flight = InFlight(10 << 20, 10 << 20)
    monkeypatch.setattr("topicfold.server.node.InFlight", lambda *limits: in_flight)
    async with rest_node(store) as rest:
        await rest.done("PUT", ORDERS)
        for number in range(8):
            await rest.done("PUT", f"{ORDERS}/properties", {"text": f"{number}{'x' * 100_000}"})
        in_flight.take("ann", 9 << 20)
        answer = await rest.send("GET", HISTORY)
        assert (answer.status_code, answer.json()["code"]) == (503, "overloaded")
        assert "fewer changes" in answer.json()["hint"]
        assert len((await rest.get(f"{HISTORY}?limit=2"))["items"]) == 2
        in_flight.give_back("ann", 9 << 20)
        for _ in range(8):
            assert len(await entries(rest)) == 9
