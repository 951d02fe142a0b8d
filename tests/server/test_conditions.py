"""What a request may ask beside its change: a version, a key, a position, a reason."""

from __future__ import annotations

import asyncio

import pytest

from tests.memory_log import MemoryStore
from tests.server.rest import LABELS, NATIVE, ORDERS, RestNode, rest_node
from topicfold.log.codec import decode_audit
from topicfold.model.names import parse_topic


async def etag_of(rest: RestNode) -> str:
    """Return the ETag of `orders`."""
    return (await rest.send("GET", LABELS)).headers["etag"]


def say(text: str) -> dict[str, dict[str, str]]:
    """Return a body that labels a topic says=text."""
    return {"labels": {"says": text}}


async def test_an_answer_carries_etag_position_age_operation_and_request_id(orders: RestNode) -> None:
    written = await orders.done("POST", LABELS, say("a"), x_request_id="r-1")
    read = await orders.send("GET", LABELS)
    assert written.headers["x-request-id"] == "r-1"
    assert read.headers["x-request-id"] != "r-1"
    assert read.headers["etag"] == written.headers["etag"] != ""
    assert read.headers["x-log-position"] == written.headers["x-log-position"]
    assert 0 <= float(read.headers["x-log-age"]) < 5
    operation = await orders.get(f"/api/v1/operations/{written.headers['x-operation-id']}")
    assert (operation["state"], operation["etag"]) == ("applied", written.headers["etag"].strip('"'))


async def test_if_match_lets_the_current_version_pass_and_no_other(orders: RestNode) -> None:
    old = await etag_of(orders)
    await orders.done("POST", LABELS, say("a"), if_match=old)
    answer = await orders.send("POST", LABELS, say("b"), if_match=old)
    assert (answer.status_code, answer.json()["code"]) == (412, "precondition_failed")
    assert f'"{answer.json()["current"]}"' == await etag_of(orders)


async def test_if_match_star_wants_something_that_exists(orders: RestNode) -> None:
    await orders.done("POST", LABELS, say("a"), if_match="*")
    assert await orders.problem("PUT", f"{ORDERS}2", if_match="*") == (412, "precondition_failed")
    assert await orders.problem("POST", f"{ORDERS}2/custom-labels", say("a"), if_match="*") == (404, "topic_not_found")


@pytest.mark.parametrize("value", ["abc", 'W/"abc"', '"a", "b"', '"a" ', '"', '""', "*, *", '"ä"'])
async def test_an_if_match_that_is_not_one_strong_etag_is_400(orders: RestNode, value: str) -> None:
    expected = (412, "precondition_failed") if value == '"a" ' else (400, "invalid_request")
    assert await orders.problem("POST", LABELS, say("a"), if_match=value) == expected


async def test_if_none_match_star_wants_that_there_is_none_yet(orders: RestNode) -> None:
    before = await etag_of(orders)
    for method, path, body in (("PUT", ORDERS, None), ("PUT", NATIVE, {}), ("POST", LABELS, say("a")),
                               ("DELETE", ORDERS, None)):  # fmt: skip
        answer = await orders.send(method, path, body, if_none_match="*")
        assert (answer.status_code, answer.json()["code"]) == (412, "precondition_failed")
        assert answer.json()["reason"] == "there is persistent://public/default/orders already"
    assert await etag_of(orders) == before
    await orders.done("PUT", f"{ORDERS}2", if_none_match="*")
    await orders.done("DELETE", f"{ORDERS}2")
    await orders.done("PUT", f"{ORDERS}2", if_none_match="*", idempotency_key="k")
    missing = await orders.problem("POST", f"{ORDERS}3/custom-labels", say("a"), if_none_match="*")
    assert missing == (404, "topic_not_found")


@pytest.mark.parametrize("headers", [{"if_none_match": '"abc"'}, {"if_none_match": "*", "if_match": "*"},
                                     {"if_none_match": ""}])  # fmt: skip
async def test_any_other_condition_on_what_there_is_not_is_400_instead_of_passed_over(
    orders: RestNode, headers: dict[str, str]
) -> None:
    assert await orders.problem("POST", LABELS, say("a"), **headers) == (400, "invalid_request")


async def test_whoever_sends_an_etag_that_a_proxy_made_weak_is_told_how_to_send_it(orders: RestNode) -> None:
    weak = f"W/{await etag_of(orders)}"
    hint = (await orders.send("POST", LABELS, say("a"), if_match=weak)).json()["hint"]
    assert "without the W/" in hint


@pytest.mark.parametrize("writers", [2, 5, 8])
async def test_of_many_who_name_one_version_exactly_one_wins(nodes: list[RestNode], writers: int) -> None:
    await nodes[0].done("PUT", ORDERS)
    etag = await etag_of(nodes[0])
    answers = await asyncio.gather(
        *(nodes[each % 3].send("POST", LABELS, say(str(each)), if_match=etag) for each in range(writers))
    )
    assert sorted(answer.status_code for answer in answers) == [204] + [412] * (writers - 1)


async def test_a_key_applies_a_change_once_on_any_node(nodes: list[RestNode]) -> None:
    await nodes[0].done("PUT", ORDERS, idempotency_key="make")
    first = await nodes[0].done("POST", LABELS, say("a"), idempotency_key="k")
    await nodes[1].done("POST", LABELS, say("b"))
    again = await nodes[2].done("POST", LABELS, say("a"), idempotency_key="k")
    assert [again.headers[name] for name in ("etag", "x-operation-id")] == [
        first.headers[name] for name in ("etag", "x-operation-id")
    ]
    assert await nodes[2].get(LABELS) == {"says": "b"}
    await nodes[1].done("PUT", ORDERS, idempotency_key="make")


async def test_a_refusal_is_repeated_for_its_key(nodes: list[RestNode]) -> None:
    assert await nodes[0].problem("POST", LABELS, say("a"), idempotency_key="k") == (404, "topic_not_found")
    await nodes[1].done("PUT", ORDERS)
    assert await nodes[2].problem("POST", LABELS, say("a"), idempotency_key="k") == (404, "topic_not_found")


@pytest.mark.parametrize("condition", ["if_match", "if_none_match"])
async def test_a_key_with_another_condition_is_422(rest: RestNode, condition: str) -> None:
    await rest.done("PUT", ORDERS, idempotency_key="k")
    again = await rest.problem("PUT", ORDERS, idempotency_key="k", **{condition: "*"})
    assert again == (422, "idempotency_key_reused")


async def test_a_key_with_another_body_is_422(orders: RestNode) -> None:
    await orders.done("POST", LABELS, say("a"), idempotency_key="k")
    assert await orders.problem("POST", LABELS, say("b"), idempotency_key="k") == (422, "idempotency_key_reused")


async def test_another_spelling_of_a_request_is_the_same_request(orders: RestNode) -> None:
    first = await orders.done("POST", LABELS, b'{"labels": {"a": "1", "b": "2"}}', idempotency_key="k")
    path = "/admin/v2/topics/public/default/order%73/custome-labels"
    again = await orders.done("POST", path, b'{"labels":{"b":"2","a":"\\u0031"}}', idempotency_key="k")
    assert again.headers["etag"] == first.headers["etag"]
    await orders.done("PUT", f"{ORDERS}2", idempotency_key="m")
    await orders.done("PUT", f"{NATIVE}2", {"labels": {}}, idempotency_key="m")


@pytest.mark.parametrize("key", ["", "x" * 256, "ä", "a\tb"])
async def test_a_malformed_key_is_400(orders: RestNode, key: str) -> None:
    assert await orders.problem("POST", LABELS, say("a"), idempotency_key=key) == (400, "invalid_request")


async def test_a_read_waits_for_the_position_it_names(nodes: list[RestNode]) -> None:
    await nodes[0].done("PUT", ORDERS)
    nodes[1].node.log.pause()
    written = await nodes[0].done("POST", LABELS, say("a"))
    read = asyncio.create_task(nodes[1].get(NATIVE, x_min_position=written.headers["x-log-position"]))
    await asyncio.sleep(0.01)
    assert not read.done()
    nodes[1].node.log.resume()
    assert (await read)["labels"] == {"says": "a"}


async def test_what_a_refusal_told_holds_from_its_position_on(nodes: list[RestNode]) -> None:
    nodes[1].node.log.pause()
    await nodes[0].done("PUT", ORDERS)
    refused = await nodes[0].send("PUT", ORDERS)
    assert refused.status_code == 409
    assert "x-log-age" not in refused.headers
    read = asyncio.create_task(nodes[1].get(NATIVE, x_min_position=refused.headers["x-log-position"]))
    await asyncio.sleep(0.01)
    assert not read.done()
    nodes[1].node.log.resume()
    assert (await read)["labels"] == {}


async def test_the_position_of_a_change_covers_the_one_it_came_with(orders: RestNode) -> None:
    tenants = (await orders.send("GET", "/admin/v2/tenants")).headers["x-log-position"]
    written = await orders.done("POST", LABELS, say("a"), x_min_position=tenants)
    assert len(written.headers["x-log-position"]) == len(tenants)
    refused = await orders.send("PUT", ORDERS, x_min_position=tenants)
    assert (refused.status_code, refused.headers["x-log-position"]) == (409, written.headers["x-log-position"])


async def test_a_position_that_is_not_reached_in_time_is_504(orders: RestNode, store: MemoryStore) -> None:
    async with rest_node(store, 10**9, request_timeout_seconds=0.05) as late:
        late.node.log.pause()
        position = (await orders.done("POST", LABELS, say("a"))).headers["x-log-position"]
        assert await late.problem("GET", NATIVE, x_min_position=position) == (504, "position_timeout")
        late.node.log.resume()


@pytest.mark.parametrize("position", ["", "x", "AT", "A" * 60, "é"])
async def test_a_malformed_position_is_4xx(orders: RestNode, position: str) -> None:
    status, code = await orders.problem("GET", NATIVE, x_min_position=position)
    assert (status, code) in ((400, "invalid_request"), (410, "resync"))


async def test_only_linearizable_is_a_consistency(orders: RestNode) -> None:
    assert (await orders.get(LABELS, x_consistency="linearizable"))["team"] == "pay"
    for method in ("GET", "DELETE"):
        asked = method, f"{LABELS}?all=true"
        assert await orders.problem(*asked, x_consistency="eventual") == (400, "invalid_request")


@pytest.mark.parametrize(
    ("sent", "kept"),
    [(b"because", "because"), ("für Ännä".encode(), "für Ännä"), (b"f%C3%BCr 100%25", "für 100%"), (b"f\xfcr", "für")],
)
async def test_the_reason_for_a_change_is_kept_in_the_log(orders: RestNode, sent: bytes, kept: str) -> None:
    with orders.node.events() as events:
        answer = await orders.client.post(
            LABELS, json=say("a"), headers=[(b"X-Change-Reason", sent), (b"X-Request-Id", b"r")]
        )
    assert answer.status_code == 204
    audit = decode_audit(events[-1].audit)
    assert audit is not None
    assert audit.operations == (("anonymous", kept, "r"),)


@pytest.mark.parametrize("reason", [b"x" * 513, b"a%0Ab", b"a\tb", b"%00"])
async def test_a_reason_that_is_too_long_or_cannot_be_printed_is_400(orders: RestNode, reason: bytes) -> None:
    answer = await orders.client.post(LABELS, json=say("a"), headers=[(b"X-Change-Reason", reason)])
    assert answer.status_code == 400
    assert orders.node.reading.labels(parse_topic("orders"))[0] == {"team": "pay", "tier": "gold"}
